r"""The moving average of a model's weights, the ones pictures are imagined with.

$$\bar\theta_{t+1} = d_t\,\bar\theta_t + (1 - d_t)\,\theta_{t+1}, \qquad
  d_t = \min\!\Big(d, \frac{1 + t}{10 + t}\Big)$$

The first weights are forgotten quickly, because $d_t$ starts at $1/10$ and rises to $d$. So the
average has no bias towards the starting point and needs no correction.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Average"]


class Average:
    """An exponential moving average of the parameters and buffers of a model.

    Buffers that are not floating point, such as counters, are copied and not averaged. The
    model's tensors are taken once, so build the average after the model is on its device.

    Arguments:
        model: The module to follow; its weights now are the start of the average.
        decay: The decay $d$ after the warm-up, in [0, 1).
    """

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.updates = 0
        self._current = model.state_dict()
        self._average = {name: tensor.clone() for name, tensor in self._current.items()}
        floating = [name for name, tensor in self._current.items() if tensor.is_floating_point()]
        self._from = [self._current[name] for name in floating]
        self._to = [self._average[name] for name in floating]
        self._counters = self._current.keys() - floating

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the weights the model has now."""
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        torch._foreach_lerp_(self._to, self._from, 1 - decay)
        for name in self._counters:
            self._average[name].copy_(self._current[name])
        self.updates += 1

    def weights(self) -> dict[str, Tensor]:
        """The average as a state dict; the tensors are the average's own, not copies."""
        return dict(self._average)

    @torch.no_grad()
    def load(self, weights: dict[str, Tensor], updates: int) -> None:
        """Go on from the average `weights` after so many `updates`."""
        for name, tensor in self._average.items():
            tensor.copy_(weights[name])
        self.updates = updates
