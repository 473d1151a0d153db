"""What a report of a model of wholes and their parts says."""

import json
import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mindseye.composing import Composer
from mindseye.data import Loads, Sines, Sites
from mindseye.distributions import NormalPixels
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals
from mindseye.distributions.normal import diagonal_normal
from mindseye.errors import UsageError
from mindseye.evaluation import wholes as many_wholes
from mindseye.evaluation.part_reports import SECTIONS
from mindseye.evaluation.parts import (
    PartsReport,
    evaluate_parts,
    generator_rows,
    parts_report,
    sizes_of,
)
from mindseye.evaluation.wholes import (
    drawn,
    extracted,
    real,
    repeated,
    summed,
    without,
    written,
)
from mindseye.metrics.parts import amplitudes
from mindseye.models import CompVAE, WholesVAE
from mindseye.papers import get_recipe
from mindseye.pieces import encode_parts
from mindseye.runs import Run, create, find

FEW = {"wholes": 3, "draws": 4}
SIZES = {
    "sines": [1, 2, 4, 8, 16, 20, 24, 30],
    "sites": [1, 2, 4, 8, 10, 12, 16],
    "loads": [1, 2, 4, 8, 16, 20, 24, 30],
}
ALWAYS = {
    *("distance", "distance, expected", "distance, generator"),
    *("distance, sum of parts", "distance, others"),
    *("bound", "log_px", "kl_w", "kl_z", "share", "reconstruction"),
}
OWN = {
    "sines": {"recall", "recall, generator", "recall, others", "phase", "angle, generator"},
    "sites": {"recall", "recall, generator", "recall, others", "shown", "shown, generator"},
    "loads": {"correlation", "correlation, generator", "energy error", "energy error, others"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Run]:
    """A run of every data set, trained for next to nothing."""
    root, made = tmp_path_factory.mktemp("runs"), {}
    for name in SIZES:
        recipe = get_recipe(f"{name}/compvae-tiny")
        made[name] = create(
            replace(recipe, training=replace(recipe.training, steps=2, log_every=2)), root
        )
        list(made[name].train())
    return made


def model_of(run: Run) -> WholesVAE:
    model = run.model()
    assert isinstance(model, WholesVAE)
    return model


@pytest.mark.parametrize("name", SIZES)
def test_a_report_has_all_rows_and_finite_numbers(runs, name):
    report = evaluate_parts(runs[name], **FEW)
    assert list(report.rows) == SIZES[name]
    for size, values in report.rows.items():
        assert values.keys() >= ALWAYS
        assert ("removal error" in values) == (size > 1)
        for estimate in values.values():
            assert all(map(math.isfinite, estimate[:3]))
            assert estimate.low <= estimate.mean <= estimate.high
    assert OWN[name] <= report.rows[4].keys()
    assert report.checks == {"order": 0, "added and removed": 0}
    assert json.loads(json.dumps(report.to_json(), allow_nan=False)) == report.to_json()


@pytest.fixture(scope="module")
def report(runs) -> PartsReport:
    return evaluate_parts(runs["sines"], **FEW, part="validation")


def test_the_report_is_kept_beside_the_weights(runs, report):
    kept = json.loads((runs["sines"].path / "parts-validation.json").read_text())
    assert (kept["part"], kept["wholes"], kept["draws"]) == ("validation", 3, 4)
    assert kept["provenance"]["device"].startswith("cpu")
    assert [(row["parts"], row["beyond"]) for row in kept["rows"]] == [
        (size, size > 16) for size in SIZES["sines"]
    ]
    for row in kept["rows"]:
        assert row["values"]["bound"]["mean"] == report.rows[row["parts"]]["bound"].mean


def test_the_pages_say_all_of_it(report):
    names = {name for values in report.rows.values() for name in values}
    sections = [each for each in SECTIONS if names & each.columns.keys()]
    text, page = report.to_text(), report.to_markdown()
    assert text.count("\nparts  ") == page.count("\n| parts") == len(sections) == 12
    assert text.startswith(f"{report.name}\n\n3 validation wholes")
    recall = report.rows[20]["recall"]
    assert f"\n20*    {100 * recall.mean:.1f} [" in text
    assert f"\n| 20*   | {100 * recall.mean:.1f} [" in page
    assert "\n1      -" in text  # the only part is not removed
    assert "changes wholes by at most 0." in text


def test_progress_is_told_and_the_seed_decides(runs):
    calls, before = [], torch.random.get_rng_state()
    model, data = model_of(runs["loads"]), Loads("test", most=2)
    one = parts_report(model, data, **FEW, progress=lambda *at: calls.append(at))
    assert calls == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert torch.equal(before, torch.random.get_rng_state())
    assert parts_report(model, data, **FEW).rows == one.rows
    assert parts_report(model, data, **FEW, seed=1).rows != one.rows


@pytest.mark.parametrize("few", [{"wholes": 1}, {"draws": 1}])
def test_too_few_are_refused(runs, few):
    with pytest.raises(UsageError, match="=1` is too few; expected 2 or more"):
        evaluate_parts(runs["sines"], **few)


def test_a_model_without_parts_is_refused():
    with pytest.raises(UsageError, match="is of `kind='joint'`; expected 'comp'"):
        evaluate_parts(find("mnist-a"))


def test_rows_are_within_what_was_trained_and_beyond():
    assert sizes_of(Sines("test", most=5)) == [1, 2, 4, 5, 20, 24, 30]
    assert sizes_of(Sites("test", most=1)) == [1, 10, 12, 16]
    assert sizes_of(Loads("test", most=32)) == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("name", ["sines", "sites"])
def test_the_generator_has_without_a_model_what_it_has_beside_one(runs, name):
    kind = {"sines": Sines, "sites": Sites}[name]
    beside = parts_report(model_of(runs[name]), kind("test", most=2), **FEW).rows
    alone = generator_rows(kind("test", most=2), **FEW)
    for size, values in beside.items():
        own = {n: e for n, e in values.items() if n.endswith((", generator", ", others"))}
        own.pop("kept, generator", None)  # of wholes that a model took apart
        assert alone[size] == own


# Many wholes at once


@pytest.mark.parametrize("name", ["sines", "sites"])
@torch.no_grad()
def test_parts_are_extracted_and_removed_as_one_by_one(runs, name):
    model = model_of(runs[name])
    data, composer = runs[name].recipe.data.open("test"), Composer(model)
    kit = composer.vocabulary
    text = ["f2, 2×f5, f9", "f1, f3, f4, f8"]
    if name == "sites":
        text = ["red@0.1,0.2; blue@0.5,0; black@0,0", "red@0,0; green@0.3,0.3; white@-0.5,0.5"]
    many = [kit.parse(each) for each in text]
    y = encode_parts(many)
    x = data.wholes_of(y, 0, 3)
    found = extracted(model, x.flatten(0, 1), repeated(y, 3))
    made = written(model, found, repeated(y, 3), torch.tensor([2] * 3 + [1] * 3)).unflatten(
        0, (2, 3)
    )
    for i, (parts, gone) in enumerate(zip(many, (2, 1), strict=True)):
        before = composer.extracted(x[i], parts)
        assert_close(found.w.unflatten(0, (2, 3))[i], before.w, atol=1e-5, rtol=1e-4)
        after = composer.removed(before, parts.items[gone])
        assert_close(made[i], after.means, atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_wholes_have_the_law_of_those_made_one_by_one(runs):
    model = model_of(runs["sines"])
    composer, n = Composer(model), 4000
    parts = composer.vocabulary.parse("2×f3, f7")
    y = encode_parts([parts])
    one = composer.composed(parts, n)
    for ours, theirs in (
        (drawn(model, y, n).expected[0], one.means),
        (summed(model, y, n)[0], composer.sum_of_parts(parts, n)),
    ):
        spread = theirs.std(0)
        assert_close(ours.mean(0), theirs.mean(0), atol=0.1 * spread.max().item(), rtol=0)
        assert_close(ours.std(0), spread, atol=0.1 * spread.max().item(), rtol=0)


def test_real_wholes_are_the_generators_whatever_is_rendered_at_once(monkeypatch):
    data = Loads("test")
    y = data.examples(torch.arange(5), torch.full((5,), 3)).y
    found = real(data, y, 4)
    assert found.shape == (5, 4, 1, 1, 96)
    assert len({each.item() for each in found.flatten(0, 1).sum((1, 2, 3))}) == 20
    many, theirs = real(data, y, 500), data.wholes_of(y, 0, 500)
    assert_close(many.mean(1), theirs.mean(1), atol=0.5, rtol=0)
    monkeypatch.setitem(many_wholes.AT_ONCE, "cpu", 3)
    assert_close(real(data, y, 4), found)


def test_wholes_do_not_depend_on_how_many_there_are(runs):
    model, data = model_of(runs["sites"]), Sites("test")
    y = data.examples(torch.arange(200), torch.full((200,), 2)).y
    many = drawn(model, y, 2)
    few = drawn(model, type(y)(y.codes[:6], y.places[:6], y.sizes[:3]), 1)
    assert_close(few.draws[:, 0], many.draws[:3, 0], atol=1e-4, rtol=1e-4)


def test_descriptions_without_a_part():
    y = encode_parts([Sines.vocabulary.parse("f1 f2 f3"), Sines.vocabulary.parse("f4 f5 f6")])
    less, stays = without(y, torch.tensor([1, 2]))
    assert less.codes.tolist() == [0, 2, 3, 4]
    assert less.sizes.tolist() == [2, 2]
    assert stays.tolist() == [True, False, True, True, True, False]


# A model that is nearly the generator


class Ideal(nn.Module):
    """Latents are complex amplitudes and a one; their sum is all that the curve is made of."""

    shape, latent, part = (1, 1, 200), 1, 21
    vocabulary, tags = Sines.vocabulary, 1
    groups, total = staticmethod(CompVAE.groups), CompVAE.total

    def __init__(self):
        super().__init__()
        self.least = nn.Parameter(torch.tensor(1e-3), requires_grad=False)

    def p_w(self, y, groups):
        chosen = nn.functional.one_hot(y.codes, 10).float()
        mean = math.exp(-(math.pi**2) / 8)
        twice = (1 + math.exp(-(math.pi**2) / 2)) / 2  # of a squared cosine
        across = [math.sqrt(1.09 * square) for square in (twice, 1 - twice)]
        ones = torch.ones(len(chosen), 1)
        loc = torch.cat([mean * chosen, 0 * chosen, ones], 1)
        real = math.sqrt(across[0] ** 2 - mean**2)
        scale = torch.cat([real * chosen, across[1] * chosen, 0 * ones], 1) + self.least
        return PartNormals(loc, scale, groups)

    def p_z(self, total):
        return diagonal_normal(total[:, :1] * 0, total[:, :1] * 0)

    def p_x(self, z, total):
        time = 2 * math.pi / 100 * torch.arange(200) * torch.arange(1, 11)[:, None]
        waves = total[:, :10] @ time.cos() - total[:, 10:20] @ time.sin()
        many = total[:, 20:].round()
        x = many * torch.tanh(3 / many * waves)
        return NormalPixels(x[:, None, None], self.least.log())

    def seen(self, x):
        return x[:, 0, 0]

    def q_z(self, seen):
        return diagonal_normal(seen[:, :1] * 0, seen[:, :1] * 0)

    def q_w(self, seen, z, y, groups, noise=None):
        waves = amplitudes(seen, y.sizes)
        counted = groups.totals(nn.functional.one_hot(y.codes, 10).float())
        each = groups.spread(torch.cat([waves.real, waves.imag], 1) / counted.repeat(1, 2))
        chosen = nn.functional.one_hot(y.codes, 10).repeat(1, 2)
        own = torch.where(chosen > 0, each, 0.0)
        loc = torch.cat([own, torch.ones(len(own), 1)], 1)
        return CorrelatedNormals(loc, self.least.expand_as(loc), torch.zeros_like(loc), groups)


def test_a_model_that_is_nearly_the_generator_scores_like_it():
    report = parts_report(Ideal(), Sines("test"), wholes=32, draws=8)
    for size, values in report.rows.items():
        recall, ceiling = values["recall"], values["recall, generator"]
        assert recall.mean > ceiling.mean - 0.12  # amplitudes are normal, so some are small
        if "false alarms" in values:
            assert values["false alarms"].mean < 0.01
        assert values["distance, expected"].mean < values["distance, others"].mean / 2
        assert values["phase"].low < math.exp(-(math.pi**2) / 8) + 0.05
        if size >= 4:  # few waves are cut off, many are not
            assert values["reconstruction"].mean < 0.1
            assert values["removal error"].mean < 0.1
            assert values["before"].mean > 0.95
            assert values["gone"].mean == 1
            assert values["kept"].mean == pytest.approx(values["kept, generator"].mean, abs=0.02)
    assert report.checks == {"order": 0, "added and removed": 0}
