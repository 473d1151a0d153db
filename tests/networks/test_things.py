"""Networks that draw two things where they are."""

import pytest
import torch
from torch.testing import assert_close

from mindseye.networks.things import SMALL, THINGS, ThingsDecoder

SHAPE = (3, 48, 48)
WIDTH = 2


def decoder(shape: tuple[int, int, int] = SHAPE) -> ThingsDecoder:
    torch.manual_seed(0)
    return ThingsDecoder(5, shape, WIDTH, 8).double()


def placed(shape: tuple[int, int, int], *centres: tuple[float, float]) -> ThingsDecoder:
    """A decoder whose things are where they are told to be, before a plain scenery."""
    made = decoder(shape)
    with torch.no_grad():
        made.where.weight.zero_()
        where = torch.tensor([[*c, -0.7] for c in centres], dtype=torch.float64)
        made.where.bias.view(THINGS, 3).copy_(where)
        made.looks[-1].weight *= 10
        made.scenery.weight.zero_()
        made.scenery.bias.zero_()
    return made


def code(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("shape", [(3, 48, 48), (3, 112, 112), (1, 16, 30)])
def test_codes_become_pictures(shape):
    assert decoder(shape)(code()).shape == (3, *shape)


@pytest.mark.parametrize(("right", "down"), [(1, 0), (0, 2), (3, -2)])
def test_a_thing_that_is_moved_looks_the_same_elsewhere(right, down):
    place = 2 / 23  # 24 places from -1 to 1
    here = placed(SHAPE, (0.1, 0.0), (-0.1, 0.1))(code())
    there = placed(
        SHAPE,
        (0.1 + right * place, down * place),
        (-0.1 + right * place, 0.1 + down * place),
    )(code())
    moved = here.roll((2 * down, 2 * right), (2, 3))
    inside = slice(12, -12)  # what rolls in, and edges of the picture, are not compared
    assert (moved - here)[..., inside, inside].std() > 0.01
    assert_close(there[..., inside, inside], moved[..., inside, inside], rtol=0, atol=1e-12)


def test_which_of_two_things_comes_first_does_not_matter():
    made, other = decoder(), decoder()
    for name in ("where", "what"):
        for kind in ("weight", "bias"):
            tensor = getattr(getattr(other, name), kind).data
            tensor.copy_(tensor.unflatten(0, (THINGS, -1)).flip(0).flatten(0, 1))
    assert_close(made(code()), other(code()), rtol=0, atol=1e-12)


def test_things_of_no_weight_leave_the_scenery():
    made = decoder()
    with torch.no_grad():
        made.looks[-1].bias[-1] = -1e9
        known = made.known(code())
        assert (made._things(known) == 0).all()
        plain = torch.cat([made._behind(known), made._things(known)], -1)
    assert_close(made(code()), made.layers(plain.mT.unflatten(-1, (24, 24))), rtol=0, atol=0)


def test_a_heavy_thing_covers_what_is_behind_it_at_its_centre():
    made = placed(SHAPE, (0.0, 0.0), (0.0, 0.0))
    with torch.no_grad():
        made.looks[-1].weight.zero_()
        made.looks[-1].bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0, 12.0]))
        features = made._things(made.known(code())).unflatten(1, (24, 24))
    middle = features[:, 11:13, 11:13]
    expected = torch.tensor([1.0, 2.0, 3.0, 4.0]).double().expand_as(middle)
    assert_close(middle, expected, rtol=0, atol=1e-4)
    assert (features[:, 0, 0] == 0).all()


@pytest.mark.parametrize("shape", [(3, 48, 48), (3, 20, 34)])
def test_windows_lie_within_the_picture_and_around_their_thing(shape):
    rows, columns = shape[1] // 2, shape[2] // 2
    centre = 2.4 * torch.rand(50, THINGS, 1, 2, dtype=torch.float64) - 1.2
    where, index = decoder(shape)._window(centre)
    assert index.min() >= 0
    assert index.max() < rows * columns
    assert all(len(row.unique()) == index.shape[-1] for row in index.flatten(0, 1))
    size = torch.tensor([columns, rows])
    again = ((where + 1) / 2 * (size - 1)).round().long()
    assert torch.equal(again[..., 1] * columns + again[..., 0], index)
    inside = (centre.abs() < 0.4).all(-1)[..., 0]
    off = (where.mean(2) - centre[:, :, 0])[inside].abs()
    assert (off <= 1 / (size - 1) + 1e-12).all()


def test_gradients_are_those_of_differences():
    made = decoder((3, 16, 16))
    for name in ("where", "what"):
        bias = getattr(made, name).bias

        def value(moved: torch.Tensor, name: str = name) -> torch.Tensor:
            known = torch.func.functional_call(made, {f"{name}.bias": moved}, (code(1),))
            return known.square().sum()

        assert torch.autograd.gradcheck(value, bias.detach().clone().requires_grad_())


def test_pictures_of_a_batch_do_not_know_each_other():
    made = decoder()
    assert_close(made(code(3))[1:2], made(code(3)[1:2]), rtol=0, atol=1e-12)


def test_a_scale_of_nothing_said_is_that_of_small_things():
    made = placed(SHAPE, (0.0, 0.0), (0.0, 0.0))
    with torch.no_grad():
        made.where.bias.view(THINGS, 3)[:, 2] = 0
        made.looks[-1].weight.zero_()
        made.looks[-1].bias.zero_()
        made.looks[-1].bias[:1] = 1.0
        share = made._things(made.known(code(1)))[0, :, 0].unflatten(0, (24, 24))
    places = torch.linspace(-1, 1, 24, dtype=torch.float64)
    far = (places[:, None] ** 2 + places**2) / SMALL**2
    weight = 2 * (2 - far / 2).exp()
    inside = slice(6, 18)
    assert_close(share[inside, inside], (weight / (1 + weight))[inside, inside])
