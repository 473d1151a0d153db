r"""Independent categorical attributes, $p(y \mid z) = \prod_k \mathrm{Cat}(y_k \mid \pi_k)$."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

import torch
from torch import Tensor

from mindseye.kernels import wanted
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
        self.logits, self.sizes = logits, tuple(sizes)

    @cached_property
    def log_probs(self) -> Tensor:
        """Log-probabilities, float32, `(..., K, V)`; minus infinity in the padding."""
        inside = _inside(self.sizes, self.logits.shape[-1], self.logits.device)
        return self.logits.float().masked_fill(~inside, -torch.inf).log_softmax(-1)

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
        if wanted(self.logits) and self.logits.ndim == 3:
            from mindseye.kernels.words import Chosen

            return Chosen.apply(self.logits, *labels, _sizes(self.sizes, self.logits.device))
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
def _sizes(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """The sizes on a device; copied there once."""
    return torch.tensor(sizes, device=device)


@cache
def _inside(sizes: tuple[int, ...], widest: int, device: torch.device) -> Tensor:
    """Which entries are values of their attribute, `(K, V)`; copied to the device once."""
    return (torch.arange(widest) < torch.tensor(sizes)[:, None]).to(device)
