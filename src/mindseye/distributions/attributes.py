r"""Independent categorical attributes, $p(y \mid z) = \prod_k \mathrm{Cat}(y_k \mid \pi_k)$."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from mindseye.labels import Labels

__all__ = ["Attributes"]


class Attributes:
    r"""One categorical distribution per attribute, of different sizes, as one padded tensor.

    It is no `torch.distributions.Distribution` because its values are `Labels`, which may be
    partial: what was not said has probability 1.

    Arguments:
        logits: Unnormalised log-probabilities, `(..., K, V)`, V at least the largest size.
        sizes: The number of values of every attribute; entries of `logits` beyond it are ignored.
    """

    def __init__(self, logits: Tensor, sizes: Sequence[int]):
        self.sizes = tuple(sizes)
        inside = _inside(self.sizes, logits.shape[-1], logits.device)
        self.log_probs = logits.masked_fill(~inside, -torch.inf).log_softmax(-1)

    @property
    def probs(self) -> Tensor:
        """Probabilities, `(..., K, V)`, zero in the padding."""
        return self.log_probs.exp()

    @property
    def mode(self) -> Tensor:
        """The most probable codes, int64, `(..., K)`."""
        return self.log_probs.argmax(-1)

    def log_prob(self, labels: Labels) -> Tensor:
        r"""$\log p(y_\mathcal{O}) = \sum_{k \in \mathcal{O}} \log \pi_{k, y_k}$, shape `(...)`."""
        chosen = self.log_probs.gather(-1, labels.codes[..., None]).squeeze(-1)  # (..., K)
        return torch.where(labels.observed, chosen, 0.0).sum(-1)

    def by_attribute(self) -> list[Tensor]:
        """Probabilities of each attribute without the padding, `(..., V_k)`."""
        return [self.probs[..., k, :size] for k, size in enumerate(self.sizes)]

    @classmethod
    def mixture(cls, members: Attributes, dim: int = 0) -> Attributes:
        """The marginals of an equal mixture along a batch dimension."""
        averaged = members.log_probs.logsumexp(dim)
        return cls(averaged, members.sizes)


@cache
def _inside(sizes: tuple[int, ...], widest: int, device: torch.device) -> Tensor:
    """Which entries are values of their attribute, `(K, V)`; copied to the device once."""
    return (torch.arange(widest) < torch.tensor(sizes)[:, None]).to(device)
