import copy
import json
from itertools import chain, product

import numpy as np
import pytest
import torch

from mindseye.data import Data
from mindseye.data.clevr import Clevr, read_scenes
from mindseye.data.scenes import COLOURS, MATERIALS, RELATIONS, SENTENCE, SHAPES, SIZES
from mindseye.data.telling import Pairs, drawn
from mindseye.errors import DataError, UsageError
from mindseye.labels import decode
from mindseye.pictures import png_bytes
from mindseye.randomness import keys

OPPOSITE = {"left": "right", "right": "left", "front": "behind", "behind": "front"}

# The camera of this world looks along y: what is in front has a lower y.
DIRECTIONS = {"left": [-1.0, 0, 0], "right": [1.0, 0, 0], "front": [0, -1.0, 0],
              "behind": [0, 1.0, 0], "above": [0, 0, 1.0]}  # fmt: skip


def an_object(rng, x, y):
    words = zip(
        ("size", "color", "material", "shape"), (SIZES, COLOURS, MATERIALS, SHAPES), strict=True
    )
    said = {name: str(rng.choice(values)) for name, values in words}
    return said | {"3d_coords": [x, y, 0.7], "pixel_coords": [240 + 60 * x, 160 - 40 * y, 9.0],
                   "rotation": 30.0}  # fmt: skip


def relationships(objects):
    """What the generator would write."""

    def far(one, other, name):
        steps = zip(one["3d_coords"], other["3d_coords"], DIRECTIONS[name], strict=True)
        return sum((a - b) * d for a, b, d in steps) > 0.2

    return {
        name: [[j for j, b in enumerate(objects) if far(b, a, name)] for a in objects]
        for name in RELATIONS
    }


def a_scene(number, half="train", count=2):
    rng = np.random.default_rng([number, half == "val", count])
    places = [rng.uniform(-3, 3, 2).round(2).tolist() for _ in range(count)]
    if number == 1 and count == 2:
        places = [[0.0, 1.0], [2.0, 1.1]]  # neither is said to be in front
    objects = [an_object(rng, *place) for place in places]
    return {
        "image_index": number,
        "image_filename": f"CLEVR_{half}_{number:06d}.png",
        "split": half,
        "objects": objects,
        "directions": copy.deepcopy(DIRECTIONS),
        "relationships": relationships(objects),
    }


def write(path, scenes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"info": {}, "scenes": scenes}))
    return path


def picture(number):
    """A picture that tells its number by its colour, dark to the left."""
    pixels = np.zeros((3, 8, 12), np.float32)
    pixels[0], pixels[1, :, 6:], pixels[2] = number / 255, 1, 0.5
    return pixels


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(pixels))


def numbers(data):
    return data.images[:, 0, 0, 0].long().tolist()


@pytest.fixture
def official(nowhere):
    for half, count in (("train", 40), ("val", 12)):
        scenes = [a_scene(i, half) for i in range(count)]
        write(nowhere / "scenes" / f"CLEVR_{half}_scenes.json", [*scenes, a_scene(99, half, 3)])
        for i in range(count):
            save(nowhere / "images" / half / f"CLEVR_{half}_{i:06d}.png", picture(i))
    return nowhere


@pytest.fixture
def generated(nowhere):
    scenes = [a_scene(i, "new") for i in range(40)]
    write(nowhere / "CLEVR_scenes.json", scenes)
    for i, scene in enumerate(scenes):
        save(nowhere / "images" / scene["image_filename"], picture(i))
        write(nowhere / "scenes" / f"CLEVR_new_{i:06d}.json", [])
    return nowhere


def opened(folder, part="train", **options):
    return Data("clevr", **options).open(part, folder=str(folder))


def captions(data, index):
    return [str(caption) for caption in decode(SENTENCE, data.examples(index).y)]


def words(thing):
    return " ".join(thing[name] for name in ("size", "color", "material", "shape"))


