"""Two objects and one: what is said of a picture is true of that very picture."""

import colorsys
import math

import pytest
import torch
from scipy import stats

from mindseye.data import Data, OneObject, TwoObjects, one_object, raycast, two_objects, worlds
from mindseye.data.batch import ENDLESS
from mindseye.data.camera import View, projected
from mindseye.data.raycast import render
from mindseye.data.scenes import COLOURS, KINDS, RELATIONS, SENTENCE
from mindseye.data.solids import CUBE, SPHERE
from mindseye.data.splits import combinations, compositional_split
from mindseye.data.two_objects import VIEWS, kinds_of
from mindseye.data.worlds import NUMBERS, PALETTE, staged
from mindseye.errors import UsageError
from mindseye.labels import Labels, decode
from mindseye.randomness import integers, keys, uniforms

SMALLEST = 4
CAMERA = slice(4 * worlds.TRIES + 2, 4 * worlds.TRIES + 5)
"""The numbers of a scene by which its camera is moved."""
SOURCES = ["rendered", "wide"]
PARTS = ("train", "validation", "test")


@pytest.fixture
def drawn(monkeypatch):
    """The scenes that data sets ask to be drawn, in a list; nothing is drawn."""
    found = []

    def noted(scene, view):
        found.append(scene)
        return torch.zeros(len(scene.place), 3, view.height, view.width)

    for module in (two_objects, one_object):
        monkeypatch.setattr(module, "render", noted)
    return found


def scenes(codes, source="rendered", seed=0):
    """A scene of every caption."""
    view = TwoObjects(source=source).view
    u = uniforms(keys(seed, torch.arange(len(codes)), "tests"), NUMBERS)
    return staged(kinds_of(codes), codes[:, 4], u, view)


def captions(n, **fixed):
    """Captions that take turns, some of their places fixed."""
    codes = combinations(SENTENCE.sizes)[torch.arange(n) * 7919 % 36_864].clone()
    for name, word in fixed.items():
        place = SENTENCE.names.index(name.replace("_", " "))
        codes[:, place] = SENTENCE.attributes[place].values.index(word)
    return codes


def middles(scene, view=VIEWS["rendered"]):
    high = torch.where(
        scene.shape == CUBE, scene.radius * view.look.corner * 0.5**0.5, scene.radius
    )
    return torch.cat([scene.place, high[..., None]], -1)


def told(scene):
    """What is seen of every object, as codes `(B, N, 4)`: the way back from a scene."""
    size = (scene.radius < 0.45).long()
    palette = torch.tensor([PALETTE[name] for name in COLOURS]) / 255
    colour = (scene.colour[:, :, None] == palette).all(-1).long().argmax(-1)
    return torch.stack([size, colour, scene.metal.long(), scene.shape], -1)


def stands(scene, view, high=True):
    """How far the first object is left, right, in front of and behind the second, as seen."""
    point = middles(scene, view) if high else middles(scene, view) * torch.tensor([1.0, 1.0, 0.0])
    x, _, depth = (each[:, 0] - each[:, 1] for each in projected(point, scene.camera, view))
    return torch.stack([-x, x, -depth, depth], 1)


