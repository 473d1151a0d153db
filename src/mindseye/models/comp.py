r"""The compositional VAE: a latent for every part of a whole, their sum, and one for the whole.

$$ p(x, z, \{w_i\} \mid \{\ell_i\}) = p(x \mid z, \tilde w)\, p(z \mid \tilde w)
   \prod_i p(w_i \mid \ell_i), \qquad \tilde w = \sum_i w_i $$

inferred by $q(z \mid x)\, q(\{w_i\} \mid x, z, \{\ell_i\})$. The order of parts is nowhere; their
number is nowhere bounded. The latents of the parts are correlated in $q$, so that their sum can be
known much better than each of them (`distributions.correlated`). A batch holds wholes of different
numbers of parts as rows of one tensor (`pieces`, `groups`).

References:
    From abstract items to latent spaces to observed data and back: Compositional Variational
    Auto-Encoder, Berger and Sebag, 2020
    https://arxiv.org/abs/2001.07910
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from mindseye.distributions.correlated import CorrelatedNormals, PartNormals, floored
from mindseye.distributions.normal import soft_bounded
from mindseye.errors import UsageError
from mindseye.groups import Groups
from mindseye.models.compositional import WholesVAE
from mindseye.networks.dense import MLP, initialised
from mindseye.networks.graph import GraphBlock, Residual
from mindseye.networks.wholes import Label, reader, writer
from mindseye.parts import Kit
from mindseye.pieces import Pieces

__all__ = ["CompVAE"]

PART = {True: 1024, False: 2048}
"""Sizes of the latent of a part, of curves and of pictures."""

HIDDEN, BLOCKS = 2048, 3
"""Width of the graph blocks, and how many there are."""

LOUD = 4.0
"""What curves are divided by before they are read."""


class CompVAE(WholesVAE):
    r"""The model of the paper, with its networks.

        p(w_i | l_i)  = N(mlp(l_i))
        p(z | w~)     = N(mlp(w~)),                         w~ = sum of all w_i
        p(x | z, w~)  = N(decoder(z, w~))
        q(z | x)      = N(mlp(encoder(x)))
        q({w_i} | x, z, {l_i}) = correlated N(graph(encoder(x), z, l_i + noise))

    Arguments:
        kit: What parts there are.
        shape: Channels, height and width of a whole; a curve has height 1.
        latent: Size of z.
        width: Size of the latent of a part; the paper's if 0.
        hidden: Width of the graph blocks; the paper's if 0.
    """

    def __init__(
        self,
        kit: Kit,
        shape: tuple[int, int, int],
        latent: int = 256,
        width: int = 0,
        hidden: int = 0,
    ):
        super().__init__(kit, shape, latent)
        own = PART[self.curve]
        self.part = self.summed = width or own
        if self.part != own and not self.curve:
            raise UsageError(f"`width={width}` must be {own}: 128 maps of 4 by 4 pixels.")
        hidden, categories, axes = hidden or HIDDEN, len(kit.categories), len(kit.axes)
        self.read, seen = reader(shape)
        self.write = writer(shape, self.part, latent)
        self.label = Label(categories, axes, 64 if axes else 2 * self.part)
        self.prior_w = MLP([64, 1024, 2 * self.part]) if axes else nn.Identity()
        self.prior_z = MLP([self.part, 1280, 2 * latent])
        self.posterior_z = nn.Sequential(Residual(seen), nn.ELU(), MLP([seen, 512, 2 * latent]))
        self.label_q = Label(categories, axes, 64 if axes else 1024)
        sizes = [seen + latent + self.label_q.size, *[hidden] * BLOCKS]
        self.blocks = nn.ModuleList(GraphBlock(*pair) for pair in pairwise(sizes))
        self.posterior_w = initialised(nn.Linear(hidden, 3 * self.part))

    def p_w(self, y: Pieces, groups: Groups) -> PartNormals:
        """p(w_i|l_i) of all parts of a batch."""
        said = self.prior_w(self.label(y.codes, y.places)).float()
        loc, log_variance = said.chunk(2, -1)
        return PartNormals(loc, (floored(log_variance, self.least) / 2).exp(), groups)

    def moved(self, w: Tensor, here: Pieces, there: Pieces) -> Tensor:
        """As many deviations from what is expected there as they were here."""
        old, new = (self.p_w(each, self.groups(each)) for each in (here, there))
        return new.mean + new.stddev * (w - old.mean) / old.stddev

    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes `(B, C, H, W)`: they are read once."""
        return self.read(x / LOUD if self.curve else 2 * x - 1)

    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, groups: Groups, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i})."""
        said = self._called(y, noise)
        known = torch.cat([seen, z], -1)
        h = torch.cat([groups.spread(known), said.to(known.dtype)], -1)
        for block in self.blocks:
            h = block(h, groups)
        loc, log_scale, logits = self.posterior_w(h).float().chunk(3, -1)
        return CorrelatedNormals(loc, soft_bounded(log_scale).exp(), logits, groups)

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.label, self.prior_w, self.prior_z, self.write]

    def extra_repr(self) -> str:
        """The factorisation, and the sizes."""
        return (
            "p(x, z, w | l) = p(x | z, sum w) p(z | sum w) prod p(w_i | l_i);"
            "  q(z | x) q(w | x, z, l)\n"
            f"wholes {self.shape}, parts of {len(self.vocabulary.categories)} categories,"
            f" latents {self.latent} and {self.part} a part"
        )
