import contextlib
import random

import numpy as np
import pytest
import torch

from mindseye.data.tables import dense_features, read_features, read_nodes
from mindseye.errors import DataError


@pytest.fixture(scope="module")
def nodes(held):
    return lambda text: read_nodes(held(text if isinstance(text, bytes) else text.encode()))


@pytest.fixture(scope="module")
def features(held):
    return lambda text: read_features(held(text if isinstance(text, bytes) else text.encode()))


# What is read


@pytest.mark.parametrize(
    "text",
    [
        "name,class,height,weight\nAnn,b,1.5,0\nBob,a,-2e3,3\n",
        "Height;Name;WEIGHT;Label\n1.5;Ann;0;b\n\n-2e3;Bob;3;a",
        "\ufeffid\tclass\tx\ty\r\nAnn\tb\t1.5\t0\r\n Bob \t a \t -2000 \t 3.0\r\n",
        '"name", "class", "x", "y"\n"Ann", "b", "1.5", "0"\nBob,a,-2000,3',
    ],
)
def test_names_classes_and_features_are_told_apart_by_the_header(nodes, text):
    found = nodes(text)
    assert (found.rows, found.names) == (2, ("Ann", "Bob"))
    assert (found.classes, found.labels.tolist()) == (("a", "b"), [1, 0])
    assert found.features.dense().tolist() == [[1.5, 0.0], [-2000.0, 3.0]]


def test_every_column_may_be_left_out(nodes):
    assert nodes("name\nAnn\n").labels is None
    assert nodes("name\nAnn\n").features is None
    found = nodes("x\n1\n0\n3")
    assert (found.rows, found.names, found.classes) == (3, (), ())
    assert found.features.dense().tolist() == [[1.0], [0.0], [3.0]]


def test_features_may_all_be_zero(nodes):
    assert nodes("x,y\n0,0\n0.0,-0\n").features.dense().tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_classes_that_are_numbers_are_sorted_by_size(nodes):
    found = nodes("class\n10\n9\n10\n0\n")
    assert (found.classes, found.labels.tolist()) == (("0", "9", "10"), [2, 1, 2, 0])


def test_nodes_without_a_class_are_unknown(nodes):
    found = nodes('name,label\nAnn,\nBob,z\nCleo,"unknown"\n')
    assert (found.classes, found.labels.tolist()) == (("z", "unknown"), [1, 0, 1])
    assert nodes('label\nz\n""\n').labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    "text", ["1,0,2\n0,0,3\n", "a,b,c\n1,0,2\n0,0,3", "1 0 2\n0.0 0 3.0", "1\t0\t2\n\n0\t0\t3\n",
             "1e0;0;2\n0;0;3"]
)  # fmt: skip
def test_tables_of_numbers_have_a_header_or_none(features, text):
    assert features(text).dense().tolist() == [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]


def test_whole_arrays_become_sparse():
    array = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, -1]])
    for kind in (">f8", "f4", "f2"):
        found = dense_features("x", array.astype(kind))
        assert torch.equal(found.dense(), torch.tensor(array, dtype=torch.float32))
        assert len(found.values) == 3
    assert torch.equal(dense_features("x", array > 0).dense(), torch.tensor(array > 0).float())


# What goes wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"some\.csv is empty\. Expected a header"),
        ("name,class\n", r"some\.csv has no nodes\. Expected a header, and then a row"),
        ("name,x\nAnn,1\nBob\n", "line 3 has 1 columns; expected 2"),
        ("name,x\nAnn,1\n\nBob,2,3\n", "line 4 has 3 columns; expected 2"),
        ("name,x\nAnn,tall\n", "line 2, column 'x': 'tall' is not a number. Every column but"),
        ("name,x\nAnn,\n", "line 2, column 'x': '' is not a number"),
        ("name,x\nAnn,nan\n", "line 2, column 'x': 'nan' is not a finite number"),
        ("name,x\nAnn,-inf\n", "line 2, column 'x': '-inf' is not a finite number"),
        ("name,x\nAnn,1e300\n", "line 2, column 'x': '1e300' is not a finite number"),
        ("name,x\nAnn," + 90 * "y", r"'y{37}\.\.\.' is not a number"),
        ("name,x\nAnn,1\nAnn,2\n", r"two nodes are called 'Ann'\. Give each its own name"),
        ("name,x\nAnn,1\n,2\n", "node 1 has no name"),
        (",name\n0,Ann\n", r"column 1 has no title\. .* without its row numbers"),
        ("name,id\nAnn,1\n", "has the columns `name` and `id`; expected one of them"),
        ("class,Label\na,1\n", "has the columns `class` and `label`; expected one of them"),
        (b"name\n\xff\xff\n", "is not text in UTF-8"),
        (b"name\na\0b\n", r"is not a text file\. Expected a table of nodes"),
        ('name\n"' + 200_000 * "x", r"is not a table \(field larger than"),
    ],
)
def test_what_is_wrong_in_a_table_of_nodes_is_named(nodes, text, message):
    with pytest.raises(DataError, match=message):
        nodes(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"some\.csv is empty\. Expected a row of numbers"),
        ("a,b\n", r"some\.csv has no rows of numbers"),
        ("1,2\n3\n", "line 2 has 1 columns; expected 2"),
        ("1,2\n3,x\n", "line 2, column 2: 'x' is not a number"),
        ("1,x\n3,4\n", "line 1, column 2: 'x' is not a number"),
        ("1,2\ninf,3\n", "line 2, column 1: 'inf' is not a finite number"),
    ],
)
def test_what_is_wrong_in_a_table_of_numbers_is_named(features, text, message):
    with pytest.raises(DataError, match=message):
        features(text)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_what_is_no_number_in_an_array_is_named(value):
    array = np.zeros((4, 3))
    array[2, 1] = value
    with pytest.raises(DataError, match=r"x: row 2, column 1 of `features` is not a finite number"):
        dense_features("x", array)


def test_changed_tables_give_nodes_or_an_error_of_ours(nodes, features):
    goods = [
        b"name,class,x\nAnn,b,1.5\nBob,a,-2\n",
        b"x;y\n1;0\n0;2\n",
        b'id\tlabel\n"7"\t1\n8\t\n',
    ]
    rng = random.Random(0)
    good = 0
    for i in range(2000):
        data = bytearray(goods[i % 3])
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(data))
            new = rng.choice([rng.randbytes(1), rng.choice(b',;\t \n\r"#019-.e\0').to_bytes(), b""])
            data[place : place + rng.randint(0, 2)] = new
        for read in (nodes, features):
            with contextlib.suppress(DataError):
                read(bytes(data))
                good += 1
    assert 300 < good < 3500
