import contextlib
import csv
import random
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.data.edgelists import read_graph
from mindseye.data.karate import karate_club
from mindseye.errors import DataError


class Drawn(NamedTuple):
    """A graph to be written and read again."""

    links: list[tuple[int, int]]
    names: list[str]
    labels: list[str]
    features: np.ndarray


@st.composite
def graphs(draw):
    nodes = draw(st.integers(2, 8))
    node = st.integers(0, nodes - 1)
    more = draw(st.lists(st.tuples(node, node).filter(lambda p: p[0] != p[1]), max_size=10))
    path = [(i, i + 1) for i in range(nodes - 1)]  # so that every node has a link
    text = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=5)
    name = text.map(str.strip).filter(lambda t: t and not t.startswith("#") and '"' not in t)
    names = draw(st.lists(name, min_size=nodes, max_size=nodes, unique=True))
    labels = draw(st.lists(st.sampled_from(["a", "b, c", "", "7"]), min_size=nodes, max_size=nodes))
    number = st.one_of(st.just(0.0), st.floats(-(2.0**90), 2.0**90, width=32))
    rows = draw(st.lists(st.lists(number, min_size=3, max_size=3), min_size=nodes, max_size=nodes))
    links = sorted({(min(p), max(p)) for p in path + more})
    return Drawn(links, names, labels, np.array(rows, np.float32))


def write_table(path, rows, separator=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)


def feature_columns(drawn):
    return [[f"{value!r}" for value in row.tolist()] for row in drawn.features]


def check(graph, drawn, *, names=(), labelled=True, featured=True):
    assert graph.links.tolist() == [list(link) for link in drawn.links]
    assert (graph.nodes, graph.names, graph.cleaned) == (len(drawn.names), tuple(names), "")
    if labelled:
        found = [graph.classes[i] for i in graph.labels]
        assert found == [label or "unknown" for label in drawn.labels]
    if featured:
        assert np.array_equal(graph.features.dense().numpy(), drawn.features)


def in_a_folder(test):
    """Runs a test of a drawn graph in a folder of its own."""

    @settings(max_examples=25, deadline=None)
    @given(graphs())
    def run(drawn):
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder), drawn)

    run.__name__ = test.__name__
    return run


# Every layout comes back


@in_a_folder
def test_a_table_of_nodes_with_names_classes_and_features_comes_back(folder, drawn):
    head = ["name", "class", "x", "y", "z"]
    rows = zip(drawn.names, drawn.labels, feature_columns(drawn), strict=True)
    write_table(folder / "nodes.csv", [head, *([n, c, *row] for n, c, row in rows)])
    pairs = [[drawn.names[a], drawn.names[b]] for a, b in drawn.links]
    write_table(folder / "edges.csv", [["Source", "Target"], *pairs])
    called = [] if drawn.names == [str(i) for i in range(len(drawn.names))] else drawn.names
    check(read_graph(folder), drawn, names=called)


@in_a_folder
def test_classes_and_features_of_numbered_nodes_come_back(folder, drawn):
    write_table(folder / "edges.tsv", drawn.links, "\t")
    write_table(folder / "nodes.csv", [["label", "n"], *([c, 0] for c in drawn.labels)])
    check(read_graph(folder), drawn, featured=False)
    write_table(folder / "nodes.csv", [["label"], *([c] for c in drawn.labels)])
    np.savez(folder / "features.npz", features=drawn.features)
    check(read_graph(folder), drawn)


@in_a_folder
def test_a_table_of_features_alone_comes_back(folder, drawn):
    write_table(folder / "edges.txt", drawn.links, " ")
    write_table(folder / "features.csv", feature_columns(drawn))
    check(read_graph(folder), drawn, labelled=False)


@in_a_folder
def test_a_list_of_links_alone_comes_back(folder, drawn):
    path = folder / "links.txt"
    write_table(path, [["a", "b"], *drawn.links], ";")
    check(read_graph(path), drawn, labelled=False, featured=False)
    names = [f"n{i}" for i in range(len(drawn.names))]  # in the order in which they come
    write_table(
        path, [(names[a], names[b]) for a, b in [(i, i + 1) for i in range(len(names) - 1)]]
    )
    assert read_graph(path).names == tuple(names)


@in_a_folder
def test_npz_files_come_back(folder, drawn):
    codes = {"a": 0, "b, c": 1, "7": 2, "": -1}
    arrays = {
        "edges": np.array(drawn.links, np.int32),
        "labels": np.array([codes[label] for label in drawn.labels], np.int8),
        "classes": np.array(["a", "b, c", "7"]),
        "names": np.array(drawn.names),
    }
    np.savez(folder / "dense.npz", features=drawn.features.astype(np.float64), **arrays)
    check(read_graph(folder / "dense.npz"), drawn, names=drawn.names)
    rows, columns = drawn.features.nonzero()
    arrays["feat_data"] = drawn.features[rows, columns]
    arrays["feat_indices"], arrays["feat_shape"] = columns, np.array(drawn.features.shape)
    arrays["feat_indptr"] = np.searchsorted(rows, np.arange(len(drawn.names) + 1))
    np.savez_compressed(folder / "sparse.npz", **arrays)
    check(read_graph(str(folder / "sparse.npz")), drawn, names=drawn.names)


