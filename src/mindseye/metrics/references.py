"""What an attribute left open should look like: every value equally often, or as in training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError, did_you_mean
from mindseye.labels import Labels

__all__ = ["Reference", "marginals", "reference_table"]

Reference = str | Sequence[Sequence[float] | Tensor]
"""What an open attribute should look like: "uniform", or one probability vector per attribute."""


def marginals(labels: Labels, vocabulary: Vocabulary) -> list[list[float]]:
    """Share of each value in a labelled set: a reference.

    >>> from mindseye.concepts import Attribute
    >>> words = Vocabulary([Attribute("size", ["big", "small"])])
    >>> marginals(Labels.full(torch.tensor([[0], [0], [0], [1]])), words)
    [[0.75, 0.25]]
    """
    table = []
    for k, attribute in enumerate(vocabulary):
        codes = labels.codes[labels.observed[:, k], k]
        if len(codes) == 0:
            raise UsageError(f"`labels` never say `{attribute.name}`; expected one that does.")
        counts = torch.bincount(codes, minlength=len(attribute.values)).to(torch.float64)
        table.append((counts / counts.sum()).tolist())
    return table


def reference_table(reference: Reference, vocabulary: Vocabulary) -> Tensor:
    """The reference as float64 probabilities, `(K, V)`."""
    table = torch.zeros(len(vocabulary.sizes), max(vocabulary.sizes), dtype=torch.float64)
    for k, row in enumerate(_vectors(reference, vocabulary)):
        table[k, : len(row)] = row
    return table


def _vectors(reference: Reference, vocabulary: Vocabulary) -> list[Tensor]:
    """One probability vector per attribute, checked."""
    if isinstance(reference, str):
        if reference != "uniform":
            raise UsageError(
                f"`reference={reference!r}` is not known; expected 'uniform' or one probability"
                " vector per attribute.",
                did_you_mean(reference, ["uniform"]),
            )
        return [torch.full((size,), 1 / size, dtype=torch.float64) for size in vocabulary.sizes]
    rows = [torch.as_tensor(row, dtype=torch.float64) for row in reference]
    if len(rows) != len(vocabulary.sizes):
        raise UsageError(
            f"`reference` has {len(rows)} vectors; expected {len(vocabulary.sizes)},"
            " one per attribute."
        )
    for row, name, size in zip(rows, vocabulary.names, vocabulary.sizes, strict=True):
        _check_probabilities(row, name, size)
    return rows


def _check_probabilities(row: Tensor, name: str, size: int) -> None:
    if row.shape != (size,):
        raise UsageError(
            f"`reference` of `{name}` has shape {tuple(row.shape)}; expected ({size},)."
        )
    if not ((row >= 0).all() and abs(row.sum().item() - 1) < 1e-6):
        raise UsageError(
            f"`reference` of `{name}` is {row.tolist()}; expected probabilities that sum to 1."
        )
