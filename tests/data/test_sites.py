"""Sites: the colour gradients of the paper's 2D problem."""

import pytest
import torch
from scipy import stats

from mindseye.data.sites import PALETTE, Sites
from mindseye.data.wholes import Specifics
from mindseye.groups import Groups
from mindseye.pieces import Pieces
from mindseye.randomness import keys

NAMES = list(PALETTE)
LINE = torch.linspace(-1, 1, 32)


def pictures(*wholes):
    """Pictures of wholes, each a list of (colour, x, y, intensity)."""
    parts = [part for whole in wholes for part in whole]
    codes = torch.tensor([NAMES.index(part[0]) for part in parts])
    numbers = torch.tensor([part[1:] for part in parts], dtype=torch.float32)
    sizes = torch.tensor([len(whole) for whole in wholes])
    own = Specifics(numbers[:, 2:], torch.zeros(len(wholes), 0))
    return Sites().render(Pieces(codes, numbers[:, :2], sizes), own)


def near(found, wanted):
    torch.testing.assert_close(found, torch.as_tensor(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_single_site_is_its_colour_everywhere(name):
    (found,) = pictures([(name, 0.3, -0.7, 6.0)])
    assert torch.equal(found, torch.tensor(PALETTE[name])[:, None, None].expand(3, 32, 32))


def test_sites_of_one_colour_are_one_colour():
    (found,) = pictures([("blue", x, 0.2, 5 + 4 * x) for x in (0.1, 0.5, 0.9)])
    near(found, torch.tensor(PALETTE["blue"])[:, None, None].expand(3, 32, 32))


def test_a_pixel_at_a_site_far_from_others_has_its_colour():
    at = float(LINE[3])
    (found,) = pictures([("red", at, at, 10.0), ("green", 0.9, 0.9, 10.0), ("white", 0.9, 0, 10)])
    near(found[:, 3, 3], [1.0, 0.0, 0.0])


def test_half_way_between_equal_sites_is_half_of_each_after_gamma():
    """Black and white meet at a half, which the screen's power makes 0.749."""
    (found,) = pictures([("black", -0.5, 0.0, 7.0), ("white", 0.5, 0.0, 7.0)])
    across = 1 / (1 + torch.exp(7 * ((LINE - 0.5) ** 2 - (LINE + 0.5) ** 2)))
    near(found[0, 5], across ** (1 / 2.4))
    near(found[0], found[0, :1].expand(32, 32))
    (found,) = pictures([("red", -0.5, 0.4, 8.0), ("blue", 0.5, 0.4, 8.0)])
    middle = (found[:, 9, 15] ** 2.4 + found[:, 9, 16] ** 2.4) / 2
    near(middle, [0.5, 0.0, 0.5])


def test_pixels_have_the_formula():
    parts = [("red", 0.1, -0.8, 5.5), ("white", -0.6, 0.2, 9.0), ("green", 0.7, 0.7, 7.0)]
    (found,) = pictures(parts)
    for row, column in ((0, 0), (3, 20), (31, 31), (17, 9)):
        x, y = float(LINE[column]), float(LINE[row])
        scores = torch.tensor([-s * ((x - a) ** 2 + (y - b) ** 2) for _, a, b, s in parts])
        colours = torch.tensor([PALETTE[name] for name, *_ in parts])
        near(found[:, row, column], (scores.softmax(0) @ colours) ** (1 / 2.4))


def test_x_runs_to_the_right_and_y_down():
    (found,) = pictures([("red", -0.9, -0.9, 9), ("green", 0.9, -0.9, 9), ("blue", -0.9, 0.9, 9)])
    near(found[:, 1, 1], [1.0, 0.0, 0.0])
    near(found[:, 1, 30], [0.0, 1.0, 0.0])
    near(found[:, 30, 1], [0.0, 0.0, 1.0])


def test_a_site_that_is_added_changes_what_is_near_it():
    parts = [("red", -0.8, -0.8, 10.0), ("green", -0.6, 0.8, 10.0)]
    before, after = pictures(parts, [*parts, ("black", 0.9, 0.0, 10.0)])
    change = (after - before).abs().amax(0)
    assert change[15:17, 25:].min() > 0.9
    assert change[:8, :8].max() < 0.01


def test_pictures_are_smooth_and_within_bounds():
    x = Sites().examples(torch.arange(300)).x
    assert 0 <= x.min() < x.max() <= 1
    for axis in (2, 3):
        assert x.diff(dim=axis).abs().mean() < 0.05
    linear = x**2.4
    assert max(linear.diff(dim=axis).abs().max() for axis in (2, 3)) < 0.55


def test_a_crowd_of_strong_sites_does_not_overflow():
    wholes = [[("white", 0.9, 0.9, 1e4), ("red", 0.8, 0.9, 1e4)], [("green", 0.0, 0.0, 1e4)] * 40]
    crowd, many = pictures(*wholes)
    assert crowd.isfinite().all()
    near(crowd[:, :, 0], torch.tensor([1.0, 0.0, 0.0])[:, None].expand(3, 32))
    near(many, torch.tensor(PALETTE["green"])[:, None, None].expand(3, 32, 32))


def test_places_and_intensities_are_uniform():
    data = Sites()
    pieces = data.examples(torch.arange(1000), torch.full((1000,), 4)).y
    for axis in pieces.places.T:
        assert stats.kstest(axis, "uniform", (-0.9, 1.8)).pvalue > 1e-3
    assert abs(torch.corrcoef(pieces.places.T)[0, 1]) < 0.05
    intensity = data.draw(pieces, keys(1, torch.arange(1000))).own[:, 0]
    assert stats.kstest(intensity, "uniform", (5, 5)).pvalue > 1e-3


def test_maxima_of_groups_are_those_of_their_rows():
    """What keeps the softmax from overflowing, and which row of its group a row is."""
    sizes = torch.tensor([3, 0, 1, 4])
    groups, values = Groups.of(sizes, 8), torch.randn(8, 5, generator=torch.manual_seed(0))
    found = groups.maxima(values)
    for b, some in enumerate(values.split(sizes.tolist())):
        wanted = some.amax(0) if len(some) else torch.full((5,), -torch.inf)
        assert torch.equal(found[b], wanted)
    assert groups.ranks().tolist() == [0, 1, 2, 0, 0, 1, 2, 3]
