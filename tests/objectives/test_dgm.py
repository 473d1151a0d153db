"""Semi-supervised bounds against a mixture that can be solved by hand, and the rules of batches."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence
from torch.nn.functional import one_hot
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.semi import SemiVAE
from mindseye.objectives.dgm import m2, moved, semi_dgm
from mindseye.objectives.registry import get_objective

DIGIT, SIZE = Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])
ONE, TWO = Vocabulary([DIGIT]), Vocabulary([DIGIT, SIZE])
COPIES = 6_000
ROWS = 6
P, D, NOISE = 3, 2, 0.6
"""Numbers that an attribute shows in, sizes of its latent, and the noise."""


class Mixture(nn.Module):
    """Every attribute chooses a linear-Gaussian model of its own part of x, with its own part of z.

        p(x_k | y_k, z_k) = N(A_k[y_k] z_k + b_k[y_k], σ²)

    So p(y|x) is a product over attributes, and q can be the posterior, or be tilted off it.
    """

    def __init__(self, vocabulary: Vocabulary, spread=1.0, tilt_y=0.0, tilt_z=0.0):
        super().__init__()
        random = torch.Generator().manual_seed(3)
        self.vocabulary, self.tilt_z = vocabulary, tilt_z
        sizes, widest = vocabulary.sizes, max(vocabulary.sizes)
        self.A = [spread * torch.randn(n, P, D, generator=random) for n in sizes]
        self.b = [torch.randn(n, P, generator=random) for n in sizes]
        self.prior_y = Attributes(torch.randn(len(sizes), widest, generator=random), sizes)
        tilt = torch.randn(len(sizes), widest, generator=random)
        self.tilt_y = nn.Parameter(tilt_y * tilt)

    @property
    def prior(self) -> MultivariateNormal:
        size = D * len(self.vocabulary)
        return MultivariateNormal(torch.zeros(size), torch.eye(size))

    def p_x(self, z: Tensor, y: Tensor) -> Independent:
        loc = [
            torch.einsum("...v,vpd,...d->...p", y[..., k, : len(A)], A, z[..., D * k : D * k + D])
            + y[..., k, : len(A)] @ b
            for k, (A, b) in enumerate(zip(self.A, self.b, strict=True))
        ]
        return Independent(Normal(torch.cat(loc, -1), NOISE), 1)

    def q_y_given_x(self, x: Tensor) -> Attributes:
        return Attributes(self.log_joints(x) + self.tilt_y, self.vocabulary.sizes)

    def q_xy(self, x: Tensor, y: Tensor) -> MultivariateNormal:
        size = D * len(self.vocabulary)
        mean = torch.zeros(*y.shape[:-2], size)
        covariance = torch.zeros(*y.shape[:-2], size, size)
        for k, (A, b) in enumerate(zip(self.A, self.b, strict=True)):
            here, chosen = slice(D * k, D * k + D), y[..., k, : len(A)]
            loading = torch.einsum("...v,vpd->...pd", chosen, A) / NOISE
            seen = (x[..., P * k : P * k + P] - chosen @ b) / NOISE
            inverse = (torch.eye(D) + loading.mT @ loading).inverse()
            mean[..., here] = (inverse @ loading.mT @ seen[..., None])[..., 0] + self.tilt_z
            covariance[..., here, here] = inverse
        return MultivariateNormal(mean, covariance)

    def log_joints(self, x: Tensor) -> Tensor:
        """log p(x_k, y_k) of every value of every attribute, `(B, K, V)`, 0 in the padding."""
        table = torch.zeros(len(x), *self.prior_y.logits.shape)
        for k, (A, b) in enumerate(zip(self.A, self.b, strict=True)):
            p = MultivariateNormal(b, A @ A.mT + NOISE**2 * torch.eye(P))
            likelihood = p.log_prob(x[:, None, P * k : P * k + P])
            table[:, k, : len(A)] = likelihood + self.prior_y.log_probs[k, : len(A)]
        return table

    def log_evidence(self, x: Tensor, y: Labels) -> Tensor:
        """log p(x, y_O), whatever is known."""
        each, total = self.log_joints(x), torch.zeros(len(x))
        for k, size in enumerate(self.vocabulary.sizes):
            whole = each[:, k, :size].logsumexp(-1)
            one = each[:, k].gather(-1, y.codes[:, k : k + 1])[:, 0]
            total = total + torch.where(y.observed[:, k], one, whole)
        return total


def pictures(vocabulary: Vocabulary, count: int = ROWS) -> Tensor:
    size = P * len(vocabulary)
    return 1.5 * torch.randn(count, size, generator=torch.Generator().manual_seed(4))


def labels(vocabulary: Vocabulary, known: str, count: int = ROWS) -> Labels:
    """Labels of which all, none, alternating rows or alternating attributes are known."""
    codes = torch.stack([torch.arange(count) % size for size in vocabulary.sizes], 1)
    rows, columns = torch.arange(count)[:, None], torch.arange(len(vocabulary))
    observed = {
        "all": torch.ones_like(codes),
        "none": torch.zeros_like(codes),
        "mixed": (rows % 2).expand_as(codes),
        "partial": (rows + columns) % 2,
    }[known]
    return Labels(codes, observed.bool())


def copied(x: Tensor, y: Labels, count: int = COPIES) -> tuple[Tensor, Labels]:
    return x.repeat(count, *[1] * (x.ndim - 1)), Labels(*(t.repeat(count, 1) for t in y))


def mean_of(model: Mixture, x: Tensor, y: Labels, **weights: float) -> tuple[Tensor, Tensor]:
    """The mean of the bound over many draws, and its standard error, `(B,)`."""
    torch.manual_seed(0)
    with torch.no_grad():
        value = semi_dgm(model, *copied(x, y), **weights).value.view(COPIES, -1)
    return value.mean(0), value.std(0) / math.sqrt(COPIES)


def assert_within_errors(found: tuple[Tensor, Tensor], expected: Tensor) -> None:
    mean, error = found
    assert ((mean - expected).abs() < 4 * error + 1e-4).all(), (mean - expected) / error


def detached_value(model, x, y, **weights) -> Tensor:
    return semi_dgm(model, x, y, **weights).value.detach()


KNOWN = ["all", "none", "mixed", "partial"]
EXACT = {"alpha": 0.0, "gamma": 1.0}


# The bound, and what it bounds


@pytest.mark.parametrize("words", [ONE, TWO])
@pytest.mark.parametrize("known", KNOWN)
def test_true_posteriors_without_a_latent_give_the_log_evidence(words, known):
    model, x, y = Mixture(words, spread=0.0), pictures(words), labels(words, known)
    assert_close(detached_value(model, x, y, **EXACT), model.log_evidence(x, y))


@pytest.mark.parametrize("words", [ONE, TWO])
@pytest.mark.parametrize("known", ["all", "none", "partial"])
def test_true_posteriors_give_the_log_evidence_in_the_mean(words, known):
    model, x, y = Mixture(words), pictures(words, 3), labels(words, known, 3)
    assert_within_errors(mean_of(model, x, y, **EXACT), model.log_evidence(x, y))


@pytest.mark.parametrize("samples", [2, 5.0])
def test_weighed_draws_of_the_true_posterior_all_give_the_log_evidence(samples):
    model, x, y = Mixture(TWO), pictures(TWO), labels(TWO, "all")
    value = detached_value(model, x, y, samples=samples, **EXACT)
    assert_close(value, model.log_evidence(x, y), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("known", KNOWN)
def test_the_classifier_is_rewarded_for_what_is_known(known):
    model, x, y = Mixture(TWO, spread=0.0), pictures(TWO), labels(TWO, known)
    reward = model.q_y_given_x(x).log_prob(y).detach()
    bound = semi_dgm(model, x, y, alpha=7.0)
    assert_close(bound.value.detach(), model.log_evidence(x, y) + 7 * reward)
    assert_close(bound.terms["log_qy"].detach(), reward)


def test_gamma_weighs_whatever_has_a_label_and_nothing_else():
    model, x, y = Mixture(TWO, spread=0.0), pictures(TWO), labels(TWO, "mixed")
    y = Labels(y.codes, y.observed.clone())
    y.observed[1, 0] = False  # half a label is a label
    one = detached_value(model, x, y, alpha=3.0)
    weighed = detached_value(model, x, y, alpha=3.0, gamma=0.2)
    assert_close(weighed, torch.where(y.observed.any(-1), 0.2 * one, one))


def test_beta_weighs_the_divergence_of_the_manner():
    model, x, y = Mixture(ONE, tilt_z=0.5), pictures(ONE), labels(ONE, "mixed")
    torch.manual_seed(0)
    one = semi_dgm(model, x, y, **EXACT)
    torch.manual_seed(0)
    four = semi_dgm(model, x, y, beta=torch.tensor(4.0), **EXACT)  # a warm-up hands in a tensor
    assert_close(four.value, one.value - 3 * one.terms["kl_z"])


def test_the_terms_add_up_to_the_bound():
    model, x, y = Mixture(TWO, tilt_y=1.0), pictures(TWO), labels(TWO, "partial")
    terms = semi_dgm(model, x, y).terms
    total = terms["log_px"] - terms["kl_z"] + terms["log_py"] + terms["entropy_y"]
    assert_close(total, terms["elbo"])
    assert all(term.shape == (ROWS,) for term in terms.values())


# Wrong readers cost their divergence


@pytest.mark.parametrize("words", [ONE, TWO])
@pytest.mark.parametrize("known", KNOWN)
def test_a_wrong_classifier_costs_its_divergence_from_the_truth(words, known):
    right, wrong = Mixture(words, spread=0.0), Mixture(words, spread=0.0, tilt_y=1.5)
    x, y = pictures(words), labels(words, known)
    q, p = wrong.q_y_given_x(x), right.q_y_given_x(x)
    pairs = zip(q.by_attribute(), p.by_attribute(), strict=True)
    each = torch.stack([(a * (a / b).log()).sum(-1) for a, b in pairs], -1)
    gap = torch.where(y.observed, 0.0, each).sum(-1).detach()
    value = detached_value(wrong, x, y, **EXACT)
    assert_close(value, right.log_evidence(x, y) - gap, atol=1e-5, rtol=1e-5)
    assert gap.max() > 0.1 or known == "all"


def test_a_wrong_reader_of_the_manner_costs_its_divergence_from_the_truth():
    right, wrong = Mixture(ONE), Mixture(ONE, tilt_z=0.5)
    x, y = pictures(ONE, 3), labels(ONE, "mixed", 3)
    every = one_hot(torch.arange(3), 3).float()[:, None, None].expand(-1, 3, -1, -1)
    each = kl_divergence(wrong.q_xy(x, every), right.q_xy(x, every)).T  # (B, V)
    r = torch.where(y.observed, one_hot(y.codes[:, 0], 3), right.q_y_given_x(x).probs[:, 0])
    gap = (r * each).sum(-1).detach()
    assert_within_errors(mean_of(wrong, x, y, **EXACT), right.log_evidence(x, y) - gap)


def test_more_draws_of_the_manner_make_the_bound_tighter():
    right, wrong = Mixture(ONE), Mixture(ONE, tilt_z=0.5)
    x, y = pictures(ONE, 3), labels(ONE, "all", 3)
    bounds = [mean_of(wrong, x, y, samples=s, **EXACT)[0] for s in (1, 4, 32)]
    assert (bounds[0] < bounds[1] - 0.05).all()
    assert (bounds[1] < bounds[2] - 0.02).all()
    assert (bounds[2] < right.log_evidence(x, y)).all()


def test_more_draws_change_whole_descriptions_only():
    model, x, y = Mixture(TWO, tilt_z=0.5), pictures(TWO), labels(TWO, "mixed")
    y = Labels(y.codes, y.observed.clone())
    y.observed[1, 0] = False
    values = []
    for samples in (1, 3):
        torch.manual_seed(0)
        values.append(detached_value(model, x, y, samples=samples))
    changed = values[0] != values[1]
    assert torch.equal(changed, y.observed.all(-1))


# All descriptions, or one that is drawn


@pytest.mark.parametrize("known", ["none", "partial"])
def test_drawn_descriptions_give_the_sum_over_all_in_the_mean(known):
    model = Mixture(TWO, tilt_y=1.0, tilt_z=0.3)
    x, y = pictures(TWO, 3), labels(TWO, known, 3)
    summed, drawn = (mean_of(model, x, y, most=most) for most in (6, 5))
    both = (summed[1] ** 2 + drawn[1] ** 2).sqrt()
    assert_within_errors((drawn[0], both), summed[0])
    assert (drawn[1] > summed[1]).all()  # there is more chance in it


def test_a_drawn_description_is_what_is_known():
    model, x, y = Mixture(TWO), pictures(TWO), labels(TWO, "all")
    torch.manual_seed(0)
    drawn = semi_dgm(model, x, y, most=0)
    torch.manual_seed(0)
    torch.rand(ROWS, 2, 3)  # of the description, which is known
    z = model.q_xy(x, one_hot(y.codes, 3).float()[None]).rsample()[0]
    assert_close(drawn.terms["log_px"], model.p_x(z, one_hot(y.codes, 3).float()).log_prob(x))


def test_the_gradient_of_the_sum_is_exact():
    model, x, y = Mixture(ONE, spread=0.0, tilt_y=1.0), pictures(ONE, 1), labels(ONE, "none", 1)
    semi_dgm(model, x, y).value.sum().backward()
    q = model.q_y_given_x(x)
    gain = (model.log_joints(x) - q.log_probs)[0, 0].detach()  # log p(x,y) - log q(y|x)
    probs = q.probs[0, 0].detach()
    assert_close(model.tilt_y.grad[0], probs * (gain - (probs * gain).sum()))


def test_the_gradient_of_drawn_descriptions_points_the_same_way():
    x, y = pictures(TWO, 1), labels(TWO, "none", 1)
    gradients = []
    for most in (6, 0):
        model = Mixture(TWO, tilt_y=1.0)
        torch.manual_seed(0)
        semi_dgm(model, *copied(x, y), most=most).value.mean().backward()
        gradients.append(model.tilt_y.grad)
    assert torch.cosine_similarity(*(g.flatten() for g in gradients), dim=0) > 0.7
    assert gradients[1][1, 2] == 0  # `size` has no third value


# What batches may hold


@pytest.mark.parametrize("weights", [{}, {"most": 0}, {"samples": 3}])
def test_rows_do_not_depend_on_the_labels_of_others(weights):
    model, x = Mixture(TWO, tilt_y=0.5, tilt_z=0.3), pictures(TWO)
    values = {}
    for known in KNOWN:
        torch.manual_seed(0)
        values[known] = detached_value(model, x, labels(TWO, known), **weights)
    odd = torch.arange(ROWS) % 2 == 1
    assert torch.equal(values["mixed"], torch.where(odd, values["all"], values["none"]))
    assert not torch.equal(values["all"], values["none"])


@pytest.mark.parametrize("most", [6, 0])
def test_codes_that_were_not_said_mean_nothing(most):
    model, x, y = Mixture(TWO), pictures(TWO), labels(TWO, "partial")
    other = Labels(torch.where(y.observed, y.codes, 1 - y.codes.clamp(max=1)), y.observed)
    assert not torch.equal(other.codes, y.codes)
    values = []
    for each in (y, other):
        torch.manual_seed(0)
        values.append(detached_value(model, x, each, most=most, samples=2))
    assert torch.equal(*values)


def test_alpha_gives_pictures_without_labels_no_gradient():
    x, gradients = pictures(TWO), []
    for alpha in (0.0, 100.0):
        model = Mixture(TWO, tilt_y=1.0)
        torch.manual_seed(0)
        semi_dgm(model, x, labels(TWO, "none"), alpha=alpha).value.sum().backward()
        gradients.append(model.tilt_y.grad)
    assert torch.equal(*gradients)


def test_alpha_is_all_that_a_classifier_learns_from_whole_labels():
    model, x, y = Mixture(ONE, tilt_y=1.0), pictures(ONE), labels(ONE, "all")
    semi_dgm(model, x, y, alpha=4.0, gamma=0.5).value.sum().backward()
    miss = one_hot(y.codes, 3) - model.q_y_given_x(x).probs
    assert_close(model.tilt_y.grad, 2 * miss.sum(0).detach())


# A network of its own


def make(networks: str = "dense", vocabulary: Vocabulary = TWO) -> SemiVAE:
    torch.manual_seed(0)
    return SemiVAE(vocabulary, (1, 16, 16), 3, networks, width=2, hidden=8)


def drawings(count: int = ROWS) -> Tensor:
    random = torch.Generator().manual_seed(4)
    return (torch.rand(count, 1, 16, 16, generator=random) < 0.3).float()


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("vocabulary", [ONE, TWO])
def test_m2_is_the_special_case_bit_by_bit(known, vocabulary):
    model, x, y = make(vocabulary=vocabulary), drawings(), labels(vocabulary, known)
    torch.manual_seed(1)
    one = m2(model, x, y, alpha=9.0)
    torch.manual_seed(1)
    other = semi_dgm(model, x, y, alpha=9.0, gamma=1.0, samples=1, consistency=0.0)
    assert torch.equal(one.value, other.value)
    assert one.terms.keys() == other.terms.keys()
    assert all(torch.equal(one.terms[name], other.terms[name]) for name in one.terms)


@pytest.mark.parametrize("weights", [{}, {"most": 0}, {"samples": 2}, {"consistency": 1.0}])
@pytest.mark.parametrize("known", ["all", "none"])
def test_gradients_reach_every_weight_and_are_finite(weights, known):
    model = make("conv")
    semi_dgm(model, drawings(), labels(TWO, known), **weights).value.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    moving = {name.split(".")[0] for name, p in model.named_parameters() if p.grad.abs().max() > 0}
    assert moving == {"label_reader", "image_encoder", "joint_encoder", "image_decoder"}


def test_a_certain_classifier_stays_finite():
    model = make()
    with torch.no_grad():
        model.label_reader[1][-1].bias.copy_(torch.tensor([1e3, 0.0, -1e3, 1e3, -1e3, 0.0]))
    for weights in ({"consistency": 1.0}, {"most": 0}):
        bound = semi_dgm(model, drawings(), labels(TWO, "none"), **weights)
        bound.value.sum().backward()
        assert all(term.isfinite().all() for term in bound.terms.values())
        assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("networks", ["dense", "conv"])
def test_bfloat16_changes_the_bound_by_little(networks):
    model, x, y = make(networks).eval(), drawings(), labels(TWO, "partial")
    values = []
    for enabled in (False, True):
        torch.manual_seed(1)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            values.append(detached_value(model, x, y, consistency=1.0))
    assert values[1].dtype == torch.float32
    assert_close(values[1], values[0], rtol=0.01, atol=0)
    assert not torch.equal(*values)


@pytest.mark.parametrize(
    "weights", [{"samples": 2, "consistency": 1.0}, {"most": 0, "beta": torch.ones(())}]
)
def test_nothing_waits_for_a_number(weights):
    # Tensors without numbers: whatever reads one, or has a shape that depends on one, raises.
    model, x, y = make("conv"), drawings(), labels(TWO, "partial")
    semi_dgm(model, x, y, **weights)  # what is made once and kept
    with FakeTensorMode(allow_non_fake_inputs=True) as fake:
        x, y = fake.from_tensor(x), Labels(*(fake.from_tensor(t) for t in y))
        value = semi_dgm(model, x, y, **weights).value
        gradients = torch.autograd.grad(value.mean(), list(model.parameters()))
    assert value.shape == (ROWS,)
    assert len(gradients) == len(list(model.parameters()))


def test_the_objectives_are_known_by_name():
    assert get_objective("semi-dgm").function is semi_dgm
    assert get_objective("m2").function is m2
    get_objective("semi-dgm").check({"alpha": 1, "samples": 4.0, "most": 100.0, "consistency": 2})


def taught(count: int) -> float:
    """How well a classifier does that saw six labels and so many pictures of three noisy kinds."""
    random = torch.Generator().manual_seed(8)
    kinds = torch.arange(240) % 3
    templates = torch.rand(3, 1, 16, 16, generator=random) < 0.5
    noise = torch.rand(240, 1, 16, 16, generator=random) < 0.38
    x, y = (
        (templates[kinds] ^ noise).float(),
        Labels(kinds[:, None], torch.arange(240)[:, None] < 6),
    )
    torch.manual_seed(0)
    model = SemiVAE(ONE, (1, 16, 16), 1, hidden=32)
    adam = torch.optim.Adam(model.parameters(), 6e-3)
    for _ in range(60):
        loss = -m2(model, x[:count], Labels(*(t[:count] for t in y)), alpha=100.0).value.mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return (model(x).mode[6:, 0] == kinds[6:]).float().mean().item()


def test_pictures_without_labels_teach_the_classifier():
    assert taught(240) > 0.9
    assert taught(6) < 0.75


# Consistency


def test_consistency_is_subtracted_with_its_weight():
    model, x, y = make().eval(), drawings(), labels(TWO, "mixed")
    bounds = []
    for weight in (0.0, 3.0):
        torch.manual_seed(1)
        bounds.append(semi_dgm(model, x, y, consistency=weight))
    kl = bounds[1].terms["kl_moved"]
    assert_close(bounds[1].value, bounds[0].value - 3 * kl)
    assert (kl > 0).all()
    assert "kl_moved" not in bounds[0].terms


STILL = {"consistency": 1.0, "shift": 0.0, "turn": 0.0, "zoom": 1.0}


def test_a_picture_that_is_not_moved_is_consistent_with_itself_and_its_label():
    model, x, y = make().eval(), drawings(), labels(TWO, "partial")
    bound = semi_dgm(model, x, y, sharpen=1.0, **STILL)
    assert_close(bound.terms["kl_moved"], -bound.terms["log_qy"], atol=1e-5, rtol=1e-4)


def test_sharper_beliefs_ask_for_more_certainty():
    model, x, y = make().eval(), drawings(), labels(TWO, "none")
    q = model.q_y_given_x(x)
    bound = semi_dgm(model, x, y, sharpen=3.0, **STILL)
    expected = 0
    for p in q.by_attribute():
        r = p**3 / (p**3).sum(-1, keepdim=True)
        expected += (r * (r / p).log()).sum(-1)
    assert_close(bound.terms["kl_moved"], expected, atol=1e-6, rtol=1e-4)
    assert (bound.terms["kl_moved"] > 0).all()


def test_a_belief_does_not_bend_to_the_moved_picture():
    model, x, y = make().eval(), drawings(), labels(TWO, "none")
    q = model.q_y_given_x(x)
    semi_dgm(model, x, y, sharpen=1.0, **STILL).terms["kl_moved"].sum().backward()
    # At equal beliefs the divergence is least in its second argument; bent, it would be in both.
    assert all(p.grad is None or p.grad.abs().max() < 1e-5 for p in model.parameters())
    model.zero_grad()
    semi_dgm(model, x, y, sharpen=2.0, **STILL).terms["kl_moved"].sum().backward()
    expected = (q.probs - q.probs**2 / (q.probs**2).sum(-1, keepdim=True)).sum(0)
    last = model.label_reader[1][-1].bias.grad.view(2, 3)
    assert_close(last, expected, atol=1e-5, rtol=1e-4)


# Moving pictures


def test_pictures_that_are_moved_by_nothing_are_the_same():
    x = torch.rand(4, 2, 16, 20)
    assert_close(moved(x, 0.0, 0.0, 1.0), x, atol=1e-5, rtol=0)


def centre(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean row and column of the ink, `(B,)`."""
    ink = x[:, 0] / x[:, 0].sum((1, 2), keepdim=True)
    rows, columns = torch.arange(x.shape[2]), torch.arange(x.shape[3])
    return (ink.sum(2) * rows).sum(1), (ink.sum(1) * columns).sum(1)


