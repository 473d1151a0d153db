"""The Laplacian pyramid: nothing is lost, and what is smooth is in no band."""

import pytest
import torch
from torch.testing import assert_close

from mindseye.networks.pyramid import bands, collapsed, doubled, halved, reduced, sides

SIZES = [(60, 60), (59, 60), (45, 31), (7, 3), (2, 2)]


def pictures(height: int, width: int, channels: int = 3) -> torch.Tensor:
    shape = (4, channels, height, width)
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("levels", [0, 1, 2, 4])
def test_bands_give_the_picture_back(size, levels):
    x = pictures(*size)
    found = bands(x, levels)
    assert len(found) == levels + 1
    assert_close(collapsed(found), x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_a_constant_has_nothing_in_its_bands(size):
    *lost, coarsest = bands(torch.full((1, 2, *size), 0.3), 3)
    assert max(band.abs().max() for band in lost) < 1e-6
    assert_close(coarsest, torch.full_like(coarsest, 0.3))


def test_halving_takes_the_mean_of_four_pixels_and_of_fewer_at_an_odd_end():
    x = torch.arange(15.0).view(1, 1, 3, 5)
    expected = torch.tensor([[3.0, 5.0, 6.5], [10.5, 12.5, 14.0]])
    assert_close(halved(x)[0, 0], expected)


def test_halving_keeps_the_mean_of_even_sides():
    x = pictures(16, 20)
    assert_close(halved(x).mean((2, 3)), x.mean((2, 3)))


def test_doubling_weighs_neighbours_by_their_distance():
    x = torch.tensor([[0.0, 4.0]]).view(1, 1, 1, 2)
    assert_close(doubled(x, (1, 4))[0, 0, 0], torch.tensor([0.0, 1.0, 3.0, 4.0]))


def test_a_slope_is_in_no_band_away_from_the_edges():
    slope = torch.arange(32.0).expand(1, 1, 32, 32)
    finest, *_ = bands(slope, 1)
    assert finest[..., 1:-1].abs().max() < 1e-5
    assert finest[..., 0].abs().min() > 0.1


def test_the_finest_band_of_noise_has_209_of_256_parts_of_its_energy():
    # A doubled pixel weighs four cells 9, 3, 3 and 1 sixteenths, and a cell is the mean of four
    # pixels, of which the pixel itself is one: 1 - 2 · 9/64 + (81 + 9 + 9 + 1) / 1024.
    x = torch.randn(16, 1, 128, 128, generator=torch.Generator().manual_seed(0))
    finest, *_ = bands(x, 1)
    inner = finest[..., 2:-2, 2:-2]
    assert inner.square().mean().item() == pytest.approx(209 / 256, abs=0.01)


def test_a_picture_that_was_doubled_has_weaker_bands_than_noise():
    x = torch.randn(8, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    smooth = doubled(halved(x), (64, 64))
    noisy, blurred = (
        bands(each, 1)[0].square().sum() / each.square().sum() for each in (x, smooth)
    )
    assert blurred < 0.3 * noisy


def test_bands_are_linear():
    x, y = pictures(9, 14), pictures(9, 14).flip(0)
    both = zip(bands(x, 2), bands(y, 2), bands(2 * x - y, 2), strict=True)
    for a, b, together in both:
        assert_close(2 * a - b, together, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_sides_are_those_of_the_halvings(size):
    found = [tuple(each.shape[-2:]) for each in reduced(pictures(*size), 3)]
    assert sides(*size, 3) == found


def test_one_picture_is_reduced_as_among_others():
    x = pictures(11, 6)
    for together, alone in zip(bands(x, 2), bands(x[2:3], 2), strict=True):
        assert_close(together[2:3], alone, rtol=0, atol=1e-7)
