"""What a run draws when it is done, also where nothing can be asked of its model yet."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from mindseye.papers import get_recipe
from mindseye.runs import Run, create, samples


def trained(name: str, root: Path) -> Run:
    recipe = get_recipe(name)
    run = create(replace(recipe, training=replace(recipe.training, steps=1)), root)
    list(run.train())
    return run


@pytest.mark.parametrize(
    ("name", "writes"),
    [
        ("one-object/vlvae-tiny", True),
        ("one-object/vlvae-joint-tiny", True),
        ("mnist-a/jvae-tiny", False),
    ],
)
def test_pictures_made_again_and_of_the_prior_are_drawn_where_no_flow_knows_words(
    name, writes, tmp_path, monkeypatch
):
    run = trained(name, tmp_path)
    assert (run.path / "samples.png").stat().st_size > 500
    seen = []
    monkeypatch.setattr(samples, "row_sheet", lambda rows: seen.extend(rows))
    samples.samples_sheet(run, run.recipe)
    again, prior = seen
    batch = run.recipe.data.open("validation").examples(torch.arange(8))
    mind = run.mind()
    q = mind.model.q_x(batch.x) if "q_x" in run.recipe.fits else mind.model.q_xy(*batch)
    assert_close(torch.from_numpy(again.pictures), mind.expected(q.mean).detach())
    assert prior.pictures.shape == again.pictures.shape == batch.x.shape
    for row in (again, prior):
        assert (row.captions is not None) == writes
        assert row.captions is None or all(
            run.recipe.data.vocabulary.parse(c) for c in row.captions
        )


def test_an_observer_draws_nothing(tmp_path):
    run = trained("two-objects/observer-tiny", tmp_path)
    assert not (run.path / "samples.png").exists()
    assert samples.samples_sheet(run, run.recipe) is None