def true_captions(scene):
    """All that may be said, by the places of the objects alone."""
    found = set()
    for a, b in ((0, 1), (1, 0)):
        one, other = scene["objects"][a], scene["objects"][b]
        for name in RELATIONS:
            step = np.subtract(one["3d_coords"], other["3d_coords"]) @ np.array(DIRECTIONS[name])
            if step > 0.2:
                found.add(f"{words(one)} {name} {words(other)}")
    return found


# Captions


def test_each_true_caption_is_said_and_no_other(official):
    data = opened(official)
    for place, number in enumerate(numbers(data)):
        said = captions(data, place + data.count * torch.arange(60))
        assert set(said) == true_captions(a_scene(number))


def test_an_axis_on_which_objects_are_near_is_not_spoken_of():
    said = true_captions(a_scene(1))
    assert {caption.split()[4] for caption in said} == {"left", "right"}
    assert len(said) == 2


def test_all_true_captions_are_as_likely():
    codes = torch.arange(8).view(1, 2, 4)
    pair = Pairs(codes, codes >= 0, torch.tensor([[True, False, False, True]]))
    one = torch.zeros(8000, dtype=torch.int64)
    said = drawn(pair.of(one), keys(0, torch.arange(8000)))
    found, counts = said.codes.unique(dim=0, return_counts=True)
    assert found.tolist() == [
        [0, 1, 2, 3, 0, 4, 5, 6, 7],
        [0, 1, 2, 3, 3, 4, 5, 6, 7],
        [4, 5, 6, 7, 1, 0, 1, 2, 3],
        [4, 5, 6, 7, 2, 0, 1, 2, 3],
    ]
    assert (counts - 2000).abs().max() < 200
    assert said.observed.all()


@pytest.mark.parametrize("holds", [*product([False, True], repeat=4)][1:])
def test_whatever_holds_is_drawn(holds):
    codes = torch.arange(8).view(1, 2, 4)
    pair = Pairs(codes, codes >= 0, torch.tensor([holds]))
    said = drawn(pair.of(torch.zeros(200, dtype=torch.int64)), keys(0, torch.arange(200))).codes
    wanted = {RELATIONS[i] for i in range(4) if holds[i]}
    forward = {RELATIONS[i] for i in said[said[:, 0] == 0][:, 4].tolist()}
    back = {OPPOSITE[RELATIONS[i]] for i in said[said[:, 0] == 4][:, 4].tolist()}
    assert forward == back == wanted


def test_a_caption_is_the_same_alone_and_together(official):
    data, index = opened(official), torch.arange(200)
    together = captions(data, index)
    assert captions(data, index.flip(0)) == together[::-1]
    assert captions(data, index[77:78]) == together[77:78]
    again = Clevr.read("auto", "train", official, seed=1)
    assert captions(again, index) != together
    assert torch.equal(again.images, data.images)


def test_pictures_of_a_caption_are_those_it_is_true_of(official):
    data = opened(official)
    for said in ("left of a sphere", "red", "cube", "* * * * behind", ""):
        caption = SENTENCE.parse(said)
        shown = data.pictures_of(caption, 300, seed=0)[:, 0, 0, 0].mul(255).round().long()
        expected = [
            number
            for number in numbers(data)
            if any(
                caption.generalizes(SENTENCE.parse(each)) for each in true_captions(a_scene(number))
            )
        ]
        assert set(shown.tolist()) == set(expected) > set()


def test_a_caption_that_is_true_of_no_picture_is_named(official):
    whole = SENTENCE.parse("large red rubber cube left large red rubber cube")
    with pytest.raises(UsageError, match=r"`part='validation'` has no picture of large red"):
        opened(official, "validation").pictures_of(whole, 2, seed=0)


def test_drawing_never_waits_for_a_number(official):
    """On the meta device there are no numbers: to look at one would fail."""
    batch = opened(official).to("meta").batch(3, 8)
    assert batch.x.shape == (8, 3, 112, 112)
    assert batch.y.codes.shape == (8, 9)


