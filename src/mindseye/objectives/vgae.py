r"""The bound of the variational graph auto-encoder, and the likelihood of the auto-encoder.

$$ \mathcal L = \tfrac12 \operatorname*{E}_{q(Z \mid X, A)} \Big[
   \operatorname*{mean}_{ij :\, A_{ij} = 1} \log p(A_{ij} \mid Z)
   + \operatorname*{mean}_{ij :\, A_{ij} = 0} \log p(A_{ij} \mid Z) \Big]
   - \frac{\beta}{N} \operatorname*{mean}_i \mathrm{KL}(q(z_i \mid X, A) \,\|\, p(z_i)) $$

This is what the authors' code maximises, not a bound of $\log p(A)$: links are rare, so they are
weighed until both means count alike, and all of it is divided by $N^2$. Written as there, links
weigh $(N^2 - S) / S$, all of it $N^2 / 2 (N^2 - S)$, where $S$ is the number of linked pairs, and
each node counts as linked to itself; so the first mean is over $S + N$ pairs and divided by $S$.

Where not all pairs are asked about but as many that are linked as are not, the means are over
these: an estimate of the same without loops.

With $Z$ at its mean and without the divergence it is the graph auto-encoder, GAE.

References:
    Variational Graph Auto-Encoders, Kipf and Welling, 2016
    https://arxiv.org/abs/1611.07308
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import kl_divergence
from torch.nn.functional import logsigmoid

from mindseye.distributions.links import Links
from mindseye.graphs import AllPairs, Pairs, Seen
from mindseye.models.graph import GraphVAE
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["gae", "vgae"]


@objective("vgae", fits="q_z", cite="kipf2016 kingma2014", trains="graph")
def vgae(model: GraphVAE, x: Seen, y: AllPairs | Pairs, *, beta: float = 1.0) -> Bound:
    """What links are worth, less beta KL(q(z|X,A) || p(z)) / N."""
    q = model.q(x)
    z = q.rsample()
    linked, apart = _weighed(model.p_links(z), y, x.nodes)
    kl = kl_divergence(q, model.prior(z))
    value = linked + apart - beta * kl.mean() / x.nodes
    return Bound(value, {"log_p_linked": linked, "log_p_apart": apart, "kl_qz_p": kl})


@objective("gae", fits="q_z", cite="kipf2016", trains="graph")
def gae(model: GraphVAE, x: Seen, y: AllPairs | Pairs) -> Bound:
    """The same at the mean of q(z|X,A): no noise, no prior."""
    linked, apart = _weighed(model.p_links(model.q(x).mean), y, x.nodes)
    return Bound(linked + apart, {"log_p_linked": linked, "log_p_apart": apart})


def _weighed(p: Links, y: AllPairs | Pairs, nodes: int) -> tuple[Tensor, Tensor]:
    """Half of what linked pairs and pairs apart are worth, by node or by pair."""
    if isinstance(y, Pairs):
        linked, apart = p.logits(torch.cat(y)).split([len(y.linked), len(y.apart)])
        return 0.5 * logsigmoid(linked), 0.5 * logsigmoid(-apart)
    present, absent = p.by_node(y.links)
    pairs, linked = nodes**2, 2 * len(y.links)
    scale = nodes / (2 * (pairs - linked))  # of the mean over nodes
    return scale * (pairs - linked) / linked * present, scale * absent
