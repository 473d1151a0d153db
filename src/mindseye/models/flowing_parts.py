r"""A trained model of wholes with a flow beside it: where the latents of wholes really are.

What a CompVAE believes of $z$, given the sum $\tilde w$ of the latents of the parts, is a normal,
$p(z \mid \tilde w) = \mathcal{N}(\mu(\tilde w), \sigma(\tilde w))$. The posteriors of all wholes
with such a sum need not make up one. So the model is held still, and a flow learns their aggregate,

$$ q_φ(z \mid \tilde w) ≈ \mathbb{E}[q(z \mid x)], \qquad
   z = \mu(\tilde w) + \sigma(\tilde w)\, f_φ(\varepsilon, c_φ(\tilde w)) , $$

the mean over wholes and parts $\{w_i\}$ of that sum. It begins as $p(z \mid \tilde w)$. The latents
of the parts keep their own $p(w_i \mid \ell_i)$: they are independent, so that one part can come or
go. As a model it is one of wholes and parts like the one below, with $q_φ(z \mid \tilde w)$ in
place of $p(z \mid \tilde w)$.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mindseye.distributions import Flow, NormalPixels, PartMixtures, RelativeFlow
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals
from mindseye.distributions.normal import DiagonalNormal, soft_bounded
from mindseye.groups import Groups
from mindseye.models.compositional import Compositional, WholesVAE
from mindseye.networks import MLP, Couplings, Unrounded
from mindseye.pieces import Pieces
from mindseye.randomness import keys, normals

__all__ = ["FlowingParts"]

CONTEXT = 64
"""Numbers that the flow is told of a sum."""

FARTHEST = 3.0
"""Deviations from the mean of all sums, beyond which one is as far as another: a sum of more parts
than there were in training is read as one of those."""

DRAWS = 8
"""Of every whole, by which sums are measured."""

LEAST = 1e-3
"""The smallest deviation that sums are measured by."""


class FlowingParts(Unrounded, Compositional):
    """A model of wholes and their parts that is held still, and the flow q(z|w~).

    Arguments:
        base: The model.
        couplings: Couplings of the flow.
        hidden: Width of its networks, and of the one that reads sums.
    """

    middle: Tensor
    spread: Tensor

    def __init__(self, base: WholesVAE, couplings: int = 6, hidden: int = 128):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.vocabulary, self.shape = base.vocabulary, base.shape
        self.latent, self.part, self.summed = base.latent, base.part, base.summed
        self.register_buffer("middle", torch.zeros(self.summed))
        self.register_buffer("spread", torch.ones(self.summed))
        self.reader = MLP([self.summed, hidden, CONTEXT])
        self.flow = Couplings(self.latent, couplings, hidden, CONTEXT)

    def train(self, mode: bool = True) -> FlowingParts:
        """Let the flow learn; the model below stays as it is used."""
        super().train(mode)
        self.base.eval()
        return self

    @torch.no_grad()
    def prepare(self, y: Pieces) -> None:
        """Measure the sums of some parts, in units of which the flow is told them.

        Arguments:
            y: Parts of two wholes or more.
        """
        groups = self.groups(y)
        p_w = self.p_w(y, groups)
        index = torch.arange(DRAWS * len(y.codes), device=y.codes.device)
        noise = normals(keys(0, index, "sums"), p_w.chances).unflatten(0, (DRAWS, -1))
        draws = torch.cat([self.total(p_w.at(each), y, groups) for each in noise])
        self.middle.copy_(draws.mean(0))
        self.spread.copy_(draws.std(0).clamp(min=LEAST))

    @torch.no_grad()
    def read(self, x: Tensor, y: Pieces) -> Tensor:
        """What is seen in wholes, `(B, Z + summed)`: a draw of z, and one of the sum, given it."""
        seen, groups = self.seen(x), self.groups(y)
        z = self.q_z(seen).rsample()
        w = self.q_w(seen, z, y, groups).rsample()
        return torch.cat([z, self.total(w, y, groups)], -1)

    def posterior(self, x: Tensor, y: Any = None) -> tuple[Tensor, ...]:
        """A draw of z by q(z|x), and one of w~ given both; or those that were read."""
        rows = x if x.ndim == 2 else self.read(x, y)
        return rows.split([self.latent, self.summed], -1)

    def p_z(self, total: Tensor) -> RelativeFlow:
        """q(z|w~), of sums `(B, summed)`: what takes the place of p(z|w~)."""
        with torch.autocast(total.device.type, enabled=False):  # bfloat16 has no digits for this
            flow = Flow(self.flow, self._told(total), size=self.latent)
            return RelativeFlow(self.base.p_z(total), flow)

    def p_w(self, y: Pieces, groups: Groups) -> PartNormals | PartMixtures:
        """p(w_i|l_i)."""
        return self.base.p_w(y, groups)

    def total(self, w: Tensor, y: Pieces, groups: Groups) -> Tensor:
        """w~ of the latents of parts."""
        return self.base.total(w, y, groups)

    def moved(self, w: Tensor, here: Pieces, there: Pieces) -> Tensor:
        """The latents of a part of one place, at another."""
        return self.base.moved(w, here, there)

    def p_x(self, z: Tensor, total: Tensor) -> NormalPixels:
        """p(x|z,w~)."""
        return self.base.p_x(z, total)

    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes."""
        return self.base.seen(x)

    def q_z(self, seen: Tensor) -> DiagonalNormal:
        """q(z|x), by what is seen in x."""
        return self.base.q_z(seen)

    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, groups: Groups, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i})."""
        return self.base.q_w(seen, z, y, groups, noise)

    @property
    def tags(self) -> int:
        """How many numbers tell parts of one category apart in the posterior."""
        return self.base.tags

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.middle.device

    def _told(self, total: Tensor) -> Tensor:
        """What the flow is told of sums, by how far they are from the middle of all."""
        apart = (total - self.middle) / self.spread
        return self.reader(soft_bounded(apart, -FARTHEST, FARTHEST))

    def extra_repr(self) -> str:
        """What is fitted to what."""
        return "q(z | sum w) ≈ E[q(z | x)] over the wholes of that sum,  p(w_i | l_i) as below"