# Parts and pictures


def test_val_is_the_test_and_train_is_divided(official):
    found = {part: numbers(opened(official, part)) for part in Clevr.parts}
    assert [len(found[part]) for part in Clevr.parts] == [32, 2, 12, 6]
    assert found["test"] == list(range(12))
    assert sorted(found["train"] + found["validation"] + found["observer"]) == list(range(40))


def test_one_file_is_divided_into_four_parts(generated):
    found = {part: numbers(opened(generated, part)) for part in Clevr.parts}
    assert [len(found[part]) for part in Clevr.parts] == [25, 1, 3, 11]
    assert sorted(chain(*found.values())) == list(range(40))


def test_any_one_file_of_scenes_will_do(generated):
    data = opened(generated)
    for path in (generated / "scenes").iterdir():
        path.unlink()
    for place in ("any.json", "scenes/mine.json"):
        (generated / "CLEVR_scenes.json").rename(generated / place)
        assert torch.equal(opened(generated).images, data.images)
        (generated / place).rename(generated / "CLEVR_scenes.json")


def test_usual_places_are_searched(official, monkeypatch):
    monkeypatch.setenv("MINDSEYE_DATA", str(official))
    assert Data("clevr").open("test").facts() == {
        "source": "files", "pictures": 12, "size": "112 x 112"}  # fmt: skip
    assert Data("clevr").resolved().source == "files"


def test_pictures_fill_the_square(official):
    data = opened(official, "test", side=16)
    x = data.examples(torch.arange(12)).x
    assert x.shape == (12, 3, 16, 16)
    assert torch.equal(x[:, 0].mul(255).round().amax((1, 2)), torch.arange(12.0))
    assert x[:, 1, :, :7].max() < 0.05
    assert x[:, 1, :, 9:].min() > 0.95


def test_pictures_are_made_small_once(official, monkeypatch):
    first = opened(official)
    monkeypatch.setattr("mindseye.data.thumbnails.read_picture", None)  # to read would fail
    assert torch.equal(opened(official).images, first.images)
    opened(official, "validation")
    save(official / "images" / "train" / "CLEVR_train_000000.png", picture(200)[:, :4])
    with pytest.raises(TypeError):
        opened(official)


def test_pictures_of_objects_near_on_both_axes_are_left_out(official):
    path = official / "scenes" / "CLEVR_val_scenes.json"
    scenes = [a_scene(i, "val") for i in range(12)]
    scenes[5]["relationships"] = {name: [[], []] for name in RELATIONS}
    write(path, scenes)
    assert numbers(opened(official, "test")) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]


# Scenes


def test_a_scene_of_any_number_of_objects_is_read(tmp_path):
    path = write(tmp_path / "s.json", [a_scene(0, count=5), a_scene(1, count=1), a_scene(2)])
    five, one, two = read_scenes(path)
    assert [len(scene.things) for scene in (five, one, two)] == [5, 1, 2]
    assert (two.number, two.picture, two.split) == (2, "CLEVR_train_000002.png", "train")
    written = a_scene(0, count=5)["relationships"]
    for i, j in product(range(5), range(5)):
        assert five.holds(j, i) == [j in written[name][i] for name in RELATIONS]
    thing, said = two.things[1], a_scene(2)["objects"][1]
    assert (thing.size, thing.colour, thing.material) == tuple(
        said[name] for name in ("size", "color", "material")
    )
    assert thing.place == tuple(said["3d_coords"])


