"""What a report of a model that paints says, and of whose words."""

import json

import pytest
import torch
from torch.testing import assert_close

from mindseye.data import averages
from mindseye.data.captioned_mnist import PAIR_SENTENCE, SENTENCE
from mindseye.errors import UsageError
from mindseye.evaluation.drawings import evaluate_drawings, measured_words
from mindseye.labels import Labels, encode
from mindseye.models import Observer
from mindseye.objectives import draw
from mindseye.papers import get_recipe
from mindseye.runs import Run, create, find


class Stub(Observer):
    """An observer that sees what it is told to see."""

    def __init__(self, seen: Labels, vocabulary=SENTENCE, told: str = ""):
        super().__init__(vocabulary, (1, 60, 60), width=2, told=told)
        self.seen = seen

    def judge(self, x, told=None):
        return self.seen.codes.expand(len(x), -1)


def said(*texts: str, sentence=SENTENCE) -> Labels:
    return encode([sentence.parse(text) for text in texts])


def test_words_are_counted_place_by_place_and_together():
    captions = said("three top left", "three top right", "five top left", "five top right")
    found = measured_words(Stub(said("three top left")), torch.zeros(4, 1, 60, 60), captions)
    assert found["digit"].tolist() == [True, True, False, False]
    assert found["place"].tolist() == [True, False, True, False]
    assert found["all"].tolist() == [True, False, False, False]


def test_what_an_observer_is_told_is_not_counted():
    captions = said("six above one", "six below one", "one above six", sentence=PAIR_SENTENCE)
    stub = Stub(said("six above one", sentence=PAIR_SENTENCE), PAIR_SENTENCE, "relation")
    found = measured_words(stub, torch.zeros(3, 1, 60, 60), captions)
    assert set(found) == {"first digit", "second digit", "all"}
    assert found["all"].tolist() == [True, True, False]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    settings = {"source": "digits", "steps": "2", "replications": "1"}
    made = get_recipe("captioned-mnist-comp/align-tiny").with_settings(settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "PICTURES", 64)
        found = create(made, tmp_path_factory.mktemp("runs"))
        list(found.train())
    return found


def test_bounds_are_those_of_the_objective(run):
    report = evaluate_drawings(run, pictures=12)
    assert set(report.values) == {
        f"{k} {p}" for k in ("bound", "kl") for p in ("train", "validation", "test")
    }
    model = run.mind().painted
    batch = run.recipe.data.open("test", seed=1_000_000).examples(torch.arange(12))
    torch.manual_seed(7)
    with torch.no_grad():
        values = torch.stack([draw(model, *batch).value for _ in range(20)])
    spread = values.std(0).mean().item()
    assert report.values["bound test"].mean == pytest.approx(values.mean().item(), abs=3 * spread)


def test_words_are_asked_of_combinations_seen_and_never_seen(run):
    report = evaluate_drawings(run, observer=Stub(said("three top left")), pictures=40)
    for name in ("seen", "unseen"):
        for word in ("digit", "place", "all"):
            painted, real = (report.values[f"{w}{name} {word}"].mean for w in ("", "real "))
            assert painted == real  # this observer does not look
    seen = run.recipe.data.open("train", seed=1_000_000).examples(torch.arange(40)).y
    wanted = (seen.codes == said("three top left").codes).double().mean(0).tolist()
    assert report.values["seen digit"].mean == pytest.approx(wanted[0])
    assert report.values["seen place"].mean == pytest.approx(wanted[1])


def test_the_report_lies_beside_the_weights_and_is_read_by_people(run):
    report = evaluate_drawings(run, observer=Stub(said("three top left")), pictures=8)
    kept = json.loads((run.path / "drawings.json").read_text())
    assert kept["values"]["bound test"]["mean"] == report.values["bound test"].mean
    assert kept["provenance"]["device"]
    lines = report.to_text().splitlines()
    assert lines[0] == "8 pictures of every part, 95 % intervals"
    assert any(line.startswith("words right, combinations never seen: all") for line in lines)
    assert len(lines) == 1 + len(report.values)


def test_one_seed_gives_one_report(run):
    one, other = (evaluate_drawings(run, pictures=8, seed=3) for _ in range(2))
    assert one == other
    assert_close(
        torch.tensor(one.values["bound test"].mean), torch.tensor(other.values["bound test"].mean)
    )


def test_what_paints_nothing_is_refused():
    with pytest.raises(UsageError, match="paints nothing"):
        evaluate_drawings(find("mnist-a"))


def test_no_pictures_are_too_few(run):
    with pytest.raises(UsageError, match="`pictures=0` is too few"):
        evaluate_drawings(run, pictures=0)
