"""p and q: modules that return distributions, one file per family."""

from mindseye.models.exact import LinearGaussian
from mindseye.models.joint import JointVAE, frozen
from mindseye.models.observer import Observer

__all__ = ["JointVAE", "LinearGaussian", "Observer", "frozen"]
