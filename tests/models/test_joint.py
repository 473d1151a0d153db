"""The joint VAE: what its methods return, and what it must not depend on."""

import re

import pytest
import torch
from torch.distributions import Bernoulli, Independent, kl_divergence
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.distributions import Attributes, ProductOfExperts
from mindseye.errors import UsageError, listed
from mindseye.labels import Labels, encode
from mindseye.models import JointVAE, frozen
from mindseye.networks import NETWORKS

WORDS = Vocabulary(
    [
        Attribute("digit", [str(d) for d in range(10)]),
        Attribute("size", ["big", "small"]),
        Attribute("orientation", ["clockwise", "upright", "anticlockwise"]),
        Attribute("location", ["top-left", "top-right", "bottom-left", "bottom-right"]),
    ]
)
SHAPE = (1, 64, 64)
B, K, D = 5, 4, 3


def make(networks: str = "lean", **sizes: int) -> JointVAE:
    torch.manual_seed(0)
    sizes = {"width": 16, "hidden": 24} | sizes
    return JointVAE(WORDS, SHAPE, D, networks, **sizes)


def examples(count: int = B) -> tuple[torch.Tensor, Labels]:
    torch.manual_seed(1)
    x = (torch.rand(count, *SHAPE) < 0.1).float()
    return x, Labels.full(torch.stack([torch.randint(n, (count,)) for n in WORDS.sizes], 1))


def used(model: JointVAE) -> JointVAE:
    """The model in evaluation mode, its running averages no longer those of the start."""
    x, y = examples(16)
    model.train()
    for _ in range(20):
        model.p_x(model.q_xy(x, y).rsample())
        model.q_x(x)
    return model.eval()


@pytest.fixture(scope="module", params=["lean", "paper", "dense"])
def model(request) -> JointVAE:
    return used(make(request.param))


# Every method returns a distribution


def test_the_prior_is_standard_normal(model):
    assert model.prior.event_shape == (D,)
    assert model.prior.batch_shape == ()
    assert model.prior.mean.tolist() == [0] * D
    assert model.prior.stddev.tolist() == [1] * D


def test_pictures_have_one_probability_a_pixel(model):
    p = model.p_x(torch.randn(B, D))
    assert isinstance(p, Independent)
    assert isinstance(p.base_dist, Bernoulli)
    assert p.batch_shape == (B,)
    assert p.event_shape == SHAPE
    assert p.log_prob(examples()[0]).shape == (B,)
    assert 0 < p.mean.min() < p.mean.max() < 1


def test_words_have_one_distribution_an_attribute(model):
    p = model.p_y(torch.randn(B, D))
    assert isinstance(p, Attributes)
    assert p.log_prob(examples()[1]).shape == (B,)
    assert [probs.shape for probs in p.by_attribute()] == [(B, n) for n in WORDS.sizes]
    assert_close(p.probs.sum(-1), torch.ones(B, K))


def test_every_reader_believes_something_about_every_latent(model):
    x, y = examples()
    for q in (model.q_x(x), model.q_y(y), model.q_xy(x, y)):
        assert q.batch_shape == (B,)
        assert q.event_shape == (D,)
        assert q.rsample(torch.Size([2])).shape == (2, B, D)
        assert kl_divergence(q, model.prior).shape == (B,)
        assert (q.stddev > 0).all()
    assert isinstance(model.q_y(y), ProductOfExperts)


def test_gradients_reach_every_parameter_through_the_joint_reader():
    model, (x, y) = make(), examples()
    z = model.q_xy(x, y).rsample()
    (model.p_x(z).log_prob(x) + model.p_y(z).log_prob(y)).sum().backward()
    for part in (model.image_decoder, model.label_decoder, model.joint_encoder):
        assert all(p.grad is not None and p.grad.isfinite().all() for p in part.parameters())


# Words


def test_nothing_said_leaves_the_prior(model):
    q = model.q_y(encode([WORDS.root]))
    assert_close(q.mean, torch.zeros(1, D))
    assert_close(q.stddev, torch.ones(1, D))


def test_codes_that_were_not_said_mean_nothing(model):
    codes, observed = torch.tensor([[4, 1, 2, 3], [4, 0, 0, 0]]), torch.tensor([True] + [False] * 3)
    q = model.q_y(Labels(codes, observed.expand(2, 4)))
    assert torch.equal(q.mean[0], q.mean[1])
    assert torch.equal(q.stddev[0], q.stddev[1])


def test_every_further_word_narrows_the_belief(model):
    concept = WORDS.parse("digit=4, size=big, orientation=upright, location=top-left")
    said = [WORDS.concept(**dict(list(concept.values.items())[:level])) for level in range(5)]
    widths = model.q_y(encode(said)).stddev
    assert (widths.diff(dim=0) < 0).all()


def test_the_belief_of_two_words_is_the_product_of_theirs(model):
    both, one, other = model.q_y(
        encode([WORDS.parse(text) for text in ("4, small", "digit=4", "small")])
    ).base_dist.expand((3, D)).variance.reciprocal()  # fmt: skip
    assert_close(both, one + other - 1)  # the prior's precision is in each of them


# Atomic words


@pytest.fixture(scope="module")
def atomic() -> JointVAE:
    torch.manual_seed(0)
    return JointVAE(WORDS, SHAPE, D, "lean", width=16, hidden=24, words="atomic").eval()


def test_an_atomic_description_has_the_numbers_of_its_own_row(atomic):
    features = atomic.label_encoder().flatten(0, -2)  # one row for each of 240
    codes = torch.tensor([concept.codes for concept in WORDS.concepts(K)])
    row = ((codes[:, 0] * 2 + codes[:, 1]) * 3 + codes[:, 2]) * 4 + codes[:, 3]
    assert_close(atomic.q_y(Labels.full(codes)).mean, features[row, :D])


