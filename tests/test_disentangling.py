"""Disentanglement of runs: reports, limits, the table in small, its pictures and films."""

import json
import math
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from mindseye.concepts import Attribute, Vocabulary
from mindseye.data.dsprites import VOCABULARY, DSprites
from mindseye.errors import DataError, UsageError
from mindseye.evaluation import disentangling
from mindseye.evaluation.disentangling import (
    SCORES,
    Asked,
    disentanglement_of,
    evaluate_disentanglement,
)
from mindseye.evaluation.representations import (
    Narrow,
    constant_posteriors,
    factors_of,
    ideal_posteriors,
    looked_up,
)
from mindseye.films import film
from mindseye.papers import get_recipe, get_table
from mindseye.reproduction import make_ledger_plan, reproduce_ledger, review
from mindseye.reproduction.limits import LIMITS
from mindseye.reproduction.pages import markdown, sections
from mindseye.reproduction.scorers import SCORERS
from mindseye.runs import Run, create

SMALL = Vocabulary([Attribute("hue", ["a", "b", "c"]), Attribute("size", ["1", "2", "3", "4"])])
FEW = Asked(points=400, votes=40, group=16, many=32)
SETTINGS = {"steps": "3", "log_every": "3", "source": "rendered"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    recipe = get_recipe("dsprites/vae-tiny").with_settings(SETTINGS)
    made = create(recipe, tmp_path_factory.mktemp("runs"))
    list(made.train())
    return made


class Reads:
    """A model that reads position off the picture: the centre of mass of a sprite."""

    prior = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2), 1.0), 1)

    def to(self, device):
        return self

    def q_x(self, x):
        at = torch.linspace(-2, 2, 64)
        ink = x.sum((1, 2, 3))
        columns, rows = x.sum((1, 2)), x.sum((1, 3))
        mean = torch.stack([columns @ at / ink, rows @ at / ink], 1)
        return torch.distributions.Independent(torch.distributions.Normal(mean, 0.02), 1)

    def p_x(self, z):
        shape = (*z.shape[:-1], 1, 64, 64)
        return torch.distributions.Independent(
            torch.distributions.Bernoulli(logits=torch.zeros(shape)), 3
        )


# Representations whose quality is known


def test_the_factors_themselves_reach_every_ceiling():
    pytest.importorskip("sklearn")
    found = disentanglement_of(ideal_posteriors(SMALL), SMALL, FEW)
    assert found.scores.keys() == SCORES.keys()
    for name in ("beta_vae", "beta_vae_many", "factor_vae", "mig_chen", "dci_d", "dci_c", "dci_i"):
        assert found.scores[name] == pytest.approx(1, abs=1e-6), name
    for name in ("mig_lib", "modularity"):  # histograms of 400 states
        assert found.scores[name] == pytest.approx(1, abs=0.03), name
    assert (found.scores["active"], found.scores["found"]) == (2, 2)
    assert found.activities == pytest.approx([1, 1], abs=0.1)
    assert np.count_nonzero(found.votes) == 2


def test_a_constant_is_at_every_floor():
    found = disentanglement_of(constant_posteriors(SMALL), SMALL, FEW)
    for name in ("factor_vae", "mig_chen", "mig_lib", "sap", "modularity", "active", "found"):
        assert found.scores[name] == pytest.approx(0, abs=1e-7), name
    assert found.scores["beta_vae"] == pytest.approx(0.5, abs=0.25)  # chance, of 20 points


def test_states_that_are_looked_up_are_those_that_are_encoded():
    sizes = (3, 4, 2)
    codes = torch.cartesian_prod(*map(torch.arange, sizes))[torch.randperm(24)]

    def posteriors(codes):
        assert len(codes) == 24
        mean = (codes * torch.tensor([1.0, 10.0, 100.0])).sum(1, keepdim=True)
        return Narrow(mean, mean + 1)

    found = looked_up(posteriors, sizes, "cpu")(codes)
    torch.testing.assert_close(found.mean, posteriors(codes).mean)
    torch.testing.assert_close(found.stddev, found.mean + 1)


def test_without_scikit_learn_dci_is_left_out_and_that_is_said(monkeypatch):
    def missing(*_, **__):
        raise DataError("DCI learns with scikit-learn, which is not installed.")

    monkeypatch.setattr(disentangling, "dci", missing)
    found = disentanglement_of(ideal_posteriors(SMALL), SMALL, FEW)
    assert "dci_d" not in found.scores
    assert "scikit-learn" in found.notes[0]
    assert found.notes[0] in found.to_text()
    assert found.scores["factor_vae"] == 1


# Runs


def test_a_model_that_reads_positions_finds_these_two_factors(run, monkeypatch):
    monkeypatch.setattr(Run, "model", lambda self: Reads())
    asked = Asked(points=300, votes=60, group=16, many=0, states=600)
    found = evaluate_disentanglement(run, asked)
    gaps = dict(zip(found.factors, found.gaps["mig_chen"], strict=True))
    assert min(gaps["x"], gaps["y"]) > 0.5
    assert max(gaps["shape"], gaps["scale"]) < 0.1
    assert found.scores["active"] == 2
    information = torch.tensor(found.information)
    assert information.argmax(0)[3:].tolist() == [0, 1]
    assert torch.tensor(found.votes)[3:].argmax(1).tolist() == [0, 1]
    assert found.nats["distortion"] == pytest.approx(4096 * math.log(2), rel=1e-5)


