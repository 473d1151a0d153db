"""What is measured of a semi-supervised run, and its table in small."""

import json

import pytest
import torch

from mindseye.concepts import Attribute, Vocabulary
from mindseye.data import Batch
from mindseye.errors import UsageError
from mindseye.evaluation.semi import evaluate_semi, semi_report
from mindseye.explore import recast
from mindseye.labels import Labels
from mindseye.models import SemiVAE
from mindseye.objectives.dgm import semi_dgm
from mindseye.papers import get_recipe, get_table
from mindseye.reproduction import make_ledger_plan, reproduce_ledger
from mindseye.runs import Run, create, load
from mindseye.studio.shelf import shelf_of

SETTINGS = {"source": "digits", "steps": "6", "log_every": "3"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    recipe = get_recipe("mnist/dgm-conv-tiny").with_settings({**SETTINGS, "steps": "20"})
    made = create(recipe, tmp_path_factory.mktemp("runs"))
    list(made.train())
    return made


class Dots:
    """Pictures of a black or a white square, read right or wrong by a model made for it."""

    count = 20

    def __init__(self, wrong: int = 0, said: bool = True):
        self.wrong, self.said = wrong, said

    def examples(self, index):
        shade = index % 2
        codes = torch.where(index < self.wrong, 1 - shade, shade)[:, None]
        x = shade.float()[:, None, None, None].expand(-1, 1, 2, 2)
        return Batch(x, Labels(codes, torch.full_like(codes, self.said, dtype=torch.bool)))


@pytest.fixture
def reader() -> SemiVAE:
    torch.manual_seed(0)
    words = Vocabulary([Attribute("shade", ["black", "white"])])
    model = SemiVAE(words, (1, 2, 2), latent=2, hidden=4).eval()
    model.q_y_given_x = lambda x: model.prior_y.__class__(
        torch.stack([-x[:, 0, 0, 0], x[:, 0, 0, 0] - 0.5], -1)[:, None], words.sizes
    )
    return model


def test_a_share_that_is_read_right_is_counted(reader):
    found = semi_report(reader, Dots(wrong=5)).accuracy["shade"]
    assert found.mean == 0.75
    assert found.n == 20
    assert 0.5 < found.low < 0.75 < found.high < 0.95


def test_the_bound_is_that_of_pictures_alone(reader):
    report = semi_report(reader, Dots(), seed=3)
    batch = Dots().examples(torch.arange(20))
    torch.manual_seed(3)
    nothing = Labels(batch.y.codes, torch.zeros_like(batch.y.observed))
    expected = semi_dgm(reader, batch.x, nothing).value.mean().item()
    assert report.elbo.mean == pytest.approx(expected, rel=1e-6)


def test_the_callers_random_numbers_are_left_alone(reader):
    before = torch.get_rng_state()
    semi_report(reader, Dots())
    assert torch.equal(torch.get_rng_state(), before)


def test_what_is_not_known_is_neither_right_nor_wrong(reader):
    with pytest.raises(UsageError, match="does not say what its pictures show"):
        semi_report(reader, Dots(said=False))


def test_the_report_is_kept_beside_the_weights(run):
    report = evaluate_semi(run, pictures=40)
    kept = json.loads((run.path / "accuracy.json").read_text())
    assert kept["accuracy"]["digit"]["mean"] == report.accuracy["digit"].mean
    assert (kept["part"], kept["pictures"]) == ("test", 40)
    assert kept["elbo"]["low"] < report.elbo.mean < kept["elbo"]["high"]
    assert "40 test pictures" in report.to_text()


def test_choosing_looks_at_validation_pictures(run):
    assert evaluate_semi(run, part="validation").pictures == 100


def test_a_model_of_another_kind_is_refused(tmp_path):
    recipe = get_recipe("mnist/vae-tiny").with_settings(SETTINGS)
    other = create(recipe, tmp_path)
    list(other.train())
    with pytest.raises(UsageError, match=r"`kind='vae'`; expected 'semi'"):
        evaluate_semi(other)


def test_more_pictures_than_there_are_is_refused(run):
    with pytest.raises(UsageError, match="must be between 1 and 300"):
        evaluate_semi(run, pictures=301)


# The verbs


def test_a_run_imagines_describes_and_is_shown(run):
    mind = run.mind()
    assert mind.imagine("digit=4", 3).shape == (3, 1, 28, 28)
    assert sum(mind.describe(mind.imagine("4", 1)[0])["digit"].values()) == pytest.approx(1)
    assert not mind.can_judge
    assert run.mind(outline=True).vocabulary == mind.vocabulary
    assert (run.path / "samples.png").is_file()
    assert run.name in shelf_of([run]).models


# The table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    rows = ["m2-100", "dgm-100", "dgm-conv-1000"]
    plan = make_ledger_plan(
        get_table("narayanaswamy-mnist"), size="tiny", seeds=1, rows=rows, settings=SETTINGS
    )
    return plan, folder, reproduce_ledger(plan, folder)


def test_the_table_holds_what_was_printed():
    rows = {row.family: row.published for row in get_table("narayanaswamy-mnist").rows}
    assert rows["m2-100"] == {"accuracy": "93.2"}
    assert rows["m2-1000"] == {"accuracy": "94.9"}
    assert rows["dgm-conv-100"] == {}


def test_rows_differ_in_their_labels():
    plan = make_ledger_plan(get_table("narayanaswamy-mnist"), size="tiny", settings=SETTINGS)
    labels = {row.family: plan.recipe(row, 0).data.labels for row in plan.rows}
    assert labels["dgm-100"] == 100
    assert labels["dgm-1000"] == 1000
    assert len(labels) == 6


def test_every_row_has_its_accuracy_in_percent(made):
    _, folder, result = made
    assert [entry["family"] for entry in result["entries"]] == [
        "m2-100",
        "dgm-100",
        "dgm-conv-1000",
    ]
    for entry in result["entries"]:
        assert 0 <= entry["ours"]["accuracy"]["mean"] <= 100
        assert entry["ours"]["elbo"]["mean"] < 0
    assert "accuracy, %, printed" in (folder / "narayanaswamy-mnist.md").read_text()


def test_a_recast_picture_keeps_its_manner_and_takes_the_description(run):
    mind, model = run.mind(), run.model()
    x = run.recipe.data.open("test").examples(torch.arange(3)).x
    drawn = recast(mind, x, [f"digit={d}" for d in range(10)])
    manner = model.q_xy(x, Labels.full(model.q_y_given_x(x).mode)).mean
    for digit in (0, 7):
        said = model.p_x(manner, Labels.full(torch.full((3, 1), digit))).mean
        assert torch.allclose(drawn[digit], said, atol=1e-5)
    assert not torch.allclose(drawn[0], drawn[7], atol=1e-4)


def test_only_a_model_with_manners_recasts():
    with pytest.raises(UsageError, match="only a semi-supervised model"):
        recast(load("mnist-a"), torch.zeros(1, 1, 64, 64), ["digit=4"])


def test_the_pictures_are_drawn(made):
    _, folder, result = made
    files = [picture["file"] for picture in result["pictures"]]
    names = ("reconstructions", "classes", "embedding")
    assert files == [f"pictures/narayanaswamy-mnist-{name}.png" for name in names]
    assert all((folder / file).stat().st_size > 2000 for file in files)
