"""The semi-supervised VAE: what its methods return, and what it must not depend on."""

import pytest
import torch
from torch.distributions import Bernoulli, kl_divergence
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.distributions import Attributes
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.joint import frozen
from mindseye.models.semi import SemiVAE

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
DIGITS = Vocabulary([Attribute("digit", [str(d) for d in range(10)])])
SHAPE = (1, 16, 16)
B, K, V, D = 5, 2, 3, 4


def make(networks: str = "dense", **options) -> SemiVAE:
    torch.manual_seed(0)
    sizes = {"latent": D, "width": 4, "hidden": 12}
    return SemiVAE(WORDS, SHAPE, networks=networks, **(sizes | options))


def pictures(count: int = B, shape=SHAPE) -> torch.Tensor:
    return (torch.rand(count, *shape, generator=torch.Generator().manual_seed(1)) < 0.3).float()


def labels(count: int = B) -> Labels:
    return Labels.full(torch.stack([torch.arange(count) % 3, torch.arange(count) % 2], 1))


def one_hot(y: Labels) -> torch.Tensor:
    return torch.nn.functional.one_hot(y.codes, V).float()


@pytest.fixture(scope="module", params=["dense", "conv"])
def model(request) -> SemiVAE:
    made = make(request.param)
    for _ in range(20):  # running averages that are no longer those of the start
        made.q_y_given_x(pictures())
    return made.eval()


# Every method returns a distribution


def test_the_prior_is_standard_normal(model):
    assert model.prior.event_shape == (D,)
    assert model.prior.mean.tolist() == [0] * D
    assert model.prior.stddev.tolist() == [1] * D


def test_descriptions_are_uniform_by_default(model):
    digit, size = model.prior_y.by_attribute()
    assert_close(digit, torch.full((3,), 1 / 3))
    assert_close(size, torch.full((2,), 1 / 2))


def test_marginals_are_those_given():
    digit, size = make(marginals=[[1, 1, 2], [0.9, 0.1]]).prior_y.by_attribute()
    assert_close(digit, torch.tensor([0.25, 0.25, 0.5]))
    assert_close(size, torch.tensor([0.9, 0.1]))


def test_pictures_have_one_probability_a_pixel(model):
    p = model.p_x(torch.randn(B, D), labels())
    assert isinstance(p.base_dist, Bernoulli)
    assert p.batch_shape == (B,)
    assert p.event_shape == SHAPE
    assert p.log_prob(pictures()).shape == (B,)


def test_every_attribute_has_a_distribution(model):
    q = model.q_y_given_x(pictures())
    assert isinstance(q, Attributes)
    assert [probs.shape for probs in q.by_attribute()] == [(B, 3), (B, 2)]
    assert_close(q.probs.sum(-1), torch.ones(B, K))
    assert torch.equal(model(pictures()).log_probs, q.log_probs)


def test_the_manner_has_a_belief_for_every_picture(model):
    q = model.q_xy(pictures(), labels())
    assert q.batch_shape == (B,)
    assert q.event_shape == (D,)
    assert kl_divergence(q, model.prior).shape == (B,)


# What a description is


def test_labels_and_one_hot_vectors_are_the_same_description(model):
    x, y, z = pictures(), labels(), torch.randn(B, D)
    assert torch.equal(model.p_x(z, y).logits, model.p_x(z, one_hot(y)).logits)
    assert torch.equal(model.q_xy(x, y).mean, model.q_xy(x, one_hot(y)).mean)


def test_many_descriptions_of_a_picture_are_read_as_one_by_one(model):
    x, codes = pictures(), torch.randint(2, (3, 2, B, K))
    together = model.q_xy(x, torch.nn.functional.one_hot(codes, V).float())
    assert together.batch_shape == (3, 2, B)
    for i in range(3):
        for j in range(2):
            alone = model.q_xy(x, Labels.full(codes[i, j]))
            assert_close(together.mean[i, j], alone.mean, atol=1e-6, rtol=0)
            assert_close(together.stddev[i, j], alone.stddev, atol=1e-6, rtol=0)


