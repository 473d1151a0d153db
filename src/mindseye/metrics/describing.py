"""How often the words for a picture are right, attribute by attribute."""

from __future__ import annotations

from torch import Tensor

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.metrics.checks import check_codes
from mindseye.metrics.estimates import Estimate, fraction

__all__ = ["accuracy"]


def accuracy(predicted: Tensor, truth: Labels, vocabulary: Vocabulary) -> dict[str, Estimate]:
    """Share of real pictures whose value is named rightly, with Wilson's 95 % interval.

    Attributes that no picture of `truth` has a label for are left out.

    >>> import torch
    >>> from mindseye.concepts import Attribute
    >>> words = Vocabulary([Attribute("size", ["big", "small"])])
    >>> truth = Labels.full(torch.tensor([[0], [1], [1], [1]]))
    >>> accuracy(torch.tensor([[0], [1], [1], [0]]), truth, words)["size"].mean
    0.75

    Arguments:
        predicted: The answers of an observer or a model, codes `(B, K)`.
        truth: The labels of the same pictures; unlabelled attributes are not counted.
        vocabulary: What the columns mean.
    """
    check_codes(predicted, vocabulary, "predicted")
    if predicted.shape != truth.codes.shape:
        raise UsageError(
            f"`predicted` has {len(predicted)} rows, `truth` has {len(truth.codes)};"
            " expected one row per picture in both."
        )
    truth = truth.to(predicted.device)
    right = ((predicted == truth.codes) & truth.observed).sum(0).tolist()
    counted = truth.observed.sum(0).tolist()
    named = zip(vocabulary.names, right, counted, strict=True)
    return {name: fraction(hits, n) for name, hits, n in named if n}
