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
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mindseye.distributions import NormalPixels
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals, floored
from mindseye.distributions.normal import (
    DiagonalNormal,
    diagonal_normal,
    loc_and_log_scale,
    soft_bounded,
)
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.groups import Groups
from mindseye.models.compositional import Compositional
from mindseye.networks.dense import MLP, initialised
from mindseye.networks.graph import GraphBlock, Residual
from mindseye.networks.wholes import SIDE, Label, reader, writer
from mindseye.parts import Kit
from mindseye.pieces import Pieces

__all__ = ["NETWORKS", "CompVAE"]

LEAST = {True: 0.001, False: 0.005}
"""The smallest deviations of p, of curves and of pictures."""


FAINT = 0.1
"""How much smaller than usual the weights begin that say how a part differs from its kind."""

LOUD = 4.0
"""What curves are divided by before they are read."""


class _Sizes(NamedTuple):
    part: int
    hidden: int
    blocks: int
    waves: int


NETWORKS = {
    ("paper", True): _Sizes(part=1024, hidden=2048, blocks=3, waves=0),
    ("paper", False): _Sizes(part=2048, hidden=2048, blocks=3, waves=0),
    ("slim", True): _Sizes(part=256, hidden=512, blocks=2, waves=0),
    ("slim", False): _Sizes(part=16 * SIDE**2, hidden=512, blocks=2, waves=4),
}
"""The sizes of the networks of curves (True) and pictures (False)."""


