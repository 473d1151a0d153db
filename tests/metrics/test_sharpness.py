"""Sharpness: blur lowers it, neither light nor contrast counts, and waves have a closed form."""

import math

import pytest
import torch
from torch.nn.functional import conv2d, pad
from torch.testing import assert_close

from mindseye.errors import UsageError
from mindseye.metrics.sharpness import sharpness


def board(side: int = 32) -> torch.Tensor:
    place = torch.arange(side)
    return ((place[:, None] + place) % 2).float().expand(1, 1, side, side)


def pictures(count: int = 6, channels: int = 1) -> torch.Tensor:
    """Some discs of black and white."""
    generator = torch.Generator().manual_seed(0)
    down, across = torch.meshgrid(torch.arange(40), torch.arange(40), indexing="ij")
    middle, radius = (torch.rand(count, 2, generator=generator) for _ in range(2))
    row, column = (10 + 20 * middle).split(1, 1)
    far = (down - row[..., None]) ** 2 + (across - column[..., None]) ** 2
    discs = (far.sqrt() < 3 + 6 * radius[:, :1, None]).float()
    return discs[:, None].expand(-1, channels, -1, -1)


def blurred(x: torch.Tensor, width: float) -> torch.Tensor:
    if not width:
        return x
    steps = torch.arange(-12.0, 13)
    bell = (-(steps**2) / (2 * width**2)).softmax(0)
    for kernel in (bell.view(1, 1, 1, -1), bell.view(1, 1, -1, 1)):
        sides = (12, 12, 0, 0) if kernel.shape[-1] > 1 else (0, 0, 12, 12)
        x = conv2d(pad(x, sides, "reflect"), kernel)
    return x


@pytest.mark.parametrize("make", [pictures, lambda: torch.rand(4, 1, 40, 40)])
def test_the_wider_the_blur_the_less_of_it(make):
    torch.manual_seed(0)
    x = make()
    found = torch.stack([sharpness(blurred(x, width)) for width in (0, 0.5, 0.8, 1.2, 2, 3, 4)])
    assert (found.diff(dim=0) < 0).all()
    assert (found[-1] < 0.5 * found[0]).all()


def test_a_chequerboard_has_most_of_it():
    assert_close(sharpness(board()), torch.ones(1))
    generator = torch.Generator().manual_seed(0)
    for share in (0.05, 0.3, 0.5, 0.9):
        others = (torch.rand(200, 1, 32, 32, generator=generator) < share).float()
        assert sharpness(others).max() < 0.7
    flipped = board().clone()
    flipped[0, 0, 5, 9] = 1 - flipped[0, 0, 5, 9]
    assert sharpness(flipped) < 1


def test_light_and_contrast_do_not_count():
    x = blurred(pictures(), 1.0)
    for other in (x + 0.7, x - 5, 0.1 * x, 1 - x):
        assert_close(sharpness(other), sharpness(x), rtol=1e-3, atol=0)


def test_one_colour_has_none():
    assert sharpness(torch.full((2, 3, 8, 8), 0.3)).tolist() == [0, 0]


@pytest.mark.parametrize("periods", [1, 4, 16])
def test_a_wave_has_that_of_its_frequency(periods):
    frequency = 2 * math.pi * periods / 512
    wave = torch.sin(frequency * torch.arange(512)).expand(1, 1, 512, 512)
    expected = math.sin(frequency / 2) ** 2 / 2
    assert sharpness(wave).item() == pytest.approx(expected, rel=0.02)
    assert_close(sharpness(wave.mT), sharpness(wave))


def test_noise_has_half_and_so_has_a_single_pixel():
    noise = torch.randn(4, 3, 128, 128, generator=torch.Generator().manual_seed(0))
    assert_close(sharpness(noise), torch.full((4,), 0.5), rtol=0, atol=0.02)
    point = torch.zeros(1, 1, 128, 128)
    point[..., 60, 60] = 1
    assert sharpness(point).item() == pytest.approx(0.5, rel=0.01)


def test_an_edge_is_softer_the_more_pixels_it_takes():
    ramps = [(torch.arange(64.0) - 32).div(width).clamp(0, 1) for width in (1, 2, 4, 8)]
    found = [sharpness(ramp.expand(1, 1, 64, 64)).item() for ramp in ramps]
    assert sorted(found, reverse=True) == found
    assert found[0] / found[3] == pytest.approx(8, rel=0.3)  # w steps of 1/w


def test_three_equal_channels_are_as_sharp_as_one():
    assert_close(sharpness(pictures(channels=3)), sharpness(pictures()))


def test_pictures_are_measured_one_by_one():
    x = pictures()
    assert_close(sharpness(x)[2:3], sharpness(x[2:3]))
    order = torch.tensor([5, 0, 3, 1, 4, 2])
    assert_close(sharpness(x[order]), sharpness(x)[order])


@pytest.mark.parametrize("shape", [(8, 8), (2, 8, 8), (2, 1, 1, 8), (2, 0, 8, 8)])
def test_what_is_no_picture_is_refused(shape):
    with pytest.raises(
        UsageError, match=r"`pictures` has shape .*expected pictures \(B, C, H, W\)"
    ):
        sharpness(torch.zeros(shape))
