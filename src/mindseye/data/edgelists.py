"""Graphs of one's own: a list of links, and what is known of the nodes if anything is.

A graph is a folder, a list of links alone, or an npz file.

| file of a folder | what it holds |
|---|---|
| `edges.csv` | two nodes a line; other columns are passed over |
| `nodes.csv` | a header, a row a node: `name` or `id`, `class` or `label`, and features |
| `features.csv` or `features.npz` | numbers, a row a node |

Tables may also end in `.tsv` or `.txt`. Only links are needed. Nodes are whole numbers, counted
from 0 as the rows of the tables are, or the names that `nodes.csv` gives them; without such a table
they may have any names, and are numbered as they come.

| array of an npz file | what it is |
|---|---|
| `edges` | pairs of nodes, `(E, 2)` |
| `features` | numbers, `(N, F)` |
| `feat_data`, `feat_indices`, `feat_indptr`, `feat_shape` | the same as a sparse matrix by rows |
| `labels` | classes, whole numbers, `(N,)`, -1 where none is known |
| `classes` | what the classes are called |
| `names` | what the nodes are called, `(N,)` |
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mindseye.data.csr import KEYS, read_csr, sparse_of
from mindseye.data.npz import Npz
from mindseye.data.pairfiles import FROM_ZERO, LARGEST, read_pairs
from mindseye.data.tables import (
    UNKNOWN,
    Nodes,
    check_names,
    dense_features,
    read_features,
    read_nodes,
)
from mindseye.errors import DataError
from mindseye.graphs import Graph, graph_of
from mindseye.sparse import Sparse

__all__ = ["read_graph"]

TEXTS = (".csv", ".tsv", ".txt")


def read_graph(path: str | Path) -> Graph:
    """A graph of one's own: a folder, a list of links, or an npz file.

    Loops, repetitions and directions are left out, and `Graph.cleaned` says how many.
    """
    path = Path(path)
    if os.path.isdir(path):
        return _from_folder(path)
    if path.suffix == ".npz":
        return _from_npz(path)
    return _from_list(path, None)


def _from_folder(folder: Path) -> Graph:
    edges = _the_file(folder, "edges", TEXTS)
    if edges is None:
        held = ", ".join(sorted(os.listdir(folder))[:8]) or "nothing"
        raise DataError(f"{folder} has no edges.csv; it holds {held}.", "Put the links there.")
    table = _the_file(folder, "nodes", TEXTS)
    nodes = read_nodes(table) if table else None
    file = _the_file(folder, "features", (".npz", *TEXTS))
    if file is None:
        return _from_list(edges, nodes)
    features = _features(Npz(file)) if file.suffix == ".npz" else read_features(file)
    if features is None:
        raise DataError(f"{file} has no `features`, nor `{KEYS[0]}` and its like.")
    return _from_list(edges, _joined(file, table, nodes, features))


def _the_file(folder: Path, stem: str, suffixes: Sequence[str]) -> Path | None:
    """The file of a name with one of some endings, or nothing."""
    paths = [folder / f"{stem}{suffix}" for suffix in suffixes]
    found = [path for path in paths if os.path.isfile(path)]
    if len(found) > 1:
        both = " and ".join(path.name for path in found)
        raise DataError(
            f"{folder} has {both}; expected one of them.", "Remove or rename the other."
        )
    return found[0] if found else None


def _joined(file: Path, table: Path | None, nodes: Nodes | None, features: Sparse) -> Nodes:
    """A table of nodes, if there is one, with features of a file of their own."""
    if nodes is None:
        return Nodes(features.shape[0], features=features)
    if nodes.features is not None:
        raise DataError(
            f"{file} and {table} both have features; expected one of them.",
            "Every column but `name` or `id` and `class` or `label` is a feature.",
        )
    if nodes.rows != features.shape[0]:
        raise DataError(
            f"{file} has {features.shape[0]:,} rows but {table} has {nodes.rows:,} nodes.",
            "Give every node a row in each.",
        )
    return nodes._replace(features=features)


def _from_list(path: Path, nodes: Nodes | None) -> Graph:
    """The graph of a list of links and of what is known of the nodes."""
    if nodes is None:
        pairs, names = read_pairs(path)
        return _graph(path, pairs, Nodes(len(names) or _counted(str(path), pairs), names))
    if all(name == str(node) for node, name in enumerate(nodes.names)):
        nodes = nodes._replace(names=())  # they are called by their numbers
    pairs, _ = read_pairs(path, nodes.names or nodes.rows)
    return _graph(path, pairs, nodes)


def _from_npz(path: Path) -> Graph:
    npz = Npz(path)
    held, pairs = npz.names(), npz.read("edges", "integer", (None, 2))
    features = _features(npz)
    count = features.shape[0] if features else None
    labels = npz.read("labels", "integer", (count,)) if "labels" in held else None
    count = len(labels) if labels is not None else count
    names = npz.read("names", "text", (count,)).tolist() if "names" in held else []
    check_names(path, names)
    count = len(names) or count
    nodes = Nodes(_counted(f"{path}: `edges`", pairs) if count is None else count, tuple(names))
    classes = npz.read("classes", "text", (None,)).tolist() if "classes" in held else None
    if labels is not None:
        coded, called = _coded(path, labels, classes)
        nodes = nodes._replace(labels=coded, classes=called)
    _check_range(path, pairs, nodes.rows)
    return _graph(path, pairs, nodes._replace(features=features))


def _features(npz: Npz) -> Sparse | None:
    """The features of an npz file, if it has some."""
    held = npz.names()
    if "features" in held:
        return dense_features(npz.path, npz.read("features", "number", (None, None)))
    return sparse_of(npz.path, read_csr(npz)) if KEYS[0] in held else None


def _coded(
    path: Path, labels: np.ndarray, classes: Sequence[str] | None
) -> tuple[Tensor, tuple[str, ...]]:
    """Labels with a class for those that are -1, and what the classes are called."""
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, -1)
    count = len(classes) if classes is not None else min(high + 1, len(labels))
    if low < -1 or high >= count:
        wrong = low if low < -1 else high
        raise DataError(f"{path}: `labels` has {wrong}; expected -1 to {count - 1}.")
    called = tuple(map(str, range(count)) if classes is None else classes)
    coded = torch.from_numpy(np.where(labels < 0, count, labels).astype(np.int64))
    return coded, (*called, UNKNOWN) if low < 0 else called


def _counted(where: str, pairs: np.ndarray) -> int:
    """How many nodes there are if nothing but their numbers says it."""
    if not len(pairs):
        raise DataError(f"{where} has no links.")
    low, high = int(pairs.min()), int(pairs.max())
    if low != 0:
        raise DataError(f"{where} has nodes from {low} on; expected numbers from 0.", FROM_ZERO)
    if high >= LARGEST:
        raise DataError(f"{where} has the node {high}; expected less than {LARGEST}.", FROM_ZERO)
    if high >= 10 * (count := _distinct(pairs, high)):
        message = f"{where} has only {count:,} nodes, with numbers up to {high}; expected few gaps."
        raise DataError(message, FROM_ZERO)
    return high + 1


def _distinct(pairs: np.ndarray, largest: int) -> int:
    """How many different numbers there are."""
    if largest >= 10 * pairs.size:
        return len(np.unique(pairs))
    seen = np.zeros(largest + 1, bool)
    seen[pairs.astype(np.int64, copy=False)] = True
    return int(seen.sum())


def _check_range(path: Path, pairs: np.ndarray, count: int) -> None:
    wrong = (pairs < 0) | (pairs >= count)
    if wrong.any():
        row, column = (int(place[0]) for place in wrong.nonzero())
        node = f"row {row} of `edges` has the node {pairs[row, column]}, which is out of range"
        raise DataError(f"{path}: {node}; expected 0 to {count - 1}.")


def _graph(path: Path, pairs: np.ndarray, nodes: Nodes) -> Graph:
    if nodes.features is not None and not nodes.features.width:
        raise DataError(f"{path}: the features have no columns.", "Leave them out, or add some.")
    try:
        return graph_of(
            torch.from_numpy(pairs.astype(np.int64, copy=False)),
            nodes.rows,
            features=nodes.features,
            labels=nodes.labels,
            classes=nodes.classes,
            names=nodes.names,
        )
    except DataError as error:
        raise DataError(f"{path}: {error.message}", error.hint) from error
