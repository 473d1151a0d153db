r"""Independent Bernoulli pixels, $p(x \mid z) = \prod_i \mathrm{Bernoulli}(x_i \mid \pi_i)$."""

from __future__ import annotations

from torch import Tensor
from torch.distributions import Bernoulli, Independent

from mindseye.kernels import wanted

__all__ = ["Pixels"]


class Pixels(Independent):
    """Pictures `(C, H, W)` whose pixels are 0 or 1, or the probability of a 1.

    Arguments:
        logits: Log odds of every pixel, `(B, C, H, W)`.
    """

    def __init__(self, logits: Tensor):
        super().__init__(Bernoulli(logits=logits, validate_args=False), 3, validate_args=False)
        self.logits = logits

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-likelihood of pictures, summed in float32, `(B,)`."""
        if wanted(value):
            from mindseye.kernels.bernoulli import BernoulliLogProb

            return BernoulliLogProb.apply(self.logits, value)
        return super().log_prob(value)
