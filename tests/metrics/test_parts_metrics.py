"""What is heard in curves and seen in pictures, and how far laws are from each other."""

import math

import pytest
import torch
from torch.testing import assert_close

from mindseye.data import Sines, Sites
from mindseye.data.wholes import Specifics
from mindseye.errors import UsageError
from mindseye.metrics import bootstrap, parts
from mindseye.metrics.parts import (
    amplitudes,
    colours_at,
    correlation,
    counts,
    energy_distance,
    energy_distances,
    flow_error,
    information,
    peaks,
    phase_spread,
    ratio,
    share,
    shown,
)
from mindseye.pieces import Pieces, encode_parts
from mindseye.randomness import keys, normals

# Curves


def curve(*waves: tuple[int, float, float]) -> torch.Tensor:
    """The curve of waves, each (frequency, amplitude, phase), `(1, 200)`."""
    codes = torch.tensor([wave[0] - 1 for wave in waves])
    own = torch.tensor([wave[1:] for wave in waves])
    pieces = Pieces(codes, torch.zeros(len(waves), 0), torch.tensor([len(waves)]))
    return Sines().render(pieces, Specifics(own, torch.zeros(1, 0)))[:, 0, 0]


def expected(*waves: tuple[int, float, float]) -> torch.Tensor:
    found = torch.zeros(10, dtype=torch.complex64)
    for frequency, amplitude, phase in waves:
        found[frequency - 1] += amplitude * torch.exp(torch.tensor(1j * phase))
    return found


@pytest.mark.parametrize("wave", [(1, 0.9, 0.0), (4, 0.7, 1.2), (10, 0.99, -3.0), (7, 0.31, 2.0)])
def test_amplitude_and_phase_of_one_wave(wave):
    (found,) = amplitudes(curve(wave), torch.tensor([1]))
    assert_close(found, expected(wave), atol=1e-3, rtol=0)
    assert found[wave[0] - 1].abs().item() == pytest.approx(wave[1], abs=1e-3)
    assert found[wave[0] - 1].angle().item() == pytest.approx(wave[2], abs=1e-3)


@pytest.mark.parametrize("second", [(7, 0.5, -1.0), (3, 0.4, 0.5)])
def test_of_two_waves(second):
    waves = [(3, 0.8, 0.5), second]
    (found,) = amplitudes(curve(*waves), torch.tensor([2]))
    assert_close(found, expected(*waves), atol=1e-3, rtol=0)


def test_waves_of_curves_of_different_sizes():
    one, two = [(2, 0.9, 0.1)], [(5, 1.1, 2.0), (9, 0.7, -2.0)]
    found = amplitudes(torch.cat([curve(*one), curve(*two)]), torch.tensor([1, 2]))
    assert_close(found, torch.stack([expected(*one), expected(*two)]), atol=1e-3, rtol=0)


def test_a_curve_that_is_cut_off_is_heard_still():
    (found,) = amplitudes(curve((4, 1.6, 0.3)), torch.tensor([1]))
    assert 0.99 < found[3].abs() < 1.3
    assert found[3].angle().item() == pytest.approx(0.3, abs=1e-3)
    assert peaks(found).tolist() == [i == 3 for i in range(10)]


def wholes(data, size: int, many: int, draws: int, seed: int = 0):
    """Descriptions and wholes of them."""
    index = torch.arange(many)
    y = data.examples(index, torch.full_like(index, size)).y
    return y, data.wholes_of(y, seed, draws)


def test_the_generators_own_waves_are_heard_and_no_others():
    y, x = wholes(Sines("test"), 1, 100, 8)
    heard, said = peaks(amplitudes(x.flatten(2), y.sizes[:, None])), counts(y, 10) > 0
    assert share(heard, said).mean() > 0.97  # one amplitude in a hundred is below 0.3
    assert share(heard, ~said).max() == 0
    loud = heard.any(2)  # (B, n)
    assert torch.equal(heard[loud], said[:, None].expand_as(heard)[loud])


@pytest.mark.parametrize(("size", "floor"), [(1, 0.1), (4, 1 - 0.9**4)])
def test_wrong_frequencies_are_heard_as_often_as_they_are_there(size, floor):
    y, x = wholes(Sines("test"), size, 400, 2)
    heard = peaks(amplitudes(x.flatten(2), y.sizes[:, None])).roll(1, 0)
    said = counts(y, 10) > 0
    for found in (share(heard, said), share(heard, ~said)):
        assert found.nanmean().item() == pytest.approx(floor, abs=0.05)


def test_what_is_not_there_has_no_share():
    heard = torch.ones(2, 3, 2, dtype=torch.bool)
    found = share(heard, torch.tensor([[True, False], [False, False]]))
    assert found[0] == 1
    assert found[1].isnan()


