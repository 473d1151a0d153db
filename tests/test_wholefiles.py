"""Wholes as files: what is written comes back, and what cannot be meant is one line."""

import numpy as np
import pytest

from mindseye import wholefiles
from mindseye.errors import DataError, UsageError
from mindseye.pictures import save_picture
from mindseye.wholefiles import check_target, read_wholes, save_wholes

CURVE, PICTURE = (1, 1, 5), (3, 4, 4)


def wholes(shape, n=3):
    return np.random.default_rng(0).random((n, *shape), dtype=np.float32)


@pytest.mark.parametrize("ending", ["npy", "csv", "CSV"])
@pytest.mark.parametrize("shape", [CURVE, PICTURE])
@pytest.mark.parametrize("n", [1, 3])
def test_what_is_written_comes_back_to_the_last_bit(tmp_path, ending, shape, n):
    path = save_wholes(tmp_path / f"x.{ending}", wholes(shape, n))
    found = read_wholes(path, shape)
    assert found.dtype == np.float32
    assert np.array_equal(found, wholes(shape, n))


def test_curves_are_rows_of_an_array(tmp_path):
    save_wholes(tmp_path / "x.npy", wholes(CURVE))
    assert np.load(tmp_path / "x.npy", allow_pickle=False).shape == (3, 5)


@pytest.mark.parametrize(
    "text",
    [
        "0\n1\n2.5\n-3\n4e1\n",
        "0,1,2.5,-3,4e1",
        " 0, 1, 2.5, -3, 40 \n\n",
        "\ufeff0\r\n1\r\n2.5\r\n-3\r\n40",
    ],
)
def test_numbers_stand_in_lines_or_between_commas(tmp_path, text):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    assert read_wholes(tmp_path / "x.csv", CURVE).ravel().tolist() == [0, 1, 2.5, -3, 40]


def test_every_row_of_numbers_is_a_whole(tmp_path):
    (tmp_path / "x.csv").write_text("0,1,2,3,4\n5,6,7,8,9\n")
    assert read_wholes(tmp_path / "x.csv", CURVE)[:, 0, 0].tolist() == [
        [*range(5)],
        [*range(5, 10)],
    ]


@pytest.mark.parametrize("shape", [(5,), (1, 5), (1, 1, 5), (1, 1, 1, 5)])
def test_one_curve_may_have_any_number_of_axes(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.arange(5.0).reshape(shape))
    assert read_wholes(tmp_path / "x.npy", CURVE).shape == (1, *CURVE)


def test_a_picture_file_is_a_whole_of_pixels(tmp_path):
    x = np.linspace(0, 1, 48).reshape(PICTURE)
    save_picture(tmp_path / "x.png", x)
    found = read_wholes(tmp_path / "x.png", PICTURE)
    np.testing.assert_allclose(found[0], x, atol=1 / 255)
    np.save(tmp_path / "x.npy", np.rint(255 * x).astype(np.uint8))
    np.testing.assert_allclose(read_wholes(tmp_path / "x.npy", PICTURE), found, atol=1e-6)


def test_the_bytes_decide_and_not_the_name(tmp_path):
    save_wholes(tmp_path / "x.npy", wholes(CURVE))
    (tmp_path / "x.npy").rename(tmp_path / "x.csv")
    assert np.array_equal(read_wholes(tmp_path / "x.csv", CURVE), wholes(CURVE))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "no numbers"),
        (b"1\n2\n3\n4\nfive\n", "line 5: 'five' is not a number"),
        (b"t,x\n0,1\n", "line 1: 't' is not a number"),
        (b"1;2;3;4;5", "'1;2;3;4;5' is not a number"),
        (b"1,2,3,4,5,", "'' is not a number"),
        (b"1\n2\n3\n", "has 3 values; this model's curves have 5"),
        (b"1,2,3\n", "has 3 values; this model's curves have 5"),
        (b"1,2,3,4,5\n1,2\n", "5 numbers in its first row and 2 in row 2"),
        (b"1,2,3\n4,5,6\n", r"shape \(2, 3\); this model's curves have 5"),
        (b"1,nan,3,4,5\n", "1 values that are NaN or infinite; see number 1"),
        (b"1,2,3,inf,5\n", "1 values that are NaN or infinite; see number 3"),
        (b"\x89PNG\r\n\x1a\n", "holds no numbers; this model knows curves"),
        (b"\x93NUMPY\x01\x00garbage", "cannot be read as an array"),
    ],
)
def test_what_is_no_curve_is_refused_in_one_line(tmp_path, content, words):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        read_wholes(tmp_path / "x.csv", CURVE)
    assert "x.csv" in caught.value.message
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 8, 8)), r"shape \(3, 8, 8\); this model's wholes are \(3, 4, 4\)"),
        (np.zeros((0, 3, 4, 4)), r"shape \(0, 3, 4, 4\)"),
        (np.zeros(7), "has 7 values; this model's wholes are"),
        (np.full(PICTURE, 200.0), "values from 200 to 200; expected 0 to 1. Divide"),
        (np.zeros(PICTURE, dtype=complex), "array of complex128; expected numbers"),
        (np.array(["a"]), "expected numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataError, match=words):
        read_wholes(tmp_path / "x.npy", PICTURE)


def test_files_that_are_not_there_or_too_large_are_refused(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"No such file.* Check the path"):
        read_wholes(tmp_path / "x.csv", CURVE)
    with pytest.raises(DataError, match="is not a file"):
        read_wholes(tmp_path, CURVE)
    (tmp_path / "x.csv").write_text("1\n2\n3\n4\n5\n")
    monkeypatch.setattr(wholefiles, "MAX_BYTES", 9)
    with pytest.raises(DataError, match="has 10 bytes; the limit is 9"):
        read_wholes(tmp_path / "x.csv", CURVE)


@pytest.mark.parametrize("name", ["x.txt", "x", "x.npz", "x.png"])
def test_other_endings_are_refused_before_anything_is_made(name):
    with pytest.raises(UsageError, match=r"must end in '\.npy' or '\.csv'"):
        check_target(name)
