import numpy as np
import pytest
import torch
from scipy.io import savemat

from mindseye.data import Data, omniglot
from mindseye.data.omniglot import VOCABULARY, read_chardata, read_images
from mindseye.errors import DataError, UsageError

NAMES = ["Greek", "Old_Church_Slavonic_(Cyrillic)", "N_Ko"]


def arrays(count=120):
    """Characters that tell their number by one white pixel."""
    images = np.zeros((count, 784), np.uint8)
    images[np.arange(count), np.arange(count)] = 255
    return {
        "images": images.reshape(-1, 28, 28),
        "drawer": (np.arange(count) % 20 + 1).astype(np.uint8),
        "alphabet": (np.arange(count) % 3).astype(np.uint8),
        "alphabet_names": np.array(NAMES),
    }


@pytest.fixture(autouse=True)
def _small(monkeypatch, nowhere):
    monkeypatch.setitem(omniglot.Omniglot.__init__.__kwdefaults__, "validation", 15)


@pytest.fixture
def npz(nowhere):
    np.savez_compressed(nowhere / "omniglot_28x28_gray.npz", **arrays())
    return nowhere


def chardata(folder, **changes):
    rng = np.random.default_rng(0)
    matrices = {"data": rng.random((784, 60)), "testdata": rng.random((784, 20))}
    savemat(folder / "chardata.mat", matrices | changes, do_compression=True)
    return matrices


def opened(folder, part="train", **options):
    return Data("omniglot", **options).open(part, folder=str(folder))


def numbers(data):
    return data.examples(torch.arange(data.count)).x.flatten(1).argmax(1)


def test_fifteen_drawers_are_to_train_on_and_five_for_the_test(npz):
    found = {part: numbers(opened(npz, part)) for part in ("train", "validation", "test")}
    assert {part: len(each) for part, each in found.items()} == {
        "train": 75, "validation": 15, "test": 30}  # fmt: skip
    assert (found["test"] % 20 >= 15).all()
    both = torch.cat([found["train"], found["validation"]]).sort().values
    assert torch.equal(both, torch.arange(120)[torch.arange(120) % 20 < 15])


def test_alphabets_are_named(npz):
    data = opened(npz, "test")
    pictures = data.pictures_of(VOCABULARY.parse("alphabet=N Ko"), 40, seed=0)
    assert (pictures.flatten(1).argmax(1) % 3 == 2).all()
    concept = VOCABULARY.from_codes(data.examples(torch.tensor([0])).y.codes[0].tolist())
    assert concept.values["alphabet"] == NAMES[int(numbers(data)[0]) % 3].replace("_", " ")


def test_all_alphabets_of_omniglot_can_be_said():
    assert VOCABULARY.sizes == (50,)
    assert VOCABULARY.parse("Japanese (katakana)").level == 1


def test_pixels_are_drawn_anew_unless_they_are_grey(npz):
    path = npz / "omniglot_28x28_gray.npz"
    np.savez_compressed(path, **(arrays() | {"images": np.full((120, 28, 28), 100, np.uint8)}))
    data = opened(npz)
    first, second = (data.examples(torch.arange(75) + e * 75).x for e in (0, 1))
    assert not torch.equal(first, second)
    assert first.mean().item() == pytest.approx(100 / 255, abs=0.01)
    assert (opened(npz, binarise="none").examples(torch.arange(9)).x == 100 / 255).all()


def test_labels_are_as_many_of_each_alphabet(npz):
    data = opened(npz, labels=6)
    assert data.codes[data.known, 0].bincount()[data.codes[:, 0].unique()].tolist() == [2, 2, 2]


def test_the_authors_file_is_taken_first(npz):
    chardata(npz)
    assert opened(npz).facts()["source"] == "chardata"
    assert opened(npz, source="images").facts()["source"] == "images"
    assert Data("omniglot").resolved(str(npz)).source == "chardata"


def test_pictures_of_the_authors_file_are_columns_by_columns(nowhere):
    matrices = chardata(nowhere)
    train, test = read_chardata(nowhere / "chardata.mat")
    expected = np.rint(255 * matrices["data"][:, 7].reshape(28, 28).T).astype(np.uint8)
    assert np.array_equal(train.images[7].numpy(), expected)
    assert (len(train.images), len(test.images)) == (60, 20)


def test_the_authors_file_says_no_alphabets(nowhere):
    chardata(nowhere)
    data = opened(nowhere, "test")
    assert not data.examples(torch.arange(20)).y.observed.any()
    assert [opened(nowhere, part).count for part in ("train", "validation", "test")] == [45, 15, 20]
    with pytest.raises(UsageError, match="`source='chardata'` does not say what its pictures show"):
        data.pictures_of(VOCABULARY.parse("Greek"), 3, seed=0)
    with pytest.raises(UsageError, match="`labels=10` cannot be chosen"):
        opened(nowhere, labels=10)


def test_real_omniglot_has_as_many_to_train_on_as_the_authors(real):
    train, test = read_images(real("omniglot_28x28_gray.npz"))
    assert (len(train.images), len(test.images)) == (24_345, 8_115)
    assert len(train.alphabets.unique()) == 50


# What goes wrong


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": np.zeros((120, 105, 105), np.uint8)}, r"`images` is \(120, 105, 105\)"),
        ({"images": np.zeros((120, 28, 28))}, "`images` holds float64"),
        ({"drawer": np.arange(119)}, r"`drawer` is \(119,\); expected \(120,\)"),
        ({"drawer": np.arange(120)}, "`drawer` has numbers outside 1 to 20"),
        ({"alphabet": np.full(120, 3)}, "`alphabet` has numbers outside 0 to 2"),
        ({"alphabet_names": np.array(["Klingon"] * 3)}, "`alphabet_names` has 'Klingon'"),
        ({"alphabet_names": np.arange(3)}, "`alphabet_names` holds int64; expected texts"),
    ],
)
def test_damaged_arrays_are_refused(npz, changes, message):
    np.savez(npz / "omniglot_28x28_gray.npz", **(arrays() | changes))
    with pytest.raises(DataError, match=message):
        opened(npz)


def test_a_missing_array_is_named(npz):
    kept = {name: array for name, array in arrays().items() if name != "drawer"}
    np.savez(npz / "omniglot_28x28_gray.npz", **kept)
    with pytest.raises(DataError, match="has no `drawer`; it holds images, alphabet"):
        opened(npz)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": np.zeros((783, 60))}, r"`data` is \(783, 60\); expected \(784, any\)"),
        ({"testdata": np.full((784, 5), 255.0)}, "`testdata` has numbers outside 0 to 1"),
        ({"data": np.full((784, 5), np.nan)}, "`data` has numbers outside 0 to 1"),
        ({"data": "text"}, "`data` is not a matrix of real numbers"),
    ],
)
def test_a_damaged_authors_file_is_refused(nowhere, changes, message):
    chardata(nowhere, **changes)
    with pytest.raises(DataError, match=message):
        opened(nowhere)


def test_missing_files_are_named(nowhere):
    with pytest.raises(DataError, match=r"Omniglot was not found in .*Put chardata\.mat or omni"):
        opened(nowhere)


def test_an_unknown_source_is_corrected(npz):
    with pytest.raises(UsageError, match=r"`source='image'` is not .* Did you mean 'images'"):
        opened(npz, source="image")
