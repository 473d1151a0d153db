"""A sharpener beside a painting model that is held still."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models import VAE
from mindseye.models.captioned import CaptionedVAE
from mindseye.models.draw import Draw
from mindseye.models.sharpener import Sharpened
from mindseye.networks.pyramid import doubled, reduced

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
SIZES = {"latent": 2, "strokes": 2, "hidden": 8, "window": 3, "language": 4}
BASES = {
    "draw": lambda shape: Draw(WORDS, shape, **SIZES),
    "deaf": lambda shape: Draw(WORDS, shape, **SIZES, hearing="alone"),
    "captioned": lambda shape: CaptionedVAE(WORDS, shape, 2, width=6, hidden=8, language=4),
}


def make(name: str = "draw", shape=(1, 13, 10), levels: int = 0, *, moved: bool = False):
    torch.manual_seed(0)
    model = Sharpened(BASES[name](shape), 4, levels).eval()
    if moved:  # what is added is not nothing any more
        for generator in model.generators:
            nn.init.normal_(generator.layers[-1].weight, 0, 0.3)
    return model


def captions(count: int = 4) -> Labels:
    number = torch.arange(count)
    return Labels.full(torch.stack([number % 3, number % 2], 1))


def drawn(model: Sharpened, count: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures as a model might paint them, and noise."""
    generator = torch.Generator().manual_seed(1)
    picture = torch.rand(count, *model.shape, generator=generator)
    return picture, torch.randn(count, model.sharpening_noise, generator=generator)


# The model below


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_it_begins_with_the_pictures_of_the_model_below(name, levels):
    model = make(name, levels=levels)
    noise = torch.randn(4, model.noise)
    picture = model.p_x(captions(), noise).mean
    _, own = drawn(model)
    assert_close(model.sharpened(captions(), picture, own), picture, rtol=0, atol=1e-6)


def test_what_is_asked_of_the_model_below_is_its_own():
    model, base = make(), make().base
    noise = torch.randn(4, model.noise)
    for name in ("vocabulary", "shape", "factorised", "noise", "strokes"):
        assert getattr(model, name) == getattr(base, name)
    assert (model.likelihood, model.listener) == (model.base.likelihood, model.base.listener)
    assert_close(model.p_x(captions(), noise).mean, base.p_x(captions(), noise).mean)
    both = zip(model.painted(captions(), noise), base.painted(captions(), noise), strict=True)
    for ours, theirs in both:
        assert_close(ours, theirs)
    picture, _ = drawn(model)
    torch.manual_seed(2)
    ours = model.drawn(picture, captions()).q.mean
    torch.manual_seed(2)
    assert_close(ours, base.drawn(picture, captions()).q.mean)


def test_the_model_below_is_held_still_and_stays_as_it_is_used():
    model = make().train()
    assert not any(p.requires_grad for p in model.base.parameters())
    assert not any(part.training for part in model.base.modules())
    assert model.generators.training
    assert model.discriminators.training


def test_every_parameter_belongs_to_the_base_a_generator_or_an_opponent():
    model = make(levels=2)
    opponents = set(model.opponents())
    for name, parameter in model.named_parameters():
        part = name.split(".")[0]
        assert (parameter in opponents) == (part == "discriminators")
        assert parameter.requires_grad == (part != "base")
    parts = {name.split(".")[0] for name, _ in model.named_parameters()}
    assert parts == {"base", "generators", "discriminators"}


# Pictures


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("levels", [1, 2])
def test_sharp_pictures_are_numbers_from_0_to_1_and_others(name, levels):
    model = make(name, levels=levels, moved=True)
    picture, noise = drawn(model)
    sharp = model.sharpened(captions(), picture, noise)
    assert sharp.shape == picture.shape
    assert (sharp.min(), sharp.max()) == (0, 1)
    assert (sharp - picture).abs().mean() > 0.02


def test_a_level_is_its_context_its_band_and_what_is_added():
    model = make(levels=1, moved=True)
    picture, noise = drawn(model)
    fine, coarse = reduced(picture, 1)
    context, noise = torch.rand_like(fine), noise.view(-1, 1, 13, 10)
    heard = model.listener(captions()).whole
    added = model.generators[0](context, fine, noise, heard)
    found = model.refined(0, context, [fine, coarse], noise, heard)
    assert_close(found - added, context + fine - doubled(coarse, (13, 10)), rtol=0, atol=1e-5)


