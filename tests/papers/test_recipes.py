"""One suite over every recipe: round trips, building, one step of its objective."""

import json
import re
from dataclasses import replace

import pytest
import torch

from mindseye.data import DATASETS, Batch, Data, digits
from mindseye.data.own_graph import OwnGraph
from mindseye.data.wholes import Wholes
from mindseye.errors import UsageError
from mindseye.graphs import graph_of
from mindseye.labels import Labels
from mindseye.models import VAE, VLVAE, DeepVAE, Flowing, JointVAE, Observer
from mindseye.objectives import OBJECTIVES
from mindseye.papers import RECIPES, Model, Recipe, citations, get_recipe
from mindseye.papers.documentation import documented
from mindseye.sparse import Sparse
from mindseye.training import Plan, Training

TINY = [name for name in RECIPES if name.endswith("-tiny")]
SMALL_2BIT = [name for name in RECIPES if name.startswith("mnist-2bit/")]


@pytest.fixture(scope="module")
def sources():
    return digits()


def batch_of(recipe: Recipe, sources, step: int = 0) -> Batch:
    """Pictures that need no files: small digits, or noise of the right shape."""
    part = "observer" if recipe.model.kind == "observer" else "train"
    if recipe.data.name in ("mnist-a", "mnist-2bit"):
        options = {"compositional": recipe.data.compositional, "labelled": recipe.data.labelled}
        return DATASETS[recipe.data.name](sources, part, **options).batch(step, 8)
    if recipe.data.name == "mnist":
        return replace(recipe.data, source="digits").open(part).batch(step, 8)
    if issubclass(DATASETS[recipe.data.name], Wholes):
        return recipe.data.open(part).batch(step, 8)
    if recipe.data.is_graph:
        options = {"masked": recipe.data.masked, "fanout": recipe.data.fanout}
        return OwnGraph(graph_with(recipe.data.shape[2]), **options).batch(step, 8)
    noise = torch.rand(8, *recipe.data.shape, generator=torch.Generator().manual_seed(step))
    codes = torch.zeros(8, len(recipe.data.vocabulary), dtype=torch.int64)
    return Batch(noise.round(), Labels.full(codes))


