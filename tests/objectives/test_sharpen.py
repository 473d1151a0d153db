"""The sharpener's game, with players that can be written down."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import softplus
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.metrics.sharpness import sharpness
from mindseye.models.listening import Listener
from mindseye.models.sharpener import Sharpened
from mindseye.networks.pyramid import doubled, reduced
from mindseye.objectives.registry import get_objective
from mindseye.objectives.sharpen import sharpen

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"])])
SHAPE = (1, 9, 12)
TERMS = ("fool", "distance", "tell", "r1")


class Blurring(nn.Module):
    """A painter that is sure of itself: it paints what it is shown, blurred."""

    vocabulary = WORDS

    def __init__(self, shape=SHAPE):
        super().__init__()
        self.shape, self.listener = shape, Listener(WORDS, 3)
        self.weight = nn.Parameter(torch.tensor(0.9))

    def drawn(self, x, y, noise=None):
        mean = self.weight * doubled(reduced(x, 1)[1], self.shape[1:])
        return SimpleNamespace(p_x=SimpleNamespace(mean=mean))


class Weighing(nn.Module):
    """A discriminator whose logit is linear in the picture and its context."""

    def __init__(self, size):
        super().__init__()
        self.own, self.other = nn.Parameter(torch.randn(1, *size)), nn.Parameter(torch.randn(()))

    def forward(self, picture, context, heard):
        return (self.own * picture).sum((1, 2, 3)) + self.other * context.mean((1, 2, 3))


class Scaling(nn.Module):
    """A generator that is linear in what was painted and in its context."""

    def __init__(self):
        super().__init__()
        self.numbers = nn.Parameter(torch.tensor([0.3, -0.2]))

    def forward(self, context, painted, noise, heard):
        return self.numbers[0] * painted + self.numbers[1] * context


def make(levels: int = 1, *, simple: bool = True) -> Sharpened:
    torch.manual_seed(0)
    model = Sharpened(Blurring(), 4, levels).train()
    if simple:
        model.generators = nn.ModuleList(Scaling() for _ in model.sides)
        model.discriminators = nn.ModuleList(Weighing(size) for size in model.sides)
    else:
        for generator in model.generators:
            nn.init.normal_(generator.layers[-1].weight, 0, 0.1)
    return model


def batch(size: int = 5) -> tuple[torch.Tensor, Labels]:
    x = torch.rand(size, *SHAPE, generator=torch.Generator().manual_seed(1)).round()
    return x, Labels.full((torch.arange(size) % 3)[:, None])


def gradients(value: torch.Tensor, model: Sharpened) -> dict[str, list[torch.Tensor | None]]:
    """The gradients of a sum, by whose they are."""
    parts = {
        "generators": list(model.generators.parameters()),
        "discriminators": model.opponents(),
    }
    every = [p for part in parts.values() for p in part]
    found = iter(torch.autograd.grad(value.sum(), every, allow_unused=True, retain_graph=True))
    return {name: [next(found) for _ in part] for name, part in parts.items()}


# Closed forms


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("real", [0.0, 1.0])
def test_with_linear_players_every_term_is_its_formula(levels, real):
    model, (x, y) = make(levels), batch()
    found = sharpen(model, x, y, gamma=0.7, lam=3.0, r1=0.2, real=real)
    targets = reduced(x, levels)
    painted = reduced(0.9 * doubled(reduced(x, 1)[1], SHAPE[1:]), levels)
    expected = dict.fromkeys(TERMS, torch.zeros(5))
    for level, judge in enumerate(model.discriminators):
        size = targets[level].shape[-2:]
        context = doubled((targets if real else painted)[level + 1], size)
        band = painted[level] - doubled(painted[level + 1], size)
        fake = 0.8 * context + band + 0.3 * painted[level]
        true, false = judge(targets[level], context, None), judge(fake, context, None)
        steep = judge.own.square().sum() / 2
        for name, term in {
            "fool": softplus(-false),
            "distance": (fake - targets[level]).abs().mean((1, 2, 3)),
            "tell": -(true.sigmoid() * (-false).sigmoid()).log(),
            "r1": steep.expand(5),
        }.items():
            expected[name] = expected[name] + term
    for name in TERMS:
        assert_close(found.terms[name], expected[name], rtol=1e-4, atol=1e-5)
    lost = [0.7, 3.0, 1.0, 0.2]
    total = sum(w * expected[name] for w, name in zip(lost, TERMS, strict=True))
    assert_close(found.value, -total, rtol=1e-4, atol=1e-5)


def test_with_its_distance_alone_the_generator_learns_what_the_distance_says():
    model, (x, y) = make(), batch()
    found = sharpen(model, x, y, gamma=0.0, lam=1.0, r1=0.0, real=1.0)
    assert_close(found.value, -found.terms["distance"] - found.terms["tell"])
    context = doubled(reduced(x, 1)[1], SHAPE[1:])
    painted = reduced(0.9 * context, 1)
    band = painted[0] - doubled(painted[1], SHAPE[1:])
    scale = model.generators[0].numbers.detach().clone().requires_grad_()
    fake = context + band + scale[0] * painted[0] + scale[1] * context
    (expected,) = torch.autograd.grad((fake - x).abs().mean((1, 2, 3)).sum(), scale)
    (own,) = gradients(-found.value, model)["generators"]
    assert_close(own, expected, rtol=1e-4, atol=1e-5)


def test_discriminators_that_know_nothing_lose_two_bits_in_telling_and_one_is_lost_to_them():
    model, (x, y) = make(2), batch()
    for parameter in model.opponents():
        nn.init.zeros_(parameter)
    terms = sharpen(model, x, y).terms
    assert_close(terms["tell"], torch.full((5,), 2 * 2 * math.log(2)))
    assert_close(terms["fool"], torch.full((5,), 2 * math.log(2)))
    assert terms["r1"].abs().max() == 0


def test_without_anything_added_the_fake_picture_is_the_painted_one():
    model, (x, y) = make(), batch()
    nn.init.zeros_(model.generators[0].numbers)
    painted = model.drawn(x, y).p_x.mean
    found = sharpen(model, x, y, real=0.0).terms["distance"]
    assert_close(found, (painted - x).abs().mean((1, 2, 3)))


def test_the_penalty_is_the_squared_slope_of_a_network_at_real_pictures():
    model, (x, y) = make(simple=False), batch()
    model.double()
    x = x.double()
    found = sharpen(model, x, y, real=1.0).terms["r1"][0].item()
    judge, heard = model.discriminators[0], model.heard(y)[:1].double()
    context, step, total = doubled(reduced(x[:1], 1)[1], SHAPE[1:]), 1e-4, 0.0
    with torch.no_grad():
        for pixel in torch.eye(9 * 12, dtype=torch.float64).view(-1, *SHAPE):
            up, down = (judge(x[:1] + s * step * pixel, context, heard) for s in (1, -1))
            total += ((up - down).item() / (2 * step)) ** 2 / 2
    assert found == pytest.approx(total, rel=1e-3)


# Who learns from what


@pytest.mark.parametrize("simple", [True, False])
def test_each_player_learns_from_its_own_terms_and_from_no_other(simple):
    model, (x, y) = make(2, simple=simple), batch()
    terms = sharpen(model, x, y).terms
    for name, own, others in [
        ("fool", "generators", "discriminators"),
        ("distance", "generators", "discriminators"),
        ("tell", "discriminators", "generators"),
        ("r1", "discriminators", "generators"),
    ]:
        found = gradients(terms[name], model)
        assert any(g is not None and g.abs().max() > 0 for g in found[own]), name
        assert all(g is None for g in found[others]), name


def test_the_value_gives_both_players_what_their_terms_give_them():
    model, (x, y) = make(2, simple=False), batch()
    bound = sharpen(model, x, y, gamma=0.5, lam=2.0, r1=0.1)
    terms = bound.terms
    found = gradients(-bound.value, model)
    one = gradients(0.5 * terms["fool"] + 2 * terms["distance"], model)["generators"]
    two = gradients(terms["tell"] + 0.1 * terms["r1"], model)["discriminators"]
    for ours, theirs in [(found["generators"], one), (found["discriminators"], two)]:
        for a, b in zip(ours, theirs, strict=True):
            assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_every_weight_of_the_sharpener_is_reached_and_none_of_the_model_below():
    model, (x, y) = make(2, simple=False), batch()
    model.base.requires_grad_()  # also if somebody let it go
    (-sharpen(model, x, y).value.mean()).backward()
    assert all(p.grad is None for p in model.base.parameters())
    for part in (model.generators, model.discriminators):
        for name, parameter in part.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name


def test_discriminators_are_free_again_afterwards():
    model, (x, y) = make(), batch()
    sharpen(model, x, y)
    assert all(p.requires_grad for p in model.opponents())


def test_it_is_known_where_no_gradient_is_wanted():
    model, (x, y) = make(simple=False), batch()
    torch.manual_seed(1)
    expected = sharpen(model, x, y).value
    torch.manual_seed(1)
    with torch.no_grad():
        found = sharpen(model, x, y).value
    assert not found.requires_grad
    assert_close(found, expected)


def test_gradients_are_the_same_while_what_is_saved_is_kept():
    """As captured steps keep it: see `training.captured`."""
    model, (x, y) = make(simple=False), batch()
    found, kept = [], []
    for hooks in (False, True):
        torch.manual_seed(1)
        if hooks:
            with saved_tensors_hooks(lambda t: (kept.append(t), t)[1], lambda t: t):
                value = sharpen(model, x, y).value
        else:
            value = sharpen(model, x, y).value
        found.append(gradients(value, model)["discriminators"])
    assert kept
    for one, two in zip(*found, strict=True):
        assert_close(one, two)


# Batches


@pytest.mark.parametrize("real", [0.0, 1.0])
def test_the_order_of_the_batch_does_not_matter(real):
    model, (x, y) = make(2), batch()
    order = torch.tensor([3, 0, 4, 2, 1])
    found = sharpen(model, x, y, real=real).value
    other = sharpen(model, x[order], Labels.full(y.codes[order]), real=real).value
    assert found.diff().abs().min() > 1e-3  # another order is seen
    assert_close(found[order], other)


def test_contexts_are_real_as_often_as_is_said():
    model = make()
    x, y = batch(1)
    x, y = x.expand(2000, *SHAPE), Labels.full(y.codes.expand(2000, 1))
    real, painted = (sharpen(model, x[:1], y, real=share).terms["distance"] for share in (1.0, 0.0))
    torch.manual_seed(3)
    found = sharpen(model, x, y, real=0.3).terms["distance"]
    is_real, is_painted = ((found - each[0]).abs() < 1e-5 for each in (real, painted))
    assert (is_real ^ is_painted).all()
    assert is_real.float().mean().item() == pytest.approx(0.3, abs=4 * (0.21 / 2000) ** 0.5)


# Learning


@pytest.mark.parametrize("real", [0.0, 1.0])
def test_a_hundred_steps_come_nearer_to_real_pictures_and_sharpen_painted_ones(real):
    torch.manual_seed(0)
    model = Sharpened(Blurring((1, 24, 24)), 8).train()
    place = torch.arange(24) - 11.5
    far = (place[:, None] ** 2 + place**2).sqrt()
    radius = torch.tensor([4.0, 7.0, 10.0])[:, None, None]
    x = ((far - radius).abs() < 1.5).float()[:, None].repeat(4, 1, 1, 1)
    y = Labels.full((torch.arange(12) % 3)[:, None])
    groups = [{"params": model.generators.parameters()}, {"params": model.opponents()}]
    adam = torch.optim.Adam(groups, lr=2e-3, betas=(0.5, 0.9))
    for _ in range(100):
        adam.zero_grad()
        (-sharpen(model, x, y, real=real).value.mean()).backward()
        adam.step()
    with torch.no_grad():
        painted = model.drawn(x, y).p_x.mean
        sharp = model.sharpened(y, painted, torch.randn(12, model.sharpening_noise))
    assert (sharp - x).abs().mean() < 0.85 * (painted - x).abs().mean()
    assert sharpness(sharp).mean() > 1.3 * sharpness(painted).mean()


# Its registration


def test_weights_are_registered():
    known = get_objective("sharpen")
    assert known.weights == {"gamma": 1.0, "lam": 30.0, "r1": 1.0, "real": 0.0}
    assert (known.fits, known.trains) == ({"q_y"}, ("draw", "captioned"))


def test_a_model_without_a_sharpener_is_refused():
    with pytest.raises(UsageError, match=r"`sharpen` trains what stands beside.*Blurring has"):
        sharpen(Blurring(), *batch())
