import contextlib
import struct

import numpy as np
import pytest
from scipy.io import savemat

from mindseye.data.matlab import read_matrices
from mindseye.errors import DataError

KINDS = ["float64", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
         "uint64"]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.mat"


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_numbers_come_back(path, kind, zipped):
    matrix = np.random.default_rng(0).integers(0, 100, (7, 5)).astype(kind)
    savemat(path, {"data": matrix, "x": matrix[:1] + 1}, do_compression=zipped)
    found = read_matrices(path, ["data", "x"])
    assert found["data"].dtype == matrix.dtype
    assert np.array_equal(found["data"], matrix)
    assert np.array_equal(found["x"], matrix[:1] + 1)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (2, 3, 4), (0, 3), (784, 20)])
def test_shapes_come_back(path, shape):
    matrix = np.random.default_rng(1).random(shape)
    savemat(path, {"data": matrix}, do_compression=True)
    assert np.array_equal(read_matrices(path, ["data"])["data"], matrix)


def test_what_is_not_asked_for_is_passed_over(path):
    other = {"text": "hello", "cell": np.array([1, "a"], object), "struct": {"a": 1}, "z": 1j}
    savemat(path, other | {"a_long_name_of_a_matrix": np.eye(3)})
    found = read_matrices(path, ["a_long_name_of_a_matrix"])
    assert list(found) == ["a_long_name_of_a_matrix"]
    assert np.array_equal(found["a_long_name_of_a_matrix"], np.eye(3))


def test_the_byte_order_of_large_machines_is_read(path):
    """A file by hand: one matrix of two small numbers, most significant bytes first."""
    body = struct.pack(">IIII", 6, 8, 9, 0)  # flags: a class of uint8
    body += struct.pack(">IIii", 5, 8, 2, 1)  # two rows, one column
    body += struct.pack(">HH4s", 1, 1, b"x")  # the name, a small element
    body += struct.pack(">HH4s", 2, 2, b"\x03\x04")
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    path.write_bytes(header + struct.pack(">II", 14, len(body)) + body)
    assert read_matrices(path, ["x"])["x"].tolist() == [[3], [4]]


# What goes wrong


def test_a_missing_matrix_is_named(path):
    savemat(path, {"data": np.eye(2)})
    with pytest.raises(DataError, match=r"some\.mat has no matrix `testdata`"):
        read_matrices(path, ["data", "testdata"])


@pytest.mark.parametrize("value", ["text", 1j, np.array([1, "a"], object), {"a": 1}])
def test_other_things_than_numbers_are_refused(path, value):
    savemat(path, {"data": value})
    with pytest.raises(DataError, match=r"some\.mat: `data` is not a matrix of real numbers"):
        read_matrices(path, ["data"])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("keep", [0.3, 0.7, 0.99])
def test_a_truncated_file_is_named(path, zipped, keep):
    savemat(path, {"data": np.random.default_rng(0).random((50, 50))}, do_compression=zipped)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(DataError, match=r"not a whole MATLAB file \(.*fetch it again"):
        read_matrices(path, ["data"])


def test_damaged_bytes_are_found(path):
    savemat(path, {"data": np.random.default_rng(0).random((50, 50))}, do_compression=True)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises(DataError, match="not a whole MATLAB file"):
        read_matrices(path, ["data"])


def test_random_bytes_never_escape(path):
    """Whatever stands in a file, what comes is an error of ours or a matrix."""
    savemat(path, {"data": np.arange(12.0).reshape(3, 4)})
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(good)
        for place in rng.integers(124, len(data), 3):
            data[place] = rng.integers(0, 256)
        path.write_bytes(data)
        with contextlib.suppress(DataError):
            assert read_matrices(path, ["data"])["data"].size >= 0


@pytest.mark.parametrize("data", [b"", b"1 2 3\n" * 100, b"\x89HDF\r\n\x1a\n" + bytes(300)])
def test_other_files_are_named(path, data):
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"some\.mat is not a MATLAB file of version 5 to 7"):
        read_matrices(path, ["data"])


def test_the_newest_format_says_what_to_do(path):
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM")
    with pytest.raises(DataError, match=r"is of MATLAB 7\.3\. Save it again with `save -v7`"):
        read_matrices(path, ["data"])
