"""SCAN as a run: two stages, one after the other, in one folder."""

import pytest
import torch

from mindseye.papers import get_recipe
from mindseye.runs import create
from mindseye.tensors import read_tensors

SETTINGS = {
    "source": "digits",
    "steps": "6",
    "ema": "0",
    "log_every": "3",
    "checkpoint_every": "3",
}


@pytest.fixture(scope="module", params=["scan", "scan-atomic"])
def run(request, tmp_path_factory):
    recipe = get_recipe(f"mnist-a/{request.param}-tiny").with_settings(SETTINGS)
    made = create(recipe, tmp_path_factory.mktemp("runs"))
    list(made.train())
    return made


def moved(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> set[str]:
    """The parts of a model that differ between two states."""
    return {name.partition(".")[0] for name in before if not torch.equal(before[name], after[name])}


def test_the_first_stage_learns_pictures_and_the_second_words(run):
    model = run.recipe.build()
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    (half,) = run.path.glob("checkpoints/step-*3/weights.safetensors")
    middle, last = read_tensors(half, shapes), run.model().state_dict()
    assert moved(middle, last) == {"label_decoder", "label_encoder"}


def test_the_log_has_the_terms_of_each_stage(run):
    first, second = (record["terms"] for record in run.log() if record["kind"] == "train")
    assert set(first) == {"log_px_qx", "kl_qx_p"}
    assert set(second) == {"log_py_qy", "kl_qy_p", "kl_qx_qy"}


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("text", ["", "digit=4", "4, big, upright, top-left"])
def test_a_finished_run_imagines(run, text, fill):
    pictures = run.mind().imagine(text, n=3, fill=fill)
    assert pictures.shape == (3, 1, 64, 64)
    assert (run.path / "samples.png").exists()


def test_a_finished_run_describes(run):
    mind = run.mind()
    told = mind.describe(mind.imagine("digit=4", n=1)[0])
    assert {name: round(sum(each.values()), 4) for name, each in told.items()} == {
        "digit": 1,
        "size": 1,
        "orientation": 1,
        "location": 1,
    }