def test_atomic_words_are_not_multiplied(atomic):
    digit, size, both = (
        atomic.q_y(encode([WORDS.parse(text)])).variance.reciprocal()
        for text in ("digit=4", "small", "4, small")
    )
    assert not torch.allclose(both, digit + size - 1, rtol=0.1)


@pytest.mark.parametrize("text", ["digit=4", "small, top-left", "3, big, upright"])
def test_a_partial_atomic_description_has_the_moments_of_those_that_fit(atomic, text):
    concept = WORDS.parse(text)
    fitting = [full for full in WORDS.concepts(K) if concept.generalizes(full)]
    q, each = atomic.q_y(encode([concept])), atomic.q_y(encode(fitting))
    assert_close(q.mean[0], each.mean.mean(0))
    assert_close(q.variance[0], each.variance.mean(0) + each.mean.var(0, correction=0))


def test_nothing_said_leaves_the_prior_of_atomic_words_too(atomic):
    q = atomic.q_y(encode([WORDS.root]))
    assert kl_divergence(q, atomic.prior).item() == 0


def test_unknown_kinds_of_words_are_refused():
    message = r"`words='atomc'` is not known; expected 'factorised' or 'atomic'\. .*'atomic'\?"
    with pytest.raises(UsageError, match=message):
        JointVAE(WORDS, SHAPE, D, "lean", words="atomc")


# A picture does not depend on its neighbours


def test_one_picture_is_read_as_in_a_batch(model):
    x, y = examples()
    for i in range(B):
        alone = Labels(y.codes[i : i + 1], y.observed[i : i + 1])
        pairs = [
            (model.q_x(x), model.q_x(x[i : i + 1])),
            (model.q_y(y), model.q_y(alone)),
            (model.q_xy(x, y), model.q_xy(x[i : i + 1], alone)),
        ]
        for many, one in pairs:
            assert_close(many.mean[i], one.mean[0], atol=1e-5, rtol=0)
            assert_close(many.stddev[i], one.stddev[0], atol=1e-5, rtol=0)


def test_one_latent_is_drawn_as_in_a_batch(model):
    z = torch.randn(B, D)
    pictures, words = model.p_x(z).mean, model.p_y(z).probs
    for i in range(B):
        assert_close(pictures[i], model.p_x(z[i : i + 1]).mean[0], atol=1e-5, rtol=0)
        assert_close(words[i], model.p_y(z[i : i + 1]).probs[0], atol=1e-5, rtol=0)


def test_nothing_is_learnt_in_evaluation_mode(model):
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x, y = examples()
    model.p_x(model.q_xy(x, y).mean), model.q_x(x), model.q_y(y)
    assert all(torch.equal(before[name], t) for name, t in model.state_dict().items())


# Extremes


def test_a_reader_that_has_run_away_stays_finite():
    model = make()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(100)
    x, y = examples()
    for q in (model.q_x(x), model.q_y(y), model.q_xy(x, y)):
        assert q.stddev.isfinite().all()
        assert (q.stddev > 0).all()


# Sizes


def test_the_papers_model_has_31_million_weights():
    # 17.4 M draw pictures and 0.1 M words; 2.7 M read pictures, 3.3 M words and 7.5 M both.
    with torch.device("meta"):
        model = JointVAE(WORDS)
    parts = {name: sum(p.numel() for p in m.parameters()) for name, m in model.named_children()}
    assert parts == {
        "image_decoder": 17_374_081,
        "label_decoder": 76_840,
        "image_encoder": 2_663_684,
        "label_encoder": 3_261_776,
        "joint_encoder": 7_458_308,
    }
    assert sum(parts.values()) == 30_834_689


def test_a_lean_model_has_a_fifteenth_of_them():
    with torch.device("meta"):
        model = JointVAE(WORDS, networks="lean")
    assert sum(p.numel() for p in model.parameters()) == 2_121_264


def test_the_regularised_weights_are_those_of_the_words_decoder():
    model = make()
    assert {id(p) for p in model.decayed()} == {id(w) for w in model.label_decoder.weights}


def test_the_decoders_are_the_generative_half():
    model = make()
    parts = {id(p) for d in model.decoders for p in d.parameters()}
    named = [(n, p) for n, p in model.named_parameters() if id(p) in parts]
    assert all(name.startswith(("image_decoder", "label_decoder")) for name, _ in named)
    assert len(named) == sum("decoder" in name for name, _ in model.named_parameters())


# Freezing


def test_frozen_decoders_pass_gradients_on_and_keep_none():
    model, z = make(), torch.randn(B, D, requires_grad=True)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with frozen(model.decoders):
        model.p_x(z).log_prob(examples()[0]).sum().backward()
    assert z.grad is not None
    assert z.grad.abs().max() > 0
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert all(torch.equal(before[name], t) for name, t in model.state_dict().items())


def test_a_frozen_decoder_normalises_by_its_batch_as_before():
    model, z = make(), torch.randn(B, D)
    with frozen(model.decoders):
        still = model.p_x(z).mean
    assert torch.equal(still, model.p_x(z).mean)


# Words to people


def test_repr_shows_the_factorisation_and_the_vocabulary():
    text = repr(make())
    assert "p(x, y, z) = p(z) p(x | z) ∏ p(y_k | z)" in text
    assert "q(z | y_O)" in text
    assert "latent 3" in text
    assert "digit (10), size (2), orientation (3), location (4)" in text


def test_unknown_networks_are_refused():
    known = re.escape(listed(NETWORKS))
    message = rf"`networks='leen'` is not known; expected {known}\. .*'lean'\?"
    with pytest.raises(UsageError, match=message):
        JointVAE(WORDS, SHAPE, D, "leen")
