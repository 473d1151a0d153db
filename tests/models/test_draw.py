"""Models that paint: strokes, what they hear, and the same pictures whoever asks."""

from itertools import pairwise

import pytest
import torch
from torch.distributions import kl_divergence
from torch.testing import assert_close

from mindseye.captions import Sentence
from mindseye.concepts import Attribute
from mindseye.data.captioned_mnist import SENTENCE
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.models import CaptionedVAE, Draw, Painted
from mindseye.models.draw import HEARING

SHAPE = (1, 12, 12)
CAPTIONS = ("three top left", "five bottom right", "0 top right", "9 bottom left")


def made(hearing: str = "align", **how) -> Draw:
    torch.manual_seed(0)
    sizes = {"latent": 3, "strokes": 4, "hidden": 8, "window": 4, "language": 4}
    return Draw(SENTENCE, SHAPE, hearing=hearing, **sizes | how)


def vae(networks: str = "dense") -> CaptionedVAE:
    torch.manual_seed(0)
    return CaptionedVAE(SENTENCE, SHAPE, 3, networks, 8, 8, 4)


def captions() -> Labels:
    return encode([SENTENCE.parse(text) for text in CAPTIONS])


def pictures(seed: int = 0) -> torch.Tensor:
    return torch.rand(4, *SHAPE, generator=torch.Generator().manual_seed(seed)).round()


