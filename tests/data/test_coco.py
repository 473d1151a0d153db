"""MS COCO: what is read from two layouts, which words are known, and what is said."""

import io
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats

from mindseye.captions import BLANK
from mindseye.data import Coco, Data, albums, describe_parts, thumbnails
from mindseye.data.coco import LEAST, PLACES, _rows, sentence_of
from mindseye.data.wording import coded, common_words, words_in
from mindseye.errors import DataError, UsageError
from mindseye.labels import decode
from mindseye.papers import Recipe

COUNT = 60
IDS = 1000 - 7 * np.arange(COUNT)  # neither from 0 on nor ascending
ANIMALS = ("dog", "cat", "zebra")
PIXELS = np.random.default_rng(0).integers(0, 256, (COUNT, 32, 32, 3), dtype=np.uint8)


def caption(number, k=0):
    """What is said of an image: its animal, and a word that no other image has."""
    return f"{('A', 'One')[k % 2]} {ANIMALS[number % 3]}, on grass - w{number}x{k}."


def png(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def index(**changes):
    texts = np.array([caption(number) for number in IDS])
    return {"image_id": IDS.astype(np.int32), "caption": texts} | changes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One sheet, of which 60 tiles are pictures."""
    folder = tmp_path_factory.mktemp("coco")
    np.savez(folder / "coco32_captions.npz", **index())
    tiles = np.zeros((64 * 64, 32, 32, 3), np.uint8)
    tiles[:COUNT] = PIXELS
    sheet = tiles.reshape(64, 64, 32, 32, 3).swapaxes(1, 2).reshape(2048, 2048, 3)
    (folder / "coco32_0.jpg").write_bytes(png(sheet))  # contents count, not names
    return folder


@pytest.fixture
def sheets(made, nowhere):
    return made


def document(several=1):
    """What a caption file holds, in no order."""
    images = [{"id": int(i), "file_name": f"{i:012d}.jpg", "license": 4} for i in IDS]
    notes = [
        {"image_id": int(i), "id": n, "caption": caption(i, n)} for n in range(several) for i in IDS
    ]
    return {"info": {}, "images": images, "annotations": notes}


def laid_out(folder, several=1, name="val2017"):
    """The layout of the authors in a folder."""
    (folder / name).mkdir(parents=True)
    for number, pixels in zip(IDS, PIXELS, strict=True):
        (folder / name / f"{number:012d}.jpg").write_bytes(png(pixels))
    (folder / "captions_val2017.json").write_text(json.dumps(document(several)))
    return folder


@pytest.fixture
def annotated(nowhere):
    return laid_out(nowhere / "authors")


def opened(folder, part="train", seed=0, **options) -> Coco:
    data = Data("coco", **options).open(part, seed=seed, folder=str(folder))
    assert isinstance(data, Coco)
    return data


def pictures(part):
    """The images of a part in the order of their numbers, and these."""
    ids = np.sort(IDS)
    own = ids[_rows(torch.from_numpy(ids), part).numpy()]
    rows = [int(np.flatnonzero(number == IDS)[0]) for number in own]
    return torch.from_numpy(PIXELS[rows]).permute(0, 3, 1, 2), own


def texts(data, index):
    """The words of captions, blanks left out."""
    concepts = decode(data.vocabulary, data.examples(index).y)
    return [[word for word in c.values.values() if word != BLANK] for c in concepts]


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man's T-shirt.", ["a", "man's", "t-shirt"]),
        ("two dogs' toys -- and 3rd-rate 'art'", ["two", "dogs", "toys", "and", "3rd-rate", "art"]),
        ("the dog\N{RIGHT SINGLE QUOTATION MARK}s café_bar\n", ["the", "dog's", "café", "bar"]),
        ("  .,;!  ", []),
    ],
)
def test_texts_are_cut_into_words(text, words):
    assert words_in(text) == words


def test_common_words_are_counted_and_sorted_by_frequency_and_alphabet():
    """c occurs 4 times, b and a 3 times, d twice; `any` cannot be said."""
    corpus = ["c b a", "C, b d", "c B a", "c. d a", "any any any any"]
    assert common_words(corpus, 3) == ("c", "a", "b")
    assert common_words(corpus, 2) == ("c", "a", "b", "d")
    assert common_words(corpus, 5) == ()


def test_captions_are_codes_without_what_is_not_known_or_finds_no_place():
    found = coded([["the cat", "a b a cat"], ["a a a a dog"]], ("a", "cat"), 3)
    assert found.codes.tolist() == [[2, 0, 0], [1, 1, 2], [1, 1, 1]]
    assert found.owner.tolist() == [0, 0, 1]
    assert found.left_out.tolist() == [1, 1, 1]
    assert found.cut.tolist() == [0, 0, 1]


def test_a_vocabulary_has_twenty_places_of_all_words():
    sentence = sentence_of(("a", "dog", "t-shirt"))
    assert sentence.sizes == (4,) * PLACES == (4,) * 20
    assert sentence.names[0] == "word 1"
    assert sentence.attributes[19].values == ("-", "a", "dog", "t-shirt")
    assert sentence_of(("a", "dog", "t-shirt")) is sentence
    assert sentence.parse("a dog - a t-shirt").codes[:5] == (1, 2, 0, 1, 3)
    assert Data("coco").vocabulary.sizes == (1,) * 20
    assert Data("coco", words=("a",)).vocabulary == sentence_of(("a",))


def test_words_are_those_of_the_training_captions_alone(sheets):
    """51 captions begin with `a` and have `on` and `grass`; animals occur as often as they do."""
    _, own = pictures("train")
    assert len(own) == 51
    counts = {"a": 51, "on": 51, "grass": 51}
    counts |= {word: sum(ANIMALS[i % 3] == word for i in own) for word in ANIMALS}
    assert min(counts.values()) >= LEAST
    expected = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    assert Coco.words_at("sheets", sheets) == expected
    assert expected[:3] == ("a", "grass", "on")


def test_words_are_kept_once_they_are_found(sheets, annotated):
    found = Data("coco").resolved(str(sheets))
    assert found.words == Coco.words_at("auto", sheets)
    assert found.resolved(str(sheets)) == found
    assert found.vocabulary == opened(sheets).vocabulary == sentence_of(found.words)
    older = Data("coco", words=("cat", "on"))
    assert older.resolved(str(sheets)).words == ("cat", "on")
    for part in Coco.parts:
        data = opened(sheets, part, words=("cat", "on"))
        assert data.vocabulary == older.vocabulary
        said = texts(data, torch.arange(data.count))
        assert {word for caption in said for word in caption} <= {"cat", "on"}


def test_a_recipe_keeps_words_and_without_them_its_digest():
    plain, with_words = Recipe("mine"), Recipe("mine", data=Data("coco", words=("a", "dog")))
    assert plain.digest == "daa5ea73404d"  # from before there were words
    assert Recipe.from_json(with_words.to_json()) == with_words
    others = Recipe("mine", data=Data("coco", words=("dog", "a")))
    assert len({r.digest for r in (with_words, others, Recipe("mine", data=Data("coco")))}) == 3


# Pictures


@pytest.mark.parametrize("part", Coco.parts)
def test_every_picture_has_its_caption(sheets, part):
    data = opened(sheets, part)
    expected, own = pictures(part)
    assert torch.equal(data.images, expected)
    said = [[w for w in words_in(caption(i)) if not w.startswith("w")] for i in own]
    assert texts(data, torch.arange(data.count)) == said
    x, y = data.examples(torch.arange(2 * data.count))
    assert torch.equal((255 * x[data.count :]).round().byte(), expected)
    assert y.observed.all()
    assert (y.codes[:, 4:] == 0).all()


@pytest.mark.parametrize("part", Coco.parts)
def test_both_layouts_give_the_same_pictures_and_captions(sheets, annotated, part):
    one, other = opened(sheets, part), opened(annotated, part)
    assert torch.equal(one.images, other.images)
    assert torch.equal(one.labels.codes, other.labels.codes)
    assert one.vocabulary == other.vocabulary
    assert (one.source, other.source) == ("sheets", "annotations")
    assert torch.equal(one.batch(3, 8).x, other.batch(3, 8).x)


def test_parts_share_no_image(sheets):
    own = [pictures(part)[1] for part in Coco.parts]
    assert [len(each) for each in own] == [51, 3, 6]
    assert np.array_equal(np.sort(np.concatenate(own)), np.sort(IDS))
    assert own[0].max() > own[1].min()  # not the first to train on and the last for the test


def test_a_division_depends_on_the_numbers_of_images():
    """Of twice as many images those that were for training are so, most of them."""
    some = torch.arange(0, 4000, 2)
    ids = [set(every[_rows(every, "train")].tolist()) for every in (some, torch.arange(4000))]
    assert len(ids[0] & ids[1]) > 0.95 * len(ids[0])


def test_a_small_picture_is_a_mean_of_boxes(sheets):
    whole, small = (opened(sheets, "test", side=side).images.double() for side in (0, 8))
    means = torch.nn.functional.avg_pool2d(whole, 4)
    assert (small - means).abs().max() <= 0.5
    assert opened(sheets, side=8).shape == Data("coco", side=8).shape == (3, 8, 8)


def test_large_pictures_are_squeezed_once(annotated, monkeypatch):
    number = pictures("test")[1][0]
    wide = np.zeros((40, 90, 3), np.uint8)
    wide[:, 45:] = 200
    (annotated / "val2017" / f"{number:012d}.jpg").write_bytes(png(wide))
    first = opened(annotated, "test").images
    assert (first[0, :, :, :12] == 0).all()
    assert (first[0, :, :, 20:] == 200).all()  # the aspect is not kept
    monkeypatch.setattr(thumbnails, "_small", None)
    assert torch.equal(opened(annotated, "test").images, first)


# Several captions


@pytest.fixture
def several(nowhere):
    return laid_out(nowhere / "several", several=4, name="images")


def test_a_caption_is_drawn_anew_each_time_a_picture_is_seen(several):
    words = tuple(f"w{i}x{k}" for i in IDS for k in range(4))
    data = opened(several, "validation", words=words)
    epochs = 2000
    every = data.examples(torch.arange(3 * epochs)).y.codes[:, 0].view(epochs, 3)
    for column, number in zip(every.T, pictures("validation")[1], strict=True):
        codes, counts = column.unique(return_counts=True)
        assert {words[c - 1] for c in codes} == {f"w{number}x{k}" for k in range(4)}
        assert stats.chisquare(counts).pvalue > 1e-3
    alone = data.examples(torch.tensor([7])).y.codes[0, 0]
    assert alone == every.flatten()[7]
    other = opened(several, "validation", seed=1, words=words).examples(torch.arange(300)).y.codes
    assert not torch.equal(other[:, 0], every.flatten()[:300])


def test_all_captions_of_training_images_are_counted(several):
    words = Coco.words_at("annotations", several)
    assert words[:2] == ("grass", "on")  # 204 times; `a` and `one` 102 times
    assert {"a", "one"} < set(words[2:])
    assert opened(several, words=("a",)).facts()["captions"] == 4 * 51


# Real pictures of words


def test_pictures_of_words_have_them_whatever_their_places(several):
    data = opened(several)
    words, (expected, own) = data.vocabulary, pictures("train")
    fits = {bytes(x.numpy()) for x, i in zip(expected, own, strict=True) if i % 3 == 0}
    for text in ("grass dog", "* a * * dog", "dog - grass dog"):
        found = data.pictures_of(words.parse(text), 500, seed=1)
        assert {bytes((255 * x).round().byte().numpy()) for x in found} == fits
    every = data.pictures_of_each([words.root, words.parse("-")], 500, [0, 3])
    for found in every:
        assert len(found.flatten(1).unique(dim=0)) == len(expected)


def test_all_words_must_be_in_one_caption(several):
    data = opened(several)
    with pytest.raises(UsageError, match=r"`part='train'` has no picture of one a"):
        data.pictures_of(data.vocabulary.parse("one a"), 1, seed=0)
    with pytest.raises(UsageError, match=r"'horse' is not a word here"):
        data.vocabulary.parse("a horse")


# What is said of it


def test_what_is_left_out_and_cut_is_counted(sheets, nowhere):
    assert opened(sheets, "test").facts() == {
        "source": "sheets", "pictures": 6, "size": "32 x 32", "captions": 6, "words": 6,
        "words left out": 6, "of captions": 6, "captions cut": 0}  # fmt: skip
    long = np.array([" ".join(["dog"] * (20 + n % 3) + ["rare"] * (n % 2)) for n in range(COUNT)])
    folder = shutil.copytree(sheets, nowhere / "long")
    np.savez(folder / "coco32_captions.npz", **index(caption=long))
    facts = [opened(folder, part, words=("dog",)).facts() for part in Coco.parts]
    assert sum(fact["captions cut"] for fact in facts) == 2 * COUNT // 3
    assert sum(fact["words left out"] for fact in facts) == COUNT // 2
    data = opened(folder, words=("dog",))
    assert (data.examples(torch.arange(51)).y.codes == 1).all()


def test_every_part_is_a_row_of_one_table(sheets):
    rows = describe_parts(Data("coco"), str(sheets))
    assert [row["pictures"] for row in rows] == [51, 3, 6]
    assert len({tuple(row) for row in rows}) == 1
    assert len({row["words"] for row in rows}) == 1


def test_moving_to_the_same_place_changes_nothing(sheets):
    one, other = opened(sheets), opened(sheets).to("cpu")
    assert torch.equal(one.batch(1, 9).y.codes, other.batch(1, 9).y.codes)
    assert opened(sheets).to("meta").batch(1, 9).y.codes.shape == (9, 20)


# Which files


def test_the_pictures_of_the_authors_are_taken_first(annotated, made):
    assert Data("coco").resolved(str(made)).source == "sheets"
    shutil.copytree(made, annotated, dirs_exist_ok=True)
    assert Data("coco").resolved(str(annotated)).source == "annotations"
    assert opened(annotated, "test", source="sheets").source == "sheets"
    shutil.rmtree(annotated / "val2017")
    assert Data("coco").resolved(str(annotated)).source == "sheets"


@pytest.mark.parametrize("name", ["val2017", "images/val2017", "images"])
@pytest.mark.parametrize("inside", ["", "annotations"])
def test_pictures_and_captions_are_found_where_they_usually_are(nowhere, name, inside):
    folder = laid_out(nowhere / "here", name=name)
    if inside:
        (folder / inside).mkdir()
        (folder / "captions_val2017.json").rename(folder / inside / "captions_val2017.json")
    if name != "images":  # pictures of val2017 alone
        (folder / inside / "captions_train2017.json").write_text("{}")
    assert torch.equal(opened(folder, "test").images, pictures("test")[0])


def test_several_files_are_one_data_set(annotated):
    whole = document()
    halves = [{**whole, "images": whole["images"][i::2], "annotations": whole["annotations"][i::2]}
              for i in range(2)]  # fmt: skip
    before = opened(annotated, "train")
    (annotated / "train2017").symlink_to(annotated / "val2017")
    for name, half in zip(("val2017", "train2017"), halves, strict=True):
        (annotated / f"captions_{name}.json").write_text(json.dumps(half))
    after = opened(annotated, "train")
    assert torch.equal(after.images, before.images)
    assert torch.equal(after.labels.codes, before.labels.codes)
    (annotated / "captions_train2017.json").write_text(json.dumps(halves[0]))
    with pytest.raises(DataError, match=r"captions_val2017\.json: image \d+ is in another file"):
        opened(annotated)


def test_an_image_without_captions_is_left_out(annotated):
    whole = document()
    whole["annotations"] = whole["annotations"][:40]
    (annotated / "captions_val2017.json").write_text(json.dumps(whole))
    assert sum(opened(annotated, part).count for part in Coco.parts) == 40


# What goes wrong


def changed(**changes):
    return lambda whole: {**whole, **changes}


def image(**changes):
    return lambda whole: {**whole, "images": [{**whole["images"][0], **changes}, *whole["images"]]}


def note(**changes):
    def made(whole):
        first, *others = whole["annotations"]
        return {**whole, "annotations": [{**first, **changes}, *others]}

    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda whole: [whole], r"2017\.json is .*; expected named values"),
        (changed(images=None), r"2017\.json: `images` is missing"),
        (changed(annotations={}), r"2017\.json: `annotations` is \{\}; expected a list"),
        (changed(annotations=[]), r"2017\.json has no captions"),
        (changed(annotations=[3]), r"annotation 0 is 3; expected named values"),
        (image(), r"image 1: `id` is 1000, as that of another image is"),
        (image(id=None), r"image 0: `id` is missing"),
        (image(id="1000"), r"image 0: `id` is 1000; expected a whole number"),
        (image(id=-1), r"image 0: `id` is -1; expected a whole number"),
        (image(id=1, file_name="../x.jpg"), r"`file_name` is '\.\./x\.jpg'; expected a name"),
        (note(image_id=5), r"annotation 0: `image_id` is 5, which is no image of the file"),
        (note(caption=None), r"annotation 0: `caption` is missing"),
        (note(caption=["a"]), r"annotation 0: `caption` is \['a'\]; expected a text"),
    ],
)
def test_a_damaged_caption_file_is_refused(annotated, change, message):
    (annotated / "captions_val2017.json").write_text(json.dumps(change(document())))
    with pytest.raises(DataError, match=message):
        opened(annotated)


def test_a_caption_file_that_is_no_json_is_named(annotated):
    (annotated / "captions_val2017.json").write_text('{"images"')
    with pytest.raises(DataError, match=r"captions_val2017\.json is not valid JSON"):
        opened(annotated)


def test_missing_pictures_are_named(annotated):
    path = annotated / "val2017" / f"{IDS[3]:012d}.jpg"
    path.write_bytes(b"\xff\xd8\xff" + bytes(20))
    with pytest.raises(DataError, match=rf"{path.name} cannot be read as a picture"):
        opened(annotated)
    path.unlink()
    with pytest.raises(DataError, match=rf"{path.name}: No such file"):
        opened(annotated)
    shutil.rmtree(annotated / "val2017")
    message = r"2017\.json is without its pictures\. Put them into the folder val2017 or images"
    with pytest.raises(DataError, match=message):
        opened(annotated)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"caption": np.array(["a"] * 59)}, r"`caption` is \(59,\); expected \(60,\)"),
        ({"caption": np.arange(60)}, "`caption` holds int64; expected texts"),
        ({"image_id": np.ones(60)}, "`image_id` holds float64; expected whole numbers"),
        ({"image_id": IDS // 8}, "`image_id` has 76 twice"),
        ({"image_id": IDS[:0], "caption": np.array([], "U1")}, "`image_id` is empty"),
        ({"caption": np.array([f"w{n}" for n in range(60)])}, "no word occurs 5 times in the"),
    ],
)
def test_a_damaged_index_is_refused(nowhere, changes, message):
    np.savez(nowhere / "coco32_captions.npz", **index(**changes))
    with pytest.raises(DataError, match=message):
        opened(nowhere)


def test_an_index_without_captions_is_refused(nowhere):
    np.savez(nowhere / "coco32_captions.npz", image_id=IDS)
    with pytest.raises(DataError, match=r"has no `caption`; it holds image_id"):
        opened(nowhere)


def test_sheets_must_be_those_of_the_index(made, nowhere):
    folder = shutil.copytree(made, nowhere / "copy")
    (folder / "coco32_1.jpg").touch()
    with pytest.raises(DataError, match=r"coco32_1\.jpg is one sheet too many: .* 60 pictures"):
        opened(folder)
    (folder / "coco32_1.jpg").unlink()
    (folder / "coco32_0.jpg").unlink()
    with pytest.raises(DataError, match=r"coco32_0\.jpg: No such file"):
        opened(folder)


def test_what_cannot_be_is_refused(sheets, nowhere):
    with pytest.raises(UsageError, match=r"`side=33` is more than the 32 .*`source=annotations`"):
        opened(sheets, side=33)
    with pytest.raises(DataError, match=r"MS COCO was not found in .*Put captions_val2017\.json"):
        opened(nowhere)
    with pytest.raises(DataError, match=r"MS COCO was not found in .*Put coco32_captions\.npz"):
        opened(nowhere, source="sheets")
    with pytest.raises(UsageError, match=r"`source='sheet'` is not .* Did you mean 'sheets'"):
        opened(sheets, source="sheet")
    with pytest.raises(UsageError, match=r"`part='observer'` is not known"):
        opened(sheets, "observer")
    with pytest.raises(UsageError, match=r"`data.words=\('a',\)` means nothing for 'celeba'"):
        Data("celeba", words=("a",)).open()


# Real pictures


def test_real_captions_are_as_many_as_they_are_said_to_be(real):
    album = albums.read_sheets(real("coco32_captions.npz"))
    assert len(album.ids) == 26_309
    assert [len(_rows(album.ids, part)) for part in Coco.parts] == [22_363, 1_315, 2_631]
    words = Coco.words_at("sheets")
    assert words[:5] == ("a", "of", "on", "the", "in")
    assert len(words) == 2015
