import contextlib
import hashlib
import random
import shutil

import numpy as np
import pytest
import torch

from mindseye.data import planetoid
from mindseye.data.inert import inert_of
from mindseye.data.planetoid import CHECKSUMS, CLASSES, download_planetoid, read_planetoid
from mindseye.errors import DataError, UsageError

PARTS = ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"]

# Seven papers of five words: four known ones, then the test papers 6 and 4; paper 5 is missing.
WORDS = np.array([[1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1],
                  [0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]])  # fmt: skip
CLASS = np.array([0, 5, 2, 2, 3, -1, 1])
NEIGHBOURS = {0: [1, 6], 1: [0, 0], 2: [2, 3], 3: [2, 4], 4: [3], 5: [], 6: [0]}
LINKS = [[0, 1], [0, 6], [2, 3], [3, 4]]


def one_hot(labels):
    return np.eye(6, dtype=np.int32)[labels]


@pytest.fixture(scope="module")
def originals(old):
    """The eight files of a tiny Citeseer, by name."""
    parts = {
        "x": old.csr(WORDS[:2]),
        "y": old.array(one_hot(CLASS[:2])),
        "tx": old.csr(WORDS[[6, 4]]),
        "ty": old.array(one_hot(CLASS[[6, 4]])),
        "allx": old.csr(WORDS[:4]),
        "ally": old.array(one_hot(CLASS[:4])),
        "graph": old.graph(NEIGHBOURS),
    }
    files = {f"ind.citeseer.{part}": old.file(data) for part, data in parts.items()}
    return files | {"ind.citeseer.test.index": b"6\n4\n"}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def write_npz(folder, **changes):
    rows, columns = WORDS.nonzero()
    arrays = {
        "feat_data": np.ones(len(rows), np.float32),
        "feat_indices": columns.astype(np.int32),
        "feat_indptr": np.searchsorted(rows, np.arange(8)).astype(np.int32),
        "feat_shape": np.array(WORDS.shape, np.int32),
        "edges": np.array(LINKS, np.int32),
        "labels": CLASS.astype(np.int16),
    }
    np.savez(folder / "citeseer.npz", **(arrays | changes))
    return folder


def check_same(one, other):
    assert (one.nodes, one.classes, one.names) == (other.nodes, other.classes, other.names)
    assert one.cleaned == other.cleaned == ""
    assert torch.equal(one.links, other.links)
    assert torch.equal(one.labels, other.labels)
    assert one.features.shape == other.features.shape
    for part in ("starts", "columns", "values"):
        assert torch.equal(getattr(one.features, part), getattr(other.features, part))


# Reading


def test_test_papers_are_put_into_place(tmp_path, originals):
    graph = read_planetoid("citeseer", write(tmp_path, originals))
    assert graph.nodes == 7
    assert torch.equal(graph.features.dense(), torch.tensor(WORDS, dtype=torch.float32))
    assert graph.links.tolist() == LINKS
    assert graph.labels.tolist() == [0, 5, 2, 2, 3, 6, 1]
    assert graph.classes == ("Agents", "AI", "DB", "IR", "ML", "HCI", "unknown")


def test_both_kinds_of_files_give_the_same_graph(tmp_path, originals):
    write(tmp_path / "a", originals)
    (tmp_path / "b").mkdir()
    write_npz(tmp_path / "b")
    check_same(
        read_planetoid("citeseer", tmp_path / "a"), read_planetoid("citeseer", tmp_path / "b")
    )


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("cora", (2708, 5278, 1433, 7, 0)),
        ("citeseer", (3327, 4552, 3703, 7, 48)),
    ],
)
def test_both_kinds_of_real_files_give_the_same_graph(real, tmp_path, name, facts):
    place = real(f"{name}.npz").parent
    for part in PARTS:
        shutil.copy(real(f"ind.{name}.{part}"), tmp_path)
    graph = read_planetoid(name, place)
    check_same(graph, read_planetoid(name, tmp_path))
    found = graph.facts()
    kept = ("nodes", "links", "features", "classes", "isolated")
    assert tuple(found[each] for each in kept) == facts
    assert (graph.features.values == 1).all()
    assert read_planetoid(name).links.equal(graph.links)  # found where data usually is


