"""The recipe of a run becomes that of flows beside its model."""

import pytest

from mindseye.errors import UsageError
from mindseye.models import Flowing, FlowingParts
from mindseye.papers import RECIPES, get_recipe
from mindseye.papers.cremer import SIZES, flows
from mindseye.papers.flows import flowing


@pytest.mark.parametrize(
    ("name", "reads", "joint"),
    [
        ("mnist-a/jvae-tiny", "q_xy", True),
        ("mnist-a/telbo-tiny", "q_x q_xy q_y", True),
        ("mnist/vae-tiny", "q_x q_y", False),
        ("one-object/vlvae-tiny", "q_x", False),
        ("one-object/vlvae-joint-tiny", "q_xy", True),
    ],
)
def test_flows_read_what_their_model_was_trained_to_read(name, reads, joint):
    made = flowing(get_recipe(name))
    assert made.model.reads == reads
    assert made.fits == set(reads.split()) | {"q_y"}
    model = made.build()
    assert isinstance(model, Flowing)
    assert model.joint is joint


@pytest.mark.parametrize("data", ["sines", "sites", "loads"])
def test_parts_have_a_flow_of_their_own(data):
    recipe = get_recipe(f"{data}/compvae-tiny")
    made = flowing(recipe, couplings=2)
    assert made.name == f"{data}/compvae-tiny-aggregate"
    assert (made.objectives, made.model.reads, made.weights) == (("aggregate-parts",), "q_w", {})
    assert made.fits == {"q_w", "p_z"}
    assert (made.training.growth, made.training.cooling) == (0, 0)
    model = made.build()
    assert isinstance(model, FlowingParts)
    latents = {"sines": (2, 2), "sites": (2, 2), "loads": (4, 3)}[data]
    assert (model.base.part, model.latent) == latents
    assert len(model.flow.steps) == 5


def test_wholes_do_not_grow_while_flows_are_fitted():
    made = flowing(get_recipe("sines/compvae-tiny"))
    with pytest.raises(UsageError, match="`growth=4` means nothing for flows"):
        made.with_settings({"growth": "4"})


@pytest.mark.parametrize("objective", ["aggregate", "true-posterior"])
def test_the_name_and_the_objective_say_what_is_fitted(objective):
    recipe = get_recipe("one-object/vlvae-lean")
    made = flowing(recipe, objective)
    assert made.name == f"one-object/vlvae-lean-{objective}"
    assert made.objectives == (objective,)
    assert made.about == "Flows fitted to the latents of one-object/vlvae-lean."
    assert (made.data, made.weights, made.start) == (recipe.data, {}, "")
    assert made.digest != recipe.digest


def test_the_model_stays_as_it_was_and_what_came_after_it_is_left_out():
    recipe = next(each for each in RECIPES.values() if each.refit.updates)
    recipe = recipe.with_settings({"training.seed": "3"})
    made = flowing(recipe, couplings=2, hidden=32)
    assert (made.model.flow, made.model.flow_hidden) == (2, 32)
    same = ("kind", "networks", "latent", "width", "hidden", "words")
    assert all(getattr(made.model, name) == getattr(recipe.model, name) for name in same)
    assert made.refit.updates == 0
    assert made.training.seed == 3


def test_mixtures_are_of_what_fits_an_aggregate_of_pictures():
    recipe = get_recipe("one-object/vlvae-tiny")
    assert flowing(recipe).model.normals == 16
    assert flowing(recipe, base="normal").model.normals == 0
    assert flowing(recipe).digest != flowing(recipe, base="normal").digest
    assert flowing(recipe, "true-posterior").model.normals == 0
    assert flowing(get_recipe("sines/compvae-tiny")).model.normals == 0
    with pytest.raises(UsageError, match="'aggregate-parts' fits no q"):
        flowing(get_recipe("sines/compvae-tiny"), base="normal")
    with pytest.raises(UsageError, match=r"`base='flows'` is not known; expected 'auto"):
        flowing(recipe, base="flows")


def test_an_autoregressive_q_of_z_is_of_what_fits_one():
    with pytest.raises(UsageError, match="`normals=4` means nothing for 'vlvae'"):
        get_recipe("one-object/vlvae-tiny").with_settings({"normals": "4"})


