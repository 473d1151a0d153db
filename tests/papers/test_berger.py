"""The recipes of wholes and their parts: the paper's numbers, and a first few steps."""

import math

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from mindseye.data import Batch
from mindseye.errors import UsageError
from mindseye.models import CompVAE, ImprintVAE
from mindseye.papers import RECIPES, Recipe, get_recipe
from mindseye.papers.berger import SIZES
from mindseye.pieces import Pieces
from mindseye.runs.making import data_of, fresh, trained

DATA = ("sines", "sites", "loads")


def named(data: str, size: str) -> Recipe:
    return get_recipe(f"{data}/compvae-{size}" if size else f"{data}/compvae")


@pytest.mark.parametrize("data", DATA)
def test_the_paper_trains_half_a_million_steps_of_256_wholes(data):
    training = named(data, "").training
    assert (training.steps, training.batch_size) == (500_000, 256)
    assert training.adam_betas == (0.5, 0.9)
    assert training.growth == 3000
    assert training.beta_warmup == training.cooling == training.warmup == training.ema == 0


@pytest.mark.parametrize("data", DATA)
def test_the_papers_learning_rate_is_halved_down_to_a_hundredth(data):
    training = named(data, "").training
    rates = [training.rate(step) for step in (0, 19_999, 20_000, 40_000, 499_999)]
    assert rates == pytest.approx([1e-4, 1e-4, 5e-5, 2.5e-5, 1e-6])


@pytest.mark.parametrize(("data", "latent", "part"), [("sines", 256, 1024), ("sites", 1024, 2048)])
def test_latents_are_as_large_as_in_the_paper(data, latent, part):
    with torch.device("meta"):
        model = named(data, "").build()
    assert isinstance(model, CompVAE)
    assert (model.latent, model.part) == (latent, part)
    assert [block.becomes[0].out_features for block in model.blocks] == [2048] * 3


def test_every_size_of_every_data_set_is_a_recipe():
    names = {f"{data}/compvae{'-' * bool(size)}{size}" for data in DATA for size in SIZES}
    names |= {name.replace("compvae", "compvae-wide") for name in names if "loads" not in name}
    assert names == {name for name, made in RECIPES.items() if made.model.kind == "comp"}
    assert all(RECIPES[name].objectives == ("compvae",) for name in names)
    assert all(RECIPES[name].training.batch_size % 2 == 0 for name in names)  # mirrored pairs


@pytest.mark.parametrize(("data", "most"), [("sines", 16), ("sites", 8), ("loads", 16)])
@pytest.mark.parametrize("size", [size for size in SIZES if size != "tiny"])
def test_wholes_are_largest_well_before_the_end(data, most, size):
    training = named(data, size).training
    assert (most - 2) * training.growth < 0.75 * training.steps


@pytest.mark.parametrize("size", ["fast", "lean"])
def test_streets_are_warmed_up_and_pictures_cool(size):
    for data in DATA:
        training = named(data, size).training
        assert bool(training.cooling) == (data == "sites")
        assert bool(training.beta_warmup) == (data == "loads")
        assert max(training.cooling, training.beta_warmup) <= 0.5 * training.steps


def test_latents_are_as_many_as_the_generators_numbers_and_the_whole_has_a_few():
    for size in ("fast", "lean"):
        for data in DATA:
            with torch.device("meta"):
                model = named(data, size).build()
            assert isinstance(model, ImprintVAE)
            drawn = data_of(named(data, size), "cpu", None).examples(torch.arange(2))
            specifics = named(data, size).data.wholes("train").draw(drawn.y, torch.arange(2))
            assert model.part == max(2, specifics.own.shape[1])
            assert model.latent == max(2, specifics.shared.shape[1])


def test_a_part_may_have_one_normal_where_imprints_are():
    made = named("sines", "tiny").with_settings({"kinds": "1"})
    with torch.device("meta"):
        assert made.build().prior_w.sizes == (1, 2, 2)
    with pytest.raises(UsageError, match=r"`kinds=3` means nothing for `networks='paper'`"):
        named("sines", "").with_settings({"kinds": "3"})


@pytest.mark.parametrize("data", DATA)
def test_networks_of_the_papers_size_fit_their_wholes(data, monkeypatch):
    monkeypatch.setattr(nn.init, "trunc_normal_", lambda weight, *_: weight)
    recipe = named(data, "")
    with FakeTensorMode():  # shapes without numbers
        codes, sizes = torch.zeros(6).long(), torch.zeros(4).long()
        y = Pieces(codes, torch.zeros(6, len(recipe.data.vocabulary.axes)), sizes)
        bound = recipe.bounds[0](recipe.build(), Batch(torch.zeros(4, *recipe.data.shape), y), 1.0)
    assert bound.value.shape == (4,)


@pytest.mark.parametrize("data", DATA)
def test_a_tiny_model_trains_with_finite_bounds(data, tmp_path):
    recipe = named(data, "tiny")
    dataset = data_of(recipe, "cpu", None)
    model = fresh(recipe, "cpu", dataset)
    before = [p.clone() for p in model.parameters()]
    *records, done = trained(recipe, model, dataset, tmp_path, compiled=False)
    bounds = [record.bound for record in records if record.kind == "train"]
    assert (done.kind, done.step) == ("done", recipe.training.steps)
    assert len(bounds) == 3
    assert all(map(math.isfinite, bounds))
    assert not any(map(torch.equal, before, model.parameters()))
