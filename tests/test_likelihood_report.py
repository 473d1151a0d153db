"""What `mindseye evaluate` says about a model of pictures alone."""

import json
from dataclasses import replace

import pytest
import torch

from mindseye.data import Batch
from mindseye.errors import UsageError
from mindseye.evaluation.likelihood import evaluate_likelihood, likelihood_of
from mindseye.labels import Labels
from mindseye.metrics.likelihood import log_evidence
from mindseye.models import VAE
from mindseye.papers import get_recipe
from mindseye.reproduction.scorers import _pruned
from mindseye.runs import Run, create


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    recipe = get_recipe("mnist/iwae-2l-tiny").with_settings({"source": "digits", "steps": "20"})
    made = create(recipe, tmp_path_factory.mktemp("runs"))
    list(made.train())
    return made


def test_the_report_is_kept_beside_the_weights(run):
    report = evaluate_likelihood(run, k=7, pictures=20)
    kept = json.loads((run.path / "likelihood.json").read_text())
    assert kept["nll"]["mean"] == report.nll.mean
    assert kept["nll"]["low"] < report.nll.mean < kept["nll"]["high"]
    assert (kept["part"], kept["k"], kept["pictures"]) == ("test", 7, 20)
    assert [len(layer) for layer in kept["activities"]] == [6, 4]
    assert kept["active"] == [sum(a > 0.01 for a in layer) for layer in kept["activities"]]
    assert kept["provenance"]["device"].startswith("cpu")


def test_its_nats_are_those_of_the_metric(run):
    report = evaluate_likelihood(run, k=7, pictures=20)
    x = run.recipe.data.open("test").examples(torch.arange(20)).x
    expected = -log_evidence(run.model(), x, 7).mean().item()
    assert report.nll.mean == pytest.approx(expected, rel=1e-9)


def test_rate_and_distortion_bound_the_nats_from_above(run):
    report = evaluate_likelihood(run, k=200, pictures=50)
    assert report.nll.mean < report.rate.mean + report.distortion.mean


def test_the_text_says_all_of_it(run):
    words = evaluate_likelihood(run, k=7, pictures=20).to_text()
    assert "7 draws, 20 test pictures" in words
    assert "active units" in words
    assert "rate" in words


class Flicker:
    """A black picture and a white one, in turn."""

    count = 8

    def examples(self, index):
        x = (index % 2).float()[:, None, None, None].expand(-1, 1, 64, 64)
        return Batch(x, Labels.full(torch.zeros(len(index), 0, dtype=torch.int64)))


def test_units_that_cannot_be_taken_out_stay():
    torch.manual_seed(0)
    model = VAE((1, 64, 64), 3, "slim", width=16, hidden=8).eval()
    with torch.no_grad():
        model.image_encoder.mlp[-1].weight[0].mul_(100)
        model.image_encoder.mlp[-1].weight[1].zero_()
    report = likelihood_of(model, Flicker(), k=2)
    assert 0 < report.active[0] < 3
    assert report.pruned is None
    assert _pruned(report) is None  # a table says nothing where nothing was measured
    whole = replace(report, active=tuple(len(layer) for layer in report.activities))
    assert _pruned(whole) == report.nll.mean  # without inactive units there is nothing to take out


def test_more_pictures_than_there_are_is_refused(run):
    with pytest.raises(UsageError, match="must be between 1 and 300"):
        evaluate_likelihood(run, k=1, pictures=301)


def test_a_model_without_a_likelihood_is_refused():
    with pytest.raises(UsageError, match="no likelihood of pictures alone"):
        likelihood_of(torch.nn.Linear(1, 1), None)
