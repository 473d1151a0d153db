r"""Several layers of latents, each drawn given the one before.

$$ q(h_1, \dots, h_L) = q(h_1) \prod_{l=2}^{L} q(h_l \mid h_{l-1}) $$

Values are tuples $(h_1, \dots, h_L)$, one tensor a layer. A chain may also run from the last layer
to the first, as the prior of a deep model does: $p(h_L) \prod_l p(h_l \mid h_{l+1})$.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torch import Tensor
from torch.distributions import Distribution
from torch.types import _size

from mindseye.distributions.normal import ONE

__all__ = ["Chain", "Latents", "Link"]

Latents = tuple[Tensor, ...]
"""One tensor a layer, the layer nearest to the picture first."""

Link = Callable[[Tensor], Distribution]
"""A layer given the one before."""


class Chain:
    """Layers of latents, drawn one after the other.

    It is no `torch.distributions.Distribution` because its values are tuples.

    Arguments:
        first: What the chain begins with.
        links: Every following layer, given the one before it.
        downwards: Whether it begins with the last layer of its values and ends with the first.
    """

    def __init__(self, first: Distribution, links: Sequence[Link] = (), *, downwards: bool = False):
        self.first, self.links, self.downwards = first, tuple(links), downwards

    def rsample(self, sample_shape: _size = ONE) -> Latents:
        """Draws that are differentiable in all that made them."""
        drawn = [self.first.rsample(sample_shape)]
        for link in self.links:
            drawn.append(link(drawn[-1]).rsample())
        return tuple(drawn[::-1] if self.downwards else drawn)

    def log_prob(self, latents: Latents) -> Tensor:
        """The log density of draws, summed over layers."""
        ordered = latents[::-1] if self.downwards else latents
        total = self.first.log_prob(ordered[0])
        for conditional, value in zip(self.given(ordered[:-1]), ordered[1:], strict=True):
            total = total + conditional.log_prob(value)
        return total

    def given(self, before: Sequence[Tensor]) -> Iterator[Distribution]:
        """Every layer but the first, given those before, in the order of the chain."""
        return (link(value) for link, value in zip(self.links, before, strict=True))

    def means(self, samples: int) -> Latents:
        """The expectation of every layer, those after the first over so many draws."""
        means = [self.first.mean]
        draws = self.first.rsample((samples,)) if self.links else means[0]  # (S, B, D)
        for link in self.links:
            following = link(draws)
            means.append(following.mean.mean(0))
            draws = following.rsample()
        return tuple(means[::-1] if self.downwards else means)
