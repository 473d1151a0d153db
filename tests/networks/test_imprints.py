"""Imprints: what parts leave on wholes, what is written of their sums, and what is reached."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.networks.imprints import (
    COLOURS,
    FALLS,
    CurveImprint,
    CurveReader,
    CurveWriter,
    Kinds,
    PictureImprint,
    PictureReader,
    PictureWriter,
)

CURVE, DAY, PICTURE, WIDE = (1, 1, 200), (1, 1, 96), (3, 32, 32), (1, 16, 24)
B, N, Z, SIZE, WIDTH = 2, 5, 3, 12, 16
CODES = torch.tensor([2, 0, 2, 1, 0])


def lost(network: nn.Module, *out: Tensor) -> list[str]:
    """Parameters that no gradient reaches."""
    sum(each.square().sum() for each in out).backward()
    return [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def writer(shape: tuple[int, int, int]) -> tuple[nn.Module, Tensor]:
    """A network, and sums that it may be given."""
    if shape[1] == 1:
        return CurveWriter(shape, SIZE, Z, WIDTH), torch.rand(B, SIZE)
    sides = (shape[1] // 2, shape[2] // 2)
    left = PictureImprint(3, 2, sides, WIDTH)(CODES[:B], torch.rand(B, 2), torch.randn(B, 2))
    return PictureWriter(shape, sides, Z, WIDTH), left.detach()


@pytest.mark.parametrize("shape", [CURVE, DAY, PICTURE, WIDE])
def test_every_value_has_a_mean_and_every_pixel_a_deviation(shape):
    network, total = writer(shape)
    mean, log_variance = network(total, torch.randn(B, Z))
    assert mean.shape == (B, *shape)
    assert log_variance.shape == (B, 1, *shape[1:])
    assert network.gist(total).shape == (B, network.gists)
    assert lost(network, mean, log_variance) == []


@pytest.mark.parametrize(
    "network", [CurveReader(CURVE, WIDTH), PictureReader(PICTURE, WIDTH)], ids=["curve", "picture"]
)
def test_wholes_are_read_as_vectors(network):
    shape = CURVE if isinstance(network, CurveReader) else PICTURE
    read = network(torch.randn(B, *shape))
    assert read.shape == (B, WIDTH)
    assert lost(network, read) == []


def test_curves_of_any_height_are_read_by_their_form_and_their_size():
    network, x = CurveReader(CURVE, WIDTH), torch.randn(1, *CURVE)
    forms: list[Tensor] = []
    network.bend.register_forward_pre_hook(lambda _, given: forms.append(given[0]))
    network(torch.cat([x, 50 * x]))
    form, size = forms[0].unbind(1)
    assert_close(form[0], form[1], rtol=0, atol=1e-3)
    assert_close(size[1] - size[0], torch.full((200,), math.log(50)), rtol=0, atol=1e-3)


def test_imprints_on_curves_begin_with_one_and_reach_all_weights():
    network = CurveImprint(3, 0, 2, SIZE, WIDTH)
    left = network(CODES, torch.zeros(N, 0), torch.randn(N, 2))
    assert left.shape == (N, SIZE)
    assert left[:, 0].tolist() == [1.0] * N
    assert lost(network, left) == []


def test_places_on_a_curve_are_told():
    network, w = CurveImprint(3, 1, 2, SIZE, WIDTH), torch.zeros(2, 2)
    left = network(CODES[[0, 2]], torch.tensor([[0.1], [0.9]]), w)
    assert (left[0] - left[1]).abs().max() > 1e-2


def test_a_part_is_felt_less_the_farther_away_it_is():
    network = PictureImprint(3, 2, (1, 21), WIDTH)
    with torch.no_grad():
        network.layers[-1].weight.zero_()  # as falling is all that there is at first, nearly
    left = network(CODES[:1], torch.zeros(1, 2), torch.zeros(1, 2))
    felt = left.view(len(FALLS), COLOURS, 21)[:, 0]
    distance = torch.linspace(-1, 1, 21)  # across; a map of height 1 lies at the top, one away
    expected = -torch.nn.functional.softplus(torch.tensor(FALLS)[:, None] * (1 + distance.square()))
    assert_close(felt.log(), expected)


def test_a_pixel_means_what_the_nearest_part_is_however_far_that_is():
    imprint, writer = PictureImprint(3, 2, (16, 16), WIDTH), PictureWriter(PICTURE, (16, 16), Z, 8)
    places = torch.tensor([[-0.9, -0.9]])
    left = imprint(CODES[:1], places, torch.zeros(1, 2))
    said = writer._said(left.unflatten(-1, (-1, 16, 16))).unflatten(1, (len(FALLS), COLOURS))
    meant = imprint.colour(CODES[:1], places)[0]
    assert_close(said[0, :, 1:], meant[None, :, None, None].expand(len(FALLS), -1, 16, 16))


def test_equal_parts_in_one_place_mean_the_same_twice_as_strongly():
    imprint, writer = PictureImprint(3, 2, (4, 4), WIDTH), PictureWriter(PICTURE, (4, 4), Z, 8)
    left = imprint(CODES[:1], torch.zeros(1, 2), torch.zeros(1, 2))
    once, twice = (
        writer._said((scale * left).unflatten(-1, (-1, 4, 4))).unflatten(1, (-1, COLOURS))
        for scale in (1, 2)
    )
    assert_close(once[:, :, 1:], twice[:, :, 1:])
    change = (twice - once)[:, :, 0]
    assert_close(change, torch.full_like(change, 0.1 * math.log(2)))


def test_a_picture_of_one_part_felt_everywhere_alike_has_one_colour_up_to_its_edges():
    writer = PictureWriter(PICTURE, (16, 16), Z, 8)
    total = torch.rand(1, len(FALLS) * COLOURS, 1).expand(-1, -1, 256).flatten(1)
    mean, _ = writer(total, torch.zeros(1, Z))
    assert_close(mean, mean[:, :, 16:17, 16:17].expand_as(mean))


def test_kinds_have_mixtures_of_their_own_and_learn_apart():
    kinds = Kinds(3, 4, 2)
    logits, loc, log_scale = kinds(CODES)
    assert (logits.shape, loc.shape, log_scale.shape) == ((N, 4), (N, 4, 2), (N, 4, 2))
    assert torch.equal(loc[0], loc[2])
    assert (loc[0] - loc[1]).abs().max() > 1e-2
    (gradient,) = torch.autograd.grad(loc[3].sum(), kinds.table)
    assert gradient.any(1).tolist() == [False, True, False]


def test_blank_ones_take_weights():
    for make in (
        lambda: Kinds(3, 4, 2),
        lambda: CurveImprint(3, 0, 2, SIZE, WIDTH),
        lambda: PictureImprint(3, 2, (4, 4), WIDTH),
        lambda: writer(CURVE)[0],
    ):
        full = make()
        with torch.device("meta"):
            blank = make()
        assert all(weight.is_meta for weight in blank.parameters())
        blank.load_state_dict(full.state_dict(), assign=True)
        assert not any(tensor.is_meta for tensor in blank.state_dict().values())
