r"""Graph auto-encoders: a latent for every node, read from what is around it, and links.

$$ p(A, Z) = \prod_{ij} p(A_{ij} \mid z_i, z_j) \prod_i p(z_i), \qquad
   q(Z \mid X, A) = \prod_i \mathcal N(z_i \mid \mu_i, \mathrm{diag}(\sigma_i^2)) $$

where $\mu$ and $\log \sigma$ are read from the features $X$ and the links $A$ by a graph network.
The auto-encoder GAE is the same with $Z = \mu$, no noise and no prior: `objectives.vgae` has both.

References:
    Variational Graph Auto-Encoders, Kipf and Welling, 2016
    https://arxiv.org/abs/1611.07308
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from mindseye.distributions.links import Links
from mindseye.distributions.normal import (
    DiagonalNormal,
    diagonal_normal,
    loc_and_log_scale,
    standard_normal,
)
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.graphs import Seen
from mindseye.networks.hearing import GraphConvolutions, HadamardMLP, LinearHops

__all__ = ["NETWORKS", "GraphVAE"]


class _Sizes(NamedTuple):
    hidden: int
    reader: int
    """Width of the hidden layer that reads products of latents; 0 for inner products."""


NETWORKS = {"gcn": _Sizes(hidden=32, reader=0), "linear": _Sizes(hidden=256, reader=64)}
"""The sizes of the networks; `gcn` are those of the paper, `linear` ours."""


class GraphVAE(nn.Module):
    r"""A VAE of the links of a graph.

        p(z_i)           = N(0, I)
        p(A_ij | Z)      = Bernoulli(sigma(z_i . z_j)),  or of an mlp of z_i * z_j
        q(z_i | X, A)    = N(gcn(X, A)_i)

    Arguments:
        columns: How many features a node has; how many nodes there are, where it has none.
        latent: Size of the latent of a node.
        networks: `gcn` or `linear`.
        width: Width of the layer that reads products of latents; the networks' own if 0.
        hidden: Width of the hidden layer of the graph network; the networks' own if 0.
    """

    def __init__(
        self, columns: int, latent: int = 16, networks: str = "gcn", width: int = 0, hidden: int = 0
    ):
        super().__init__()
        if networks not in NETWORKS:
            raise UsageError(
                f"`networks={networks!r}` is not known; expected {listed(NETWORKS)}.",
                did_you_mean(networks, NETWORKS),
            )
        own = NETWORKS[networks]
        reads = GraphConvolutions if networks == "gcn" else LinearHops
        self.columns, self.latent = columns, latent
        self.encoder = reads(columns, hidden or own.hidden, 2 * latent)
        self.score = HadamardMLP(latent, width or own.reader) if own.reader else None

    def q(self, x: Seen) -> DiagonalNormal:
        """What is believed of the nodes, given what is seen of the graph."""
        if x.features.width != self.columns:
            raise UsageError(
                f"the nodes have {x.features.width} features; the model reads {self.columns}."
            )
        return diagonal_normal(*loc_and_log_scale(self.encoder(x)))

    def prior(self, like: Tensor) -> DiagonalNormal:
        """What is believed of nodes of which nothing is seen."""
        return standard_normal(like)

    def p_links(self, z: Tensor) -> Links:
        """The links between nodes of some latents `(N, D)`."""
        return Links(z, self.score)
