"""What the metrics refuse, in words."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError

__all__ = ["Base", "check_base", "check_codes", "check_samples"]

Base = Literal["2", "e"]
"""Jensen-Shannon in bits ("2") or in nats ("e")."""


def check_base(base: str) -> None:
    """Refuse a log base that is neither bits nor nats."""
    if base not in ("2", "e"):
        raise UsageError(f"`base={base!r}` is not a log base; expected '2' (bits) or 'e' (nats).")


def check_codes(codes: Tensor, vocabulary: Vocabulary, source: str) -> None:
    """Refuse answers that are not codes of the vocabulary."""
    if codes.ndim != 2 or codes.shape[1] != len(vocabulary.sizes) or len(codes) == 0:
        raise UsageError(
            f"`{source}` has shape {tuple(codes.shape)}; expected one row per picture and"
            f" {len(vocabulary.sizes)} columns, one per attribute."
        )
    if codes.dtype != torch.int64:
        raise UsageError(f"`{source}` holds {codes.dtype}; expected torch.int64 codes.")
    for name, size, column in zip(vocabulary.names, vocabulary.sizes, codes.mT.cpu(), strict=True):
        wrong = column[(column < 0) | (column >= size)]
        if len(wrong):
            raise UsageError(
                f"`{source}` holds the code {wrong[0].item()} for `{name}`;"
                f" expected 0 to {size - 1}."
            )


def check_samples(samples: int) -> None:
    """Refuse a number of pictures that cannot be drawn."""
    if samples < 1:
        raise UsageError(f"`samples={samples}` is too few; expected 1 or more pictures a query.")