def noise(model, seed: int = 1) -> torch.Tensor:
    return torch.randn(4, model.noise, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("hearing", HEARING)
def test_the_first_stroke_has_a_standard_normal_prior(hearing):
    model = made(hearing)
    p = model.drawn(pictures(), captions()).p
    assert_close(p.mean[:, :3], torch.zeros(4, 3))
    assert_close(p.stddev[:, :3], torch.ones(4, 3))
    assert (p.mean[:, 3:].abs() > 0).any()


def test_painting_at_the_draws_of_q_gives_what_was_read():
    model, x, y = made(), pictures(), captions()
    drawn = model.drawn(x, y)
    noise = (drawn.z - drawn.p.mean) / drawn.p.stddev
    assert_close(model.p_x(y, noise).mean, drawn.p_x.mean)


@pytest.mark.parametrize("model", [made(), made("noalign"), vae(), vae("smooth")])
def test_a_weight_is_the_ratio_of_densities(model):
    x, y = pictures(), captions()
    drawn = model.drawn(x, y)
    ratio = drawn.p_x.log_prob(x) + drawn.p.log_prob(drawn.z) - drawn.q.log_prob(drawn.z)
    assert_close(drawn.log_weight(x), ratio)
    # its mean over draws is the bound with exact divergences
    torch.manual_seed(3)
    with torch.no_grad():
        pairs = [
            (d.log_weight(x), d.p_x.log_prob(x) - kl_divergence(d.q, d.p))
            for d in (model.drawn(x, y) for _ in range(400))
        ]
    weights, bounds = (torch.stack(each) for each in zip(*pairs, strict=True))
    spread = (weights - bounds).std(0) / 20
    assert ((weights - bounds).mean(0).abs() < 4 * spread).all()


def test_the_divergence_is_the_sum_over_strokes():
    drawn = made().drawn(pictures(), captions())
    each = [
        kl_divergence(
            torch.distributions.Normal(drawn.q.mean[:, t : t + 3], drawn.q.stddev[:, t : t + 3]),
            torch.distributions.Normal(drawn.p.mean[:, t : t + 3], drawn.p.stddev[:, t : t + 3]),
        ).sum(-1)
        for t in range(0, 12, 3)
    ]
    assert_close(kl_divergence(drawn.q, drawn.p), torch.stack(each).sum(0))


def test_a_canvas_is_the_sum_of_its_strokes():
    model, y = made(), captions()
    strokes = list(model.painted(y, noise(model)))
    assert len(strokes) == 4
    assert_close(model.likelihood(strokes[-1].canvas).mean, model.p_x(y, noise(model)).mean)
    canvases = [model.start.expand(4, *SHAPE), *(stroke.canvas for stroke in strokes)]
    changes = [(after - before).abs().sum() for before, after in pairwise(canvases)]
    assert all(change > 0 for change in changes)


def test_attention_is_over_the_words_that_are_there():
    model = made()
    y = encode([SENTENCE.parse(text) for text in ("three", "three top left")])
    for stroke in model.painted(y, noise(model)[:2]):
        assert_close(stroke.attention.sum(-1), torch.ones(2))
        assert stroke.attention[0, 6:8].abs().max() == 0  # top, left
        assert (stroke.attention[1] > 0).all()


@pytest.mark.parametrize(
    ("hearing", "changes"), [("align", True), ("noalign", True), ("alone", False)]
)
def test_words_change_pictures_of_models_that_hear(hearing, changes):
    model = made(hearing)
    one, other = (
        encode([SENTENCE.parse("three top left")]),
        encode([SENTENCE.parse("five top left")]),
    )
    same = noise(model)[:1]
    apart = (model.p_x(one, same).mean - model.p_x(other, same).mean).abs().max()
    assert bool(apart > 1e-6) == changes


def test_a_caption_of_no_words_paints_finite_pictures():
    sentence = Sentence([Attribute("hue", ["red", "blue"])])
    torch.manual_seed(0)
    model = Draw(sentence, SHAPE, 3, 2, 8, 4, 4)
    painted = model.p_x(encode([sentence.root]), torch.randn(1, model.noise)).mean
    assert torch.isfinite(painted).all()
    bound = model.drawn(pictures()[:1], encode([sentence.root])).p_x.log_prob(pictures()[:1])
    (grad,) = torch.autograd.grad(bound.sum(), model.alignment.words.weight)
    assert torch.isfinite(grad).all()


@pytest.mark.parametrize("model", [made(), vae()])
def test_it_begins_with_the_mean_picture(model):
    mean = torch.linspace(0.1, 0.9, 144).view(SHAPE)
    model.prepare(mean)
    if isinstance(model, Draw):
        assert_close(model.likelihood(model.start).mean, mean)
    else:
        bias = model.image_decoder.state_dict()
        last = [value for name, value in bias.items() if name.endswith("bias")][-1]
        assert_close(last.sigmoid(), mean.flatten())


def test_colours_are_painted_on_canvases_of_levels():
    torch.manual_seed(0)
    model = Draw(SENTENCE, (3, 12, 12), 3, 2, 8, 4, 4, likelihood="quantised-normal-shared")
    x = torch.randint(0, 256, (4, 3, 12, 12)).float() / 255
    model.prepare(x.mean(0), x)
    assert_close(model.likelihood(model.start).mean, x.mean(0))
    drawn = model.drawn(x, captions())
    assert (drawn.p_x.log_prob(x) < 0).all()  # a probability, not a density


def test_two_numbers_a_pixel_are_refused():
    with pytest.raises(UsageError, match="a canvas has one") as error:
        made(likelihood="normal")
    assert error.value.hint == "Try likelihood=normal-shared."


def test_an_unknown_way_of_hearing_is_refused():
    with pytest.raises(UsageError, match="`networks='aligned'` is not known") as error:
        made("aligned")
    assert "align" in error.value.hint


@pytest.mark.parametrize("model", [made(), vae()])
def test_a_caption_and_noise_are_one_latent(model):
    whole, y = Painted(model), captions()
    belief = whole.q_y(y)
    z = belief.at(torch.randn(4, whole.latent, generator=torch.Generator().manual_seed(0)))
    said, draws, rest = whole.parted(z)
    assert torch.equal(said.codes, y.codes)
    assert torch.equal(said.observed, y.observed)
    assert rest.shape == (4, 0)
    assert_close(whole.picture(z), model.p_x(y, draws).mean)
    assert belief.stddev[:, whole.said :].unique().tolist() == [1.0]


def test_a_picture_alone_is_not_read():
    with pytest.raises(UsageError, match="together with its caption"):
        Painted(made()).q_x(pictures())
