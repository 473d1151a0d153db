"""The vision-language VAE: what its methods return, and what they must not depend on."""

from itertools import product

import pytest
import torch
from torch.testing import assert_close

from mindseye.captions import Sentence
from mindseye.concepts import Attribute
from mindseye.distributions import BetaPixels, Sentences
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.models import VLVAE
from mindseye.models.vlvae import CaptionEncoder, words_of
from mindseye.objectives import vlvae_bound

WORDS = Sentence(
    [
        Attribute("size", ["large", "small"]),
        Attribute("colour", ["red", "green", "blue"]),
        Attribute("other size", ["small", "large"]),
    ]
)
EVERY = Labels.full(torch.tensor(list(product(*map(range, WORDS.sizes)))))
SHAPE = (3, 16, 16)
B, K, D = 12, 3, 4


def make(inference: str = "marginal", networks: str = "folded") -> VLVAE:
    torch.manual_seed(0)
    return VLVAE(WORDS, SHAPE, D, networks, width=4, hidden=16, inference=inference)


def pictures(count: int = B) -> torch.Tensor:
    return torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(1))


def used(model: VLVAE) -> VLVAE:
    """The model in evaluation mode, its running averages no longer those of the start."""
    for _ in range(20):
        vlvae_bound(model, pictures(), EVERY)
    return model.eval()


@pytest.fixture(scope="module", params=["marginal", "joint"])
def model(request) -> VLVAE:
    return used(make(request.param))


@pytest.fixture(scope="module")
def marginal() -> VLVAE:
    return used(make())


# Every method returns a distribution


def test_the_prior_is_standard_normal_and_believed_whatever_is_said(model):
    assert model.prior.event_shape == (D,)
    q = model.q_y(EVERY)
    assert torch.equal(q.mean, torch.zeros(B, D))
    assert torch.equal(q.stddev, torch.ones(B, D))


def test_pictures_and_captions_have_likelihoods(model):
    z = torch.randn(B, D)
    assert isinstance(model.p_x(z), BetaPixels)
    assert isinstance(model.p_y(z), Sentences)
    assert model.p_x(z).log_prob(pictures()).shape == (B,)
    assert model.p_y(z).log_prob(EVERY).shape == (B,)
    q = model.q_xy(pictures(), EVERY)
    assert q.rsample().shape == (B, D)


def test_latents_may_have_any_leading_sizes(marginal):
    z = torch.randn(2, 3, D)
    together = marginal.p_x(z)
    assert (together.batch_shape, together.event_shape) == ((2, 3), SHAPE)
    assert_close(together.mean[1, 2], marginal.p_x(z[1]).mean[2])


@pytest.mark.parametrize("inference", ["marginal", "joint"])
@pytest.mark.parametrize("networks", ["folded", "residual"])
def test_gradients_reach_every_parameter(inference, networks):
    model = make(inference, networks)
    vlvae_bound(model, pictures(), EVERY).value.sum().backward()
    lost = [
        name
        for name, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()
    ]
    assert lost == []


# Captions


def test_words_of_two_places_may_be_the_same_word():
    words, codes = words_of(WORDS)
    assert words == ["large", "small", "red", "green", "blue"]
    assert codes == [[0, 1], [2, 3, 4], [1, 0]]


def test_a_word_depends_on_those_before_it_and_on_no_others(model):
    z = torch.randn(1, D).expand(B, -1)
    given = model.p_y(z).given(EVERY.codes).probs.view(*WORDS.sizes, K, 3)
    for k in range(K):
        here, later = given[..., k, :], tuple(range(k, K))
        assert_close(here.amax(later), here.amin(later), rtol=0, atol=1e-6)
        if k:
            assert (here.amax(k - 1) - here.amin(k - 1)).max() > 1e-3


def test_captions_of_a_latent_have_a_chance_below_one(model):
    p = model.p_y(torch.randn(1, D).expand(B, -1))
    chance = p.log_prob(EVERY).exp()
    assert chance.min() > 0
    assert chance.sum() < 1
    own = p.given(EVERY.codes).probs.gather(-1, EVERY.codes[..., None])[..., 0].prod(-1)
    assert_close(own.sum(), torch.tensor(1.0))


def test_a_caption_depends_on_its_own_latent_alone(model):
    z = torch.randn(B, D, requires_grad=True)
    (grad,) = torch.autograd.grad(model.p_y(z).log_prob(EVERY)[4], z)
    assert grad.abs().amax(1).nonzero().tolist() == [[4]]


# Pictures


def test_what_is_read_of_a_picture_is_independent_of_the_rest(model):
    x = pictures().requires_grad_()
    q = model.q_xy(x, EVERY)
    (grad,) = torch.autograd.grad(q.mean[4].sum() + q.stddev[4].sum(), x)
    assert grad.abs().amax((1, 2, 3)).nonzero().tolist() == [[4]]
    alone = model.q_xy(x[4:5], Labels.full(EVERY.codes[4:5]))
    assert_close(alone.mean, q.mean[4:5], rtol=0, atol=1e-5)
    assert_close(alone.stddev, q.stddev[4:5], rtol=1e-4, atol=0)


