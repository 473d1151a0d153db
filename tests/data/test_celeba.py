"""CelebA: what is read from two layouts, and what is said of it."""

import gzip
import io
import math
import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image

from mindseye.data import Data, faces
from mindseye.data.celeba import NAMES, SENTENCE, VOCABULARY, WORDS, CelebA, CelebAWords, words_of
from mindseye.data.faces import ATTRIBUTES, Faces, listed_attributes, sheet_attributes
from mindseye.errors import DataError, UsageError
from mindseye.labels import decode

COLUMNS = ["Attractive", *reversed(ATTRIBUTES), "Young"]
COUNTS = {"train": 1030, "val": 24, "test": 9}


def table(name):
    """The attributes of made-up pictures, -1 or 1; number 0 has all of them, number 1 none."""
    rows = np.random.default_rng(len(name)).random((COUNTS[name], len(COLUMNS))) < 0.3
    rows[:2] = [[True], [False]]
    return np.where(rows, 1, -1).astype(np.int8)


def expected(name):
    """The attributes that are to be read of them."""
    return torch.from_numpy(table(name)[:, -2:0:-1] == 1)


def colours(count):
    """A colour for every picture, which tells its number."""
    n = np.arange(count)
    return np.stack([n % 16 * 16, n // 16 % 16 * 16, n // 256 * 32], 1).astype(np.uint8)


def numbers(data):
    """The numbers of the pictures of a part, from all their pixels."""
    x = (data.images.double() / 16).round()
    assert (x == x[:, :, :1, :1]).all()  # one colour: no tile bleeds into another
    red, green, blue = x[:, :, 0, 0].long().T
    return red + 16 * green + 256 * (blue // 2)


def index():
    arrays = {"attr_names": np.array(COLUMNS)}
    for name, count in COUNTS.items():
        arrays[f"{name}_image_no"] = np.arange(count, dtype=np.int32)
        arrays[f"{name}_attr"] = table(name)
    return arrays


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sheets in which every tile has a colour of its own."""
    folder = tmp_path_factory.mktemp("sheets")
    np.savez(folder / "celeba64_index.npz", **index())
    for name, count in COUNTS.items():
        tiles = np.zeros((2048, 3), np.uint8)
        tiles[:count] = colours(count)
        for n in range(math.ceil(count / 1024)):
            grid = tiles[n * 1024 : (n + 1) * 1024].reshape(32, 32, 3)
            image = Image.fromarray(grid.repeat(64, 0).repeat(64, 1))
            image.save(folder / f"celeba64_{name}_{n:02d}.jpg", quality=95, subsampling=0)
    return folder


@pytest.fixture
def sheets(made, nowhere):
    return made


@pytest.fixture
def copy(made, nowhere):
    return shutil.copytree(made, nowhere / "copy")


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def portrait(colour):
    """An aligned picture: one colour in the square around the face, another outside of it."""
    pixels = np.full((218, 178, 3), 77, np.uint8)
    pixels[35:183, 15:163] = colour
    return png(pixels)


def partition():
    lines = [(i, n) for n, count in enumerate((16, 5, 3)) for i in range(count)]
    return "".join(f"{k + 1:06d}.jpg {n}\n" for k, (_, n) in enumerate(lines))


def attributes(count=24):
    rows = (" ".join(map(str, row)) for row in table("val")[:count])
    lines = [f"{k + 1:06d}.jpg {row}" for k, row in enumerate(rows)]
    return "\n".join([str(count), " ".join(COLUMNS) + " ", *lines, ""])


@pytest.fixture
def aligned(nowhere):
    """The layout of the authors: 16 pictures to train on, 5 of validation, 3 of the test."""
    folder = nowhere / "img_align_celeba"
    folder.mkdir()
    for k, colour in enumerate(colours(24)):
        (folder / f"{k + 1:06d}.jpg").write_bytes(portrait(colour))  # contents count, not names
    (nowhere / "list_attr_celeba.txt").write_text(attributes())
    (nowhere / "list_eval_partition.txt").write_text(partition())
    return nowhere


def opened(folder, part="train", name="celeba", seed=0, **options):
    return Data(name, **options).open(part, seed=seed, folder=str(folder))


# What can be said


def test_eighteen_attributes_and_nineteen_words_can_be_said():
    assert VOCABULARY.sizes == (2,) * 18
    assert VOCABULARY.parse("mouth slightly open=yes, male=no").level == 2
    assert WORDS[:2] == ("bald", "bangs")
    assert WORDS[9:12] == ("male", "female", "mouth slightly open")
    assert SENTENCE.sizes == (20,) * 9
    assert str(SENTENCE.parse("Smiling, wavy hair - male")) == "smiling wavy-hair - male"


# Sheets


@pytest.mark.parametrize("side", [0, 48, 32, 4])
def test_every_tile_goes_to_its_picture(sheets, side):
    data = opened(sheets, "validation", side=side)
    assert torch.equal(numbers(data), torch.arange(24))
    assert data.shape == Data("celeba", side=side).shape == (3, side or 64, side or 64)
    x, y = data.examples(torch.arange(48))
    assert torch.equal(y.codes.bool(), expected("val").repeat(2, 1))
    assert y.observed.all()
    assert torch.equal(x[:24], x[24:])


def test_a_small_picture_is_a_mean_of_boxes(copy):
    pixels = np.random.default_rng(0).integers(0, 256, (2048, 2048, 3), dtype=np.uint8)
    (copy / "celeba64_test_00.jpg").write_bytes(png(pixels))
    tile = pixels[:64, 64:128].astype(float)  # the second
    means = tile.reshape(32, 2, 32, 2, 3).mean((1, 3)).transpose(2, 0, 1)
    assert np.abs(opened(copy, "test", side=32).images[1].numpy() - means).max() <= 0.5


def test_the_observer_has_a_quarter_of_the_training_pictures(sheets):
    train, observer = (opened(sheets, part) for part in ("train", "observer"))
    both = [numbers(train), numbers(observer)]
    assert [len(each) for each in both] == [1030 - 257, 257]
    assert torch.equal(torch.cat(both).sort().values, torch.arange(1030))  # of two sheets
    for data, some in zip((train, observer), both, strict=True):
        assert torch.equal(data.labels.codes.bool(), expected("train")[some])
        assert 300 < some.double().mean() < 700  # not the first or the last


def test_pictures_of_a_concept_have_its_attributes(sheets):
    data = opened(sheets, "validation")
    concept = VOCABULARY.parse("smiling=yes, male=no")
    pictures = data.pictures_of(concept, 50, seed=0)
    shown = {tuple(x) for x in (255 * pictures[:, :, 0, 0]).round().tolist()}
    rows = expected("val")
    fits = rows[:, NAMES.index("smiling")] & ~rows[:, NAMES.index("male")]
    assert shown == {tuple(x) for x in data.images[fits][:, :, 0, 0].double().tolist()}


def test_larger_pictures_are_not_made_of_sheets(sheets):
    with pytest.raises(UsageError, match=r"`side=65` is more than the 64 .*`source=aligned`"):
        opened(sheets, side=65)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attr_names": np.array(["Beard", *COLUMNS[1:-2], "x", "y"])}, "no attribute 'Bald'"),
        ({"val_attr": table("val")[:20]}, r"`val_attr` is \(20, 20\); expected \(24, 20\)"),
        ({"val_attr": table("val")[:, :19]}, r"`val_attr` is \(24, 19\); expected \(24, 20\)"),
        ({"val_attr": np.zeros((24, 20), np.int8)}, "`val_attr` has other numbers than -1 and 1"),
        ({"val_image_no": np.arange(0)}, "`val_image_no` is empty"),
        ({"attr_names": np.arange(20)}, "`attr_names` holds int64; expected texts"),
    ],
)
def test_a_damaged_index_is_refused(nowhere, changes, message):
    np.savez(nowhere / "celeba64_index.npz", **(index() | changes))
    with pytest.raises(DataError, match=message):
        opened(nowhere, "validation")


def test_a_truncated_index_is_refused(copy):
    path = copy / "celeba64_index.npz"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataError, match=r"celeba64_index\.npz is not a whole npz file"):
        opened(copy, "test")


@pytest.mark.parametrize("rows", [1020, 3000])
def test_rows_and_tiles_must_be_as_many(copy, rows):
    changes = {"train_image_no": np.arange(rows), "train_attr": np.ones((rows, 20), np.int8)}
    np.savez(copy / "celeba64_index.npz", **(index() | changes))
    message = {1020: r"_train_01\.jpg is one sheet too many: the index has 1020 pictures",
               3000: r"_train_02\.jpg: No such file"}[rows]  # fmt: skip
    with pytest.raises(DataError, match=message):
        opened(copy)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (png(np.zeros((64, 2048, 3), np.uint8)), "has 2048 x 64 pixels; expected 2048 x 2048"),
        (b"\xff\xd8\xff" + bytes(90), "cannot be read as a picture"),
        (b"", r"is empty \(0 bytes\)"),
    ],
)
def test_a_damaged_sheet_is_named(copy, data, message):
    (copy / "celeba64_val_00.jpg").write_bytes(data)
    with pytest.raises(DataError, match=rf"celeba64_val_00\.jpg {message}"):
        opened(copy, "validation")


# Aligned pictures


def test_the_square_around_the_face_is_cut_out(aligned):
    found = {part: opened(aligned, part) for part in CelebA.parts}
    assert torch.equal(numbers(found["validation"]), torch.arange(16, 21))
    assert torch.equal(numbers(found["test"]), torch.arange(21, 24))
    both = torch.cat([numbers(found["train"]), numbers(found["observer"])])
    assert [found[part].count for part in ("train", "observer")] == [12, 4]
    assert torch.equal(both.sort().values, torch.arange(16))
    for data in found.values():
        assert torch.equal(data.labels.codes.bool(), expected("val")[numbers(data)])


@pytest.mark.parametrize("side", [0, 100])
def test_a_face_is_resized_as_pillow_does(aligned, side):
    pixels = np.random.default_rng(0).integers(0, 256, (218, 178, 3), dtype=np.uint8)
    (aligned / "img_align_celeba" / "000017.jpg").write_bytes(png(pixels))
    face = opened(aligned, "validation", side=side).images[0].permute(1, 2, 0).numpy()
    square = Image.fromarray(pixels).crop((15, 35, 163, 183))
    small = square.resize((side or 64,) * 2, Image.Resampling.LANCZOS)
    assert np.array_equal(face, np.asarray(small))


def test_faces_are_cut_out_once(aligned, monkeypatch):
    first = opened(aligned, "test").images
    monkeypatch.setattr(faces, "_cut", None)
    assert torch.equal(opened(aligned, "test").images, first)
    monkeypatch.undo()
    path = aligned / "img_align_celeba" / "000022.jpg"
    path.write_bytes(png(np.full((218, 178, 3), 200, np.uint8)))  # fewer bytes than before
    assert (opened(aligned, "test").images[0] == 200).all()


def test_gzipped_lists_are_read(aligned):
    before = opened(aligned, "validation")
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        data = (aligned / name).read_bytes()
        (aligned / f"{name}.gz").write_bytes(gzip.compress(data))
        (aligned / name).unlink()
    after = opened(aligned, "validation")
    assert torch.equal(after.labels.codes, before.labels.codes)
    assert torch.equal(after.images, before.images)
    (aligned / "list_attr_celeba.txt.gz").write_bytes(gzip.compress(data)[:-20])
    with pytest.raises(DataError, match=r"list_attr_celeba\.txt\.gz is not a whole list"):
        opened(aligned, "validation")


def test_a_missing_picture_is_named(aligned):
    (aligned / "img_align_celeba" / "000018.jpg").unlink()
    with pytest.raises(DataError, match=r"000018\.jpg: No such file"):
        opened(aligned, "validation")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (portrait(0)[:200], "cannot be read as a picture"),
        (png(np.zeros((64, 64, 3), np.uint8)), "has 64 x 64 pixels; expected 178 x 218"),
    ],
)
def test_a_damaged_picture_is_named_and_nothing_is_kept(aligned, data, message):
    (aligned / "img_align_celeba" / "000018.jpg").write_bytes(data)
    with pytest.raises(DataError, match=rf"000018\.jpg {message}"):
        opened(aligned, "validation")
    assert [path for path in (aligned / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("list_eval_partition", "000017.jpg 1", "000017.jpg 3", "000017.jpg is of part '3'"),
        ("list_eval_partition", "000017.jpg 1", "000017.jpg", "the line '000017.jpg'; expected"),
        ("list_eval_partition", "000017.jpg", "../000017.jpg", "has the line '../000017.jpg 1'"),
        ("list_eval_partition", ".jpg 1", ".jpg 0", "has no pictures of `validation`"),
        ("list_eval_partition", "000017", "000077", "has no line of 000077.jpg"),
        ("list_attr_celeba", "24\n", "25\n", "does not begin with how many lines it has"),
        ("list_attr_celeba", "Wavy_Hair", "Wavy", "has no attribute 'Wavy_Hair'"),
        ("list_attr_celeba", "000017.jpg", "000017.jpg 1", "is not a name and 20 numbers"),
        ("list_attr_celeba", " -1", " 0", "000017.jpg has other attributes than -1 and 1"),
        ("list_attr_celeba", "000017", "0000é7", "is not a whole list"),
    ],
)
def test_a_damaged_list_is_refused(aligned, name, old, new, message):
    path = aligned / f"{name}.txt"
    path.write_text(path.read_text().replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        opened(aligned, "validation")


def test_a_missing_list_is_named(aligned):
    (aligned / "list_attr_celeba.txt").unlink()
    with pytest.raises(DataError, match=r"Put list_attr_celeba\.txt or list_attr_celeba\.txt\.gz"):
        opened(aligned)


def test_faces_are_not_enlarged(aligned):
    with pytest.raises(UsageError, match="`side=149` is more than the 148 pixels around a face"):
        opened(aligned, side=149)


# Which files


def test_the_pictures_of_the_authors_are_taken_first(aligned, made):
    assert Data("celeba").resolved(str(made)).source == "sheets"
    assert Data("celeba-words").resolved(str(aligned)).source == "aligned"
    shutil.copytree(made, aligned, dirs_exist_ok=True)
    assert opened(aligned, "test").facts() == {
        "source": "aligned", "pictures": 3, "size": "64 x 64"}  # fmt: skip
    assert opened(aligned, "test", source="sheets").facts()["pictures"] == 9


def test_files_are_looked_for_and_missed(nowhere):
    with pytest.raises(DataError, match=r"CelebA was not found in .*Put img_align_celeba or"):
        opened(nowhere)
    with pytest.raises(UsageError, match=r"`source='sheet'` is not .* Did you mean 'sheets'"):
        opened(nowhere, source="sheet")
    with pytest.raises(UsageError, match=r"`part='val'` is not known"):
        opened(nowhere, "val")


# Words


def some_faces(count, share=0.3, seed=0):
    rows = torch.rand(count, 18, generator=torch.Generator().manual_seed(seed)) < share
    return Faces(torch.zeros(count, 3, 4, 4, dtype=torch.uint8), rows)


def meant(rows):
    """The words of attributes, as sets."""
    male = NAMES.index("male")
    return [
        {name for name, yes in zip(NAMES, row, strict=True) if yes}
        | (set() if row[male] else {"female"})
        for row in rows.tolist()
    ]


def said(labels):
    """The words of captions, in order."""
    return [[w for w in c.values.values() if w != "-"] for c in decode(SENTENCE, labels)]


def test_words_are_those_of_the_attributes(sheets):
    data = opened(sheets, "validation", "celeba-words")
    assert data.vocabulary == Data("celeba-words").vocabulary == SENTENCE
    y = data.examples(torch.arange(24)).y
    for number, (words, whole) in enumerate(zip(said(y), meant(expected("val")), strict=True)):
        assert len(words) == len(set(words)) == min(9, len(whole))
        assert set(words) <= whole, number
    assert said(y)[1] == ["female"]
    assert y.observed.all()
    assert torch.equal(data.images, opened(sheets, "validation").images)


def test_blanks_stand_behind_the_words():
    codes = CelebAWords(some_faces(500)).examples(torch.arange(500)).y.codes
    assert (codes > 0).int().diff(dim=1).max() == 0
    assert torch.equal((codes > 0).sum(1), words_of(codes).sum(1))  # no word twice


def test_words_come_in_any_order_and_another_in_every_epoch():
    data = CelebAWords(some_faces(1, share=0.25))
    words = sorted(meant(data.labels.codes.bool())[0])
    n, epochs = len(words), 6000
    orders = said(data.examples(torch.arange(epochs)).y)
    assert 3 <= n <= 9
    for place in range(n):
        counts = np.array([sum(order[place] == word for order in orders) for word in words])
        assert ((counts - epochs / n) ** 2).sum() / (epochs / n) < 5 * n  # chi-square
    alike = sum(a == b for a, b in pairwise(orders)) / epochs
    assert alike == pytest.approx(1 / math.factorial(n), abs=0.02)


def test_of_more_than_nine_words_nine_are_drawn():
    data = CelebAWords(some_faces(1, share=2))
    codes = data.examples(torch.arange(4000)).y.codes
    assert (words_of(codes).sum(1) == 9).all()
    rates = words_of(codes).double().mean(0)
    assert rates[WORDS.index("female")] == 0
    rest = [i for i, word in enumerate(WORDS) if word != "female"]
    assert (rates[rest] - 0.5).abs().max() < 5 * 0.5 / math.sqrt(4000)


def test_words_are_the_same_alone_or_together():
    data = CelebAWords(some_faces(50), seed=3)
    every = data.examples(torch.arange(200)).y.codes
    for number in (0, 7, 57, 199):
        assert torch.equal(data.examples(torch.tensor([number])).y.codes[0], every[number])
    assert torch.equal(
        CelebAWords(some_faces(50), seed=3).examples(torch.arange(200)).y.codes, every
    )
    other = CelebAWords(some_faces(50), seed=4).examples(torch.arange(200)).y.codes
    assert not torch.equal(other, every)
    assert torch.equal(words_of(other).sum(1), words_of(every).sum(1))


def test_words_of_counts_words_wherever_they_stand():
    codes = torch.tensor([[0, 1, 0, 19, 1, 0, 0, 0, 0], [0] * 9])
    assert words_of(codes).nonzero().tolist() == [[0, 0], [0, 18]]


def test_pictures_of_words_have_them_whatever_their_places():
    rows = some_faces(100).attributes
    images = torch.arange(100, dtype=torch.uint8)[:, None, None, None].expand(100, 3, 4, 4)
    data = CelebAWords(Faces(images, rows), "test")
    texts = ["smiling - female", "* female * * smiling", "female smiling female"]
    fits = {i for i, whole in enumerate(meant(rows)) if {"smiling", "female"} <= whole}
    for text in texts:
        found = data.pictures_of(SENTENCE.parse(text), 1000, seed=1)
        assert set((255 * found[:, 0, 0, 0]).round().int().tolist()) == fits
    assert len(data.pictures_of_each([SENTENCE.root, SENTENCE.parse("-")], 5, [0, 0]).unique()) > 1
    with pytest.raises(UsageError, match="`part='test'` has no picture of male female"):
        data.pictures_of(SENTENCE.parse("male female"), 1, seed=0)


# Real faces


def test_real_celeba_is_as_large_as_it_is_said_to_be(real):
    path = real("celeba64_index.npz")
    every = [sheet_attributes(path, part) for part in ("train", "validation", "test")]
    assert [len(rows) for rows in every] == [37_540, 4_535, 4_640]
    male = torch.cat(every)[:, NAMES.index("male")].double().mean().item()
    assert male == pytest.approx(0.445, abs=0.001)


def test_real_sheets_and_real_lists_say_the_same(real):
    path = real("celeba64_index.npz")
    with np.load(path) as arrays:
        names = [f"{number:06d}.jpg" for number in arrays["val_image_no"]]
    rows = listed_attributes(real("list_attr_celeba.txt.gz"), names)
    assert torch.equal(rows, sheet_attributes(path, "validation"))
    assert set(names) < set(faces._names(real("list_eval_partition.txt.gz"), "validation"))


def test_real_faces_look_like_faces(real):
    real("celeba64_val_00.jpg")
    data = Data("celeba").open("validation")
    mean = 255 * data.mean()
    assert data.count == 4535
    assert (mean[0] > mean[1]).all()  # skin is red before it is green,
    assert (mean[1, 24:48, 20:44] > mean[2, 24:48, 20:44]).all()  # and green before it is blue,
    centre, corner = mean[:, 28:40, 26:38].mean(), mean[:, -8:, :6].mean()
    assert centre > corner + 30  # and faces are in the light
    assert (data.images[-1].double().std((1, 2)) > 5).all()  # the last is a picture, no padding