# What is said is true


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("high", [True, False], ids=["middles", "feet"])
def test_every_relation_holds_in_the_very_picture(source, high, drawn):
    """Left and right by where objects are in the picture, front and behind by how far away."""
    data = TwoObjects(source=source, side=SMALLEST)
    codes = data.examples(torch.arange(20_000)).y.codes
    by = stands(drawn[0], data.view, high).gather(1, codes[:, 4:5])
    assert (by > 0).all()
    assert set(codes[:, 4].tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("source", SOURCES)
def test_relations_hold_where_the_camera_is_moved_most(source):
    codes, view = captions(20_000), TwoObjects(source=source).view
    u = uniforms(keys(1, torch.arange(len(codes)), "tests"), NUMBERS)
    u[:, CAMERA] = u[:, CAMERA].round()
    scene = staged(kinds_of(codes), codes[:, 4], u, view)
    assert torch.equal(scene.camera.abs(), torch.full_like(scene.camera, worlds.CAMERA_JITTER))
    assert (stands(scene, view).gather(1, codes[:, 4:5]) > 0).all()


def test_an_axis_that_is_not_spoken_of_is_open():
    """An object on the left is as often in front as behind."""
    codes = captions(4000, relation="left")
    front = (stands(scenes(codes), TwoObjects().view)[:, 2] > 0).sum().item()
    assert stats.binomtest(front, 4000).pvalue > 1e-3


@pytest.mark.parametrize("source", SOURCES)
def test_objects_never_touch(source):
    scene = scenes(captions(30_000), source)
    reach = scene.radius * VIEWS[source].look.reach
    apart = (scene.place[:, 0] - scene.place[:, 1]).norm(dim=1) - reach.sum(1)
    assert apart.min() >= worlds.GAP - 1e-5
    assert apart.min() < worlds.GAP + 0.01  # and are not kept apart without need


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("relation", range(4), ids=RELATIONS)
def test_the_last_places_to_be_tried_always_fit(source, relation):
    """Random numbers none of which fit, for objects of all sizes."""
    look = VIEWS[source].look
    large, small = look.radii
    ends = torch.tensor([large * (1 + look.spread), small * (1 - look.spread)])
    radius = ends[combinations([2, 2])]
    same = torch.full((4, worlds.TRIES, 2, 2), 0.5)
    says, view = torch.full((4,), relation), TwoObjects(source=source).view
    spot = worlds.placed(radius, says, same, view)
    assert worlds._holds(spot, says).all()
    assert worlds._clear(spot, radius, view).all()


@pytest.mark.parametrize("source", SOURCES)
def test_both_objects_are_seen(source, shares):
    """All of each but what the other hides: at least a fifth, and of most all."""
    view = View(32, 32, *TwoObjects(source=source).view[2:])
    scene = scenes(captions(300), source)
    both = shares(scene, view)[:, :2].sum((2, 3))
    for i in range(2):
        place = scene.place.clone()
        place[:, 1 - i] = torch.tensor([-750.0, 660.0])
        alone = shares(scene._replace(place=place), view)[:, i].sum((1, 2))
        assert (alone > 18 * scene.radius[:, i] ** 2).all()  # pixels of 1024
        assert (both[:, i] / alone).min() > 0.2
        assert (both[:, i] / alone).median() == 1


@pytest.mark.parametrize("source", SOURCES)
def test_no_object_reaches_beyond_the_square_it_is_drawn_in(source, shares, monkeypatch):
    """The largest, as near and as far to the sides as they come, before cameras at all extremes."""
    view = View(128, 128, *TwoObjects(source=source).view[2:])
    ends = [torch.tensor([0.0, 1.0])] * 3
    aside, beyond, *camera, shape = torch.cartesian_prod(
        torch.tensor([0.0, 0.5, 1.0]), *ends[:1], *ends, torch.tensor([0.0, 1.0, 2.0])
    ).unbind(1)
    u = torch.full((len(shape), NUMBERS), 0.5)
    u[:, 0], u[:, 1] = aside, beyond
    u[:, CAMERA] = torch.stack(camera, 1)
    u[:, 4 * worlds.TRIES] = torch.arange(len(u)) / 7 % 1  # turns
    large = torch.stack([shape.long() * 0] * 3 + [shape.long()], 1)
    scene = staged(large[:, None], None, u, view)
    narrow = shares(scene, view)
    monkeypatch.setattr(raycast, "NEAREST", 1.0)
    assert torch.equal(shares(scene, view), narrow)
    assert narrow.sum((1, 2, 3)).min() > 100


@pytest.mark.parametrize("shape", ["cube", "sphere", "cylinder"])
def test_colours_of_rubber_are_those_that_are_said(shape, shares):
    """The palette's nearest hue to the mean colour of an object; gray has none."""
    n = 4 * len(COLOURS)
    codes = captions(n, first_material="rubber", first_size="large", first_shape=shape)
    codes[:, 1] = torch.arange(n) % len(COLOURS)
    scene, view = scenes(codes), View(64, 64)
    whole = (shares(scene, view)[:, :1] == 1).float()
    light = render(scene, view)
    light = 0.62 * light / (1 - 0.55 * light)  # as it was before it was compressed
    mean = (light * whole).sum((2, 3)) / whole.sum((2, 3))
    hues = {name: hue(PALETTE[name]) for name in COLOURS if name != "gray"}
    for colour, seen in zip(codes[:, 1].tolist(), mean.tolist(), strict=True):
        if COLOURS[colour] == "gray":
            assert max(seen) / min(seen) < 1.2
        else:
            assert max(seen) / min(seen) > 1.5
            away = {name: abs((hue(seen) - each + 0.5) % 1 - 0.5) for name, each in hues.items()}
            assert min(away, key=away.__getitem__) == COLOURS[colour]


def hue(colour):
    """Around the circle, 0 to 1."""
    top = max(colour)
    return colorsys.rgb_to_hsv(*(each / top for each in colour))[0]


def test_a_large_object_is_twice_as_large_as_a_small_one(shares):
    view = View(64, 64)
    large, small = (
        shares(scenes(captions(100, first_size=size)), view)[:, 0].sum((1, 2)).mean()
        for size in ("large", "small")
    )
    assert large / small == pytest.approx(4, rel=0.15)  # four times the area


# All captions, each as often


def test_all_captions_are_equally_likely():
    data, n = TwoObjects(), 200_000
    codes = data._said(torch.arange(n)).codes
    weight = torch.tensor([math.prod(SENTENCE.sizes[i + 1 :]) for i in range(9)])
    assert stats.chisquare(torch.bincount(codes @ weight, minlength=36_864)).pvalue > 1e-3
    for place, size in zip(codes.T, SENTENCE.sizes, strict=True):
        assert stats.chisquare(torch.bincount(place, minlength=size)).pvalue > 1e-3


@pytest.mark.parametrize("data", [TwoObjects(side=SMALLEST), OneObject(side=SMALLEST)])
def test_what_is_drawn_is_what_is_said(data, drawn):
    codes = data.examples(torch.arange(3000)).y.codes
    if isinstance(data, OneObject):
        size, colour, metal, shape = told(drawn[0])[:, 0].unbind(1)
        assert torch.equal(size, codes[:, 0])
        assert torch.equal(colour, torch.tensor([2, 1])[codes[:, 1]])  # blue, red
        assert (metal == 0).all()
        assert (shape == SPHERE).all()
    else:
        assert torch.equal(told(drawn[0]), kinds_of(codes))
    assert torch.equal(data._said(torch.arange(3000)).codes, codes)


def test_turns_cameras_and_lamps_are_uniform():
    scene = scenes(captions(4000))
    for values, low, high in (
        (scene.angle, 0.0, 2 * math.pi),
        (scene.camera, -worlds.CAMERA_JITTER, worlds.CAMERA_JITTER),
        (scene.lamps, -worlds.LAMP_JITTER, worlds.LAMP_JITTER),
    ):
        flat = values.flatten().double().numpy()
        assert stats.kstest(flat, stats.uniform(low, high - low).cdf).pvalue > 1e-3


# One picture is one picture


@pytest.mark.parametrize("kind", [TwoObjects, OneObject])
def test_a_picture_is_the_same_alone_in_a_batch_and_again(kind):
    data, index = kind(side=16), torch.arange(40)
    together = data.examples(index)
    backwards = kind(side=16).examples(index.flip(0))
    assert torch.equal(backwards.x.flip(0), together.x)
    assert torch.equal(backwards.y.codes.flip(0), together.y.codes)
    for i in (0, 7, 8, 39):
        assert torch.equal(data.examples(index[i : i + 1]).x[0], together.x[i])
    assert torch.equal(data.batch(2, 6).x, data.batch(0, 6, 4).x[12:18])


@pytest.mark.parametrize("kind", [TwoObjects, OneObject])
def test_other_indices_seeds_and_parts_give_other_pictures(kind):
    index = torch.arange(20)
    pictures = [
        kind(side=16).examples(index).x,
        kind(side=16).examples(index + 2**39).x,
        kind(side=16, seed=1).examples(index).x,
        *(kind(part, side=16).examples(index).x for part in ("validation", "test", "observer")),
    ]
    flat = torch.cat(pictures).flatten(1)
    assert len(flat.unique(dim=0)) == len(flat)


def test_pictures_are_bytes():
    x = TwoObjects(side=32).examples(torch.arange(20)).x
    assert x.dtype == torch.float32
    assert torch.equal(x, (255 * x).round() / 255)
    assert 0 <= x.min() < x.max() <= 1
    assert len(x.unique()) > 200


def test_a_size_shows_the_same_scenes():
    small, large = (TwoObjects(side=side).examples(torch.arange(6)) for side in (28, 56))
    assert torch.equal(small.y.codes, large.y.codes)
    apart = (small.x - torch.nn.functional.avg_pool2d(large.x, 2)).abs()
    assert apart.mean() < 0.008


def test_the_sides_are_those_of_the_papers():
    assert TwoObjects().shape == Data("two-objects").shape == (3, 112, 112)
    assert OneObject().shape == Data("one-object").shape == (3, 64, 64)
    assert TwoObjects(side=24).shape == Data("two-objects", side=24).shape == (3, 24, 24)
    assert TwoObjects().examples(torch.arange(2)).x.shape == (2, 3, 112, 112)


# What is held out


def kinds(codes):
    """The kinds of both objects as numbers below 96, `(B, 2)`."""
    return kinds_of(codes) @ torch.tensor([48, 6, 3, 1])


@pytest.mark.parametrize("seed", range(3))
def test_held_out_kinds_are_never_seen_in_training(seed):
    every = [
        TwoObjects(part, compositional=True, split_seed=seed, side=SMALLEST).every for part in PARTS
    ]
    assert [len(codes) for codes in every] == [26_244, 3_340, 6_880]
    train, validation, test = (set(kinds(codes).flatten().tolist()) for codes in every)
    sizes = [len(words) for words in KINDS]
    own = [
        set((compositional_split(sizes, part, seed) @ torch.tensor([48, 6, 3, 1])).tolist())
        for part in PARTS
    ]
    assert [len(each) for each in own] == [81, 5, 10]
    assert train == own[0]
    for found, codes, held in zip((validation, test), every[1:], own[1:], strict=True):
        assert found == train | held
        assert torch.isin(kinds(codes), torch.tensor(sorted(held))).any(1).all()
    rows = torch.cat(every)
    assert len(rows.unique(dim=0)) == len(rows)  # no caption is in two parts
    assert torch.equal(TwoObjects.held_out("test", seed), every[2])


def test_another_seed_holds_out_others():
    first, second = (TwoObjects.held_out("test", seed) for seed in (0, 1))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("part", PARTS)
def test_pictures_of_a_part_have_its_captions(part, drawn):
    data = TwoObjects(part, compositional=True, side=SMALLEST)
    codes = data.examples(torch.arange(5000)).y.codes
    weight = torch.tensor([math.prod(SENTENCE.sizes[i + 1 :]) for i in range(9)])
    assert torch.isin(codes @ weight, data.every @ weight).all()
    assert torch.equal(told(drawn[0]), kinds_of(codes))


def test_the_observer_sees_every_kind():
    assert len(TwoObjects("observer", compositional=True).every) == 36_864
    assert len(TwoObjects("train").every) == 36_864


def test_replications_make_an_end_of_pictures():
    assert TwoObjects().count == ENDLESS
    assert TwoObjects(replications=3).count == 3 * 36_864
    assert TwoObjects("test", compositional=True, replications=2).count == 2 * 6_880
    data = OneObject(replications=5, side=8)
    assert data.count == 20
    every = {picture.numpy().tobytes() for picture in data.examples(torch.arange(20)).x}
    seen = {picture.numpy().tobytes() for step in range(5) for picture in data.batch(step, 64).x}
    assert len(every) == 20
    assert seen == every


def test_kept_pictures_are_those_that_are_drawn():
    """What a GPU keeps of a finite data set."""
    data = OneObject(replications=6, side=12)
    assert torch.equal(data._all().float() / 255, data.examples(torch.arange(24)).x)
    assert data._all() is data._all()
    index = torch.tensor([3, 20, 3])
    assert torch.equal(data._said(index).codes, data.examples(index).y.codes)


def test_a_cpu_renders_each_picture_of_a_finite_data_set_once(monkeypatch):
    data, asked = OneObject(replications=6, side=12), []
    examples = data.examples
    monkeypatch.setattr(data, "examples", lambda index: asked.append(index) or examples(index))
    batches = [data.batch(step, 64) for step in range(5)]
    assert sorted(torch.cat(asked).tolist()) == list(range(24))
    anew = OneObject(replications=6, side=12)
    for step, (x, y) in enumerate(batches):
        index = integers(keys(0, step * 64 + torch.arange(64), "order"), 24)
        there = anew.examples(index)
        assert torch.equal(x, there.x)
        assert torch.equal(y.codes, there.y.codes)


def test_pictures_that_would_not_fit_are_rendered_every_time(monkeypatch):
    found = []
    for room in (24 * 3 * 12 * 12, 24 * 3 * 12 * 12 - 1):
        monkeypatch.setitem(two_objects.ROOM, "cpu", room)
        data = OneObject(replications=6, side=12)
        found.append((data.batch(3, 8).x, data.kept is not None))
    (kept, fits), (anew, fits_too) = found
    assert fits
    assert not fits_too
    assert torch.equal(kept, anew)


# Real pictures of a caption


def test_pictures_of_a_caption_show_what_it_says_and_the_rest_is_uniform(drawn):
    data = TwoObjects(side=SMALLEST)
    caption = SENTENCE.parse("a red cube behind a small metal thing")
    assert data.pictures_of(caption, 3000, seed=1).shape == (3000, 3, SMALLEST, SMALLEST)
    found = told(drawn[0]).flatten(1)
    code = dict(zip(SENTENCE.names, caption.codes, strict=True))
    relation = code.pop("relation")
    for place, said in zip(found.T, code.items(), strict=True):
        name, word = said
        if word is None:
            size = SENTENCE.sizes[SENTENCE.names.index(name)]
            assert stats.chisquare(torch.bincount(place, minlength=size)).pvalue > 1e-3
        else:
            assert (place == word).all()
    assert relation == RELATIONS.index("behind")
    assert (stands(drawn[0], data.view)[:, relation] > 0).all()


def test_pictures_of_nothing_said_are_pictures_of_anything(drawn):
    data = TwoObjects(side=SMALLEST)
    data.pictures_of(SENTENCE.root, 4000, seed=0)
    assert len(told(drawn[0])[:, 0].unique(dim=0)) == 96
    assert len(told(drawn[0])[:, 1].unique(dim=0)) == 96


@pytest.mark.parametrize("kind", [TwoObjects, OneObject])
def test_pictures_of_many_captions_are_those_of_each(kind):
    data = kind(side=16)
    texts = {TwoObjects: ["", "red cube left", "* * * ball"], OneObject: ["", "big", "red ball"]}
    said, seeds = [data.vocabulary.parse(text) for text in texts[kind]], [3, 2**52 + 1, 0]
    together = data.pictures_of_each(said, 4, seeds)
    assert together.shape == (3, 4, 3, 16, 16)
    for pictures, caption, seed in zip(together, said, seeds, strict=True):
        assert torch.equal(pictures, data.pictures_of(caption, 4, seed))
    assert torch.equal(data.pictures_of(said[1], 9, seeds[1])[:4], together[1])
    assert not torch.equal(data.pictures_of(said[1], 4, 8), together[1])


def test_a_ball_is_blue_or_red_where_it_is():
    data = OneObject(side=32)
    for text, channel in (("red ball", 0), ("blue ball", 2)):
        pictures = data.pictures_of(data.vocabulary.parse(text), 20, seed=0)
        most = pictures[:, channel] - pictures[:, 2 - channel]
        assert (most.flatten(1).amax(1) > 0.2).all()
        assert (most.flatten(1).amin(1) > -0.2).all()


def test_one_object_is_told_in_two_words():
    words = OneObject.vocabulary
    assert words.sizes == (2, 2)
    assert str(words.parse("a big red ball")) == "large red"
    assert str(words.parse("the blue ball")) == "* blue"
    every = decode(words, Labels.full(OneObject().every))
    assert [str(each) for each in every] == ["large blue", "large red", "small blue", "small red"]
    with pytest.raises(UsageError, match=r"'green' is not a word here; expected .*blue"):
        words.parse("green ball")


# Another view


def test_a_wide_view_is_squeezed_into_a_square(shares):
    """A ball is 3 : 4 in it, and a third more of the table is seen beside it."""
    data = TwoObjects(source="wide", side=96)
    assert data.view.width == data.view.height
    assert data.view.aspect == pytest.approx(4 / 3)
    scene = scenes(captions(1, first_shape="sphere", first_size="large"), "wide")
    place = torch.tensor([[[0.0, 0.0], [-750.0, 660.0]]])
    share = shares(scene._replace(place=place), data.view)[0, 0]
    wide, high = ((share.amax(axis) > 0).sum().item() for axis in (0, 1))
    assert wide / high == pytest.approx(3 / 4, rel=0.06)
    whole = View(96, 128, data.view.half, data.view.aspect)
    larger = shares(scene._replace(place=place), whole)[0, 0]
    wide, high = ((larger.amax(axis) > 0).sum().item() for axis in (0, 1))
    assert wide / high == pytest.approx(1, rel=0.06)


def test_things_of_the_wide_view_differ_in_size_and_are_large_or_small_all_the_same():
    """Evenly, by a fifth of what they are; those of CLEVR's world have two sizes."""
    codes = captions(4000)
    for source, spread in (("rendered", 0.0), ("wide", 0.2)):
        look, radius = VIEWS[source].look, scenes(codes, source).radius
        share = radius / torch.tensor(look.radii)[kinds_of(codes)[..., 0]]
        assert (share - 1).abs().max() == pytest.approx(spread, abs=1e-3)
        large, small = (radius[kinds_of(codes)[..., 0] == size] for size in (0, 1))
        assert large.min() > small.max()
    uniform = stats.uniform(0.8, 0.4).cdf
    for i in range(2):
        assert stats.kstest(share[:, i].double().numpy(), uniform).pvalue > 1e-3
    assert abs(torch.corrcoef(share.T)[0, 1]) < 0.06


def test_cubes_of_the_wide_view_are_as_large_as_balls_and_those_of_clevr_smaller(shares):
    """A cube of edge a covers 3/2 a² on average over all turns, a ball of radius r π r²."""
    for source, edge in (("rendered", math.sqrt(2)), ("wide", 1.36 * math.sqrt(2))):
        view = View(128, 128, *VIEWS[source][2:])
        scene = scenes(captions(60, first_size="large"), source)
        scene = scene._replace(
            place=torch.tensor([[0.0, 0.0], [-750.0, 660.0]]).expand(60, 2, 2),
            radius=torch.full((60, 2), 0.6),
            camera=torch.zeros(60, 3),
        )
        cube, ball = (
            shares(scene._replace(shape=torch.full((60, 2), shape)), view)[:, 0].sum((1, 2)).mean()
            for shape in (CUBE, SPHERE)
        )
        assert cube / ball == pytest.approx(1.5 * edge**2 / math.pi, rel=0.1)


def test_places_fill_the_view():
    """From edge to edge, whatever its width, and not beyond."""
    for source in SOURCES:
        view = TwoObjects(source=source).view
        scene = scenes(captions(5000), source)
        x, y, _ = projected(middles(scene, view), scene.camera, view)
        for axis, low in ((x, 0.8), (y, 0.4)):
            assert low < axis.max() < 1
            assert -1 < axis.min() < -low


# What goes wrong


def test_an_unknown_source_is_corrected():
    with pytest.raises(UsageError, match=r"`source='wyde'` is not known.* Did you mean 'wide'"):
        Data("two-objects", source="wyde").open("train")
    with pytest.raises(UsageError, match=r"`source=''` is not known; expected .*rendered.*wide"):
        TwoObjects(source="")
    assert Data("two-objects").resolved().source == "rendered"
    assert Data("one-object", source="wide").resolved().source == "wide"


@pytest.mark.parametrize("side", [3, 1025, -1])
def test_a_side_that_is_too_small_or_too_large_is_refused(side):
    with pytest.raises(UsageError, match=rf"`side={side}` must be between 4 and 1024"):
        Data("two-objects", side=side)


def test_the_smallest_pictures_are_pictures():
    x = Data("two-objects", side=4).open().batch(0, 5).x
    assert x.shape == (5, 3, 4, 4)
    assert x.std() > 0.01


@pytest.mark.parametrize("kind", [TwoObjects, OneObject])
def test_an_unknown_part_is_named(kind):
    with pytest.raises(UsageError, match=r"`part='tests'` is not known; .* Did you mean 'test'"):
        kind("tests")


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [("one-object", "compositional", True), ("two-objects", "labelled", 0.5)],
)
def test_a_field_that_means_nothing_is_refused(name, field, value):
    with pytest.raises(UsageError, match=rf"`data.{field}={value!r}` means nothing for '{name}'"):
        Data(name, **{field: value}).open()