class ReadsTwice(Reads):
    """The same, with the column once more: a dimension that is active and never wins a vote."""

    def q_x(self, x):
        found = super().q_x(x).mean
        mean = torch.cat([found, found[:, :1]], 1)
        return torch.distributions.Independent(torch.distributions.Normal(mean, 0.02), 1)


def test_a_dimension_without_votes_finds_no_factor(run, monkeypatch):
    monkeypatch.setattr(Run, "model", lambda self: ReadsTwice())
    assert review._found(run, 300, "cpu", None) == 2


def test_the_report_is_kept_beside_the_weights(run):
    asked = Asked(points=100, votes=20, group=4, many=8, states=100)
    seen = []
    found = evaluate_disentanglement(run, asked, progress=lambda *each: seen.append(each))
    kept = json.loads((run.path / "disentanglement.json").read_text())
    assert kept["scores"] == found.scores
    assert kept["asked"]["states"] == 100
    assert np.shape(kept["votes"]) == (5, 3)
    assert np.shape(kept["information"]) == (3, 5)
    assert kept["factors"] == [attribute.name for attribute in VOCABULARY]
    assert seen[-1][0] == seen[-1][1]
    assert "β-VAE score, of more pairs" in found.to_text()
    assert "20 votes of 4 and of 8," in found.to_text()


def test_data_without_factors_are_refused():
    with pytest.raises(UsageError, match="`mnist` has no independent factors"):
        factors_of("mnist")
    assert factors_of("dsprites") is DSprites


def test_too_few_points_are_refused():
    with pytest.raises(UsageError, match="`points=3` is too few; expected 100 or more"):
        Asked(points=3)
    with pytest.raises(UsageError, match="`pictures=50` is too few; expected 100 or more"):
        Asked.few(50)
    assert Asked.few(100) == Asked(points=100, votes=20, many=0, states=100)


# The table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    plan = make_ledger_plan(
        get_table("higgins-dsprites"),
        size="tiny",
        seeds=1,
        rows=["vae", "tcvae"],
        settings=SETTINGS,
    )
    return plan, folder, reproduce_ledger(plan, folder)


def test_the_limits_stand_under_the_rows(made):
    _, _, result = made
    grid = next(iter(sections(result))).grid
    assert [row[0] for row in grid[1:]] == [
        "VAE",
        "β-TCVAE, β = 3",
        "the factors themselves (ceiling)",
        "a constant (floor)",
    ]
    column = grid[0].index("FactorVAE")
    assert [row[column] for row in grid[-2:]] == ["1.00", "0.00"]
    assert grid[-1][grid[0].index("rate")] == "–"


def test_a_second_call_measures_no_limits(made, monkeypatch):
    plan, folder, result = made
    monkeypatch.setitem(LIMITS, "disentanglement", lambda *_: pytest.fail("measured again"))
    monkeypatch.setitem(SCORERS, "disentanglement", lambda *_: pytest.fail("measured again"))
    assert reproduce_ledger(plan, folder)["limits"] == result["limits"]


def test_a_ledger_whose_scorer_has_no_limits_has_no_such_rows(made):
    _, _, result = made
    del (old := dict(result))["limits"]  # as tables were written before there were any
    assert len(next(iter(sections(old))).grid) == 3


def test_every_row_has_traversals_and_a_film_that_the_page_links(made):
    _, folder, result = made
    films = [picture["film"] for picture in result["pictures"] if "film" in picture]
    assert len(films) == 2
    page, html = markdown(result), (folder / "higgins-dsprites.html").read_text()
    for name in films:
        assert f"[As a film]({name})" in page
        assert f'href="{name}"' in html
        with Image.open(folder / name) as moving:
            assert (moving.format, moving.info["loop"]) == ("GIF", 0)


def test_a_film_shows_its_steps_there_and_back():
    levels = torch.linspace(0, 1, 4)
    pictures = levels[None, :, None, None, None].expand(2, 4, 1, 8, 8)
    with Image.open(BytesIO(film([0, 1], pictures, "levels", ["one", "two"]))) as found:
        assert (found.n_frames, found.info["loop"]) == (6, 0)
        seen = []
        for number in range(6):
            found.seek(number)
            seen.append(np.asarray(found.convert("L"), dtype=int))
    assert np.array_equal(seen[1], seen[5])
    assert np.array_equal(seen[2], seen[4])
    means = [frame.mean() for frame in seen[:4]]
    assert means == sorted(means)
    assert means[3] - means[0] > 1


# The review


@pytest.mark.parametrize(
    ("rows", "source", "columns"),
    [
        (["beta-vae"], "rendered", {"loss", "rate", "found"}),
        (["vae-1000", "semi"], "digits", {"loss"}),
    ],
)
def test_the_tables_of_the_review_are_made_in_small(rows, source, columns, tmp_path):
    if source == "digits":
        pytest.importorskip("sklearn")
    settings = {"steps": "4", "log_every": "2", "source": source}
    plan = make_ledger_plan(
        get_table("vae-review"), size="tiny", seeds=1, rows=rows, settings=settings
    )
    result = reproduce_ledger(plan, tmp_path)
    assert [entry["family"] for entry in result["entries"]] == rows
    for entry in result["entries"]:
        assert columns <= entry["ours"].keys()
    assert result["pictures"]
