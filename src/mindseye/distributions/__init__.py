"""What can be believed: distributions over latents, attributes and pixels."""

from mindseye.distributions.attributes import Attributes
from mindseye.distributions.chain import Chain, Latents
from mindseye.distributions.normal import detached, diagonal_normal, standard_normal
from mindseye.distributions.pixels import (
    ComponentNormal,
    NormalPixels,
    Pixels,
    QuantisedLogistic,
    QuantisedNormal,
)
from mindseye.distributions.product import ProductOfExperts
from mindseye.distributions.symbols import moment_matched

__all__ = [
    "Attributes",
    "Chain",
    "ComponentNormal",
    "Latents",
    "NormalPixels",
    "Pixels",
    "ProductOfExperts",
    "QuantisedLogistic",
    "QuantisedNormal",
    "detached",
    "diagonal_normal",
    "moment_matched",
    "standard_normal",
]