def test_parts_are_described():
    facts = TwoObjects("test", compositional=True, replications=2, side=32, source="wide").facts()
    assert facts == {"captions": 6880, "pictures": 13_760, "size": "32 x 32", "view": "wide"}
    assert OneObject().facts()["captions"] == 4
    assert OneObject().facts()["pictures"] == "endless"


def test_rendering_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    for data in (TwoObjects(), OneObject()):
        x, y = data.to("meta").batch(3, 30)
        assert x.shape == (30, *data.shape)
        assert y.codes.shape == (30, len(data.vocabulary))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_draws_what_a_cpu_draws():
    index = torch.arange(64)
    for kind in (TwoObjects, OneObject):
        ours, theirs = kind().examples(index), kind().to("cuda").examples(index.cuda())
        assert torch.equal(ours.y.codes, theirs.y.codes.cpu())
        assert ((ours.x - theirs.x.cpu()).abs() > 0.01).double().mean() < 1e-3


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_keeps_the_pictures_of_a_finite_data_set():
    here, there = OneObject(replications=16), OneObject(replications=16).to("cuda")
    ours, theirs = here.batch(5, 64), there.batch(5, 64)
    assert there.kept is not None
    assert len(there.kept) == 64
    assert torch.equal(ours.y.codes, theirs.y.codes.cpu())
    assert ((ours.x - theirs.x.cpu()).abs() > 0.01).double().mean() < 1e-3
