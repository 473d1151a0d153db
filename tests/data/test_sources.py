import gzip
import hashlib
import os
import socket
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mindseye.data.sources import CHECKSUMS, Sources, digits, download_mnist, mnist, sources
from mindseye.errors import DataError, UsageError

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
ZIPPED = f"{IMAGES}.gz"
REAL = os.environ.get("MINDSEYE_DATA")


def idx(array):
    header = struct.pack(f">{1 + array.ndim}I", 0x0800 + array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


def fake(train=6, test=4):
    """Contents of the four files: `train` + `test` images, numbered by their first pixel."""
    images = np.zeros((train + test, 28, 28), np.uint8)
    images[:, 0, 0] = np.arange(train + test)
    labels = np.arange(train + test) % 10
    parts = images[:train], labels[:train], images[train:], labels[train:]
    return dict(zip(CHECKSUMS, map(idx, parts), strict=True))


def write(folder, contents, zipped=True):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        path = folder / (f"{name}.gz" if zipped else name)
        path.write_bytes(gzip.compress(data) if zipped else data)
    return folder


@pytest.fixture(autouse=True)
def _no_data_at_hand(tmp_path, monkeypatch):
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


# Reading


@pytest.mark.parametrize("zipped", [True, False])
def test_training_digits_come_first_then_test_digits(tmp_path, zipped):
    images, labels = mnist(write(tmp_path, fake(), zipped))
    assert images.dtype == torch.uint8
    assert labels.dtype == torch.int64
    assert images.shape == (10, 28, 28)
    assert images[:, 0, 0].tolist() == labels.tolist() == list(range(10))


def test_what_is_read_may_be_written_to(tmp_path):
    images, labels = mnist(write(tmp_path, fake(), zipped=False))
    images += 1
    labels += 1
    assert images[0, 5, 5] == labels[0] == 1


@pytest.mark.parametrize("place", ["data", "data/mnist", "cache/mindseye/mnist"])
def test_the_usual_places_are_searched(tmp_path, monkeypatch, place):
    monkeypatch.setenv("MINDSEYE_DATA", str(tmp_path / "data"))
    write(tmp_path / place, fake())
    assert len(mnist().digits) == 10


def test_the_cache_is_in_the_home_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / ".cache/mindseye/mnist", fake())
    assert len(mnist().digits) == 10


def test_a_named_folder_is_the_only_one_searched(tmp_path):
    write(tmp_path / "cache/mindseye/mnist", fake())
    with pytest.raises(DataError, match=r"MNIST was not found in .*/other\."):
        mnist(tmp_path / "other")


def test_missing_data_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDSEYE_DATA", str(tmp_path))
    with pytest.raises(
        DataError, match="Type `mindseye data get mnist`, or set MINDSEYE_DATA"
    ) as e:
        mnist()
    assert f"{tmp_path}, {tmp_path}/mnist, {tmp_path}/cache/mindseye/mnist" in str(e.value)


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path, fake())
    (tmp_path / f"{LABELS}.gz").unlink()
    with pytest.raises(DataError, match=rf"which lacks {LABELS}\)"):
        mnist(tmp_path)


