"""Cora and Citeseer: papers that cite each other, with the words each of them has.

They are read from one npz file, or from the original files of Planetoid, which are old Python files
and are read without being run (`mindseye.data.inert`). Both give the same graph. In the original
files the last papers, the test papers, are kept in another order, which `test.index` says; fifteen
of Citeseer's are not there at all: they have no words and no class. Links that lead from a paper to
itself are left out. Features are 0 or 1, and not normalised.

What the classes are called stands in no file: the names are those usually given to Planetoid's
numbers.

References:
    Revisiting Semi-Supervised Learning with Graph Embeddings, Yang, Cohen and Salakhutdinov, 2016
    https://arxiv.org/abs/1603.08861
    Collective Classification in Network Data, Sen, Namata, Bilgic, Getoor, Gallagher and
    Eliassi-Rad, 2008
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mindseye.data.csr import Csr, read_csr, sparse_of
from mindseye.data.fetching import Progress, fetched, sha256
from mindseye.data.inert import STEPS, read_inert
from mindseye.data.npz import Npz
from mindseye.data.places import cache, find, places
from mindseye.errors import DataError, UsageError, did_you_mean, listed
from mindseye.files import explained, write_bytes
from mindseye.graphs import Graph, graph_of
from mindseye.sparse import Sparse

__all__ = ["CHECKSUMS", "CLASSES", "MIRRORS", "UNKNOWN", "download_planetoid", "read_planetoid"]

MIRRORS = ("https://raw.githubusercontent.com/kimiyoung/planetoid/master/data",)
"""Where the original files are downloaded from, in order."""

CLASSES = {
    "cora": (
        "Theory",
        "Reinforcement Learning",
        "Genetic Algorithms",
        "Neural Networks",
        "Probabilistic Methods",
        "Case Based",
        "Rule Learning",
    ),
    "citeseer": ("Agents", "AI", "DB", "IR", "ML", "HCI"),
}
"""What the classes are called, by convention, in the order of their numbers."""

UNKNOWN = "unknown"
"""The last class, where some node has none."""

CHECKSUMS = {
    "cora": {
        "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "ind.citeseer.test.index": (
            "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"
        ),
    },
}
"""The original files and the SHA-256 of each."""

NEEDED = ("tx", "ty", "allx", "ally", "graph", "test.index")
"""What a graph needs of them: `x` and `y` are the first rows of `allx` and `ally`."""

LARGEST = 8 * 2**20
AGAIN = "It may be damaged: fetch it again."


def read_planetoid(name: str, folder: str | Path | None = None) -> Graph:
    """Cora or Citeseer.

    Arguments:
        name: `cora` or `citeseer`.
        folder: Where `NAME.npz` or the original files are; the usual places by default.
    """
    _check_name(name)
    searched = places(folder, "planetoid", name)
    if path := find([f"{name}.npz"], searched):
        return _from_npz(name, path)
    for place in searched:
        if not _lacking(place, name):
            return _from_originals(name, place)
    seen = ", ".join(_seen(place, name) for place in searched)
    raise DataError(
        f"{name.capitalize()} was not found in {seen}.",
        f"Type `mindseye data get {name}`, or set MINDSEYE_DATA to the folder that holds "
        f"{name}.npz or the files ind.{name}.*.",
    )


def download_planetoid(
    name: str,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    mirrors: Sequence[str] = MIRRORS,
    checksums: Mapping[str, str] | None = None,
) -> Path:
    """Fetch the eight original files that are not there yet, checked and written whole.

    Arguments:
        name: `cora` or `citeseer`.
        folder: Where to put them; the user's cache by default.
        progress: Called with a file's name, the bytes that came and the bytes expected, which
            are 0 where the server does not say.
        mirrors: Addresses to try in order.
        checksums: The names of the files and the SHA-256 of each.

    Returns:
        The folder.
    """
    _check_name(name)
    folder = cache("planetoid") if folder is None else Path(folder)
    for file, checksum in (checksums or CHECKSUMS[name]).items():
        if not _whole(folder / file, checksum):
            data = fetched(file, checksum, mirrors, limit=LARGEST, progress=progress)
            write_bytes(folder / file, data)
    return folder


def _check_name(name: str) -> None:
    if name not in CLASSES:
        message = f"`name={name!r}` is not a graph of Planetoid; expected {listed(CLASSES)}."
        raise UsageError(message, did_you_mean(name, CLASSES))


def _lacking(place: Path, name: str) -> list[str]:
    """The original files that are not in a folder."""
    files = [f"ind.{name}.{part}" for part in NEEDED]
    return [file for file in files if not os.path.isfile(place / file)]


def _seen(place: Path, name: str) -> str:
    """A place searched, with what it lacks if it holds some of the files."""
    lacking = _lacking(place, name)
    partly = len(lacking) < len(NEEDED)
    return f"{place} (which lacks {' and '.join(lacking)})" if partly else f"{place}"


def _whole(path: Path, checksum: str) -> bool:
    try:
        return sha256(path.read_bytes()) == checksum
    except OSError:
        return False


def _graph(name: str, path: Path, pairs: np.ndarray, features: Sparse, labels: np.ndarray) -> Graph:
    """The graph of links, features and labels, -1 for none."""
    known = CLASSES[name]
    if labels.min() < -1 or labels.max() >= len(known):
        wrong = labels.min() if labels.min() < -1 else labels.max()
        raise DataError(f"{path} has the label {wrong}; expected -1 to {len(known) - 1}.", AGAIN)
    classes = (*known, UNKNOWN) if labels.min() < 0 else known
    numbers = np.where(labels < 0, len(known), labels).astype(np.int64)
    try:
        return graph_of(
            torch.from_numpy(pairs.astype(np.int64)),
            features=features,
            labels=torch.from_numpy(numbers),
            classes=classes,
        )
    except DataError as error:
        raise DataError(f"{path}: {error.message}", AGAIN) from error


# One file


def _from_npz(name: str, path: Path) -> Graph:
    npz = Npz(path)
    csr = read_csr(npz)
    labels = npz.read("labels", "integer", (csr.shape[0],))
    if not labels.size:
        raise DataError(f"{path} has no nodes.", AGAIN)
    return _graph(name, path, npz.read("edges", "integer", (None, 2)), sparse_of(path, csr), labels)


# The original files


def _from_originals(name: str, place: Path) -> Graph:
    paths = {part: place / f"ind.{name}.{part}" for part in NEEDED}
    first, last = _features(paths["allx"]), _features(paths["tx"])
    if first.width != last.width:
        raise DataError(f"{paths['tx']} has {last.width} columns; expected {first.width}.", AGAIN)
    pairs, nodes = _links(paths["graph"])
    moved = _test_nodes(paths["test.index"], first.shape[0], last.shape[0], nodes)
    node_of_row = torch.cat([torch.arange(first.shape[0]), moved])

    labels = np.full(nodes, -1)
    known = [_labels(paths[part], matrix.shape[0], len(CLASSES[name]))
             for part, matrix in (("ally", first), ("ty", last))]  # fmt: skip
    labels[node_of_row.numpy()] = np.concatenate(known)
    features = _moved(first, last, node_of_row, nodes)
    return _graph(name, paths["graph"], pairs, features, labels)


def _features(path: Path) -> Sparse:
    csr = read_inert(path)
    if not isinstance(csr, Csr):
        raise DataError(f"{path} does not hold a sparse matrix.", AGAIN)
    return sparse_of(path, csr)


def _labels(path: Path, rows: int, classes: int) -> np.ndarray:
    """The class of every row of ones and zeros, -1 where all are zero."""
    table = read_inert(path)
    if not isinstance(table, np.ndarray) or table.shape != (rows, classes):
        raise DataError(
            f"{path} does not hold a table of {rows} rows and {classes} classes.", AGAIN
        )
    return np.where((table == 1).any(1), (table == 1).argmax(1), -1)


def _links(path: Path) -> tuple[np.ndarray, int]:
    """Pairs of different nodes, each once, and how many nodes there are."""
    graph = read_inert(path)
    if type(graph) is not dict or not _is_graph(graph):
        raise DataError(f"{path} does not hold lists of neighbours of all nodes.", AGAIN)
    ends = np.array([node for others in graph.values() for node in others], np.int64)
    begins = np.repeat(list(graph), [len(others) for others in graph.values()])
    low, high = np.minimum(begins, ends), np.maximum(begins, ends)
    keys = np.unique((low * len(graph) + high)[low != high])
    return np.stack([keys // len(graph), keys % len(graph)], 1), len(graph)


def _is_graph(graph: dict[Any, Any]) -> bool:
    """Whether every node has a list of nodes; lists that are shared take no memory before."""
    nodes = len(graph)
    lists = list(graph.values())
    if not nodes or any(type(node) is not int or not 0 <= node < nodes for node in graph):
        return False
    if any(type(others) is not list for others in lists) or sum(map(len, lists)) > STEPS:
        return False
    return all(type(node) is int and 0 <= node < nodes for others in lists for node in others)


def _test_nodes(path: Path, first: int, last: int, nodes: int) -> Tensor:
    """The nodes of the rows of `tx`, which come after those of `allx`."""
    with explained(path):
        words = path.read_bytes().split()
    if not all(word.isdigit() and len(word) < 10 for word in words):
        raise DataError(f"{path} does not hold the numbers of nodes.", AGAIN)
    index = np.array([int(word) for word in words], np.int64)
    sound = len(index) == last == len(np.unique(index))
    if not sound or (last and (index.min() < first or index.max() >= nodes)):
        message = f"{path} does not hold {last} different nodes from {first} to {nodes - 1}."
        raise DataError(message, AGAIN)
    return torch.from_numpy(index)


def _moved(first: Sparse, last: Sparse, node_of_row: Tensor, nodes: int) -> Sparse:
    """The rows of two matrices at their nodes; what is in neither is zero."""
    rows = torch.cat([first.rows_of_entries(), last.rows_of_entries() + first.shape[0]])
    return Sparse.of(
        node_of_row[rows],
        torch.cat([first.columns, last.columns]),
        (nodes, first.width),
        torch.cat([first.values, last.values]),
    )