@pytest.mark.parametrize("size", [size for size in SIZES if size])
def test_flows_are_of_the_size_that_the_name_ends_with(size):
    made = flowing(get_recipe(f"mnist-a/telbo-{size}"))
    assert (made.training, made.model.flow_hidden) == flows(size, 10)


def test_a_name_without_a_size_is_for_one_gpu_and_minutes():
    made = flowing(get_recipe("two-objects/vlvae"))
    assert (made.training, made.model.flow_hidden) == flows("fast", 50)


def test_few_latents_are_learnt_sooner_on_a_gpu():
    few, many = flows("fast", 10), flows("fast", 50)
    assert few[0].steps < many[0].steps
    assert few[1] < many[1]
    assert flows("lean", 10) == flows("lean", 50)


def test_few_pictures_are_seen_sixty_times_and_no_more():
    training, width = flows("fast", 50, 28_155)
    assert training.steps * training.batch_size == pytest.approx(60 * 28_155, rel=1e-3)
    assert width < flows("fast", 50)[1]
    assert flows("fast", 50, 2**40) == flows("fast", 50)
    assert flows("fast", 50, 1)[0].steps == 1
    assert flows("", 50, 28_155) == flows("", 50)
    assert flows("lean", 50, 90_000)[0] == flows("lean", 50)[0]  # so short that it sees few of them


def test_flows_that_see_no_pictures_may_be_fitted_as_long_as_ever():
    recipe = get_recipe("celeba-words/vlvae-fast")
    words, pictures = (
        flowing(recipe, goal, pictures=2000) for goal in ("true-posterior", "aggregate")
    )
    assert words.training.steps == flows("fast", 50)[0].steps > pictures.training.steps


def test_the_recipe_of_faces_knows_how_few_there_are():
    ours = flowing(get_recipe("celeba-words/vlvae-fast"), pictures=28_155)
    assert ours.training == get_recipe("celeba-words/vlvae-agg-fast").training


@pytest.mark.parametrize(("base", "name"), [("normal", "agg"), (None, "mix")])
def test_what_is_made_of_a_vlvae_is_what_the_table_has(base, name):
    ours, theirs = (
        flowing(get_recipe("one-object/vlvae-lean"), base=base),
        get_recipe(f"one-object/vlvae-{name}-lean"),
    )
    for part in ("model", "data", "objectives", "training"):
        assert getattr(ours, part) == getattr(theirs, part)


def first(kind: str) -> str:
    return next(name for name, recipe in RECIPES.items() if recipe.model.kind == kind)


@pytest.mark.parametrize(
    "kind", ["deep", "ladder", "observer", "semi", "draw", "captioned", "graph"]
)
@pytest.mark.parametrize("objective", ["aggregate", "true-posterior"])
def test_a_model_without_one_latent_of_pictures_is_refused(kind, objective):
    with pytest.raises(UsageError, match=f"fitted by '{objective}' to a model of `kind='{kind}'`"):
        flowing(get_recipe(first(kind)), objective)


def test_pictures_alone_have_no_true_posterior_of_words():
    with pytest.raises(UsageError, match=r"`kind='vae'`; expected 'joint' or 'vlvae'\."):
        flowing(get_recipe("mnist/vae-tiny"), "true-posterior")


@pytest.mark.parametrize("name", ["sines/compvae-tiny", "mnist/vae-tiny"])
def test_what_has_no_true_posterior_of_words_has_an_aggregate(name):
    with pytest.raises(UsageError, match=r"expected 'joint' or 'vlvae'\.") as refused:
        flowing(get_recipe(name), "true-posterior")
    assert refused.value.hint == "Where its latents are can be learnt: --target aggregate."


def test_flows_are_not_fitted_to_flows():
    with pytest.raises(UsageError, match="vlvae-agg-tiny has flows already") as refused:
        flowing(get_recipe("one-object/vlvae-agg-tiny"))
    assert refused.value.hint == "Fit them to the run that it began with."


@pytest.mark.parametrize("couplings", [0, -1])
def test_too_few_couplings_are_refused(couplings):
    with pytest.raises(UsageError, match=f"`couplings={couplings}` is too few; expected 1 or more"):
        flowing(get_recipe("one-object/vlvae-tiny"), couplings=couplings)


def test_an_objective_that_is_not_known_is_refused():
    with pytest.raises(UsageError, match="agregate"):
        flowing(get_recipe("one-object/vlvae-tiny"), "agregate")
