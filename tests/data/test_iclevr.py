import io
from itertools import chain

import numpy as np
import pytest
import torch
from PIL import Image

from mindseye.data import Data, iclevr
from mindseye.data.camera import Scene
from mindseye.data.iclevr import IClevr, read_pairs, read_tiles
from mindseye.data.looks import CLEVR
from mindseye.data.raycast import render
from mindseye.data.scenes import COLOURS, RELATIONS, SENTENCE, SHAPES
from mindseye.data.splits import source_split
from mindseye.data.two_objects import VIEWS
from mindseye.data.worlds import PALETTE
from mindseye.errors import DataError, UsageError
from mindseye.labels import decode

COUNT = 50


@pytest.fixture(autouse=True)
def _small_sheets(monkeypatch, request):
    if "real" not in request.fixturenames:
        monkeypatch.setattr(iclevr, "ROWS", 5)
        monkeypatch.setattr(iclevr, "COLUMNS", 4)


def arrays(count=COUNT):
    rng = np.random.default_rng(0)
    return {
        "color": rng.integers(0, 8, (count, 3)).astype(np.uint8),
        "shape": rng.integers(0, 3, (count, 3)).astype(np.uint8),
        "color_names": np.array(COLOURS[::-1]),
        "shape_names": np.array(SHAPES),
        "centroid_xy": rng.uniform(20, 70, (count, 3, 2)).astype(np.float32),
    }


def jpg(tiles):
    """A sheet of 5 rows of 4 pictures, each of one grey, brighter in its right half."""
    pixels = np.zeros((5 * 96, 4 * 128, 3), np.uint8)
    for n, grey in enumerate(tiles):
        row, column = divmod(n, 4)
        tile = pixels[96 * row : 96 * row + 96, 128 * column : 128 * column + 128]
        tile[:] = grey
        tile[:, 64:] += 100
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=98, subsampling=0)
    return file.getvalue()


def write(folder, **changes):
    np.savez(folder / "iclevr_index.npz", **(arrays() | changes))
    for n in range(3):
        rows = range(20 * n, min(20 * n + 20, COUNT))
        (folder / f"iclevr_2obj_{n}.jpg").write_bytes(jpg([3 * row for row in rows]))
    return folder


@pytest.fixture
def folder(nowhere):
    return write(nowhere)


def opened(folder, part="train", **options):
    return Data("iclevr", **options).open(part, folder=str(folder))


def numbers(data):
    """Rows of the index, by the grey of their left half."""
    return data.images[:, 0, :, :40].float().mean((1, 2)).div(3).round().long().tolist()


def captions(data, index):
    return [str(caption) for caption in decode(SENTENCE, data.examples(index).y)]


def true_captions(row):
    made = arrays()
    (ax, ay), (bx, by) = made["centroid_xy"][row, :2].astype(float)
    steps = {"left": bx - ax, "right": ax - bx, "front": ay - by, "behind": by - ay}
    one, other = (
        f"* {COLOURS[7 - made['color'][row, i]]} * {SHAPES[made['shape'][row, i]]}" for i in (0, 1)
    )
    return {
        caption
        for relation, opposite in zip(RELATIONS, ("right", "left", "behind", "front"), strict=True)
        if steps[relation] >= 4
        for caption in (f"{one} {relation} {other}", f"{other} {opposite} {one}")
    }


def test_each_true_caption_is_said_and_no_other(folder):
    data = opened(folder)
    lengths = set()
    for place, row in enumerate(numbers(data)):
        said = set(captions(data, place + data.count * torch.arange(60)))
        assert said == true_captions(row)
        lengths.add(len(said))
    assert lengths == {2, 4}


def test_sizes_and_materials_are_left_open(folder):
    labels = opened(folder).examples(torch.arange(40)).y
    assert labels.observed.tolist() == [[False, True, False, True, True] + [False, True] * 2] * 40
    assert (labels.codes[~labels.observed] == 0).all()


def test_parts_are_rows_and_share_none(folder):
    found = {part: numbers(opened(folder, part)) for part in IClevr.parts}
    assert [len(found[part]) for part in IClevr.parts] == [31, 1, 3, 13]
    spoken_of = [row for row in range(COUNT) if true_captions(row)]
    assert sorted(chain(*found.values())) == spoken_of


