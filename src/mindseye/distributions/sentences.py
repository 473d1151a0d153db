r"""Sentences whose words follow one another, $p(y) = \prod_k p(y_k \mid y_{<k})$.

Every place has its own words, and codes count them by place. A network gives log odds over all
words of all places; what it gives to words that cannot stand at a place is part of what it has to
learn, and costs likelihood until it has.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from mindseye.distributions.attributes import Attributes
from mindseye.labels import Labels

__all__ = ["Sentences"]

Score = Callable[[Tensor], Tensor]


class Sentences:
    """A distribution over whole captions, one for every row.

    It is no `torch.distributions.Distribution`, because its values are `Labels`.

    Arguments:
        scores: Log odds of all words at all places, `(B, K, V)`, given codes `(B, K)`: those at
            place k look at codes before k only.
        words: Which word every code of every place is, int64 `(K, V_k)`, padded with -1.
        sizes: How many words every place has.
    """

    def __init__(self, scores: Score, words: Tensor, sizes: tuple[int, ...]):
        self.scores, self.words, self.sizes = scores, words, sizes

    def log_prob(self, labels: Labels) -> Tensor:
        """The log-probability of captions, `(B,)`; words left open cost nothing.

        Words after an open place are expected as if the first word of the place stood there.
        """
        every = self.scores(labels.codes).float().log_softmax(-1)  # (B, K, V)
        chosen = every.gather(-1, self._word(labels.codes)[..., None])[..., 0]  # (B, K)
        return torch.where(labels.observed, chosen, 0.0).sum(-1)

    def given(self, codes: Tensor) -> Attributes:
        """What is expected at every place after the words before it, of the place's own words."""
        return Attributes(self._own(self.scores(codes)), self.sizes)

    @torch.no_grad()
    def sample(self, u: Tensor) -> tuple[Tensor, Attributes]:
        """Captions int64 `(B, K)` at uniform numbers `(B, K)`, and what each word was drawn from.

        Words are drawn one after the other, from the words of their place.
        """
        codes = torch.zeros(u.shape, dtype=torch.int64, device=u.device)
        for k in range(len(self.sizes)):
            probs = self.given(codes).probs[:, k].double()
            below = probs.cumsum(-1)
            drawn = (below < u[:, k, None] * below[:, -1:]).sum(-1)
            codes[:, k] = drawn.clamp(max=self.sizes[k] - 1)
        return codes, self.given(codes)

    def marginals(self, u: Tensor) -> Attributes:
        """The chance of every word at every place, estimated from captions at `(S, B, K)`."""
        found = torch.stack([self.sample(each)[1].probs for each in u])
        return Attributes(found.mean(0).clamp_min(1e-12).log(), self.sizes)

    def _word(self, codes: Tensor) -> Tensor:
        """The words of codes, `(B, K)`."""
        return self.words.expand(len(codes), -1, -1).gather(-1, codes[..., None])[..., 0]

    def _own(self, scores: Tensor) -> Tensor:
        """Log odds of the words of every place, `(B, K, V_k)`."""
        return scores.gather(-1, self.words.clamp(min=0).expand(len(scores), -1, -1))
