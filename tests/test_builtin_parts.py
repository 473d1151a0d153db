"""The models of parts that come with the package."""

import pytest
import torch

from mindseye.evaluation.senses import SENSES
from mindseye.evaluation.wholes import drawn, real
from mindseye.metrics.parts import amplitudes
from mindseye.pieces import encode_parts
from mindseye.runs import BUILTIN, find


@pytest.mark.parametrize(
    ("name", "measure", "least", "size"),
    [
        ("sines", "recall", 0.93, 4),
        ("sines", "recall", 0.9, 30),
        ("sites", "shown", 0.93, 4),
        ("sites", "shown", 0.85, 12),
        ("loads", "correlation", 0.95, 8),
    ],
)
@torch.no_grad()
def test_what_is_said_is_there_within_what_was_trained_and_beyond(name, measure, least, size):
    run = find(name)
    assert run.path.parent == BUILTIN
    data = run.recipe.data.wholes("test")
    y = data.examples(torch.arange(24), torch.full((24,), size)).y
    truth = real(data, y, 12)
    made = drawn(run.model(), y, 6).expected
    sense = SENSES[type(data)](y, truth)
    found, others = (dict(sense.scores(x))[measure] for x in (made, truth[:, :6].roll(1, 0)))
    assert found.nanmean() > least
    assert size > 20 or found.nanmean() > others.nanmean() + 0.1


def test_a_wave_that_is_taken_from_a_real_curve_is_gone_and_the_others_stay():
    composer, data = find("sines").composer(), find("sines").recipe.data.wholes("test")
    parts = composer.vocabulary.parse("f2, f5, f9")
    x = data.wholes_of(encode_parts([parts]), seed=0, n=24)[0]
    taken = composer.removed(composer.extracted(x, parts), "f5")
    heard = amplitudes(taken.means.flatten(1), torch.full((24,), 2)).abs() >= 0.3
    assert heard[:, 4].float().mean() < 0.1
    assert heard[:, [1, 8]].float().mean() > 0.9