def test_the_real_citeseer_has_fifteen_papers_without_words_or_class(real):
    graph = read_planetoid("citeseer", real("citeseer.npz").parent)
    unknown = graph.labels == 6
    assert int(unknown.sum()) == 15
    assert int(graph.features.counts[unknown].sum()) == 0
    assert int(graph.labels[~unknown].max()) == 5


def test_all_classes_have_names():
    assert [len(CLASSES[name]) for name in ("cora", "citeseer")] == [7, 6]
    assert CLASSES["cora"][3] == "Neural Networks"  # the largest class of Cora: 818 papers


@pytest.mark.parametrize("place", ["data", "data/planetoid", "data/citeseer",
                                   "cache/mindseye/planetoid"])  # fmt: skip
def test_the_usual_places_are_searched(nowhere, monkeypatch, originals, place):
    monkeypatch.setenv("MINDSEYE_DATA", str(nowhere / "data"))
    write(nowhere / place, originals)
    assert read_planetoid("citeseer").nodes == 7


# What goes wrong


def test_missing_files_say_what_to_type(nowhere, originals):
    with pytest.raises(DataError, match=r"Cora was not found in .*Type `mindseye data get cora`"):
        read_planetoid("cora")
    write(nowhere, originals)
    (nowhere / "ind.citeseer.ty").unlink()
    with pytest.raises(DataError, match=r"\(which lacks ind\.citeseer\.ty\)"):
        read_planetoid("citeseer", nowhere)


def test_a_misspelt_name_is_corrected():
    with pytest.raises(UsageError, match=r"`name='corra'` is not .* Did you mean 'cora'\?"):
        read_planetoid("corra")
    with pytest.raises(UsageError, match="expected 'cora' or 'citeseer'"):
        download_planetoid("mnist")


