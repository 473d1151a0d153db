"""The recipe of a run becomes that of a sharpener beside its model."""

import pytest

from mindseye.errors import UsageError
from mindseye.models import Sharpened
from mindseye.papers import RECIPES, Recipe, get_recipe
from mindseye.papers.citations import citations
from mindseye.papers.sharpening import SIZES, WIDTHS, sharpening

ENDS = {size: f"-{size}" if size else "" for size in SIZES}


@pytest.mark.parametrize("name", ["align", "noalign", "draw", "dense", "conv"])
def test_every_model_that_paints_gets_a_sharpener(name):
    recipe = get_recipe(f"captioned-mnist/{name}-tiny")
    made = sharpening(recipe)
    model, base = made.build(), recipe.build()
    assert isinstance(model, Sharpened)
    assert type(model.base) is type(base)
    shapes = {n: p.shape for n, p in model.base.state_dict().items()}
    assert shapes == {n: p.shape for n, p in base.state_dict().items()}
    assert (model.width, model.levels) == (WIDTHS["tiny"], 1)
    assert made.fits == recipe.fits


def test_the_name_says_what_is_sharpened_and_nothing_else_of_the_model_changes():
    recipe = get_recipe("captioned-mnist/align-lean")
    made = sharpening(recipe)
    assert made.name == "captioned-mnist/align-lean-sharp"
    assert made.about == "A sharpener of what captioned-mnist/align-lean paints."
    assert (made.objectives, made.weights, made.start) == (("sharpen",), {}, "")
    assert made.data == recipe.data
    ours, theirs = made.to_json()["model"], recipe.to_json()["model"]
    assert {name for name in ours if ours[name] != theirs[name]} == {"sharpen"}
    assert made.digest != recipe.digest
    assert Recipe.from_json(made.to_json()) == made


@pytest.mark.parametrize("size", SIZES)
def test_a_sharpener_is_of_the_size_that_the_name_ends_with(size):
    made = sharpening(get_recipe(f"captioned-mnist/align{ENDS[size]}"))
    assert (made.training, made.model.sharpen) == (SIZES[size], WIDTHS[size])


def test_larger_sizes_take_longer_and_are_wider():
    order = ["tiny", "lean", "fast", ""]
    seen = [SIZES[size].steps * SIZES[size].batch_size for size in order]
    assert seen == sorted(seen)
    assert [WIDTHS[size] for size in order] == sorted(WIDTHS.values())
    assert (SIZES[""].steps, SIZES[""].batch_size, WIDTHS[""]) == (100_000, 100, 128)


def test_the_seed_stays_and_the_width_can_be_chosen():
    recipe = get_recipe("captioned-pairs/dense-tiny").with_settings({"training.seed": "3"})
    made = sharpening(recipe, 6)
    assert (made.training.seed, made.model.sharpen) == (3, 6)


def test_what_it_weighs_can_be_set():
    made = sharpening(get_recipe("captioned-mnist/align-tiny"))
    assert made.with_settings({"lam": "100", "real": "0.5"}).weights == {"lam": 100, "real": 0.5}
    with pytest.raises(UsageError, match="`beta` is not a setting"):
        made.with_settings({"beta": "1"})


def test_it_cites_who_sharpened_and_who_sharpened_first():
    text = "\n".join(citations(sharpening(get_recipe("captioned-mnist/align-tiny"))))
    for key in ("denton2015", "mansimov2016"):
        assert f"{{{key}," in text


def first(kind: str) -> str:
    return next(name for name, recipe in RECIPES.items() if recipe.model.kind == kind)


@pytest.mark.parametrize("kind", ["joint", "vlvae", "vae", "ladder", "observer", "comp"])
def test_a_model_that_paints_no_captions_is_refused(kind):
    expected = rf"model of `kind='{kind}'`; expected 'draw' or 'captioned'\."
    with pytest.raises(UsageError, match=expected):
        sharpening(get_recipe(first(kind)))


def test_what_is_sharp_is_not_sharpened_again():
    made = sharpening(get_recipe("captioned-mnist/align-tiny"))
    with pytest.raises(UsageError, match="align-tiny-sharp has a sharpener already") as refused:
        sharpening(made)
    assert refused.value.hint == "Give one to the run that it began with."


def test_fewer_than_no_channels_are_refused():
    with pytest.raises(UsageError, match="`sharpen=-1` must be between 0 and"):
        sharpening(get_recipe("captioned-mnist/align-tiny"), -1)
