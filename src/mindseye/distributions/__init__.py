"""What can be believed: distributions over latents and over attributes."""

from mindseye.distributions.attributes import Attributes
from mindseye.distributions.normal import detached, diagonal_normal, standard_normal
from mindseye.distributions.pixels import Pixels
from mindseye.distributions.product import ProductOfExperts
from mindseye.distributions.symbols import moment_matched

__all__ = [
    "Attributes",
    "Pixels",
    "ProductOfExperts",
    "detached",
    "diagonal_normal",
    "moment_matched",
    "standard_normal",
]