@pytest.mark.parametrize("count", [2, 4])
def test_places_say_what_relationships_do(tmp_path, count):
    written = [a_scene(i, count=count) for i in range(20)]
    by_place, by_pixel = copy.deepcopy(written), copy.deepcopy(written)
    for scene in by_place + by_pixel:
        del scene["relationships"]
    for thing in (thing for scene in by_pixel for thing in scene["objects"]):
        del thing["3d_coords"]
    files = [
        write(tmp_path / f"{n}.json", each) for n, each in enumerate([written, by_place, by_pixel])
    ]
    told, stand, seen = ([scene.related for scene in read_scenes(path)] for path in files)
    assert told == stand
    for far, near in zip(told, seen, strict=True):  # pixels ask for a little more room
        assert all(a >= b for one, other in zip(far, near, strict=True)
                   for a, b in zip(one, other, strict=True))  # fmt: skip
    assert sum(len(row) for each in seen for rows in each for row in rows) > 20


def test_no_split_and_one_object_without_a_place_are_read(tmp_path):
    scene = a_scene(0, count=1)
    for name in ("split", "relationships", "directions"):
        del scene[name]
    for name in ("3d_coords", "pixel_coords", "rotation"):
        del scene["objects"][0][name]
    (read,) = read_scenes(write(tmp_path / "s.json", [scene]))
    assert read.split == ""
    assert read.related == ((frozenset(),),) * 4


# What goes wrong


def changed(*path_and_value):
    """Two good scenes, the second with one value changed, or taken away where it is `...`."""
    *path, last, value = path_and_value
    scenes = [a_scene(0), a_scene(1)]
    inner = scenes[1]
    for name in path:
        inner = inner[name]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return scenes


