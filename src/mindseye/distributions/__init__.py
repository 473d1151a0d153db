"""What can be believed: distributions over latents, attributes and pixels."""

from mindseye.distributions.attributes import Attributes
from mindseye.distributions.autoregression import Autoregression
from mindseye.distributions.chain import Chain, Latents
from mindseye.distributions.correlated import CorrelatedNormals, PartNormals, floored
from mindseye.distributions.flow import Flow, RelativeFlow
from mindseye.distributions.mixtures import PartMixtures, divergence
from mindseye.distributions.normal import detached, diagonal_normal, standard_normal
from mindseye.distributions.pixels import (
    BetaPixels,
    ComponentNormal,
    NormalPixels,
    Pixels,
    QuantisedLogistic,
    QuantisedNormal,
)
from mindseye.distributions.product import ProductOfExperts
from mindseye.distributions.sentences import Sentences
from mindseye.distributions.symbols import moment_matched

__all__ = [
    "Attributes",
    "Autoregression",
    "BetaPixels",
    "Chain",
    "ComponentNormal",
    "CorrelatedNormals",
    "Flow",
    "Latents",
    "NormalPixels",
    "PartMixtures",
    "PartNormals",
    "Pixels",
    "ProductOfExperts",
    "QuantisedLogistic",
    "QuantisedNormal",
    "RelativeFlow",
    "Sentences",
    "detached",
    "diagonal_normal",
    "divergence",
    "floored",
    "moment_matched",
    "standard_normal",
]
