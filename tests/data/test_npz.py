import io
import zipfile

import numpy as np
import pytest

from mindseye.data.npz import Npz
from mindseye.errors import DataError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.npz"


def written(path, **arrays):
    np.savez_compressed(path, **arrays)
    return Npz(path)


def with_bytes(path, name, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.npy", data)
    return Npz(path)


def plain(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_arrays_come_back(path):
    images = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    file = written(path, images=images, names=np.array(["a", "bc"]), codes=np.arange(4), x=[0.5])
    assert file.names() == ["images", "names", "codes", "x"]
    assert np.array_equal(file.read("images", "uint8", (None, 2, 3)), images)
    assert file.read("names", "text", (None,)).tolist() == ["a", "bc"]
    assert file.read("codes", "integer", (4,)).tolist() == [0, 1, 2, 3]
    assert file.read("x", "real", (1,)).tolist() == [0.5]


def test_an_array_by_columns_comes_back(path):
    images = np.asfortranarray(np.arange(12, dtype=np.uint8).reshape(4, 3))
    assert np.array_equal(written(path, images=images).read("images", "uint8", (4, 3)), images)


def test_what_is_read_may_be_written_to(path):
    codes = written(path, codes=np.arange(4)).read("codes", "integer", (None,))
    codes += 1
    assert codes.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("step", [1, 3, 7, 100])
def test_pieces_make_up_the_array(path, step):
    images = np.arange(70, dtype=np.uint8).reshape(7, 10)
    pieces = list(written(path, images=images).rows("images", "uint8", (None, 10), step))
    assert max(map(len, pieces)) <= step
    assert np.array_equal(np.concatenate(pieces), images)


# What goes wrong


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 3), np.uint8), r"`images` is \(4, 3\); expected \(any, 2, 3\)"),
        (np.zeros((4, 2, 4), np.uint8), r"`images` is \(4, 2, 4\); expected \(any, 2, 3\)"),
        (np.zeros((4, 2, 3), np.float32), r"`images` holds float32; expected whole numbers 0 to"),
        (np.zeros((4, 2, 3), object), r"`images` holds object; expected whole numbers 0 to 255"),
    ],
)
def test_another_array_is_refused(path, array, message):
    with_bytes(path, "images", plain(array))
    with pytest.raises(DataError, match=message):
        Npz(path).read("images", "uint8", (None, 2, 3))


def test_a_missing_array_is_named_beside_those_there_are(path):
    with pytest.raises(DataError, match=r"has no `images`; it holds codes, names\."):
        written(path, codes=np.arange(4), names=np.arange(2)).read("images", "uint8", (None,))


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_file_is_named(path, keep):
    written(path, images=np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8))
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else keep])
    with pytest.raises(DataError, match=r"some\.npz is not a whole npz file .*fetch it again"):
        Npz(path).read("images", "uint8", (None,))


def test_a_damaged_byte_is_found(path):
    np.savez(path, images=np.arange(200, dtype=np.uint8))
    data = bytearray(path.read_bytes())
    data[data.index(bytes(range(100, 110)))] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"not a whole npz file \(Bad CRC-32"):
        Npz(path).read("images", "uint8", (None,))


def test_an_array_shorter_or_longer_than_its_header_is_refused(path):
    data = plain(np.arange(100, dtype=np.uint8))
    with pytest.raises(DataError, match="`images` ends too early"):
        with_bytes(path, "images", data[:-1]).read("images", "uint8", (None,))
    with pytest.raises(DataError, match="`images` is longer than its header says"):
        with_bytes(path, "images", data + b"\0").read("images", "uint8", (None,))


@pytest.mark.parametrize("shape", [(None,), (3,)])
def test_a_header_that_claims_too_much_takes_no_memory(path, shape):
    data = plain(np.zeros(3, np.uint8))
    large = data.replace(b"(3,), }            ", b"(999999999999,), }")
    assert len(large) == len(data) - 1
    large = large.replace(b"}", b"} ")
    with pytest.raises(DataError, match=r"`images` ends too early|`images` is \(999999999999,\)"):
        with_bytes(path, "images", large).read("images", "uint8", shape)


def test_no_file_is_named(path):
    with pytest.raises(DataError, match=r"some\.npz: No such file"):
        Npz(path).read("images", "uint8", (None,))


def test_columns_cannot_be_read_row_by_row(path):
    file = written(path, images=np.asfortranarray(np.zeros((4, 3), np.uint8)))
    with pytest.raises(DataError, match="`images` is stored by columns; expected rows"):
        list(file.rows("images", "uint8", (None, 3), 2))