def test_phases_are_spread_as_the_generators_are():
    y, x = wholes(Sines("test"), 4, 200, 16)
    once = counts(y, 10) == 1
    length, angle = phase_spread(amplitudes(x.flatten(2), y.sizes[:, None]), once)
    known = once.any(1)
    assert torch.equal(length.isnan(), ~known)
    assert length[known].mean().item() == pytest.approx(math.exp(-(math.pi**2) / 8), abs=0.03)
    assert angle[known].mean().item() == pytest.approx(0, abs=0.1)
    interval = bootstrap(length[known])
    assert interval.low < math.exp(-(math.pi**2) / 8) < interval.high


def test_equal_phases_are_one_and_their_mean_is_theirs():
    waves = torch.polar(torch.rand(5, 3, 10) + 0.1, torch.full((5, 3, 10), 2.5))
    length, angle = phase_spread(waves, torch.ones(5, 10, dtype=torch.bool))
    assert_close(length, torch.ones(5).double())
    assert_close(angle, torch.full((5,), 2.5).double(), atol=1e-6, rtol=0)


def test_the_means_of_phases_are_the_resultant():
    phase = normals(keys(0, torch.arange(50)), 8).view(50, 8, 1) + 3  # around ±π
    length, angle = phase_spread(
        torch.polar(torch.ones_like(phase), phase), torch.ones(50, 1, dtype=torch.bool)
    )
    resultant = torch.exp(1j * phase.double()).mean()
    assert length.mean().item() == pytest.approx(resultant.abs().item())
    assert angle.mean().item() == pytest.approx(resultant.angle().item())


# Pictures


def test_sites_far_apart_have_their_colours():
    kit = Sites.vocabulary
    colours = list(kit.names)
    corners = [(-0.9, -0.9), (0.9, -0.9), (-0.9, 0.9), (0.9, 0.9), (0.0, 0.0)]
    many = [
        kit.parts([(colours[(i + k) % 5], *at) for i, at in enumerate(corners)]) for k in range(5)
    ]
    y = encode_parts(many)
    x = Sites("test").wholes_of(y, 0, 20)
    right = colours_at(x, y) == y.codes[:, None]
    assert right.shape == (25, 20)
    assert right.all()
    assert shown(right).all()


def test_colours_are_those_between_pixels():
    ramp = torch.linspace(0, 1, 32)
    x = torch.zeros(1, 3, 32, 32)
    x[0, 0] = ramp.pow(1 / 2.4)  # red to the right
    x[0, 2] = ramp.flip(0)[:, None].pow(1 / 2.4)  # blue to the top
    places = [(0.99, 0.99), (-0.99, -0.99), (-1.0, 1.0), (0.6, 0.5), (0.5, 0.6), (-0.7, 0.2)]
    y = Pieces(torch.zeros(6).long(), torch.tensor(places), torch.tensor([6]))
    names = [Sites.vocabulary.names[code] for code in colours_at(x, y).tolist()]
    assert names == ["red", "blue", "black", "red", "red", "black"]


def test_overshadowed_sites_are_not_shown():
    kit = Sites.vocabulary
    y = encode_parts([kit.parse("red@0,0; blue@0.02,0; blue@-0.02,0; blue@0,0.02; green@0.9,0.9")])
    right = colours_at(Sites("test").wholes_of(y, 0, 20), y) == y.codes[:, None]
    assert shown(right).tolist() == [code > 0 for code in y.codes.tolist()]


def test_wholes_of_other_parts_have_one_colour_in_five():
    y, x = wholes(Sites("test"), 4, 200, 2)
    right = colours_at(x.roll(1, 0), y) == y.codes[:, None]
    assert right.double().mean().item() == pytest.approx(0.2, abs=0.06)


# Loads


def test_curves_are_correlated_with_themselves_whatever_their_size():
    curves = normals(keys(0, torch.arange(3)), 96)
    assert_close(correlation(curves, 3 * curves + 1), torch.ones(3).double())
    assert_close(correlation(curves, -curves), -torch.ones(3).double())
    assert correlation(curves, torch.ones(3, 96)).tolist() == [0, 0, 0]


def test_the_error_of_energy_is_relative_to_what_flows():
    y = torch.tensor([[[1.0, -1.0, 2.0, 0.0]]]).expand(1, 3, 4)
    assert flow_error(y, y).item() == 0
    assert flow_error(y + 1, y).item() == pytest.approx(1)
    assert flow_error(2 * y, y).item() == pytest.approx(0.5)


# Laws


