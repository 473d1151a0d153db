import contextlib
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.data import pairfiles
from mindseye.data.columns import two_columns
from mindseye.data.pairfiles import read_pairs
from mindseye.errors import DataError


@pytest.fixture(scope="module")
def read(held):
    """The pairs and the names of a text."""

    def found(text, known=None):
        data = text if isinstance(text, bytes) else text.encode()
        pairs, names = read_pairs(held(data), known)
        assert pairs.dtype == np.int64
        return pairs.tolist(), names

    return found


# What is read


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n2,10\n",
        "0,1\n2,10",
        "0;1\n2;10\n",
        "0\t1\n2\t10\n",
        "0 1\n2 10\n",
        "0   1\n 2 \t 10 \n",
        "0, 1\r\n2 ,10\r\n",
        "0,1\r2,10",
        "source,target\n0,1\n2,10\n",
        "anything,else\n0,1\n2,10\n",
        "\n# a comment, with commas\n\n0,1\n   # another\n2,10\n\n",
        "0,1,0.5\n2,10,-3e4,more\n",
        "0,1,\n2,10,,\n,,\n",
        "0\t1\t0.5\n2\t10\tsome words\n",
        '"0","1"\n2,"10"\n',
        "00,01\n002,10\n",
        "0,1\n" + 5000 * "0" + "2,10",
        "\ufeff0,1\n2,10\n",
        "\ufeffa,b\n0,1\n2,10\n",
        "from to weight\n0 1 2\n2 10 3\n",
    ],
)
def test_two_columns_of_numbers_are_read_however_they_are_written(read, text):
    assert read(text) == ([[0, 1], [2, 10]], ())
    assert read(text, known=11) == ([[0, 1], [2, 10]], ())


@pytest.mark.parametrize(
    "text",
    [
        "Ann,Bob\nBob,Cleo\n",
        "source,target\nAnn,Bob\nBob,Cleo\n",
        "u;v\nAnn;Bob\nBob;Cleo\n",
        "# who\nAnn Bob 1\nBob Cleo 2",
        '"Ann" , "Bob"\nBob,Cleo',
    ],
)
def test_names_are_numbered_as_they_come(read, text):
    assert read(text) == ([[0, 1], [1, 2]], ("Ann", "Bob", "Cleo"))
    assert read(text, known=["Cleo", "Bob", "Ann"])[0] == [[2, 1], [1, 0]]


def test_names_may_hold_anything(read):
    pairs, names = read('"Bacon, Francis",Émile Zola\nÉmile Zola,3\n3,"Bacon, Francis"')
    assert names == ("Bacon, Francis", "Émile Zola", "3")
    assert pairs == [[0, 1], [1, 2], [2, 0]]


def test_nodes_may_be_called_by_other_numbers(read):
    ids = ["30", "10", "1000000000000"]
    text = "a,b\n10,30\n1000000000000,010\n"
    assert read(text, ids)[0] == [[1, 0], [2, 1]]
    assert read('"10",30\n' + text[4:], ids)[0] == [[1, 0], [1, 0], [2, 1]]  # line by line


def test_a_header_is_no_name_where_names_are_known(read):
    assert read("source,target\nu,v", ["u", "v"])[0] == [[0, 1]]
    assert read("u,v\nv,u", ["u", "v"])[0] == [[0, 1], [1, 0]]