def test_a_caption_is_the_same_alone_and_together(folder):
    data, index = opened(folder), torch.arange(200)
    together = captions(data, index)
    assert captions(data, index.flip(0)) == together[::-1]
    assert captions(data, index[77:78]) == together[77:78]
    assert captions(IClevr.read("files", "train", folder, seed=1), index) != together


def test_pictures_fill_the_square(folder):
    x = opened(folder, side=16).examples(torch.arange(31)).x
    assert x.shape == (31, 3, 16, 16)
    left, right = x[..., :7].flatten(1), x[..., 9:].flatten(1)
    assert (right - left.mean(1, keepdim=True) - 100 / 255).abs().max() < 0.05
    assert (left - left.mean(1, keepdim=True)).abs().max() < 0.05
    assert opened(folder).facts()["size"] == "112 x 112"


def test_pictures_of_objects_near_on_both_axes_are_left_out(nowhere):
    centres = arrays()["centroid_xy"]
    centres[:, 1] = centres[:, 0] + 3.9
    kept = int(source_split(COUNT, "train")[3])
    centres[kept, 1, 0] += 4
    write(nowhere, centroid_xy=centres)
    assert numbers(opened(nowhere)) == [kept]
    with pytest.raises(UsageError, match="`part='test'` has no pictures"):
        opened(nowhere, "test")


def test_pictures_of_a_caption_are_those_it_is_true_of(folder):
    data = opened(folder)
    caption = SENTENCE.parse("cube left of a sphere")
    shown = data.pictures_of(caption, 200, seed=0)[..., :40].mean((1, 2, 3)).mul(85).round()
    rows = {
        row
        for row in numbers(data)
        if any(caption.generalizes(SENTENCE.parse(each)) for each in true_captions(row))
    }
    assert set(shown.long().tolist()) == rows > set()
    with pytest.raises(UsageError, match="has no picture of large"):  # sizes are not known
        data.pictures_of(SENTENCE.parse("large"), 1, seed=0)


# Real pictures


def test_every_real_picture_has_something_to_say(real):
    pairs = read_pairs(real("iclevr_index.npz"))
    assert len(pairs.holds) == 6003
    assert pairs.holds.any(1).double().mean() == 1
    both = (pairs.holds.sum(1) == 2).double().mean().item()
    assert both == pytest.approx(0.716, abs=0.001)
    assert not (pairs.holds[:, ::2] & pairs.holds[:, 1::2]).any()


def test_real_objects_are_where_their_captions_say(real):
    """Red pixels are where the red object is said to be, and blue ones where the blue one is."""
    path = real("iclevr_index.npz")
    pairs = read_pairs(path)
    colours = torch.tensor([COLOURS.index("red"), COLOURS.index("blue")])
    index = (pairs.codes[:1280, :, 1] == colours).all(1).nonzero()[:, 0]  # of the first sheet
    images = read_tiles(path.parent, index, 112).float()

    def middle(weight):
        lines, weight = torch.arange(112.0), (weight - 30).clamp(min=0)
        return [weight.sum(axis) @ lines / weight.sum((1, 2)) for axis in (1, 2)]

    (rx, ry), (bx, by) = middle(images[:, 0] - images[:, 2]), middle(images[:, 2] - images[:, 0])
    seen = torch.stack([rx < bx, rx > bx, ry > by, ry < by], 1)
    assert len(index) > 10
    assert seen[pairs.holds[index]].double().mean() > 0.95


# What goes wrong


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"color": np.zeros((50, 2), int)}, r"`color` is \(50, 2\); expected \(any, 3\)"),
        ({"color": np.zeros((50, 3))}, "`color` holds float64; expected whole numbers"),
        ({"color": np.full((50, 3), 8)}, "`color` has numbers outside 0 to 7"),
        ({"shape": np.full((50, 3), -1)}, "`shape` has numbers outside 0 to 2"),
        ({"shape": np.zeros((49, 3), int)}, r"`shape` is \(49, 3\); expected \(50, 3\)"),
        ({"shape_names": np.array(["cube", "ball", "cylindre"])}, "`shape_names` has 'ball'"),
        ({"color_names": np.array(["grey"] * 8)}, r"has 'grey', .* Did you mean 'gray'\?"),
        ({"color_names": np.arange(8)}, "`color_names` holds int64; expected texts"),
        ({"centroid_xy": np.zeros((50, 3, 2), int)}, "`centroid_xy` holds int64; expected real"),
        ({"centroid_xy": np.zeros((50, 2, 2))}, r"`centroid_xy` is \(50, 2, 2\); expected \(50, 3"),
        ({"centroid_xy": np.full((50, 3, 2), 97.0)}, "has places outside 128 x 96 pixels"),
        ({"centroid_xy": np.full((50, 3, 2), np.nan)}, "has places outside 128 x 96 pixels"),
    ],
)
def test_a_damaged_index_is_refused(nowhere, changes, message):
    with pytest.raises(DataError, match=message):
        opened(write(nowhere, **changes))