class CompVAE(Compositional):
    r"""A VAE of wholes and their parts.

        p(w_i | l_i)  = N(mlp(l_i))
        p(z | w~)     = N(mlp(w~)),                         w~ = sum of all w_i
        p(x | z, w~)  = N(decoder(z, w~))
        q(z | x)      = N(mlp(encoder(x)))
        q({w_i} | x, z, {l_i}) = correlated N(graph(encoder(x), z, l_i + noise))

    In `slim` networks the last are mean and deviation in units of p(w_i | l_i), and begin near it:
    what is said of a part is learnt first, and then how it differs from its kind.

    Arguments:
        kit: What parts there are.
        shape: Channels, height and width of a whole; a curve has height 1.
        latent: Size of z.
        networks: `paper` or `slim`.
        width: Size of the latent of a part; the networks' own if 0.
        hidden: Width of the graph blocks; the networks' own if 0.
    """

    def __init__(
        self,
        kit: Kit,
        shape: tuple[int, int, int],
        latent: int = 256,
        networks: str = "paper",
        width: int = 0,
        hidden: int = 0,
    ):
        super().__init__()
        curve = shape[1] == 1
        if (networks, curve) not in NETWORKS:
            names = list(dict.fromkeys(name for name, _ in NETWORKS))
            raise UsageError(
                f"`networks={networks!r}` is not known; expected {listed(names)}.",
                did_you_mean(networks, names),
            )
        own = NETWORKS[networks, curve]
        self.vocabulary, self.shape, self.latent = kit, shape, latent
        self.part, hidden = width or own.part, hidden or own.hidden
        self.least, self.noisy = LEAST[curve], not kit.axes
        paper, categories, axes = networks == "paper", len(kit.categories), len(kit.axes)
        if paper and not curve and self.part != own.part:
            raise UsageError(f"`width={self.part}` must be {own.part}: 128 maps of 4 by 4 pixels.")
        if not (paper or curve) and self.part % SIDE**2:
            raise UsageError(f"`width={self.part}` must be a multiple of {SIDE**2}: it is a map.")
        self.read, seen = reader(shape, networks, hidden)
        self.write = writer(shape, networks, self.part, latent, hidden)
        self.label = Label(categories, axes, 64 if axes else 2 * self.part, own.waves)
        self.prior_w = MLP([64, 1024, 2 * self.part]) if axes else nn.Identity()
        self.prior_z = MLP([self.part, 1280 if paper else hidden, 2 * latent])
        self.posterior_z = nn.Sequential(Residual(seen), nn.ELU(), MLP([seen, 512, 2 * latent]))
        said = hidden if not paper else (64 if axes else 1024)
        self.label_q = Label(categories, axes, said, own.waves)
        self.told = None if paper else initialised(nn.Linear(seen + latent, hidden))
        sizes = [seen + latent + said if paper else hidden, *[hidden] * own.blocks]
        self.blocks = nn.ModuleList(GraphBlock(*pair) for pair in pairwise(sizes))
        self.posterior_w = initialised(nn.Linear(hidden, 3 * self.part))
        if not paper:
            with torch.no_grad():
                self.posterior_w.weight.mul_(FAINT)

    def p_w(self, y: Pieces, groups: Groups) -> PartNormals:
        """p(w_i|l_i) of all parts of a batch."""
        said = self.prior_w(self.label(y.codes, y.places)).float()
        loc, log_variance = said.chunk(2, -1)
        return PartNormals(loc, (floored(log_variance, self.least) / 2).exp(), groups)

    def p_z(self, total: Tensor) -> DiagonalNormal:
        """p(z|w~), of sums `(B, part)`."""
        loc, log_variance = self.prior_z(total).float().chunk(2, -1)
        return diagonal_normal(loc, floored(log_variance, self.least) / 2)

    def p_x(self, z: Tensor, total: Tensor) -> NormalPixels:
        """p(x|z,w~); the channels of a pixel have one deviation."""
        mean, log_variance = (each.float() for each in self.write(total, z))
        log_scale = floored(log_variance, self.least) / 2
        return NormalPixels(mean, log_scale.expand_as(mean))

    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes `(B, C, H, W)`: they are read once."""
        return self.read(self._shown(x))

    def q_z(self, seen: Tensor) -> DiagonalNormal:
        """q(z|x), by what is seen in x."""
        return diagonal_normal(*loc_and_log_scale(self.posterior_z(seen)))

    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, p_w: PartNormals, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i}).

        Arguments:
            seen: What is seen in the wholes.
            z: Their latents.
            y: Their parts.
            p_w: What is known of the parts before wholes are seen.
            noise: What tells parts of one category apart, `(N, ...)`; drawn if not given.
        """
        groups = p_w.groups
        said = self.label_q(y.codes, y.places)
        if self.noisy:
            said = said + (torch.randn_like(said) if noise is None else noise)
        known = torch.cat([seen, z], -1)
        if self.told is None:
            h = torch.cat([groups.spread(known), said.to(known.dtype)], -1)
        else:
            h = groups.spread(self.told(known)) + said
        for block in self.blocks:
            h = block(h, groups)
        loc, log_scale, logits = self.posterior_w(h).float().chunk(3, -1)
        scale = soft_bounded(log_scale).exp()
        if self.told is not None:  # what is known of a part is how it differs from its kind
            loc, scale = torch.addcmul(p_w.mean, p_w.stddev, loc), p_w.stddev * scale
        return CorrelatedNormals(loc, scale, logits, groups)

    @property
    def tags(self) -> int:
        """How many numbers tell parts of one category apart in the posterior."""
        return self.label_q.size

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.label, self.prior_w, self.prior_z, self.write]

    def _shown(self, x: Tensor) -> Tensor:
        """Wholes as the networks read them: pictures from -1 to 1, curves a few units high."""
        return x / LOUD if self.shape[1] == 1 else 2 * x - 1

    def extra_repr(self) -> str:
        """The factorisation, and the sizes."""
        return (
            "p(x, z, w | l) = p(x | z, sum w) p(z | sum w) prod p(w_i | l_i);"
            "  q(z | x) q(w | x, z, l)\n"
            f"wholes {self.shape}, parts of {len(self.vocabulary.categories)} categories,"
            f" latents {self.latent} and {self.part} a part"
        )