def test_by_marginal_inference_captions_are_not_looked_at(marginal):
    q, other = marginal.q_x(pictures()), marginal.q_xy(pictures(), EVERY)
    assert torch.equal(q.mean, other.mean)
    assert torch.equal(q.stddev, other.stddev)


def test_by_joint_inference_captions_are_looked_at():
    model = used(make("joint"))
    x = pictures(1).expand(B, -1, -1, -1)
    assert len(model.q_xy(x, EVERY).mean.unique(dim=0)) == B


def test_by_joint_inference_nothing_is_read_of_a_picture_alone():
    model = make("joint")
    assert model.joint
    with pytest.raises(UsageError, match="infers nothing from a picture alone") as refused:
        model.q_x(pictures())
    assert "caption" in (refused.value.hint or "")


def test_training_begins_near_the_mean_picture():
    model = make()
    channels = torch.tensor([0.1, 0.5, 0.8])
    mean = (channels[:, None, None] + 0.05 * torch.randn(SHAPE)).clamp(0, 1)
    z = model.prior.sample(torch.Size([64]))
    assert (model.p_x(z).mean.mean((0, 2, 3)) - channels).abs().max() > 0.2
    model.prepare(mean)
    drawn = model.p_x(z).mean.mean((0, 2, 3))
    assert_close(drawn, mean.mean((1, 2)), rtol=0, atol=0.06)


@pytest.mark.parametrize("grey", [0.0, 1.0])
def test_a_black_or_white_mean_picture_can_be_begun_with(grey):
    model = make()
    model.prepare(torch.full(SHAPE, grey))
    assert all(p.isfinite().all() for p in model.parameters())


# What is left open


def test_captions_with_open_places_are_read_as_such():
    torch.manual_seed(0)
    reader = CaptionEncoder(WORDS, 7)
    said = encode([WORDS.parse(text) for text in ("", "red", "large red", "large red small")])
    states = reader(said)
    assert states.shape == (4, 7)
    assert len(states.unique(dim=0)) == 4
    other = Labels(torch.tensor([[1, 2, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0]]), said.observed)
    assert torch.equal(reader(other), states)  # codes that were not said mean nothing


def test_an_open_place_is_no_word_of_it():
    torch.manual_seed(0)
    reader = CaptionEncoder(WORDS, 7)
    nothing = reader(encode([WORDS.root]))
    assert (nothing - reader(EVERY)).abs().amax(1).min() > 1e-3


def test_the_same_word_at_another_place_is_another_caption():
    torch.manual_seed(0)
    reader = CaptionEncoder(WORDS, 7)
    first, other = reader(encode([WORDS.parse("large"), WORDS.parse("* * large")]))
    assert (first - other).abs().max() > 1e-3


# Weights


@pytest.mark.parametrize("inference", ["marginal", "joint"])
def test_a_blank_one_takes_weights(inference):
    full = used(make(inference))
    with torch.device("meta"):
        blank = make(inference)
    assert all(tensor.is_meta for tensor in blank.state_dict().values())
    blank.load_state_dict(full.state_dict(), assign=True)
    blank.eval()
    z = torch.randn(B, D)
    assert torch.equal(blank.p_x(z).mean, full.p_x(z).mean)
    assert torch.equal(blank.p_y(z).log_prob(EVERY), full.p_y(z).log_prob(EVERY))
    assert torch.equal(blank.q_xy(pictures(), EVERY).mean, full.q_xy(pictures(), EVERY).mean)


def test_decoders_and_readers_are_all_there_is(marginal):
    parts = [*marginal.decoders, *marginal.image_readers]
    named = {p for part in parts for p in part.parameters()}
    assert named == set(marginal.parameters())


def test_dropout_is_for_training_alone(marginal):
    z = torch.randn(B, D)
    assert torch.equal(marginal.p_y(z).log_prob(EVERY), marginal.p_y(z).log_prob(EVERY))
    training = make().train()
    assert not torch.equal(training.p_y(z).log_prob(EVERY), training.p_y(z).log_prob(EVERY))


def test_repr_shows_the_factorisation(model):
    assert "p(x, y, z) = p(z) p(x | z) ∏ p(y_k | y_<k, z)" in repr(model)
    assert ("q(z | x, y)" if model.joint else "q(z | x)\n") in repr(model)
    assert "3 places of 5 words" in repr(model)


@pytest.mark.parametrize(
    ("networks", "inference", "message"),
    [
        ("foldet", "marginal", r"`networks='foldet'` is not known; .* Did you mean 'folded'\?"),
        ("folded", "join", r"`inference='join'` is not known; .* Did you mean 'joint'\?"),
    ],
)
def test_what_is_not_known_is_refused(networks, inference, message):
    with pytest.raises(UsageError, match=message):
        make(inference, networks)
