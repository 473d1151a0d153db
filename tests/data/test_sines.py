"""Sines: the curves of the paper's 1D problem."""

import math

import pytest
import torch
from scipy import stats

from mindseye.data.sines import Sines
from mindseye.data.wholes import Specifics
from mindseye.groups import Groups
from mindseye.pieces import Pieces
from mindseye.randomness import keys

TIME = torch.arange(200, dtype=torch.float64)


def curves(wholes):
    """The curves of wholes, each a list of (frequency, amplitude, phase), `(B, 200)`."""
    parts = [part for whole in wholes for part in whole]
    codes = torch.tensor([part[0] - 1 for part in parts])
    own = torch.tensor([part[1:] for part in parts], dtype=torch.float32)
    sizes = torch.tensor([len(whole) for whole in wholes])
    specifics = Specifics(own, torch.zeros(len(wholes), 0))
    return Sines().render(Pieces(codes, torch.zeros(len(parts), 0), sizes), specifics)[:, 0, 0]


def wave(l, a, kappa):  # noqa: E741 the paper's letters
    return a * torch.cos(2 * math.pi * l * TIME / 100 + kappa)


def near(found, wanted):
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)


def specifics(n):
    data = Sines()
    pieces = Pieces(torch.zeros(n).long(), torch.zeros(n, 0), torch.tensor([n]))
    return data.draw(pieces, keys(0, torch.tensor([3]))).own


@pytest.mark.parametrize("part", [(1, 1.0, 0.0), (4, 0.7, 1.2), (10, 1.4, -3.0)])
def test_a_single_sine_has_a_closed_form(part):
    near(curves([[part]])[0], torch.tanh(3 * wave(*part)))


@pytest.mark.parametrize("many", [2, 7, 30])
def test_equal_sines_in_phase_are_one_made_larger(many):
    part = (3, 0.9, 0.4)
    near(curves([[part] * many])[0], many * torch.tanh(3 * wave(*part)))


def test_opposite_sines_cancel():
    near(curves([[(2, 1.0, 0.3), (2, 1.0, 0.3 + math.pi)]])[0], 0 * TIME)


def test_curves_of_different_sizes_have_the_formula():
    wholes = [
        [(1, 0.8, 0.1), (5, 1.1, 2.0), (5, 0.9, -1.0)],
        [(9, 1.3, 0.5)],
        [(7, 1, 0), (2, 1, 1)],
    ]
    for found, whole in zip(curves(wholes), wholes, strict=True):
        mean = sum(wave(*part) for part in whole) / len(whole)
        near(found, len(whole) * torch.tanh(3 * mean))


def test_curves_repeat_after_a_hundred_and_stay_within_their_number():
    found = Sines().examples(torch.arange(500))
    assert torch.equal(found.x[..., :100], found.x[..., 100:])
    assert (found.x.abs().flatten(1).amax(1) <= found.y.sizes).all()


def test_removing_a_sine_removes_its_wave_before_the_tanh():
    """Undone, the non-linearity leaves a sum, and the part that goes is all that it loses."""
    parts = [(1, 0.3, 0.2), (6, 0.4, -0.5), (8, 0.2, 1.0)]
    with_it, without = curves([parts, parts[:2]]).double()
    inner = [torch.atanh(x / k) * k / 3 for x, k in ((with_it, 3), (without, 2))]
    torch.testing.assert_close(inner[0] - inner[1], wave(*parts[2]), atol=1e-4, rtol=0)


def test_curves_alone_add_up_to_another_curve():
    """Each part alone is cut off at 1, together they are not."""
    data = Sines()
    pieces = data.examples(torch.arange(64), torch.full((64,), 8)).y
    own = data.draw(pieces, keys(0, torch.arange(64)))
    sums = Groups.of(pieces.sizes, 512).totals(data.alone(pieces, own).flatten(1))
    apart = sums - data.render(pieces, own).flatten(1)
    assert apart.square().mean().sqrt() > 0.5


def test_amplitudes_and_phases_are_those_of_the_paper():
    amplitude, phase = specifics(20_000).double().unbind(1)
    assert stats.kstest(amplitude, "norm", (1, 0.3)).pvalue > 1e-3
    assert stats.kstest(phase, "norm", (0, math.pi / 2)).pvalue > 1e-3
    assert amplitude.mean() == pytest.approx(1, abs=0.01)
    assert amplitude.std() == pytest.approx(0.3, abs=0.01)
    assert phase.mean() == pytest.approx(0, abs=0.04)
    assert phase.std() == pytest.approx(math.pi / 2, abs=0.04)
    assert abs(torch.corrcoef(torch.stack([amplitude, phase]))[0, 1]) < 0.03


def test_categories_are_frequencies():
    assert Sines.vocabulary.categories[0] == "f1"
    assert Sines.vocabulary.categories[-1] == "f10"
    assert Sines.shape == (1, 1, 200)
    found = Sines().examples(torch.arange(100), torch.ones(100).long())
    loudest = torch.fft.rfft(found.x[:, 0, 0]).abs().argmax(1) // 2
    assert torch.equal(loudest, found.y.codes + 1)
