r"""A compositional VAE whose parts leave imprints: what is summed is written of small latents.

$$ p(x, z, \{w_i\} \mid \{\ell_i\}) = p(x \mid z, \tilde w)\, p(z \mid \tilde w)
   \prod_i p(w_i \mid \ell_i), \qquad \tilde w = \sum_i φ(\ell_i, w_i) $$

and the rest is as in Berger and Sebag (2020), where $φ(\ell, w) = w$ (`models.comp`). There a part
says what it is, and how it differs from others like it, by the same numbers, which are summed over
many parts; $p(w_i \mid \ell_i)$ is a normal of as many. Here the latent of a part has a few numbers
for what it has of its own, whose law is a mixture of normals for each category, and the network $φ$
knows what the part is called. So what is said is not told by latents, a latent means something else
for each category, and what a part leaves on a whole has any form.

A whole shows the sum of what parts like each other gave. So a mixture learns only from parts that
no other of their whole is like, although the divergence of all is from it: the gradient stops.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mindseye.distributions.correlated import CorrelatedNormals
from mindseye.distributions.mixtures import PartMixtures
from mindseye.distributions.normal import soft_bounded
from mindseye.errors import UsageError
from mindseye.groups import Groups
from mindseye.models.compositional import WholesVAE
from mindseye.networks.dense import MLP, initialised
from mindseye.networks.graph import GraphBlock, Residual
from mindseye.networks.imprints import (
    CurveImprint,
    CurveReader,
    CurveWriter,
    Kinds,
    PictureImprint,
    PictureReader,
    PictureWriter,
)
from mindseye.networks.wholes import Label
from mindseye.parts import Kit
from mindseye.pieces import Pieces

__all__ = ["ImprintVAE"]

CURVE = 64
"""Size of an imprint on a curve."""

BLOCKS, WAVES = 2, 4
"""Graph blocks, and waves that a number of a place is read by."""

NORMALS = 24
"""Of the mixture of a category, unless another number is asked for."""

FAINT = 0.1
"""How much smaller than usual the weights begin that say what a part has of its own, and what it
hears of others like it."""

FARTHEST = 3.0
"""How far from zero the means of latents of parts of curves are, at most: a mixture has no width of
its own that they would have to keep to, and they tell so much that they would spread and spread."""

AT_ONCE = 2**11
"""Imprints that are summed at once where no gradient is wanted."""


class ImprintVAE(WholesVAE):
    r"""A VAE of wholes, and of parts that leave imprints on them.

        p(w_i | l_i)  = mixture of N, of each category
        p(z | w~)     = N(mlp(w~)),                         w~ = sum of all imprint(l_i, w_i)
        p(x | z, w~)  = N(decoder(z, w~))
        q(z | x)      = N(mlp(encoder(x)))
        q({w_i} | x, z, {l_i}) = correlated N(graph(gate(l_i) * mlp(encoder(x), z) + l_i + noise))

    Arguments:
        kit: What parts there are; in pictures, they have places with two numbers.
        shape: Channels, height and width of a whole; a curve has height 1.
        latent: Size of z.
        width: Size of the latent of a part; 2 if 0.
        hidden: Width of the networks; 512 if 0.
        normals: Of the mixture of a category; 24 if 0.
    """

    def __init__(
        self,
        kit: Kit,
        shape: tuple[int, int, int],
        latent: int = 2,
        width: int = 0,
        hidden: int = 0,
        normals: int = 0,
    ):
        super().__init__(kit, shape, latent)
        self.part, hidden = width or 2, hidden or 512
        categories, axes = len(kit.categories), len(kit.axes)
        if self.curve:
            self.imprint = CurveImprint(categories, axes, self.part, CURVE, hidden)
            self.write: CurveWriter | PictureWriter = CurveWriter(shape, CURVE, latent, hidden)
            self.read = CurveReader(shape, hidden)
        else:
            if axes != 2:
                raise UsageError(
                    f"parts of pictures need places of 2 numbers, and these have {axes}.",
                    "Take `networks=paper`.",
                )
            sides = (shape[1] // 2, shape[2] // 2)
            self.imprint = PictureImprint(categories, self.part, sides, max(hidden // 4, 8))
            self.write = PictureWriter(shape, sides, latent, max(hidden // 4, 8))
            self.read = PictureReader(shape, hidden)
        self.summed = self.imprint.size
        self.prior_w = Kinds(categories, normals or NORMALS, self.part)
        self.prior_z = MLP([self.write.gists, hidden, 2 * latent])
        last = MLP([hidden, hidden, 2 * latent])
        self.posterior_z = nn.Sequential(Residual(hidden), nn.ELU(), last)
        self.label_q, self.gate = (Label(categories, axes, hidden, WAVES) for _ in range(2))
        self.told = initialised(nn.Linear(hidden + latent, hidden))
        self.kin = initialised(nn.Linear(hidden, hidden)) if self.noisy else None
        self.blocks = nn.ModuleList(GraphBlock(hidden, hidden) for _ in range(BLOCKS))
        self.posterior_w = initialised(nn.Linear(hidden, 3 * self.part))
        with torch.no_grad():
            self.posterior_w.weight.mul_(FAINT)
            if self.kin:
                self.kin.weight.mul_(FAINT)

    def p_w(self, y: Pieces, groups: Groups) -> PartMixtures:
        """p(w_i|l_i) of all parts of a batch; only parts unlike all others of a whole teach it.

        Of several waves of one frequency a whole shows the sum, and not which of them gave what.
        """
        given = self.prior_w(y.codes)
        if self.noisy:
            alone = self._alone(y.codes, groups)
            given = tuple(_taught(each, alone) for each in given)
        logits, loc, log_scale = given
        return PartMixtures(logits, loc, soft_bounded(log_scale).exp(), groups)

    def total(self, w: Tensor, y: Pieces, groups: Groups) -> Tensor:
        """w~, the sum of the imprints of all parts, `(B, summed)`."""
        if len(w) <= AT_ONCE or (torch.is_grad_enabled() and w.requires_grad):
            return groups.totals(self.imprint(y.codes, y.places, w))
        total = w.new_zeros(len(y.sizes), self.summed)
        rows = (each.split(AT_ONCE) for each in (groups.owner, y.codes, y.places, w))
        for owner, *part in zip(*rows, strict=True):
            total.index_add_(0, owner, self.imprint(*part))
        return total

    def moved(self, w: Tensor, here: Pieces, there: Pieces) -> Tensor:
        """The same: what a part has of its own is drawn whatever its place."""
        return w

    def seen(self, x: Tensor) -> Tensor:
        """What both posteriors are told of wholes `(B, C, H, W)`: they are read once."""
        return self.read(x if self.curve else 2 * x - 1)

    def q_w(
        self, seen: Tensor, z: Tensor, y: Pieces, groups: Groups, noise: Tensor | None = None
    ) -> CorrelatedNormals:
        """q({w_i}|x,z,{l_i})."""
        said, gate = self._called(y, noise), self.gate(y.codes, y.places)
        h = groups.spread(self.told(torch.cat([seen, z], -1))) * gate + said
        if self.kin:  # what others like it say, by gates that let the same through
            own = said * gate
            h = h + self.kin(gate * (groups.spread(groups.totals(own)) - own))
        for block in self.blocks:
            h = block(h, groups)
        loc, log_scale, logits = self.posterior_w(h).float().chunk(3, -1)
        if self.curve:
            loc = soft_bounded(loc, -FARTHEST, FARTHEST)
        return CorrelatedNormals(loc, soft_bounded(log_scale).exp(), logits, groups)

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half."""
        return [self.prior_w, self.imprint, self.prior_z, self.write]

    def _alone(self, codes: Tensor, groups: Groups) -> Tensor:
        """Which parts have a category that no other of their whole has, bool `(N,)`."""
        each = nn.functional.one_hot(codes, len(self.vocabulary.categories)).float()
        return (groups.spread(groups.totals(each)) * each).sum(1) < 1.5

    def _gist(self, total: Tensor) -> Tensor:
        """What z is foretold by, which does not grow with the number of parts."""
        return self.write.gist(total)

    def extra_repr(self) -> str:
        """The factorisation, and the sizes."""
        return (
            "p(x, z, w | l) = p(x | z, sum imprint(l_i, w_i)) p(z | sum imprint(l_i, w_i))"
            " prod p(w_i | l_i);  q(z | x) q(w | x, z, l)\n"
            f"wholes {self.shape}, parts of {len(self.vocabulary.categories)} categories,"
            f" latents {self.latent} and {self.part} a part, imprints of {self.summed}"
        )


def _taught(values: Tensor, rows: Tensor) -> Tensor:
    """The same values, through which a gradient flows in some rows alone."""
    return torch.where(rows.view(-1, *[1] * (values.ndim - 1)), values, values.detach())