@pytest.mark.parametrize(
    ("part", "make", "message"),
    [
        ("graph", lambda old: old.array(np.arange(3)), "does not hold lists of neighbours"),
        ("graph", lambda old: old.graph({0: [1]}), "does not hold lists of neighbours"),
        ("graph", lambda old: old.graph({0: [1], 2: [0]}), "does not hold lists of neighbours"),
        ("graph", lambda old: old.graph({}), "does not hold lists of neighbours"),
        ("graph", lambda old: b"}(K\x00Nu", "does not hold lists of neighbours"),
        ("graph", lambda old: old.graph({i: [] for i in range(7)}), "there are no links"),
        ("graph", lambda old: old.graph({i: [0] for i in range(6)}), "different nodes from 4 to 5"),
        ("allx", lambda old: old.array(np.arange(3)), "does not hold a sparse matrix"),
        ("tx", lambda old: old.csr(WORDS[[6, 4], :4]), "has 4 columns; expected 5"),
        ("tx", lambda old: old.csr(WORDS[:3]), "does not hold 3 different nodes from 4 to 6"),
        ("ty", lambda old: old.array(np.eye(3)), "does not hold a table of 2 rows and 6 classes"),
        ("ally", lambda old: old.csr(WORDS), "does not hold a table of 4 rows and 6 classes"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, old, originals, part, make, message):
    name = f"ind.citeseer.{part}"
    write(tmp_path, originals | {name: old.file(make(old))})
    with pytest.raises(DataError, match=message):
        read_planetoid("citeseer", tmp_path)


@pytest.mark.parametrize("text", [b"6\n", b"6\n6\n", b"6\n7\n", b"3\n6\n", b"6\n4\n5\n", b""])
def test_wrong_test_papers_are_named(tmp_path, originals, text):
    write(tmp_path, originals | {"ind.citeseer.test.index": text})
    with pytest.raises(DataError, match=r"test\.index does not hold 2 different nodes from 4 to 6"):
        read_planetoid("citeseer", tmp_path)


@pytest.mark.parametrize("text", [b"6\n-4", b"6 four", b"\xff\x00", b"6\n" + 5000 * b"9"])
def test_test_papers_are_numbers(tmp_path, originals, text):
    write(tmp_path, originals | {"ind.citeseer.test.index": text})
    with pytest.raises(DataError, match=r"test\.index does not hold the numbers of nodes"):
        read_planetoid("citeseer", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": np.array([[0, 7]])}, "has the node 7, which is out of range; expected 0 to 6"),
        ({"edges": np.array([[-1, 2]])}, "has the node -1, which is out of range"),
        ({"edges": np.array([0, 1])}, r"`edges` is \(2,\); expected \(any, 2\)"),
        ({"labels": CLASS + 1}, "has the label 6; expected -1 to 5"),
        ({"labels": CLASS - 1}, "has the label -2; expected -1 to 5"),
        ({"labels": CLASS[:5]}, r"`labels` is \(5,\); expected \(7,\)"),
        ({"feat_shape": np.array([-1, 5])}, "expected rows and columns"),
        ({"feat_shape": np.array([7, 4])}, "an entry is in column 4; expected 0 to 3"),
        ({"feat_indptr": np.arange(8)}, "do not lead from 0 to 12 entries"),
        ({"feat_indptr": np.array([0, 3, 2, 4, 9, 9, 9, 12])}, "do not follow each other"),
        ({"feat_indptr": np.array([0, -3, 2, 4, 9, 9, 9, 12])}, "do not follow each other"),
        ({"feat_data": np.ones(11)}, "12 places of entries but 11 entries"),
        ({"feat_data": np.full(12, np.nan)}, "row 0 has a feature that is not a finite number"),
        ({"feat_data": np.full(12, 1e300)}, "row 0 has a feature that is not a finite number"),
        ({"feat_indices": np.zeros(12, int)}, "two entries in column 0 of one row"),
        ({"feat_indices": np.zeros(12)}, "holds float64; expected whole numbers"),
    ],
)
def test_damaged_npz_files_say_what_is_wrong(tmp_path, change, message):
    write_npz(tmp_path, **change)
    with pytest.raises(DataError, match=message):
        read_planetoid("citeseer", tmp_path)


def test_changed_originals_give_a_graph_or_an_error_of_ours(tmp_path, originals, monkeypatch):
    write(tmp_path, originals)
    rng = random.Random(0)

    def changed(path):
        data = bytearray(originals[path.name])
        if rng.random() < 0.3:
            data[rng.randrange(2, len(data))] = rng.randrange(256)
        return inert_of(bytes(data), path)

    monkeypatch.setattr(planetoid, "read_inert", changed)
    good = 0
    for _ in range(500):
        with contextlib.suppress(DataError):
            good += read_planetoid("citeseer", tmp_path).nodes == 7
    assert 20 < good < 400


# Downloading


def checksums(files):
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def test_what_is_downloaded_is_found(nowhere, mirror, originals):
    seen = []
    folder = download_planetoid(
        "citeseer",
        progress=lambda *step: seen.append(step),
        mirrors=[mirror(originals).url],
        checksums=checksums(originals),
    )
    assert folder == nowhere / "cache/mindseye/planetoid"
    assert {name for name, _, _ in seen} == set(originals) == set(CHECKSUMS["citeseer"])
    assert read_planetoid("citeseer").links.tolist() == LINKS


def test_only_what_is_not_whole_is_fetched_again(tmp_path, mirror, originals):
    server = mirror(originals)
    again = {"mirrors": [server.url], "checksums": checksums(originals)}
    download_planetoid("citeseer", tmp_path, **again)
    assert sorted(server.asked) == sorted(originals)
    (tmp_path / "ind.citeseer.ty").write_bytes(b"damaged")
    (tmp_path / "ind.citeseer.x").unlink()
    server.asked.clear()
    download_planetoid("citeseer", tmp_path, **again)
    assert server.asked == ["ind.citeseer.x", "ind.citeseer.ty"]
    assert read_planetoid("citeseer", tmp_path).nodes == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda files: {}, "Not Found"),
        (lambda files: files | {"ind.citeseer.x": b"other"}, "the checksum differs"),
        (lambda files: files | {"ind.citeseer.x": bytes(10_000)}, "more than 5,000 bytes came"),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_says_why(
    tmp_path, mirror, originals, monkeypatch, change, message
):
    monkeypatch.setattr(planetoid, "LARGEST", 5000)
    server = mirror(change(originals))
    expected = rf"ind\.citeseer\.x could not be downloaded \(http.*{message}\)\. Check the network"
    with pytest.raises(DataError, match=expected):
        download_planetoid(
            "citeseer", tmp_path, mirrors=[server.url], checksums=checksums(originals)
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_checksums_are_those_of_the_real_files(real, name):
    folder = real(f"ind.{name}.graph").parent
    assert list(CHECKSUMS[name]) == [f"ind.{name}.{part}" for part in PARTS]
    assert download_planetoid(name, folder, mirrors=[]) == folder