def drawn(many: int, mean: float = 0.0, scale: float = 1.0, seed: int = 0, size: int = 1):
    return mean + scale * normals(keys(seed, torch.arange(many)), size)


def quantiles(many: int) -> torch.Tensor:
    """Standard normal numbers as even as they can be."""
    return torch.special.ndtri((torch.arange(many) + 0.5) / many)


def apart(mean: float, scale: float) -> float:
    """E|D| of a normal D."""
    density = math.exp(-((mean / scale) ** 2) / 2) / math.sqrt(2 * math.pi)
    return 2 * scale * density + mean * math.erf(mean / scale / math.sqrt(2))


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (1.0, 1.0), (3.0, 0.5), (0.0, 2.0)])
def test_the_energy_distance_of_two_normals_is_that_of_the_formula(mean, scale):
    between = 2 * apart(mean, math.hypot(1, scale))
    wanted = between - apart(0, math.sqrt(2)) - apart(0, scale * math.sqrt(2))
    found = energy_distance(quantiles(1000), mean + scale * quantiles(800))
    assert found.distance.item() == pytest.approx(wanted, abs=0.01)
    assert found.scaled.item() == pytest.approx(wanted / between, abs=0.005)


def test_equal_laws_have_no_distance_on_average():
    a, b = (drawn(64 * 8, seed=seed, size=6).view(64, 8, 2, 3) for seed in (0, 1))
    found = energy_distances(a, b)
    interval = bootstrap(found.distance)
    assert interval.low < 0 < interval.high
    assert found.distance.min() < 0  # without bias


def test_the_distance_grows_with_a_shift():
    a, b = drawn(200, size=5), drawn(200, seed=1, size=5)
    found = [energy_distance(a + shift, b) for shift in (0.0, 0.3, 1.0, 3.0, 30.0)]
    for values in ([each.distance for each in found], [each.scaled for each in found]):
        assert values == sorted(values)
        assert len(set(values)) == 5
    assert 0.9 < found[-1].scaled < 1


def test_the_order_of_draws_says_nothing():
    a, b = drawn(50, size=4), drawn(40, 0.5, seed=1, size=4)
    assert_close(energy_distance(a.flip(0), b[torch.randperm(40)]), energy_distance(a, b))


def test_laws_are_compared_in_pairs_some_draws_at_a_time(monkeypatch):
    a, b = drawn(60, size=6).view(3, 20, 2, 3), drawn(45, 1.0, seed=1, size=6).view(3, 15, 2, 3)
    together = energy_distances(a, b)
    assert together.distance.shape == (3,)
    for i in range(3):
        assert_close(energy_distance(a[i], b[i]).distance, together.distance[i])
    monkeypatch.setattr(parts, "PAIRS", 7)
    assert_close(energy_distances(a, b), together)
    monkeypatch.setattr(parts, "VALUES", 7)
    assert_close(energy_distances(a, b), together)


def test_draws_that_are_all_the_same_have_no_distance():
    same = torch.full((2, 5, 3), 0.1)
    for found in energy_distances(same, same[:, :3]):
        assert found.tolist() == [0, 0]
    moved = energy_distances(same + 1, same)
    assert_close(moved.distance, torch.full((2,), 2 * math.sqrt(3)).double())
    assert_close(moved.scaled, torch.ones(2).double())


def test_one_draw_is_too_few():
    with pytest.raises(UsageError, match="2 draws or more of both; 1 and 5 came"):
        energy_distance(torch.zeros(1, 3), torch.zeros(5, 3))


# Bounds


def test_a_bound_is_split_into_what_its_latents_tell():
    terms = {
        "log_px_qzw": torch.tensor([-10.0, -20.0]),
        "kl_qw_pw": torch.tensor([3.0, 5.0]),
        "kl_qz_pz": torch.tensor([1.0, 3.0]),
    }
    found = information(terms)
    assert found.bound.tolist() == [-14, -28]
    assert (found.kl_w.tolist(), found.kl_z.tolist()) == ([3, 5], [1, 3])
    assert found.share.mean().item() == pytest.approx(4 / 12)


def test_a_ratio_of_means_has_the_interval_of_the_delta_method():
    top, bottom = drawn(400, 2.0, 0.5)[:, 0], drawn(400, 4.0, 0.5, seed=1)[:, 0]
    values = ratio(top, bottom)
    assert values.mean().item() == pytest.approx((top.mean() / bottom.mean()).item())
    ratios = torch.stack(
        [
            top[at].mean() / bottom[at].mean()
            for at in torch.randint(400, (500, 400), generator=torch.Generator().manual_seed(0))
        ]
    )
    assert values.std().item() / 20 == pytest.approx(ratios.std().item(), rel=0.15)
