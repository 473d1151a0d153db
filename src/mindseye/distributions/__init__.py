"""What can be believed: distributions over latents and over attributes."""

from mindseye.distributions.attributes import Attributes
from mindseye.distributions.normal import diagonal_normal, standard_normal
from mindseye.distributions.product import ProductOfExperts

__all__ = ["Attributes", "ProductOfExperts", "diagonal_normal", "standard_normal"]