def test_a_truncated_gzip_file_is_named(tmp_path):
    path = write(tmp_path, fake()) / f"{IMAGES}.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=rf"{IMAGES}\.gz is not a whole gzip file \(it is trunc"):
        mnist(tmp_path)


def test_a_damaged_gzip_file_is_named(tmp_path):
    path = write(tmp_path, fake()) / f"{LABELS}.gz"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(DataError, match=rf"{LABELS}\.gz is not a whole gzip file \(Error -3"):
        mnist(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (IMAGES, b"", r"starts with 0; expected 2051"),
        (IMAGES, idx(np.zeros(6)), r"starts with 2049; expected 2051"),
        (LABELS, idx(np.zeros((6, 28, 28))), r"starts with 2051; expected 2049"),
        (IMAGES, idx(np.zeros((6, 28, 28)))[:-1], r"has 4,719 bytes, .* header \[6, 28, 28\]"),
        (IMAGES, idx(np.zeros((6, 28, 28))) + b"\0", r"has 4,721 bytes, .* It may be truncated"),
        (IMAGES, struct.pack(">4I", 2051, *[2**32 - 1] * 3), r"has 16 bytes"),
        (IMAGES, idx(np.zeros((6, 32, 32))), r"images of \(32, 32\) pixels; expected \(28, 28\)"),
        (LABELS, idx(np.zeros(5)), r"has 6 images but .* 5 labels"),
        (LABELS, idx(np.full(6, 10)), r"has the label 10; expected 0 to 9"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, data, message):
    write(tmp_path, {**fake(), name: data}, zipped=False)
    with pytest.raises(DataError, match=message):
        mnist(tmp_path)


def test_the_real_files_hold_seventy_thousand_digits(monkeypatch):
    if not (REAL and any(Path(REAL).rglob(f"{IMAGES}*"))):
        pytest.skip("MINDSEYE_DATA does not hold MNIST")
    monkeypatch.setenv("MINDSEYE_DATA", REAL)
    images, labels = mnist()
    assert images.shape == (70_000, 28, 28)
    assert labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert labels[60_000:60_005].tolist() == [7, 2, 1, 0, 4]
    assert images.float().mean().item() / 255 == pytest.approx(0.1309, abs=1e-4)


# The small digits, and names


def test_small_digits_are_drawn_as_mnist_is():
    pytest.importorskip("sklearn")
    images, labels = digits()
    assert images.shape == (1797, 28, 28)
    assert images.dtype == torch.uint8
    assert labels.bincount().min() >= 170
    assert (images.amax((1, 2)) == 255).all()
    edge = torch.ones(28, 28, dtype=torch.bool)
    edge[3:-3, 3:-3] = False
    assert images[:, edge].max() == 0  # the box of 20x20, one pixel softer


def test_small_digits_stay_where_they_were():
    small = torch.tensor(pytest.importorskip("sklearn.datasets").load_digits().images)
    boxes = digits().images[:, 4:-4, 4:-4].double().reshape(-1, 4, 5, 4, 5).mean((2, 4))
    expected = small.reshape(-1, 4, 2, 4, 2).mean((2, 4))  # (N, 4, 4)
    assert torch.corrcoef(torch.stack([boxes.flatten(), expected.flatten()]))[0, 1] > 0.95


def test_small_digits_need_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(
        DataError, match=r"which is not installed\. Type `pip install scikit-learn`"
    ):
        digits()


def test_auto_is_mnist_where_it_is_found(tmp_path):
    pytest.importorskip("sklearn")
    assert len(sources("auto").digits) == 1797
    write(tmp_path / "cache/mindseye/mnist", fake())
    assert len(sources("auto").digits) == len(sources("mnist").digits) == 10
    assert len(sources("digits").digits) == 1797


def test_auto_does_not_hide_a_damaged_file(tmp_path):
    write(tmp_path, {**fake(), LABELS: b"damaged"})
    with pytest.raises(DataError, match="expected 2049"):
        sources("auto", tmp_path)


def test_an_unknown_source_is_corrected():
    with pytest.raises(UsageError, match=r"`name='minst'` is not a source .* Did you mean 'mnist'"):
        sources("minst")


# Downloading


def zipped(contents):
    return {f"{name}.gz": gzip.compress(data) for name, data in contents.items()}


def checksums(contents):
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}


def dead_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_what_is_downloaded_is_found(tmp_path, mirror):
    seen = []
    folder = download_mnist(
        progress=lambda *step: seen.append(step),
        mirrors=[mirror(zipped(fake())).url],
        checksums=checksums(fake()),
    )
    assert folder == tmp_path / "cache/mindseye/mnist"
    assert len(mnist().digits) == 10
    assert {name for name, _, _ in seen} == {f"{name}.gz" for name in CHECKSUMS}
    assert all(0 < done <= total for _, done, total in seen)


def test_only_what_is_not_whole_is_fetched_again(tmp_path, mirror):
    server = mirror(zipped(fake()))
    download_mnist(tmp_path, mirrors=[server.url], checksums=checksums(fake()))
    (tmp_path / f"{LABELS}.gz").write_bytes(b"damaged")
    server.asked.clear()
    download_mnist(str(tmp_path), mirrors=[server.url], checksums=checksums(fake()))
    assert server.asked == [f"{LABELS}.gz"]
    assert isinstance(mnist(tmp_path), Sources)


def test_dead_empty_and_damaged_mirrors_are_passed_over(tmp_path, mirror):
    other = zipped(fake(train=7))
    short = {name: data[:-9] for name, data in zipped(fake()).items()}
    bad = [dead_address(), mirror({}).url, mirror(other).url, mirror(short).url, "file:///etc"]
    good = mirror(zipped(fake())).url
    download_mnist(tmp_path, mirrors=[*bad, good], checksums=checksums(fake()))
    assert len(mnist(tmp_path).digits) == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: {}, "Not Found"),
        (lambda files: {**files, ZIPPED: files[f"{LABELS}.gz"]}, "the checksum differs"),
        (lambda files: {**files, ZIPPED: files[ZIPPED][:-9]}, "What came is not a whole gzip"),
        (lambda files: {**files, ZIPPED: b"<html>"}, "What came is not a whole gzip"),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_says_why(tmp_path, mirror, change, message):
    server = mirror(change(zipped(fake())))
    with pytest.raises(DataError, match=rf"{IMAGES}\.gz could not be downloaded \(http.*{message}"):
        download_mnist(tmp_path / "new", mirrors=[server.url], checksums=checksums(fake()))
    assert not list(tmp_path.rglob("*idx*"))


def test_without_a_network_the_way_out_is_named(tmp_path):
    with pytest.raises(DataError, match=r"Connection refused\)\. Check the network, or copy"):
        download_mnist(tmp_path, mirrors=[dead_address()])


def test_only_web_addresses_are_opened(tmp_path):
    with pytest.raises(DataError, match=r"file:///etc/.*not a web address"):
        download_mnist(tmp_path, mirrors=["file:///etc"])


def test_checksums_are_those_of_the_real_files():
    if not (REAL and any(Path(REAL).rglob(f"{IMAGES}*"))):
        pytest.skip("MINDSEYE_DATA does not hold MNIST")
    folder = next(Path(REAL).rglob(f"{IMAGES}*")).parent
    assert download_mnist(folder, mirrors=[]) == folder