def test_the_karate_club_comes_back_without_loops_and_repetitions(tmp_path):
    club = karate_club()
    links = club.links.tolist()
    write_table(tmp_path / "club.csv", [*links, [3, 3], *([b, a] for a, b in links[:5])])
    graph = read_graph(tmp_path / "club.csv")
    assert torch.equal(graph.links, club.links)
    assert graph.cleaned == "1 self-loop and 5 repeated links were left out"


def test_the_files_of_cora_are_a_graph_of_ones_own(real):
    graph = read_graph(real("cora.npz"))
    assert (graph.nodes, len(graph.links), graph.features.width) == (2708, 5278, 1433)
    assert graph.classes == tuple("0123456")
    assert torch.bincount(graph.labels).tolist() == [351, 217, 418, 818, 426, 298, 180]


def test_nodes_without_links_are_there(tmp_path):
    np.savez(tmp_path / "a.npz", edges=np.array([[3, 1]]), features=np.eye(5))
    assert read_graph(tmp_path / "a.npz").facts()["isolated"] == 3
    np.savez(tmp_path / "a.npz", edges=np.array([[3, 1]]), names=np.array(list("abcdefg")))
    assert read_graph(tmp_path / "a.npz").nodes == 7


def test_ids_of_ones_own_are_names(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n10,30\n30,20\n")
    (tmp_path / "nodes.csv").write_text("id,class\n20,a\n30,b\n10,b\n")
    graph = read_graph(tmp_path)
    assert (graph.names, graph.links.tolist()) == (("20", "30", "10"), [[0, 1], [1, 2]])
    (tmp_path / "nodes.csv").write_text("id,class\n0,a\n1,b\n2,b\n")
    (tmp_path / "edges.csv").write_text("0,2\n")
    assert (read_graph(tmp_path).names, read_graph(tmp_path).nodes) == ((), 3)


def test_many_links_are_read_at_once(tmp_path):
    """More than a block of them: all come back, in their order."""
    pairs = np.random.default_rng(0).integers(0, 50_000, (150_000, 2))
    pairs[0] = 0, 49_999
    path = tmp_path / "edges.csv"
    path.write_bytes(b"\n".join(b"%d,%d,0.5" % (a, b) for a, b in pairs.tolist()))
    assert path.stat().st_size > 2**21
    low, high = pairs.min(1), pairs.max(1)
    expected = np.unique((low * 50_000 + high)[low != high])
    links = read_graph(path).links
    assert np.array_equal(links[:, 0].numpy() * 50_000 + links[:, 1].numpy(), expected)


# What goes wrong


def written(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"has no edges\.csv; it holds nothing\. Put the links there"),
        ({"links.csv": "0,1"}, r"has no edges\.csv; it holds links\.csv"),
        ({"edges.csv": "0,1", "edges.txt": "0 1"}, r"has edges\.csv and edges\.txt; expected one"),
        ({"edges.csv": "0,1", "nodes.csv": "name\nA\nB"}, "no node is called '0'"),
        ({"edges.csv": "A,C", "nodes.csv": "name\nA\nB"}, "column 2: no node is called 'C'"),
        ({"edges.csv": "0,2", "nodes.csv": "class\na\nb"}, "the node 2 is out of range; .*0 to 1"),
        ({"edges.csv": "0,1", "nodes.csv": "x\n1\nb"}, r"nodes\.csv: line 3, column 'x': 'b'"),
        ({"edges.csv": "0,1", "nodes.csv": "x\n1\n2", "features.csv": "1\n2"},
         "both have features"),
        ({"edges.csv": "0,1", "nodes.csv": "name\n0\n1", "features.csv": "1\n2\n3"},
         r"features\.csv has 3 rows but .*nodes\.csv has 2 nodes"),
        ({"edges.csv": "0,1", "features.npz": "1"}, r"features\.npz is not a whole npz file"),
        ({"edges.csv": "", "nodes.csv": "x\n1\n2"}, r"edges\.csv is empty"),
    ],
)  # fmt: skip
def test_folders_that_do_not_fit_are_explained(tmp_path, files, message):
    with pytest.raises(DataError, match=message):
        read_graph(written(tmp_path, files))