@pytest.mark.parametrize("block", [1, 2, 7, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_may_end_anywhere(read, monkeypatch, block, end):
    monkeypatch.setattr(pairfiles, "BLOCK", 60)
    lines = [f"{i},{i + 1}" for i in range(100)]
    assert read(end.join(lines))[0] == [[i, i + 1] for i in range(100)]
    monkeypatch.setattr(pairfiles, "BLOCK", block + 8)
    assert read(end.join(["a,b", "#c", *lines, "# end"]))[0] == [[i, i + 1] for i in range(100)]


entries = st.one_of(
    st.integers(0, 10**20).map(str), st.sampled_from(["", " ", "x", "-1", "1 2", "#"])
)
rows = st.lists(st.lists(entries, max_size=4), max_size=5)


@settings(max_examples=300, deadline=None)
@given(rows, st.sampled_from([",", ";", "\t", " ", ", ", " ;"]))
def test_reading_at_once_is_reading_line_by_line(rows, separator):
    """Whatever is found at once is what is found line by line."""
    data = "".join(separator.join(row) + "\n" for row in rows).encode()
    kind = separator.strip() or ("\t" if separator == "\t" else " ")
    quick = two_columns(data, kind)
    if quick is not None:
        block, nodes = pairfiles._Block(1, data), pairfiles._Nodes(10**18)
        assert np.array_equal(quick, pairfiles._carefully("x", block, kind, nodes))


# What goes wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"some\.csv is empty\. Expected two nodes in every line"),
        ("\n# nothing\n\n", r"some\.csv is empty"),
        ("0\t1\n\t2\t3\n", "line 2, column 1: there is no node"),
        ("source,target\n", r"some\.csv has no links\. Expected two nodes"),
        ("0\n1\n", "line 1 has one column; expected two"),
        ("0,1\n\n2\n", "line 3 has one column; expected two"),
        ("0,1\n2,\n", "line 2, column 2: there is no node"),
        ("0,1\n,2\n", "line 2, column 1: there is no node"),
        ("0,1\n1,,2\n", "line 2, column 2: there is no node"),
        ("0,1\n1,2 3\n", "line 2, column 2: '2 3' is not a whole number"),
        ("0,1\n1,Ann\n", "line 2, column 2: 'Ann' is not a whole number.*if they have names"),
        ("0,1\n-1,2\n", "line 2, column 1: '-1' is not a whole number. Nodes are counted from 0"),
        ("0,1\n1,2.0\n", "line 2, column 2: '2.0' is not a whole number"),
        ("0,x\n1,2\n", "line 1, column 2: 'x' is not a whole number"),
        ("1.5,2.5\n1.0,2.0\n", "line 1, column 1: '1.5' is not a whole number"),
        ("0,1\n1,2147483648\n", "the node 2147483648 is out of range; .*with an `id` column"),
        ("0,1\n1," + 30 * "9", "line 2, column 2: the node 9{30} is out of range"),
        ("0,1\n1," + 60 * "9", r"line 2, column 2: the node 9{37}\.\.\. is out of range"),
        (b"0,1\n\xff\xfe,2", r"line 2 is not text in UTF-8 \(byte 0xff\)"),
        ("0,1\n2,3".encode("utf-16"), r"is not a text file\. Expected .* \(UTF-8\)"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is not a text file"),
        (b"a\0", "is not a text file"),
        (b"\0b,c\nd,e", "is not a text file"),
        (b"\0", "is not a text file"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_column(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_a_bad_line_far_down_is_named(read, monkeypatch):
    monkeypatch.setattr(pairfiles, "BLOCK", 100)
    lines = [f"{i},{i + 1}" for i in range(1000)]
    lines[776] = "776,x"
    with pytest.raises(DataError, match="line 777, column 2: 'x' is not a whole number"):
        read("\n".join(lines))
    lines[776] = "776,1000"
    with pytest.raises(DataError, match=r"line 1000, column 2: the node 1000 .*expected 0 to 999"):
        read("\n".join([*lines[:776], "776,777", *lines[777:]]), known=1000)
    with pytest.raises(DataError, match=r"line 3 has more than 100 characters"):
        read("0,1\n1,2\n" + 500 * "1" + "\n2,3")


def test_an_unknown_name_is_corrected(read):
    with pytest.raises(
        DataError, match=r"line 2, column 1: no node is called 'Bop'\. Did you mean"
    ):
        read("Ann,Bob\nBop,Ann", known=["Ann", "Bob"])
    with pytest.raises(DataError, match=r"line 3, column 2: no node is called '11'"):
        read("a,b\n10,20\n20,11", known=["10", "20"])


def test_changed_files_give_pairs_or_an_error_of_ours(read):
    goods = [b"a,b,w\n0,1,0.5\n1,2,0.1\n# c\n2,0,3\n", b'Ann\tBob\nBob\t"C, D"\n',
             b"0 1\r\n1 2\r\n", "\ufeffsource;target\n7;8\n8;9\n".encode()]  # fmt: skip
    known = [None, 3, ["Ann", "Bob"], ["7", "8", "9"]]
    rng = random.Random(0)
    good = 0
    for i in range(3000):
        data = bytearray(goods[i % 4])
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(data))
            new = rng.choice([rng.randbytes(1), rng.choice(b',;\t \n\r"#0199-.\0').to_bytes(), b""])
            data[place : place + rng.randint(0, 2)] = new
            data = data or bytearray(b"0")
        with contextlib.suppress(DataError):
            pairs, _ = read(bytes(data), known[(i // 4) % 4])
            assert all(len(pair) == 2 and min(pair) >= 0 for pair in pairs)
            good += 1
    assert 300 < good < 2500