def test_a_missing_array_is_named(folder):
    kept = {name: array for name, array in arrays().items() if name != "centroid_xy"}
    np.savez(folder / "iclevr_index.npz", **kept)
    with pytest.raises(DataError, match="has no `centroid_xy`; it holds color"):
        opened(folder)


def test_missing_files_are_named(folder):
    (folder / "iclevr_2obj_1.jpg").unlink()
    with pytest.raises(DataError, match=r"iclevr_2obj_1\.jpg: No such file"):
        opened(folder)
    (folder / "iclevr_index.npz").unlink()
    with pytest.raises(DataError, match=r"i-CLEVR was not found in .*Put iclevr_index\.npz there"):
        opened(folder)


def test_a_sheet_of_another_size_is_refused(folder, monkeypatch):
    monkeypatch.setattr(iclevr, "ROWS", 6)
    with pytest.raises(DataError, match=r"iclevr_2obj_0\.jpg has 512 x 480 pixels; expected 512 x"):
        opened(folder)


def test_a_damaged_sheet_is_named(folder):
    path = folder / "iclevr_2obj_2.jpg"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(DataError, match=r"iclevr_2obj_2\.jpg cannot be read as a picture"):
        opened(folder)


def test_unknown_sources_and_parts_are_named(folder):
    with pytest.raises(UsageError, match=r"`source='mnist'` is not known; expected 'files'"):
        opened(folder, source="mnist")
    with pytest.raises(UsageError, match=r"`part='tset'` is not known.*Did you mean 'test'"):
        opened(folder, "tset")
    with pytest.raises(UsageError, match=r"`data\.labels=5` means nothing for 'iclevr'"):
        opened(folder, labels=5)


def test_things_of_our_wide_view_look_as_those_of_i_clevr_do(real):
    """Mean pictures of the first object, which stands in the middle, of rows not fitted to."""
    folder = real("iclevr_index.npz").parent
    first = read_pairs(folder / "iclevr_index.npz").codes[5120:, 0]
    fitted = torch.isin(torch.arange(5120, 6003), source_split(6003, "train"))
    theirs = iclevr._sheet(folder / "iclevr_2obj_4.jpg")[: len(first)].float()
    wide = VIEWS["wide"]._replace(height=96, width=128)
    apart = torch.tensor(
        [
            [
                _apart(theirs[~fitted & (first == kind).all(1)], kind, view)
                for view in (wide, wide._replace(look=CLEVR))
            ]
            for kind in torch.cartesian_prod(
                torch.zeros(1).long(), torch.arange(8), torch.zeros(1).long(), torch.arange(3)
            )
        ]
    )
    ours, clevr = apart.mean(0)
    assert ours < 7.5  # grey levels of 256
    assert ours < 0.7 * clevr


def _apart(pictures, kind, view, n=24):
    """How far our mean picture of an object is from theirs, around it, in grey levels."""
    g = torch.Generator().manual_seed(0)
    _, colour, _, shape = kind.tolist()
    scene = Scene(
        torch.zeros(n, 1, 2),
        7 * torch.rand(n, 1, generator=g),
        torch.full((n, 1), 0.6),
        torch.full((n, 1), shape),
        torch.tensor(PALETTE[COLOURS[colour]]).expand(n, 1, 3) / 255,
        torch.zeros(n, 1, dtype=torch.bool),
        torch.zeros(n, 3),
        2 * torch.rand(n, 3, 3, generator=g) - 1,
    )
    ours = 255 * render(scene, view).mean(0)
    return (ours - pictures.mean(0))[:, 26:62, 44:84].square().mean().sqrt()