def test_moves_are_as_far_as_they_may_be_and_no_further():
    x = torch.zeros(2000, 1, 21, 31)
    x[:, :, 10, 15] = 1
    torch.manual_seed(0)
    rows, columns = centre(moved(x, 3.0, 0.0, 1.0))
    for found, start in ((rows, 10), (columns, 15)):
        assert 2.9 < (found - start).max() < 3.001
        assert -3.001 < (found - start).min() < -2.9
        assert (found - start).mean().abs() < 0.15


def test_turning_keeps_distances_in_pixels_on_oblong_pictures_too():
    x = torch.zeros(2000, 1, 41, 61)
    x[:, :, 18:23, 38:43] = 1  # ten pixels to the right of the centre
    torch.manual_seed(0)
    rows, columns = centre(moved(x, 0.0, 30.0, 1.0))
    distance, angle = torch.hypot(rows - 20, columns - 30), torch.atan2(rows - 20, columns - 30)
    assert_close(distance, torch.full((2000,), 10.0), atol=0.2, rtol=0)
    assert 28 < angle.rad2deg().max() < 31
    assert -31 < angle.rad2deg().min() < -28


def test_zooming_enlarges_as_often_as_it_shrinks():
    x = torch.zeros(2000, 1, 41, 41)
    x[:, :, 10:31, 10:31] = 1
    torch.manual_seed(0)
    sides = moved(x, 0.0, 0.0, 1.5).sum((1, 2, 3)).sqrt() / 21
    assert sides.max().item() == pytest.approx(1.5, rel=0.03)
    assert sides.min().item() == pytest.approx(1 / 1.5, rel=0.03)
    assert sides.log().mean().abs() < 0.02


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"samples": 0}, "`samples=0` must be a whole number"),
        ({"samples": 2.5}, r"`samples=2\.5` must be a whole number"),
        ({"temperature": 0.0}, r"`temperature=0\.0` must be above 0"),
        ({"zoom": 0.0}, r"`zoom=0\.0` must be above 0"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(UsageError, match=message):
        semi_dgm(Mixture(ONE), pictures(ONE), labels(ONE, "all"), **weights)


def test_m2_refuses_to_score_very_many_descriptions():
    words = Vocabulary([Attribute(name, [str(v) for v in range(11)]) for name in "abc"])
    model = SemiVAE(words, (1, 2, 2), latent=2, hidden=4)
    x, y = torch.zeros(2, 1, 2, 2), Labels.full(torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(UsageError, match=r"there are 1331, more than 1000.* objectives=semi-dgm"):
        m2(model, x, y)
    assert semi_dgm(model, x, y).value.isfinite().all()