def test_features_of_another_kind_are_explained(tmp_path):
    written(tmp_path, {"edges.csv": "0,1"})
    np.savez(tmp_path / "features.npz", x=np.eye(2))
    with pytest.raises(DataError, match=r"features\.npz has no `features`, nor `feat_data`"):
        read_graph(tmp_path)
    np.savez(tmp_path / "features.npz", features=np.empty((2, 0)))
    with pytest.raises(DataError, match="the features have no columns"):
        read_graph(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1,2\n2,3\n",
            r"has nodes from 1 on; expected numbers from 0\. Number the nodes from 0, or",
        ),
        ("0,1\n1,40\n", "has only 3 nodes, with numbers up to 40; expected few gaps"),
        ("0,1\n1,2000000000\n", "has only 3 nodes, with numbers up to 2000000000"),
        ("0,1\n1,3000000000\n", "line 2, column 2: the node 3000000000 is out of range"),
    ],
)
def test_numbers_that_are_not_counted_from_zero_are_explained(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_graph(written(tmp_path, {"some.csv": text}) / "some.csv")


def test_numbers_with_few_gaps_are_fine(tmp_path):
    graph = read_graph(written(tmp_path, {"some.csv": "0,1\n1,29\n"}) / "some.csv")
    assert (graph.nodes, graph.links.tolist()) == (30, [[0, 1], [1, 29]])


def test_a_missing_file_is_named(tmp_path):
    for name in ("no.csv", "no.npz"):
        with pytest.raises(DataError, match=rf"{name}: No such file or directory\. Check the path"):
            read_graph(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": np.zeros((0, 2), int)}, "there are no links"),
        ({"edges": np.array([[0, 3]])}, "row 0 of `edges` has the node 3, which is out of range"),
        ({"edges": np.array([[0, 1], [-1, 0]])}, "row 1 of `edges` has the node -1"),
        ({"edges": np.array([[0, 2**64 - 1]], np.uint64)}, "has the node 18446744073709551615"),
        ({"edges": np.array([[0.0, 1.0]])}, "`edges` holds float64; expected whole numbers"),
        ({"edges": np.array([[0], [1]])}, r"`edges` is \(2, 1\); expected \(any, 2\)"),
        ({"features": np.full((3, 2), np.nan)}, "row 0, column 0 of `features` is not a finite"),
        ({"features": np.array(["x"])}, r"`features` is \(1,\); expected \(any, any\)"),
        ({"labels": np.array([0, 1])}, r"`labels` is \(2,\); expected \(3,\)"),
        ({"labels": np.array([0, 1, 2])}, "`labels` has 2; expected -1 to 1"),
        ({"labels": np.array([0, 1, -2])}, "`labels` has -2; expected -1 to 1"),
        ({"names": np.array(["a", "b"])}, r"`names` is \(2,\); expected \(3,\)"),
        ({"names": np.array(["a", "b", "a"])}, "two nodes are called 'a'"),
        ({"names": np.array(["a", "", "c"])}, "node 1 has no name"),
        ({"names": np.array([1, 2, 3])}, "`names` holds int64; expected texts"),
        ({"names": np.array(["a", None, {}], object)}, "`names` holds object; expected texts"),
    ],
)  # fmt: skip
def test_npz_files_that_do_not_fit_are_explained(tmp_path, change, message):
    arrays = {"edges": np.array([[0, 1], [1, 2]]), "features": np.eye(3)}
    arrays |= {"labels": np.array([0, 1, -1]), "classes": np.array(["a", "b"])}
    np.savez(tmp_path / "some.npz", **arrays)
    assert read_graph(tmp_path / "some.npz").classes == ("a", "b", "unknown")
    np.savez(tmp_path / "some.npz", **(arrays | change))
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path / "some.npz")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[1, 2]], "`edges` has nodes from 1 on; expected numbers from 0"),
        ([[0, 2**31]], "`edges` has the node 2147483648; expected less than 2147483648"),
        ([[0, 20]], "`edges` has only 2 nodes, with numbers up to 20"),
        (np.zeros((0, 2), int), "`edges` has no links"),
    ],
)
def test_numbers_of_npz_files_are_counted_from_zero(tmp_path, edges, message):
    np.savez(tmp_path / "some.npz", edges=np.array(edges))
    with pytest.raises(DataError, match=message):
        read_graph(tmp_path / "some.npz")
    np.savez(tmp_path / "some.npz", links=np.array(edges))
    with pytest.raises(DataError, match="has no `edges`; it holds links"):
        read_graph(tmp_path / "some.npz")


def test_changed_folders_give_a_graph_or_an_error_of_ours(tmp_path):
    goods = {
        "edges.csv": b"source,target\nA,B\nB,C\n",
        "nodes.csv": b"name,class,x\nA,u,1\nB,v,2\nC,,0\n",
    }
    rng = random.Random(0)
    good = 0
    for _ in range(100):
        for name, data in goods.items():
            new = bytearray(data)
            if rng.random() < 0.6:
                place = rng.randrange(len(new))
                new[place : place + 1] = bytes(rng.choices(b'abAB,;\t \n\r"#019-.\0\xff', k=2))
            (tmp_path / name).write_bytes(new)
        with contextlib.suppress(DataError):
            good += read_graph(tmp_path).nodes > 0
    assert 10 < good < 90