LISTS = {name: [[], []] for name in RELATIONS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("image_filename", ...), "scene 1: `image_filename` is missing"),
        (("image_filename", 7), "scene 1: `image_filename` is 7; expected a text"),
        (("image_filename", "../x.png"), r"`image_filename` is '\.\./x\.png'; expected a name"),
        (("image_filename", ".."), r"`image_filename` is '\.\.'; expected a name without"),
        (("split", "a/b"), "scene 1: `split` is 'a/b'; expected a name"),
        (("split", 3), "scene 1: `split` is 3; expected a text"),
        (("objects", ...), "scene 1: `objects` is missing"),
        (("objects", {}), r"scene 1: `objects` is \{\}; expected a list"),
        (("objects", 1, "cube"), "scene 1, object 1 is cube; expected named values"),
        (("objects", 1, "size", ...), "scene 1, object 1: `size` is missing"),
        (("objects", 0, "color", ...), "scene 1, object 0: `color` is missing"),
        (("objects", 0, "material", None), "scene 1, object 0: `material` is missing"),
        (("objects", 0, "shape", 2), "scene 1, object 0: `shape` is 2; expected a text"),
        (("objects", 0, "color", "gren"), r"`color` is 'gren', .* Did you mean 'green'\?"),
        (("objects", 1, "shape", "cub"), r"object 1: `shape` is 'cub', .* Did you mean 'cube'\?"),
        (("objects", 0, "material", "wood"), "`material` is 'wood', .* 'rubber' or 'metal'"),
        (("objects", 0, "3d_coords", [1, 2]), r"`3d_coords` is \[1, 2\]; expected three numbers"),
        (("objects", 0, "3d_coords", [1, 2, float("nan")]), "`3d_coords` is .* three numbers"),
        (("objects", 0, "pixel_coords", [1, True, 2]), "`pixel_coords` is .* three numbers"),
        (("objects", 0, "pixel_coords", "1, 2"), "`pixel_coords` is 1, 2; expected a list"),
        (("relationships", []), r"scene 1: `relationships` is \[\]; expected named values"),
        (("relationships", "left", ...), r"scene 1: `relationships\.left` is missing"),
        (("relationships", "front", "x"), r"`relationships\.front` is x; expected a list"),
        (("relationships", "behind", [[]]), r"`relationships\.behind` has 1 lists; .* 2 objects"),
        (("relationships", "left", [[], 0]), r"`relationships\.left` has 0 for object 1; .* list"),
        (("relationships", "left", [[2], []]), r"left` has 2 for object 0; expected .* 0 to 1"),
        (("relationships", "left", [[], [-1]]), "left` has -1 for object 1; expected others"),
        (("relationships", "left", [[0], []]), "left` has 0 for object 0; expected others"),
        (("relationships", "left", [[True], []]), "left` has True for object 0"),
        (("relationships", LISTS | {"left": [[1], []]}), "object 1 is left of object 0, and `rig"),
        (("relationships", LISTS | {"left": [[1], [0]], "right": [[1], [0]]}), "not agree"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, change, message):
    path = write(tmp_path / "some.json", changed(*change))
    with pytest.raises(DataError, match=message) as error:
        read_scenes(path)
    assert str(error.value).startswith(f"{path}: scene 1")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("directions", ...), "`relationships` is missing, and not all objects have `3d_coords`"),
        (("directions", "left", ...), r"`directions\.left` is missing"),
        (("directions", "front", [1, 2]), r"`directions\.front` is \[1, 2\]; expected three numbe"),
        (("directions", "right", [0, 1, 0]), r"`directions\.right` is not opposite to `left`"),
    ],
)
def test_where_nothing_is_written_directions_are_needed(tmp_path, change, message):
    scenes = changed(*change)
    for scene in scenes:
        del scene["relationships"]
        del scene["objects"][0]["pixel_coords"]
    with pytest.raises(DataError, match=rf"some\.json: scene 1: {message}"):
        read_scenes(write(tmp_path / "some.json", scenes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", r"some\.json is \[\]; expected named values"),
        ("{}", r"some\.json: `scenes` is missing"),
        ('{"scenes": 3}', r"some\.json: `scenes` is 3; expected a list"),
        ('{"scenes": [3]}', r"some\.json: scene 0 is 3; expected named values"),
        ('{"scenes": [', r"some\.json is not valid JSON"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    (tmp_path / "some.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_scenes(tmp_path / "some.json")


def test_no_scene_of_two_objects_is_said_with_how_many_there_are(official):
    path = official / "scenes" / "CLEVR_train_scenes.json"
    write(path, [a_scene(i, count=3) for i in range(7)])
    with pytest.raises(DataError, match=r"has 7 scenes, and none of exactly two objects.*--min_ob"):
        opened(official)


def test_a_missing_picture_is_named_with_its_scene(official):
    (official / "images" / "train" / "CLEVR_train_000007.png").unlink()
    message = r"scene 7: `image_filename` CLEVR_train_000007\.png is not in .*train or .*images\."
    with pytest.raises(DataError, match=message):
        opened(official)


def test_a_damaged_picture_is_named_and_nothing_is_kept(official):
    path = official / "images" / "train" / "CLEVR_train_000007.png"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match=r"CLEVR_train_000007\.png cannot be read as a picture"):
        opened(official)
    assert not list(official.rglob("*.bytes*"))


def test_missing_files_are_named(nowhere):
    with pytest.raises(DataError, match=r"CLEVR was not found in .*clevr.*Put its folders scenes"):
        Data("clevr").open("train")


def test_several_files_of_scenes_are_too_many(generated):
    (generated / "CLEVR_scenes.json").unlink()
    with pytest.raises(DataError, match=r"scenes has 40 json files; expected one.*train,val"):
        opened(generated)


def test_unknown_sources_and_parts_are_named(official):
    with pytest.raises(UsageError, match=r"`source='mnist'` is not known; expected 'files'"):
        opened(official, source="mnist")
    with pytest.raises(UsageError, match=r"`part='tset'` is not known.*Did you mean 'test'"):
        opened(official, "tset")


def test_too_few_scenes_for_a_part_are_refused(generated):
    write(generated / "CLEVR_scenes.json", [a_scene(i, "new") for i in range(3)])
    with pytest.raises(UsageError, match="`part='validation'` has no pictures"):
        opened(generated, "validation")