def test_two_levels_are_one_after_the_other():
    model = make(levels=2, moved=True)
    picture, noise = drawn(model)
    painted, heard = reduced(picture, 2), model.heard(captions())
    own = noise.split([13 * 10, 7 * 5], -1)
    middle = model.refined(1, doubled(painted[2], (7, 5)), painted, own[1].view(-1, 1, 7, 5), heard)
    context = doubled(middle.clamp(0, 1), (13, 10))
    fine = model.refined(0, context, painted, own[0].view(-1, 1, 13, 10), heard)
    assert_close(model.sharpened(captions(), picture, noise), fine.clamp(0, 1))


@pytest.mark.parametrize(
    ("shape", "levels", "noise"),
    [((1, 60, 60), 1, 3600), ((3, 63, 20), 1, 1260), ((3, 64, 20), 2, 1280 + 320)],
)
def test_pictures_are_halved_once_and_large_ones_twice(shape, levels, noise):
    model = make(shape=shape)
    assert (model.levels, model.sharpening_noise) == (levels, noise)


def test_one_picture_is_sharpened_as_among_others():
    model = make(levels=2, moved=True)
    picture, noise = drawn(model)
    together = model.sharpened(captions(), picture, noise)
    for i in range(4):
        one = Labels.full(captions().codes[i : i + 1])
        alone = model.sharpened(one, picture[i : i + 1], noise[i : i + 1])
        assert_close(alone[0], together[i], rtol=0, atol=1e-5)


def test_the_caption_and_the_noise_count():
    model = make(moved=True)
    picture, noise = drawn(model)
    found = model.sharpened(captions(), picture, noise)
    other = Labels.full(captions().codes.flip(0))
    assert (model.sharpened(other, picture, noise) - found).abs().max() > 1e-3
    assert (model.sharpened(captions(), picture, noise.flip(0)) - found).abs().max() > 1e-3


def test_who_hears_nothing_sharpens_whatever_is_said():
    model = make("deaf", moved=True)
    assert (model.listener, model.heard(captions())) == (None, None)
    picture, noise = drawn(model)
    other = Labels.full(captions().codes.flip(0))
    found = model.sharpened(captions(), picture, noise)
    assert torch.equal(found, model.sharpened(other, picture, noise))


# Discriminators


@pytest.mark.parametrize("shape", [(1, 60, 60), (3, 13, 10), (1, 7, 5), (3, 64, 33)])
def test_a_discriminator_sees_picture_context_and_sentence(shape):
    model = make(shape=shape)
    picture, _ = drawn(model)
    judge, heard = model.discriminators[0], model.heard(captions())
    found = judge(picture, picture.flip(0), heard)
    assert found.shape == (4,)
    for other in (
        judge(picture.flip(2), picture.flip(0), heard),
        judge(picture, picture, heard),
        judge(picture, picture.flip(0), heard.flip(0)),
    ):
        assert (other - found).abs().max() > 1e-5


def test_weights_are_read_back_into_a_model_without_numbers():
    model = make(levels=2, moved=True)
    with torch.device("meta"):
        blank = make(levels=2)
    blank.load_state_dict(model.state_dict(), assign=True)
    picture, noise = drawn(model)
    ours, theirs = (each.sharpened(captions(), picture, noise) for each in (model, blank))
    assert torch.equal(ours, theirs)


# What is refused


def test_a_model_that_paints_no_captions_is_refused():
    with pytest.raises(UsageError, match="a VAE paints no captions"):
        Sharpened(VAE((1, 8, 8), 2, width=4))


@pytest.mark.parametrize("levels", [-1, 5])
def test_levels_that_cannot_be_had_are_refused(levels):
    with pytest.raises(UsageError, match=rf"`levels={levels}` cannot be had.*13 by 10.* 1 to 4"):
        make(levels=levels)


def test_too_few_channels_are_refused():
    with pytest.raises(UsageError, match="`width=0` is too few channels"):
        Sharpened(BASES["draw"]((1, 13, 10)), 0)