def test_many_descriptions_are_drawn_as_one_by_one(model):
    z, codes = torch.randn(3, B, D), torch.randint(2, (3, B, K))
    together = model.p_x(z, torch.nn.functional.one_hot(codes, V).float())
    assert together.batch_shape == (3, B)
    for i in range(3):
        alone = model.p_x(z[i], Labels.full(codes[i]))
        assert_close(together.log_prob(pictures())[i], alone.log_prob(pictures()))


def test_pictures_and_manners_depend_on_the_description(model):
    z, x = torch.randn(B, D), pictures()
    one, other = labels(), Labels.full((labels().codes + 1) % torch.tensor([3, 2]))
    assert (model.p_x(z, one).mean - model.p_x(z, other).mean).abs().amax((1, 2, 3)).min() > 1e-3
    assert (model.q_xy(x, one).mean - model.q_xy(x, other).mean).abs().amax(1).min() > 1e-3


def test_what_is_left_open_is_drawn_from_the_marginals():
    made, count = make(marginals=[[0.2, 0.3, 0.5], [0.9, 0.1]]), 20_000
    u = torch.rand(count, K, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    observed = torch.tensor([[False, True]]).expand(count, -1)
    y = made.filled(Labels(torch.ones(count, K, dtype=torch.int64), observed), u)
    assert y.observed.all()
    assert (y.codes[:, 1] == 1).all()
    shares = torch.bincount(y.codes[:, 0], minlength=3) / count
    assert_close(shares, torch.tensor([0.2, 0.3, 0.5]), atol=0.015, rtol=0)


def test_the_largest_uniform_number_draws_the_last_value():
    nothing = Labels(torch.zeros(1, K, dtype=torch.int64), torch.zeros(1, K, dtype=torch.bool))
    for value, codes in ((1 - 2.0**-53, [2, 1]), (2.0**-53, [0, 0])):
        u = torch.full((1, K), value, dtype=torch.float64)
        assert make().filled(nothing, u).codes.tolist() == [codes]


# A picture does not depend on its neighbours


def test_one_picture_is_read_and_drawn_as_in_a_batch(model):
    x, y, z = pictures(), labels(), torch.randn(B, D)
    for i in range(B):
        here, alone = slice(i, i + 1), Labels.full(labels().codes[i : i + 1])
        pairs = [
            (model.q_y_given_x(x).probs, model.q_y_given_x(x[here]).probs),
            (model.q_xy(x, y).mean, model.q_xy(x[here], alone).mean),
            (model.p_x(z, y).mean, model.p_x(z[here], alone).mean),
        ]
        for many, one in pairs:
            assert_close(many[i], one[0], atol=1e-5, rtol=0)


def test_reading_is_certain_and_training_is_not():
    made, x = make("conv"), pictures()
    assert not torch.equal(made(x).log_probs, made(x).log_probs)  # dropout
    made.eval()
    assert torch.equal(made(x).log_probs, made(x).log_probs)


def test_without_dropout_training_is_certain_too():
    made, x = make("conv", dropout=0.0), pictures()
    assert torch.equal(made(x).log_probs, made(x).log_probs)


# Numbers


@pytest.mark.parametrize("networks", ["dense", "conv"])
def test_bfloat16_is_left_before_anything_is_a_probability(networks):
    made, x, y = make(networks).eval(), pictures(), labels()
    with torch.autocast("cpu", torch.bfloat16):
        q_y, q_z = made.q_y_given_x(x), made.q_xy(x, y)
        p = made.p_x(q_z.rsample(), y)
    found = (q_y.logits, q_z.mean, q_z.stddev, p.logits, p.log_prob(x))
    assert all(tensor.dtype == torch.float32 for tensor in found)
    assert_close(q_y.probs, made.q_y_given_x(x).probs, atol=0.02, rtol=0)
    assert_close(q_z.mean, made.q_xy(x, y).mean, atol=0.05, rtol=0)


def test_all_that_is_saved_is_finite():
    # A run looks at every tensor of its state; the padding of p(y) is no infinity.
    assert all(tensor.isfinite().all() for tensor in make("conv").state_dict().values())


def test_a_reader_that_has_run_away_stays_finite():
    made = make()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(100)
    q = made.q_xy(pictures(), labels())
    assert q.stddev.isfinite().all()
    assert (q.stddev > 0).all()


# Sizes


@pytest.mark.parametrize("shape", [(1, 16, 16), (1, 28, 28), (3, 17, 40), (1, 64, 64)])
@pytest.mark.parametrize("networks", ["dense", "conv"])
def test_pictures_may_have_any_shape(networks, shape):
    made = SemiVAE(WORDS, shape, D, networks, width=2, hidden=8)
    x, y = pictures(3, shape), labels(3)
    assert made.q_y_given_x(x).log_probs.shape == (3, K, V)
    assert made.p_x(made.q_xy(x, y).rsample(), y).log_prob(x).shape == (3,)


@pytest.mark.parametrize(("networks", "reader"), [("dense", 648_010), ("conv", 261_098)])
def test_sizes_are_those_of_the_documentation(networks, reader):
    with torch.device("meta"):
        made = SemiVAE(DIGITS, networks=networks)
    parts = {name: sum(p.numel() for p in m.parameters()) for name, m in made.named_children()}
    assert parts == {
        "label_reader": reader,
        "image_encoder": 784 * 500 + 500,
        "joint_encoder": 510 * 500 + 500 + 500 * 100 + 100,
        "image_decoder": 60 * 500 + 500 + 500 * 500 + 500 + 500 * 784 + 784,
    }


def test_decoders_and_readers_share_no_weight_and_are_all():
    made = make("conv")
    decoding = {id(p) for part in made.decoders for p in part.parameters()}
    reading = {id(p) for part in made.image_readers for p in part.parameters()}
    assert not decoding & reading
    assert decoding | reading == {id(p) for p in made.parameters()}


def test_the_regularised_weights_are_those_of_the_classifier():
    made = make("conv")
    names = {id(p): name for name, p in made.named_parameters()}
    decayed = [names[id(p)] for p in made.decayed()]
    assert len(decayed) == 5  # four convolutions and the logits; no bias, no normalisation
    assert all(name.startswith("label_reader") and name.endswith("weight") for name in decayed)


def test_frozen_readers_keep_their_statistics():
    made = make("conv")
    before = {name: tensor.clone() for name, tensor in made.state_dict().items()}
    with frozen(made.image_readers):
        made.q_y_given_x(pictures())
    assert all(torch.equal(before[name], t) for name, t in made.state_dict().items())


# Words to people


def test_repr_shows_the_factorisation_and_the_vocabulary(model):
    text = repr(model)
    assert "p(x, y, z) = p(z) p(x | y, z) ∏ p(y_k)" in text
    assert "q(y, z | x) = q(z | x, y) ∏ q(y_k | x)" in text
    assert "latent 4, attributes digit (3), size (2)" in text


def test_unknown_networks_are_refused():
    message = r"`networks='cov'` is not known; expected 'dense' or 'conv'\. .*'conv'\?"
    with pytest.raises(UsageError, match=message):
        SemiVAE(WORDS, SHAPE, networks="cov")


def test_pictures_too_small_for_convolutions_are_refused():
    with pytest.raises(UsageError, match=r"at least 16 by 16 pixels; `shape` has 8 by 20"):
        SemiVAE(WORDS, (1, 8, 20), networks="conv")


@pytest.mark.parametrize(
    ("marginals", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], r"`marginals` has \[2, 2\] values; expected \[3, 2\]"),
        ([[0.2, 0.3, 0.5]], r"`marginals` has \[3\] values; expected \[3, 2\]"),
        ([[0.5, 0.5, 0.0], [0.5, 0.5]], "`marginals` must be positive"),
    ],
)
def test_marginals_that_do_not_fit_are_refused(marginals, message):
    with pytest.raises(UsageError, match=message):
        make(marginals=marginals)


def test_pictures_of_which_nothing_can_be_said_are_refused():
    with pytest.raises(UsageError, match="nothing can be said of these pictures"):
        SemiVAE(Vocabulary([]))
