r"""The bound of a ladder VAE, with free bits.

$$
\mathbb{E}_{q(z \mid x)}[\log p(x \mid z)]
- \beta \sum_l \max\Big( \lambda,\; \frac1B \sum_b
\mathrm{KL}\big(q(z_l \mid x_b, z_{>l}) \,\|\, p(z_l \mid z_{>l})\big) \Big)
$$

Expectations take one draw of all layers; the divergence of a layer is exact given those above. A
layer whose mean divergence over the batch is below $\lambda$ nats gains nothing by falling further,
so that none is given up before the others have learnt to use it (Kingma et al., 2016, Eq. 15). At
$\lambda = 0$ and $\beta = 1$ this is the evidence lower bound.

References:
    Ladder Variational Autoencoders, Sønderby et al., 2016
    https://arxiv.org/abs/1602.02282
    Improved Variational Inference with Inverse Autoregressive Flow, Kingma et al., 2016
    https://arxiv.org/abs/1606.04934
"""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.models.rungs import Weighed
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["LadderModel", "ladder"]


class LadderModel(Protocol):
    """A model of pictures with layers of latents that are read on the way down."""

    def weights(self, x: Tensor, k: int = 1) -> Weighed:
        """k draws of q and their weights."""
        ...


@objective("ladder", fits="q_x", cite="sonderby2016 kingma2016", trains="ladder")
def ladder(
    model: LadderModel, x: Tensor, y: Any = None, *, beta: float = 1.0, free: float = 0.5
) -> Bound:
    """log p(x|z) less the divergences of all layers, each counted as at least `free` nats.

    Arguments:
        model: The model.
        x: A batch of pictures.
        y: Not read.
        beta: The weight of the divergences, a number or a tensor of no dimensions.
        free: λ, nats of a layer that cost what they cost anyway.
    """
    if free < 0:
        raise UsageError(f"`free={free}` must be at least 0.")
    found = model.weights(x)
    log_px, kl = found.log_px[0], torch.cat(found.kl)  # (B,), (L, B)
    # What a layer lacks is charged to all pictures alike: the mean is then the maximum.
    lacking = (free - kl.mean(1)).clamp_min(0)  # (L,)
    terms = {f"kl_{number}": layer for number, layer in enumerate(kl, 1)}
    return Bound(log_px - beta * (kl.sum(0) + lacking.sum()), {"log_px": log_px, **terms})
