"""How far a representation keeps the factors of a world apart: seven measures.

All take a function from factor codes `(B, K)` to representations `(B, D)`, or to posteriors for
`mig_chen`, and the sizes of the factors; states are drawn by seed. They disagree by design: each
docstring says what its measure sees and what it cannot see.
"""

from mindseye.metrics.disentanglement.beta_vae import BetaVAEScore, beta_vae_score
from mindseye.metrics.disentanglement.factor_vae import FactorVAEScore, factor_vae_score
from mindseye.metrics.disentanglement.importance import DCI, Learner, dci
from mindseye.metrics.disentanglement.information import MutualInformationGap
from mindseye.metrics.disentanglement.mig_histogram import mig_lib
from mindseye.metrics.disentanglement.mig_posterior import Posterior, Posteriors, mig_chen
from mindseye.metrics.disentanglement.modular import (
    Explicitness,
    Modularity,
    explicitness,
    modularity,
)
from mindseye.metrics.disentanglement.separated import SAPScore, sap
from mindseye.metrics.disentanglement.world import Represent

__all__ = [
    "DCI",
    "BetaVAEScore",
    "Explicitness",
    "FactorVAEScore",
    "Learner",
    "Modularity",
    "MutualInformationGap",
    "Posterior",
    "Posteriors",
    "Represent",
    "SAPScore",
    "beta_vae_score",
    "dci",
    "explicitness",
    "factor_vae_score",
    "mig_chen",
    "mig_lib",
    "modularity",
    "sap",
]