def graph_with(columns: int, nodes: int = 60):
    """A graph whose nodes have so many features."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.arange(nodes).repeat_interleave(3)
    words = torch.rand(nodes, columns, generator=generator).topk(3).indices.flatten()
    features = Sparse.of(rows, words, (nodes, columns))
    return graph_of(torch.randint(nodes, (200, 2), generator=generator), features=features)


# Every recipe


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_comes_back_from_json(name):
    recipe = RECIPES[name]
    text = json.dumps(recipe.to_json(), allow_nan=False)
    assert Recipe.from_json(json.loads(text)) == recipe
    assert Recipe.from_json(json.loads(text)).digest == recipe.digest


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_builds_its_model(name):
    recipe = RECIPES[name]
    with torch.device("meta"):
        model = recipe.build()
    kinds = {"observer": Observer, "joint": JointVAE, "vae": VAE, "deep": DeepVAE, "vlvae": VLVAE}
    kind = Flowing if recipe.model.flow else kinds.get(recipe.model.kind, torch.nn.Module)
    assert isinstance(model, kind)
    if recipe.data.is_graph:
        assert model.columns == recipe.data.shape[2]
    else:
        assert model.shape == recipe.data.shape
    assert all(p.is_meta for p in model.parameters())


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_what_it_is(name):
    recipe = RECIPES[name]
    assert recipe.name == name
    assert re.fullmatch(r"[a-z0-9-]+/[a-z0-9-]+", name)
    assert recipe.about.endswith(".")
    assert all(meaning for field, _, meaning in documented(recipe)), "every field is documented"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_names_what_it_stands_on(name):
    entries = citations(RECIPES[name])
    keys = [re.match(r"@\w+\{(\w+),", entry)[1] for entry in entries]
    assert keys[0] == "mindseye"
    assert keys[-1] == "kingma2015"
    assert len(keys) > 3
    assert len(set(keys)) == len(keys)


def test_every_data_set_names_where_it_comes_from():
    for name in DATASETS:
        base = RECIPES["cora/vgae" if Data(name).is_graph else "mnist-a/telbo"]
        recipe = replace(base, data=Data(name))
        assert len(citations(recipe)) > 4  # the program, bound, networks, optimiser, and the data


def test_all_recipes_differ():
    assert len({recipe.digest for recipe in RECIPES.values()}) == len(RECIPES)


def test_every_objective_has_a_tiny_recipe():
    used = {name for recipe in RECIPES.values() for name in recipe.objectives}
    tiny = {objective for name in TINY for objective in RECIPES[name].objectives}
    assert used == tiny


# One step of every objective


def step_of(recipe: Recipe, batch: Batch, beta: float = 1.0, stage: int = 0):
    torch.manual_seed(0)
    model = recipe.build()
    bound = recipe.bounds[stage](model, batch, beta)
    loss = -bound.value.mean()
    loss.backward()
    return model, bound


@pytest.mark.parametrize("name", TINY)
def test_a_tiny_recipe_takes_a_step(name, sources):
    recipe = RECIPES[name]
    if recipe.data.name == "coco":  # its words are found when it is read
        recipe = replace(recipe, data=replace(recipe.data, words=("a", "dog")))
    for stage in range(len(recipe.objectives)):
        model, bound = step_of(recipe, batch_of(recipe, sources, stage), stage=stage)
        rows = 4 if recipe.model.kind == "factor" else 8  # half a batch is the discriminator's
        if recipe.data.is_graph:  # nodes, hidden links or those of a mini-batch
            rows = len(bound.value)
        assert bound.value.shape == (rows,)
        assert bound.value.isfinite().all()
        terms = {name: term for name, term in bound.terms.items() if name != "kl_qz_p"}
        assert all(term.shape == (rows,) for term in terms.values())
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        assert grads
        assert all(grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize("name", SMALL_2BIT)
def test_a_recipe_of_two_bits_takes_a_step(name, sources):
    recipe = RECIPES[name].with_settings({"width": "16", "hidden": "16"})
    _, bound = step_of(recipe, batch_of(recipe, sources))
    assert bound.value.isfinite().all()


def test_stages_follow_each_other_and_again_after_a_rollback(sources):
    recipe = RECIPES["mnist-a/telbo-two-stage-tiny"]
    plan = Plan(recipe.bounds, lambda step: None, recipe.training)
    model, batch, steps = recipe.build(), batch_of(recipe, sources), recipe.training.steps
    for rollbacks in (0, 1):
        for step in (0, steps // 2 - 1):
            assert "log_px_qxy" in plan.step(step, rollbacks).bound(model, batch, 1.0).terms
        for step in (steps // 2, steps - 1):
            terms = plan.step(step, rollbacks).bound(model, batch, 1.0).terms
            assert terms.keys() >= {"log_px_qx", "log_py_qy"}
            assert "log_px_qxy" not in terms


def test_weights_of_the_recipe_reach_the_bound(sources):
    recipe = RECIPES["mnist-a/jvae-tiny"]
    _, bound = step_of(recipe, batch_of(recipe, sources), beta=0.5)
    terms = bound.terms
    expected = terms["log_px_qxy"] + 50 * terms["log_py_qxy"] - 0.5 * terms["kl_qxy_p"]
    torch.testing.assert_close(bound.value, expected)


def test_the_beta_of_a_recipe_multiplies_that_of_the_warm_up(sources):
    recipe = RECIPES["mnist-2bit/beta-vae"].with_settings({"width": "16", "hidden": "16"})
    _, bound = step_of(recipe, batch_of(recipe, sources), beta=0.25)
    expected = bound.terms["log_px_qx"] - 2.5 * bound.terms["kl_qx_p"]
    torch.testing.assert_close(bound.value, expected)


@pytest.mark.parametrize("name", ["mnist-a/scan-tiny", "mnist-a/scan-atomic-tiny"])
def test_the_stages_of_scan_weigh_their_divergences_by_themselves(name, sources):
    recipe = RECIPES[name].with_settings({"beta_y": "0.5"})
    _, first = step_of(recipe, batch_of(recipe, sources), beta=0.25)
    expected = first.terms["log_px_qx"] - 0.25 * 2 * first.terms["kl_qx_p"]
    torch.testing.assert_close(first.value, expected)
    # Only the first stage warms up.
    _, second = step_of(recipe, batch_of(recipe, sources), beta=0.25, stage=1)
    terms = second.terms
    expected = terms["log_py_qy"] - 0.5 * terms["kl_qy_p"] - 10 * terms["kl_qx_qy"]
    torch.testing.assert_close(second.value, expected)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("mnist-a/telbo", {"q_x", "q_y", "q_xy"}),
        ("mnist-a/telbo-two-stage", {"q_x", "q_y", "q_xy"}),
        ("mnist-a/bivcca", {"q_x", "q_y"}),
        ("mnist-a/jvae", {"q_xy"}),
        ("mnist-a/scan", {"q_x", "q_y"}),
        ("mnist-a-comp/scan-atomic-fast", {"q_x", "q_y"}),
        ("mnist-a/jmvae-agg", {"q_x", "q_y", "q_xy"}),
        ("mnist-a/observer", set()),
    ],
)
def test_a_recipe_knows_which_readers_it_trains(name, fits):
    assert RECIPES[name].fits == fits


def test_a_tenth_of_the_descriptions_is_known_to_semi(sources):
    recipe = RECIPES["mnist-a/semi-tiny"]
    data = DATASETS["mnist-a"](sources, "train", labelled=recipe.data.labelled)
    share = data.examples(torch.arange(4000)).y.observed.all(1).float().mean()
    assert share.item() == pytest.approx(0.1, abs=0.02)


def test_an_unlabelled_batch_still_has_a_bound(sources):
    recipe = RECIPES["mnist-a/semi-tiny"]
    batch = batch_of(recipe, sources)
    nothing = Labels(batch.y.codes, torch.zeros_like(batch.y.observed))
    _, bound = step_of(recipe, Batch(batch.x, nothing))
    assert bound.value.isfinite().all()


# The numbers of the paper


def test_the_papers_recipe_has_the_papers_numbers():
    recipe = get_recipe("mnist-a/telbo")
    assert recipe.weights == {"lam": 50.0, "gamma": 50.0}
    assert (recipe.model.networks, recipe.model.latent) == ("paper", 10)
    assert (recipe.training.steps, recipe.training.batch_size) == (250_000, 64)
    assert recipe.training.learning_rate == 1e-4
    assert recipe.data == Data("mnist-a", replications=10)
    assert get_recipe("mnist-a/jmvae").weights == {"lam": 50.0, "alpha": 1.0}
    assert get_recipe("mnist-a/bivcca").weights == {"lam": 50.0, "mu": 0.7}
    scan = get_recipe("mnist-a/scan-atomic")
    assert (scan.weights["alpha"], scan.weights["gamma"], scan.weights["beta_y"]) == (10, 1, 1)
    assert scan.model == replace(recipe.model, words="atomic")


# Digests


def test_a_digest_is_twelve_hexadecimal_digits():
    assert re.fullmatch("[0-9a-f]{12}", get_recipe("mnist-a/telbo").digest)


@pytest.mark.parametrize("name", [name for name, *_ in documented(RECIPES["dsprites/beta-vae"])])
def test_a_digest_changes_with_every_field(name):
    recipe = RECIPES["dsprites/beta-vae"]
    plain = recipe.to_json()
    section, _, leaf = name.rpartition(".")
    place = plain[section] if section else plain
    others = {
        "data.name": "mnist-2bit",
        "training.schedule": "cosine",
        "training.precision": "bfloat16",
        "training.heat": 7.0,
        "data.labelled": 0.5,
        "data.words": ["dog"],
        "model.latents": [7],
        "model.units": [7],
    }
    kinds = {str: "dense", int: 7, float: 0.25, bool: True, list: [0.5, 0.25], dict: {"lam": 1.0}}
    place[leaf] = others.get(name, kinds[type(place[leaf])])
    if name == "objectives":
        plain |= {"objectives": ["tcvae"], "weights": {}}
    if name == "model.kind":
        place[leaf], plain["objectives"], plain["weights"] = "observer", ["classify"], {}
    if name == "training.growth":  # of wholes alone
        plain |= {"objectives": ["compvae"], "weights": {}}
        plain["data"]["name"], plain["model"]["kind"] = "sites", "comp"
    if name in ("model.flow", "model.normals"):  # they are fitted by an objective of their own
        plain |= {"objectives": ["aggregate"], "weights": {}}
        plain["model"]["flow"] = 7
    if name == "model.kinds":  # of imprints alone
        plain["model"]["networks"] = "imprint"
    if name == "model.sharpen":  # and so is a sharpener
        plain |= {"objectives": ["sharpen"], "weights": {}}
        plain["model"] |= {"kind": "draw", "networks": "align"}
    assert Recipe.from_json(plain).digest != recipe.digest


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("mnist-a/telbo-lean", "9bf28a4fa812"),
        ("mnist-a/scan-atomic-tiny", "ff25d939c315"),
        ("mnist-a/observer", "f5aa21ec82d6"),
        ("mnist/iwae-fast", "2890ae222b57"),
        ("dsprites/beta-vae", "82c47e13feb5"),
    ],
)
def test_digests_are_those_of_the_first_runs(name, digest):
    assert RECIPES[name].digest == digest


def test_a_digest_is_the_same_for_equal_recipes():
    recipe = RECIPES["mnist-a/telbo-lean"]
    assert replace(recipe).digest == recipe.digest
    assert recipe.with_settings({"lam": "50"}).digest == recipe.digest
    assert replace(recipe, weights={"gamma": 50, "lam": 50}).digest == recipe.digest
    rate = replace(recipe.training, clip=200)  # an int where a float is usual
    assert replace(recipe, training=rate).digest == recipe.digest


# Settings


def test_settings_change_what_they_name_and_nothing_else():
    recipe = RECIPES["mnist-a/telbo-lean"]
    made = recipe.with_settings({"steps": "2e4", "lam": "10", "data.source": "digits"})
    assert made.training == replace(recipe.training, steps=20_000)
    assert made.weights == {"lam": 10.0, "gamma": 50.0}
    assert made.data == replace(recipe.data, source="digits")
    assert made.model == recipe.model
    assert recipe.weights == {"lam": 50.0, "gamma": 50.0}


def test_a_weight_that_was_at_its_default_can_be_set():
    assert RECIPES["mnist-a/telbo"].with_settings({"weights.beta": "2"}).weights["beta"] == 2


def test_no_settings_change_nothing():
    assert RECIPES["mnist-a/telbo"].with_settings({}) == RECIPES["mnist-a/telbo"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stepz": "5"}, r"`stepz` is not a setting\. Did you mean 'steps'\?"),
        ({"training.lam": "5"}, "`training.lam` is not a setting"),
        ({"alpha": "5"}, "`alpha` is not a setting"),  # a weight of JMVAE, not of TELBO
        ({"about": "mine"}, "`about` is not a setting"),
        ({"steps": "many"}, "`training.steps='many'` is not a whole number"),
        ({"lam": "much"}, "`weights.lam='much'` is not a number"),
        ({"lam": "nan"}, "`weights.lam='nan'` is not a number"),
        ({"compositional": "perhaps"}, "`data.compositional='perhaps'` is not true or false"),
        ({"steps": "0"}, r"`steps` \(=0\) must be a whole number of at least 1"),
        ({"labelled": "1.5"}, r"`labelled=1\.5` is not a share between 0 and 1"),
        (
            {"data.name": "mnist-b"},
            r"`data\.name='mnist-b'` is not known; .* Did you mean 'mnist-a'",
        ),
        ({"latent": "0"}, "`latent=0` must be between 1 and 65536"),
        ({"hidden": "1e12"}, "`hidden=1000000000000` must be between 0 and 65536"),
        ({"kind": "dreamer"}, "`kind='dreamer'` is not known; expected 'joint'"),
        ({"kind": "observer"}, "'telbo', which trains 'joint' models; .* `kind='observer'`"),
        ({"objectives": "telbo2"}, r"`objective='telbo2'` is not known; .* Did you mean 'telbo'"),
        ({"objectives": "jmvae"}, "`gamma` is not a weight of 'jmvae'; expected 'lam', 'alpha'"),
        ({"objectives": "classify"}, "which trains 'observer' models; .* `kind='joint'`"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        RECIPES["mnist-a/telbo"].with_settings(settings)


# JSON


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("trainign", {}, r"`recipe\.trainign` is not a field\. Did you mean 'training'\?"),
        ("training.step", 5, r"`recipe\.training\.step` is not a field\. Did you mean 'steps'\?"),
        ("model.latent", "ten", r"`recipe\.model\.latent='ten'` is not a whole number"),
        ("data.labelled", None, r"`recipe\.data\.labelled=None` is not a number"),
        ("objectives", "telbo", r"`recipe\.objectives='telbo'` is not a list"),
        ("objectives", [], "`objectives` is empty; expected at least one"),
        ("weights", {"lamb": 5.0}, r"`lamb` is not a weight of 'telbo'; .* Did you mean 'lam'\?"),
        ("weights.lam", True, r"`recipe\.weights\.lam=True` is not a number"),
        ("training.adam_betas", [0.9], r"`adam_betas` .* must be two numbers"),
        ("training.learning_rate", -1, r"`learning_rate` \(=-1\.0\) must be a number above 0"),
    ],
)
def test_a_damaged_field_is_named(path, value, message):
    plain = RECIPES["mnist-a/telbo"].to_json()
    section, _, leaf = path.rpartition(".")
    (plain[section] if section else plain)[leaf] = value
    with pytest.raises(UsageError, match=message):
        Recipe.from_json(plain)


@pytest.mark.parametrize("likelihood", ["bernoulli", "quantised-normal-shared"])
def test_real_numbers_are_not_taken_for_grey_levels(likelihood):
    settings = {"data.name": "bsds", "likelihood": likelihood}
    recipe = get_recipe("mnist/vae-tiny").with_settings(settings)
    with pytest.raises(UsageError, match=r"is of pixels in \[0, 1\]; bsds has any numbers"):
        recipe.build()
    assert recipe.with_settings({"likelihood": "normal"}).build()


def test_a_recipe_without_a_name_is_refused():
    with pytest.raises(UsageError, match=r"`recipe\.name` is missing"):
        Recipe.from_json({})


def test_a_recipe_from_before_atomic_words_is_factorised():
    plain = RECIPES["mnist-a/telbo"].to_json()
    del plain["model"]["words"]
    assert Recipe.from_json(plain) == RECIPES["mnist-a/telbo"]


# By name


def test_a_recipe_is_found_by_its_name():
    assert get_recipe("mnist-a/telbo") is RECIPES["mnist-a/telbo"]


def test_a_misspelt_recipe_gets_the_nearest():
    message = r"no recipe is called 'mnist-a/tlebo'\. Did you mean 'mnist-a/telbo'\?"
    with pytest.raises(UsageError, match=message):
        get_recipe("mnist-a/tlebo")


def test_recipes_can_be_made_in_python():
    mine = Recipe("mine/one", training=Training(steps=5), model=Model(networks="lean", latent=2))
    assert Recipe.from_json(mine.to_json()) == mine


def test_a_warm_up_that_warms_nothing_up_is_refused():
    with pytest.raises(UsageError, match="'vae' has no weight beta or capacity") as refused:
        get_recipe("mnist/vae-tiny").with_settings({"beta_warmup": "10"})
    assert "elbo" in (refused.value.hint or "")
    warmed = get_recipe("dsprites/capacity-tiny").with_settings({"beta_warmup": "10"})
    assert warmed.training.beta_warmup == 10


def test_cooling_adds_its_heat_to_the_weight_of_the_divergence():
    hot = get_recipe("dsprites/beta-vae-tiny").with_settings({"heat": "9", "cooling": "4"})
    heavy = get_recipe("dsprites/beta-vae-tiny").with_settings({"beta": "6"})  # 4 + 3 - 1
    (cooled,), (plain,) = hot.bounds, heavy.bounds
    torch.manual_seed(0)
    model, batch = hot.build(), hot.data.open("train").batch(0, 5)
    values = []
    for bound, beta in ((cooled, hot.training.beta(2)), (plain, 1.0)):
        torch.manual_seed(1)
        values.append(bound(model, batch, beta).value)
    torch.testing.assert_close(*values)


@pytest.mark.parametrize("name", [name for name, found in OBJECTIVES.items() if found.cools])
def test_at_a_heat_of_one_nothing_is_cooled(name):
    trains = {"factor": "dsprites/factor", "compvae": "sines/compvae", "draw": "two-objects/align"}
    recipe = get_recipe(f"{trains.get(name, 'dsprites/vae')}-tiny")
    cold = replace(recipe, objectives=(name,), weights={})
    (plain,), (cooled,) = (
        cold.bounds,
        cold.with_settings({"heat": "9", "cooling": "4"}).bounds,
    )
    torch.manual_seed(0)
    model, batch = cold.build(), cold.data.open("train").batch(0, 6)
    values = []
    for bound in (plain, cooled):
        torch.manual_seed(1)
        values.append(bound(model, batch, 1.0).value)
    torch.testing.assert_close(*values)


def test_a_bound_without_a_divergence_of_its_own_is_not_cooled():
    with pytest.raises(UsageError, match="cannot cool 'iwae'") as refused:
        get_recipe("mnist/iwae-tiny").with_settings({"cooling": "10"})
    assert "'elbo'" in (refused.value.hint or "")


def test_a_digest_does_not_change_by_options_that_say_nothing():
    """Runs from before there was cooling are found again by a sweep of today."""
    assert Recipe("mine").digest == "daa5ea73404d"
    assert (
        Recipe("mine", objectives=("elbo",)).digest
        != Recipe("mine", objectives=("elbo",), training=Training(cooling=5)).digest
    )
