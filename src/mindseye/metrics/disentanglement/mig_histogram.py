r"""The mutual information gap of histograms, as disentanglement_lib measures it.

$$ \mathrm{MIG} = \tfrac{1}{K} \sum_k \frac{1}{H(v_k)}
   \left( I(z_{d_k}; v_k) - \max_{d \ne d_k} I(z_d; v_k) \right),
   \qquad d_k = \arg\max_d I(z_d; v_k) $$

Each dimension of the means is cut into 20 bins of equal width; information and entropies are those
of the counts of 10 000 random states. This is not the estimate of Chen et al. (`mig_chen`), and its
numbers are lower: 20 bins cannot tell 32 positions apart.

References:
    - *Isolating Sources of Disentanglement in Variational Autoencoders*, Chen, Li, Grosse and
      Duvenaud, 2018, https://arxiv.org/abs/1802.04942
    - *Challenging Common Assumptions in the Unsupervised Learning of Disentangled
      Representations*, Locatello et al., 2019, https://arxiv.org/abs/1811.12359
"""

from __future__ import annotations

from collections.abc import Sequence

from mindseye.metrics.disentanglement.information import (
    MutualInformationGap,
    factor_entropies,
    gap_of,
    information_matrix,
)
from mindseye.metrics.disentanglement.world import Device, Represent, World, at_least

__all__ = ["mig_lib"]


def mig_lib(
    represent: Represent,
    sizes: Sequence[int],
    *,
    points: int | None = 10_000,
    bins: int = 20,
    seed: int = 0,
    batch: int = 4096,
    device: Device = "cpu",
) -> MutualInformationGap:
    """The mutual information gap of binned representations.

    >>> round(mig_lib(lambda codes: codes.double(), (3, 4), points=None).score, 6)
    1.0

    Arguments:
        represent: Factor codes `(B, K)` in, representations `(B, D)` out.
        sizes: How many values each factor has.
        points: How many states are drawn; none for every state once.
        bins: How many bins each dimension is cut into.
        seed: Which states are drawn.
        batch: How many states are represented at once.
        device: Where the codes are made.
    """
    world = World(represent, sizes, seed, batch, device)
    at_least("bins", bins, 2)
    if points is not None:
        at_least("points", points, 2)
    z, codes = world.sample(points, "MIG")
    return gap_of(information_matrix(z, codes, bins), factor_entropies(codes))
