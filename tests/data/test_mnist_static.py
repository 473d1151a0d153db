import numpy as np
import pytest
import torch

from mindseye.data import Data, mnist_static
from mindseye.data.mnist_static import MnistStatic
from mindseye.errors import DataError, UsageError

SIZES = {"train": 30, "valid": 12, "test": 20}


def bits(name):
    return np.random.default_rng(len(name)).integers(0, 2, (SIZES[name], 784)).astype(np.uint8)


@pytest.fixture(autouse=True)
def _small(monkeypatch, nowhere):
    monkeypatch.setattr(mnist_static, "SIZES", SIZES)


@pytest.fixture
def npz(nowhere):
    """The packed file, with digits."""
    arrays = {name: np.packbits(bits(name), axis=1) for name in SIZES}
    labels = {f"{name}_label": np.arange(n, dtype=np.uint8) % 10 for name, n in SIZES.items()}
    np.savez_compressed(nowhere / "binarized_mnist.npz", **arrays, **labels)
    return nowhere


@pytest.fixture
def amat(nowhere):
    """The three text files."""
    for name in SIZES:
        lines = [" ".join(map(str, row)) + " \n" for row in bits(name)]
        (nowhere / f"binarized_mnist_{name}.amat").write_text("".join(lines))
    return nowhere


@pytest.mark.parametrize("source", ["npz", "amat"])
@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_both_forms_hold_the_same_pixels(npz, amat, source, part):
    data = Data("mnist-static", source=source).open(part, folder=str(npz))
    x = data.examples(torch.arange(data.count)).x
    expected = bits("valid" if part == "validation" else part).reshape(-1, 1, 28, 28)
    assert torch.equal(x, torch.from_numpy(expected).float())
    assert torch.equal(data.examples(torch.arange(data.count) + data.count).x, x)
    assert data.mean().flatten().tolist() == pytest.approx(
        expected.mean(0).ravel().tolist(), abs=1e-6
    )


def test_an_epoch_shows_every_picture_once(npz):
    data = Data("mnist-static").open("train", folder=str(npz))
    batch = data.batch(2, 5, count=6)  # positions 10 to 39
    whole = torch.cat([batch.x[20:], data.batch(8, 5, count=4).x])
    assert len(whole.flatten(1).unique(dim=0)) == 30


def test_digits_are_known_where_the_file_says_them(npz):
    data = Data("mnist-static", labels=10).open("train", folder=str(npz))
    assert data.facts()["described"] == 10
    assert data.examples(torch.arange(30)).y.codes[:, 0].tolist() == [i % 10 for i in range(30)]


def test_text_files_say_no_digits(amat):
    data = Data("mnist-static").open("train", folder=str(amat))
    assert not data.examples(torch.arange(30)).y.observed.any()
    assert data.facts()["of each digit"] == "not known"
    assert len(data.pictures_of(data.vocabulary.root, 5, seed=0)) == 5
    with pytest.raises(UsageError, match=r"`source='amat'` does not say what its pictures show"):
        data.pictures_of(data.vocabulary.parse("4"), 5, seed=0)
    with pytest.raises(UsageError, match=r"`labels=10` cannot be chosen"):
        Data("mnist-static", labels=10).open("train", folder=str(amat))


def test_auto_takes_what_is_there(npz, amat):
    assert Data("mnist-static").resolved(str(npz)).source == "npz"
    (npz / "binarized_mnist.npz").unlink()
    assert Data("mnist-static").resolved(str(npz)).source == "amat"


def test_the_real_file_holds_seventy_thousand_pictures(real, monkeypatch):
    real("binarized_mnist.npz")
    monkeypatch.setattr(mnist_static, "SIZES", {"train": 50_000, "valid": 10_000, "test": 10_000})
    counts = [Data("mnist-static").open(part).count for part in MnistStatic.parts]
    assert counts == [50_000, 10_000, 10_000]
    test = Data("mnist-static").open("test")
    assert test.codes[:, 0].bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974,
                                                     1009]  # fmt: skip
    assert test.mean().mean().item() == pytest.approx(0.1325, abs=1e-3)


# What goes wrong


def test_missing_files_are_named(nowhere):
    message = r"Binarised MNIST was not found in .*Put binarized_mnist.npz or binarized_mnist_train"
    with pytest.raises(DataError, match=message):
        Data("mnist-static").open("train")


def change(npz, **arrays):
    path = npz / "binarized_mnist.npz"
    with np.load(path) as file:
        np.savez_compressed(path, **({name: file[name] for name in file.files} | arrays))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"train": np.zeros((30, 784), np.uint8)}, r"`train` is \(30, 784\); expected \(any, 98\)"),
        ({"train": np.zeros((30, 98))}, r"`train` holds float64"),
        ({"train": np.zeros((29, 98), np.uint8)}, r"`train_label` is \(30,\); expected \(29,\)"),
        ({"train_label": np.full(30, 10)}, r"`train_label` has digits outside 0 to 9"),
        (
            {"train": np.zeros((29, 98), np.uint8), "train_label": np.zeros(29, int)},
            r"has 29 pictures of `train`; expected 30\. It may be truncated",
        ),
    ],
)
def test_damaged_arrays_are_refused(npz, arrays, message):
    change(npz, **arrays)
    with pytest.raises(DataError, match=message):
        Data("mnist-static").open("train", folder=str(npz))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[:-20], r"amat, line 30, has 77\d numbers; expected 784, 0 or 1"),
        (lambda text: text.replace("1", "2", 1), "has other numbers than 0 and 1"),
        (lambda text: text.replace("1 ", "1.0 ", 1), r"line 1, has 784 numbers; expected 784, 0"),
        (lambda text: "\n".join(text.split("\n")[:-2]), "has 29 pictures of `train`; expected 30"),
        (lambda text: "MATLAB 5.0 MAT-file", "line 1, has 3 numbers; expected 784"),
        (lambda text: "", "has 0 pictures of `train`"),
    ],
)
def test_damaged_text_is_refused(amat, edit, message):
    path = amat / "binarized_mnist_train.amat"
    path.write_text(edit(path.read_text()))
    with pytest.raises(DataError, match=message):
        Data("mnist-static", source="amat").open("train", folder=str(amat))


def test_its_pixels_are_drawn_already(npz):
    message = r"`data.binarise='dynamic'` means nothing for 'mnist-static'"
    with pytest.raises(UsageError, match=message):
        Data("mnist-static", binarise="dynamic").open("train", folder=str(npz))


def test_an_unknown_source_is_named(npz):
    with pytest.raises(UsageError, match=r"`source='digits'` is not known; expected 'npz', 'amat'"):
        Data("mnist-static", source="digits").open("train", folder=str(npz))
