"""Wholes composed, taken apart, added to and taken from; and what must stay as it was."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from mindseye import composing
from mindseye.composing import STATISTICS, Composer, Composition
from mindseye.data.sines import Sines
from mindseye.data.sites import Sites
from mindseye.errors import DataError, UsageError
from mindseye.models import CompVAE, ImprintVAE
from mindseye.parts import Kit, Part
from mindseye.pieces import encode_parts

SEED = 7
TEXTS = {"curves": "f2, f7", "pictures": "red@0.2,-0.5; blue@0.6,0.1", "paper": "f2, f7"}
MORE = {"curves": "f3", "pictures": "green@-0.4,0.4", "paper": "f3"}


def make(data: type[Sines] | type[Sites]) -> Composer:
    """A model that has learnt nothing and tells parts apart all the same."""
    torch.manual_seed(0)
    made = ImprintVAE(data.vocabulary, data.shape, latent=4, width=3, hidden=16)
    return Composer(made, "nobody")


@pytest.fixture(scope="module")
def paper() -> Composer:
    torch.manual_seed(0)
    return Composer(CompVAE(Sines.vocabulary, Sines.shape, latent=4, width=64, hidden=16))


@pytest.fixture(scope="module")
def curves() -> Composer:
    return make(Sines)


@pytest.fixture(scope="module", params=TEXTS)
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def composer(kind, paper) -> Composer:
    return paper if kind == "paper" else make(Sites if kind == "pictures" else Sines)


@pytest.fixture(scope="module")
def text(kind) -> str:
    return TEXTS[kind]


@pytest.fixture(scope="module")
def more(kind) -> str:
    return MORE[kind]


def total_of(composer: Composer, made: Composition) -> Tensor:
    """What the parts of wholes are summed as."""
    y = encode_parts([made.parts] * len(made))
    return composer.model.total(made.w.flatten(0, 1), y, composer.model.groups(y))


def latents(made: Composition) -> dict[tuple[Part, int], Tensor]:
    """The latents of parts, by what a part is and how many like it stand before it."""
    return {
        (part, made.parts.items[:i].count(part)): made.w[:, i] for i, part in enumerate(made.parts)
    }


def assert_same(one: Composition, two: Composition) -> None:
    """To the last bit."""
    assert one.parts == two.parts
    for name in ("w", "noise", "means", "deviations"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name


# Composing


def test_wholes_have_a_latent_for_every_part(composer, text):
    made = composer.composed(text, 3)
    assert len(made) == 3
    assert made.w.shape == (3, 2, composer.model.part)
    assert made.noise.shape == (3, 4)
    assert made.means.shape == made.deviations.shape == (3, *composer.model.shape)
    assert torch.equal(made.means, composer.imagine(text, 3))


def test_a_seed_always_gives_the_same_wholes_and_another_gives_others(composer, text):
    first, again, other = (composer.composed(text, 2, seed) for seed in (SEED, SEED, SEED + 1))
    assert_same(first, again)
    for name in ("w", "noise"):
        assert (getattr(first, name) - getattr(other, name)).abs().amin() > 0
    assert (first.means - other.means).abs().max() > 1e-3


def test_a_whole_is_the_same_however_many_there_are(composer, text):
    many = composer.composed(text, 8, SEED)
    for n in (1, 3):
        few = composer.composed(text, n, SEED)
        assert torch.equal(few.w, many.w[:n])
        assert torch.equal(few.noise, many.noise[:n])
        assert_close(few.means, many.means[:n], rtol=0, atol=1e-5)
    assert len(many.means.flatten(1).unique(dim=0)) == 8


@pytest.mark.parametrize(
    ("one", "two"),
    [("f2, f7, f2, f10", "f10 f7 f2 f2"), ("2×f2 and f7", "f2, f7, f2"), ("F7; f2", "f2, f7")],
)
def test_parts_in_another_order_are_the_same_whole(curves, one, two):
    assert_same(*(curves.composed(each, 2, SEED) for each in (one, two)))


def test_places_in_another_order_are_the_same_whole():
    sites = make(Sites)
    one, two = "blue@0.6,0.1; red@0.2,-0.5; red@-1,0", "red@-1,0; red@0.2,-0.5; blue@0.6,0.1"
    assert_same(*(sites.composed(each, 2, SEED) for each in (one, two)))


def test_latents_are_drawn_as_the_model_has_them(paper):
    made = paper.composed("f2, f7", 20_000)
    y = encode_parts([made.parts])
    with torch.no_grad():
        p_w = paper.model.p_w(y, paper.model.groups(y))
    apart = (made.w - p_w.mean) / p_w.stddev
    for noise in (apart.flatten(1), made.noise):
        assert noise.mean(0).abs().max() < 5 / 20_000**0.5
        assert (noise.square().mean(0) - 1).abs().max() < 5 * (2 / 20_000) ** 0.5
    shared = (apart[:, 0] * apart[:, 1]).mean(0)
    assert shared.abs().max() < 5 / 20_000**0.5


def test_like_parts_have_latents_of_their_own(curves):
    made = curves.composed("3×f2", 2)
    assert len(made.w.flatten(0, 1).unique(dim=0)) == 6


def test_wholes_are_written_of_the_sum_of_their_parts(composer, text):
    made, model = composer.composed(text, 2, SEED), composer.model
    with torch.no_grad():
        total = total_of(composer, made)
        p_x = model.p_x(model.p_z(total).at(made.noise), total)
    assert torch.equal(p_x.mean, made.means)
    assert torch.equal(p_x.stddev, made.deviations)


def test_draws_are_normal_around_what_is_expected(curves):
    made = curves.composed("f2", 500, SEED)
    noise = (made.draws(3) - made.means) / made.deviations
    assert noise.mean().abs() < 5 / noise.numel() ** 0.5
    assert noise.std().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(made.draws(3), made.draws(3))
    assert not torch.equal(made.draws(3), made.draws(4))
    few = curves.composed("f2", 2, SEED)
    assert_close(few.draws(3), made.draws(3)[:2], rtol=0, atol=1e-4)


# Adding and taking away


def test_wholes_with_one_more_part_share_the_latents_of_the_others(composer, text, more):
    few, many = (composer.composed(each, 2, SEED) for each in (text, f"{text}; {more}"))
    before, after = latents(few), latents(many)
    assert len(after) == len(before) + 1
    assert all(torch.equal(after[part], before[part]) for part in before)
    assert torch.equal(few.noise, many.noise)
    assert (few.means - many.means).abs().max() > 1e-3


def test_adding_a_part_is_composing_with_it(composer, text, more):
    few, many = (composer.composed(each, 2, SEED) for each in (text, f"{text}; {more}"))
    assert_same(composer.added(few, more, SEED), many)


def test_a_part_may_be_added_with_another_seed(composer, text, more):
    few = composer.composed(text, 2, SEED)
    one, two = (latents(composer.added(few, more, seed)) for seed in (SEED, SEED + 1))
    (new,) = one.keys() - latents(few).keys()
    assert not torch.equal(one[new], two[new])
    assert all(torch.equal(one[part], two[part]) for part in latents(few))


@pytest.mark.parametrize("seed", [SEED, SEED + 1])
def test_a_part_that_is_added_and_removed_leaves_no_trace(composer, text, more, seed):
    before = composer.composed(text, 2, SEED)
    assert_same(composer.removed(composer.added(before, more, seed), more), before)


@pytest.mark.parametrize("part", ["f2", "f7"])
def test_a_like_part_that_is_added_and_removed_leaves_no_trace(curves, part):
    before = curves.composed("2×f2, f7", 2, SEED)
    after = curves.added(before, part, SEED + 1)
    assert after.parts.count(part) == before.parts.count(part) + 1
    assert_same(curves.removed(after, part), before)


@pytest.mark.parametrize("part", ["f2", "f7"])
def test_a_part_that_is_removed_and_added_is_there_again(curves, part):
    before = curves.composed("2×f2, f7", 2, SEED)
    assert_same(curves.added(curves.removed(before, part), part, SEED), before)


def test_removing_keeps_all_other_latents(composer, text, more):
    before = composer.composed(f"{text}; {more}", 2, SEED)
    after = composer.removed(before, more)
    assert after.parts == before.parts - more
    assert all(torch.equal(each, latents(before)[part]) for part, each in latents(after).items())
    assert torch.equal(after.noise, before.noise)


def test_the_order_of_changes_is_nowhere(curves):
    before = curves.composed("f2, f7", 2, SEED)
    one = curves.added(curves.added(before, "f3", SEED), "f9", SEED)
    two = curves.added(curves.added(before, "f9", SEED), "f3", SEED)
    assert_same(one, two)


def test_a_replaced_part_is_removed_and_another_added(composer, text, more):
    before = composer.composed(text, 2, SEED)
    old = str(before.parts.items[0])
    after = composer.replaced(before, old, more, SEED)
    assert after.parts == before.parts.replaced(old, more)
    assert_same(after, composer.added(composer.removed(before, old), more, SEED))
    assert_same(composer.replaced(after, more, old, SEED), before)


def test_a_single_part_can_be_replaced(curves):
    after = curves.replaced(curves.composed("f2", 2, SEED), "f2", "f7", SEED)
    assert_same(after, curves.composed("f7", 2, SEED))


def test_parts_may_be_given_as_such(composer, text, more):
    kit = composer.vocabulary
    before = composer.composed(kit.parse(text), 2, SEED)
    assert_same(before, composer.composed(text, 2, SEED))
    (part,) = kit.parse(more)
    after = composer.added(before, part, SEED)
    assert_same(after, composer.added(before, more, SEED))
    assert_same(composer.removed(after, part), before)


# Moving


def own(composer: Composer, made: Composition) -> dict[tuple[Part, int], Tensor]:
    """How many deviations the latents of parts are from what is expected of them."""
    y = encode_parts([made.parts])
    with torch.no_grad():
        p_w = composer.model.p_w(y, composer.model.groups(y))
    apart = (made.w - p_w.mean) / p_w.stddev
    return {(part, 0): apart[:, i] for i, part in enumerate(made.parts)}


@pytest.fixture(scope="module")
def pictures() -> Composer:
    return make(Sites)


SITES = "red@0.2,-0.5; red@-0.4,0; blue@0.6,0.1"


def test_a_part_that_moves_takes_what_it_has_of_its_own_with_it(pictures):
    before = pictures.composed(SITES, 3, SEED)
    after = pictures.moved(before, "red@0.2,-0.5", -0.9, 0.7)  # now it is the first of its colour
    assert after.parts == before.parts.moved("red@0.2,-0.5", -0.9, 0.7)
    old, new = own(pictures, before), own(pictures, after)
    went, came = (Part("red", place) for place in ((0.2, -0.5), (-0.9, 0.7)))
    assert_close(new[came, 0], old[went, 0], rtol=0, atol=1e-4)
    rest = latents(before).keys() - {(went, 0)}
    assert all(torch.equal(latents(after)[part], latents(before)[part]) for part in rest)
    assert torch.equal(after.noise, before.noise)
    assert (after.means - before.means).abs().max() > 1e-4


def test_a_part_that_moves_there_and_back_is_where_it_was(pictures):
    before = pictures.composed(SITES, 2, SEED)
    there = pictures.moved(before, "blue@0.6,0.1", -0.6, 0.1)
    back = pictures.moved(there, "blue@-0.6,0.1", 0.6, 0.1)
    assert back.parts == before.parts
    assert_close(back.means, before.means, rtol=0, atol=1e-5)


def test_the_only_part_can_be_moved(pictures):
    after = pictures.moved(pictures.composed("red@0,0", 2), "red@0,0", 0.5, 0.25)
    assert str(after.parts) == "red@0.5,0.25"


@pytest.mark.parametrize(
    ("part", "place", "message"),
    [
        ("red@0,0", (0.5, 0.5), r"`red@0,0` cannot be taken away"),
        ("red@0.2,-0.5", (1.5, 0.0), r"`x` of `red` \(=1.5\) must be a number from -1 to 1"),
        ("red@0.2,-0.5", (0.5,), "`red` has a place of length 1; expected 2"),
    ],
)
def test_what_cannot_be_moved_says_why(pictures, part, place, message):
    with pytest.raises(UsageError, match=message):
        pictures.moved(pictures.composed(SITES), part, *place)


def test_parts_without_places_stay_where_they_are(curves):
    with pytest.raises(UsageError, match="`f2` has a place; parts have none here"):
        curves.moved(curves.composed("f2, f7"), "f2", 0.5)


# Means


def test_the_spread_is_the_mean_and_the_deviation_of_wholes(curves):
    made = curves.composed("f2, f7", 5, SEED)
    mean, deviation = made.spread()
    assert_close(mean, made.means.mean(0))
    assert_close(deviation.square(), (made.means - mean).square().mean(0), rtol=0, atol=1e-6)
    _, none = curves.composed("f2, f7", 1, SEED).spread()
    assert none.abs().max() == 0


# Taking apart


@pytest.fixture(scope="module")
def observed(composer) -> Tensor:
    data = Sines("test") if composer.model.shape == Sines.shape else Sites("test")
    return data.examples(torch.arange(3), torch.full((3,), 2)).x


@pytest.mark.parametrize("seed", [0, 4])
def test_what_is_extracted_are_the_means_of_the_posterior(composer, text, observed, seed):
    made, model = composer.extracted(observed, text, seed), composer.model
    y = encode_parts([made.parts] * 3)
    with torch.no_grad():
        seen, groups = model.seen(observed), model.groups(y)
        z = model.q_z(seen).mean
        w = model.q_w(seen, z, y, groups, composer._tags(y, seed)).mean
        p_x = model.p_x(z, model.total(w, y, groups))
    assert_close(made.w, w.view(3, 2, -1), rtol=0, atol=1e-6)
    assert_close(made.means, p_x.mean, rtol=0, atol=1e-4)
    assert_close(made.deviations, p_x.stddev, rtol=1e-4, atol=0)


def test_the_latent_of_the_whole_comes_back_from_its_noise(composer, text, observed):
    made = composer.extracted(observed, text)
    with torch.no_grad():
        z = composer.model.p_z(total_of(composer, made)).at(made.noise)
        read = composer.model.q_z(composer.model.seen(observed)).mean
        assert_close(z, read, rtol=0, atol=1e-5)


def test_wholes_taken_apart_depend_on_themselves_alone(composer, text, observed):
    together, alone = composer.extracted(observed, text), composer.extracted(observed[1:2], text)
    assert_close(alone.w[0], together.w[1], rtol=0, atol=1e-5)
    assert_close(alone.noise[0], together.noise[1], rtol=0, atol=1e-4)


def test_observed_wholes_can_be_changed(composer, text, more, observed):
    before = composer.extracted(observed, text)
    after = composer.added(before, more, SEED)
    assert_same(composer.removed(after, more), before)
    assert all(torch.equal(each, latents(after)[part]) for part, each in latents(before).items())


def test_like_parts_of_an_observed_whole_are_told_apart(curves):
    x = Sines("test").examples(torch.arange(2), torch.full((2,), 2)).x
    w = curves.extracted(x, "2×f2").w
    assert (w[:, 0] - w[:, 1]).abs().amax(1).min() > 1e-3
    assert torch.equal(w, curves.extracted(x, "2×f2").w)
    assert not torch.equal(w, curves.extracted(x, "2×f2", seed=1).w)


# Choosing


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(("low", "high"), [(0.9, 1.0), (0.0, 0.1), (0.4, 0.6)])
def test_chosen_wholes_lie_between_the_quantiles(curves, statistic, low, high):
    def number(x: Tensor) -> Tensor:
        return STATISTICS[statistic](x.flatten(1))

    many = number(curves.imagine("f2, f7", 4000, seed=1))
    first, last = many.quantile(torch.tensor([low - 0.05, high + 0.05]).clamp(0, 1))
    if low == 0:
        first = many.new_tensor(-torch.inf)  # the least of many may be undercut
    if high == 1:
        last = many.new_tensor(torch.inf)
    chosen = number(curves.biased("f2, f7", statistic, low, high, n=20, seed=2).means)
    assert chosen.shape == (20,)
    assert ((first <= chosen) & (chosen <= last)).all()
    plain = number(curves.imagine("f2, f7", 20, seed=2))
    assert ((plain < first) | (plain > last)).sum() > 5


def test_chosen_wholes_are_drawn_as_all_others_are(curves):
    chosen = curves.biased("f2, f7", n=3, seed=SEED)
    all_of_them = curves.composed("f2, f7", 3 * composing.TRIES, SEED)
    rows = [(all_of_them.w == each).all((1, 2)).nonzero().item() for each in chosen.w]
    assert rows == sorted(rows)
    for name in ("noise", "means", "deviations"):
        assert torch.equal(getattr(chosen, name), getattr(all_of_them, name)[rows])
    highest = all_of_them.means.flatten(1).amax(1).quantile(0.9)
    assert (chosen.means.flatten(1).amax(1) >= highest).all()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.5, 0.52), (0.999, 1.0), (0.0, 0.004)])
def test_as_many_are_chosen_as_are_asked_for(curves, low, high, n):
    assert len(curves.biased("f2", "mean", low, high, n)) == n


def test_statistics_are_what_they_are_called():
    x = torch.tensor([[1.0, -2.0, 4.0, 5.0], [0.0, 0.0, 0.0, 0.0]])
    found = {name: number(x).tolist() for name, number in STATISTICS.items()}
    assert found == {
        "max": [5.0, 0.0],
        "min": [-2.0, 0.0],
        "mean": [2.0, 0.0],
        "range": [7.0, 0.0],
        "energy": [11.5, 0.0],
    }


# The sum of the parts


def test_the_sum_of_one_part_is_the_whole(composer, more):
    alone, whole = composer.sum_of_parts(more, 3, SEED), composer.imagine(more, 3, SEED)
    assert torch.equal(alone, whole)


def test_curves_are_added_and_colours_are_averaged(composer, text):
    parts = [str(part) for part in composer.vocabulary.parse(text)]
    both = sum(composer.imagine(part, 2, SEED) for part in parts)
    found = composer.sum_of_parts(text, 2, SEED)
    assert_close(found, both if composer.model.shape[1] == 1 else both / 2)
    assert (found - composer.imagine(text, 2, SEED)).abs().max() > 1e-2


# What cannot be done


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("", "The text names no part"),
        (Sines.vocabulary.parts([]), "there are no parts to make a whole of. Say at least one"),
        (f"{10**6}×f2", "more than 1000 parts"),
        ("f12", r"'f12' is not a part here.*Did you mean 'f2'\?"),
        ("f2@0.5", "`f2` has a place; parts have none here"),
        (Kit(["f1", "f2"]).parse("f2"), "'f2' are parts of another kit"),
    ],
)
def test_what_is_no_whole_is_refused(curves, parts, message):
    x = torch.zeros(1, *Sines.shape)
    calls = [curves.imagine, curves.sum_of_parts, curves.biased, partial(curves.extracted, x)]
    for call in calls:
        with pytest.raises(UsageError, match=message):
            call(parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("red@1.5,0", r"`x` of `red` \(=1\.5\) must be a number from -1 to 1"),
        ("red@0,nan", r"`y` of `red` \(=nan\) must be a number"),
        ("red", "`red` has no place; expected 2: x, y"),
        ("blu@0,0", r"'blu' is not a part here.*Did you mean 'blue'\?"),
    ],
)
def test_places_where_nothing_can_be_are_refused(parts, message):
    with pytest.raises(UsageError, match=message):
        make(Sites).imagine(parts)


@pytest.mark.parametrize("n", [0, -3])
def test_no_wholes_cannot_be_asked_for(curves, n):
    for call in (curves.imagine, curves.composed, curves.sum_of_parts, curves.biased):
        with pytest.raises(UsageError, match=f"`n={n}` must be at least 1"):
            call("f2", n=n)
    with pytest.raises(UsageError, match="`n=0` must be at least 1"):
        curves.extracted(torch.zeros(0, *Sines.shape), "f2")


def test_too_many_wholes_are_refused_with_how_many_there_may_be(curves):
    message = "1,000,000 wholes of 4 parts are too many at once. Ask for at most 262,144"
    for call in (curves.imagine, curves.sum_of_parts):
        with pytest.raises(UsageError, match=message):
            call("4×f2", 10**6)


@pytest.mark.parametrize(
    ("n", "low", "high", "tries"),
    [(10**5, 0.9, 1.0, "64"), (1, 0.5, 0.5 + 1e-7, "1,048,577"), (1, 0.0, 5e-324, "1,048,577")],
)
def test_too_many_draws_for_one_choice_are_refused(curves, n, low, high, tries):
    message = f"each chosen of {tries}, are too many.* quantiles that are further apart"
    with pytest.raises(UsageError, match=message):
        curves.biased("f2", "max", low, high, n)


def test_an_unknown_statistic_is_refused_with_the_one_that_was_meant(curves):
    message = r"`statistic='maks'` is not known; expected 'max', .*Did you mean 'max'\?"
    with pytest.raises(UsageError, match=message):
        curves.biased("f2", "maks")


@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 0.5), (0.9, 0.1), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 1.0)]
)
def test_what_are_no_quantiles_is_refused(curves, low, high):
    with pytest.raises(UsageError, match=f"`low={low}` and `high={high}` are not quantiles"):
        curves.biased("f2", "max", low, high)


def test_parts_that_are_not_there_are_not_removed(curves):
    before = curves.composed("f2, f7")
    for change in (curves.removed, partial(curves.replaced, new="f1")):
        with pytest.raises(UsageError, match="`f3` cannot be taken away: `f2, f7` has none of it"):
            change(before, "f3")
    with pytest.raises(UsageError, match="`f3` cannot be taken away: `f2, f7` has none of it"):
        curves.replaced(before, "f3", "f3")


def test_the_last_part_is_not_removed(curves):
    with pytest.raises(UsageError, match="'f2' without 'f2' has no parts left"):
        curves.removed(curves.composed("f2"), "f2")


def test_one_part_is_changed_at_a_time(curves):
    before = curves.composed("f2, f7")
    for change in (curves.added, curves.removed):
        with pytest.raises(UsageError, match="'f2, f7' is 2 parts; expected one"):
            change(before, "f2, f7")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_wholes_that_are_not_numbers_are_refused(curves, bad):
    x = torch.zeros(2, *Sines.shape)
    x[1, 0, 0, 3:6] = bad
    with pytest.raises(DataError, match=r"3 values of the wholes are not numbers \(NaN or inf"):
        curves.extracted(x, "f2")


@pytest.mark.parametrize("shape", [(2, 1, 1, 199), (1, 1, 200), (2, 3, 32, 32), (200,)])
def test_wholes_of_another_shape_are_refused(curves, shape):
    with pytest.raises(DataError, match=r"came; this model knows \(1, 1, 200\)"):
        curves.extracted(torch.zeros(shape), "f2")
