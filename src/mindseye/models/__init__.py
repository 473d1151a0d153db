"""p and q: modules that return distributions, one file per family."""

from mindseye.models.captioned import CaptionedVAE
from mindseye.models.comp import CompVAE
from mindseye.models.compositional import Compositional, WholesVAE
from mindseye.models.deep import Ancestral, DeepVAE
from mindseye.models.draw import Draw
from mindseye.models.exact import LinearGaussian
from mindseye.models.factor import FactorVAE
from mindseye.models.flowing import Flowing
from mindseye.models.flowing_parts import FlowingParts
from mindseye.models.graph import GraphVAE
from mindseye.models.imprint import ImprintVAE
from mindseye.models.joint import JointVAE, frozen
from mindseye.models.ladder import AncestralLadder, LadderVAE
from mindseye.models.observer import Observer
from mindseye.models.painted import Painted
from mindseye.models.patchwork import Patchwork
from mindseye.models.semi import Described, SemiVAE
from mindseye.models.sharpener import Sharpened
from mindseye.models.vae import VAE
from mindseye.models.vlvae import VLVAE

__all__ = [
    "VAE",
    "VLVAE",
    "Ancestral",
    "AncestralLadder",
    "CaptionedVAE",
    "CompVAE",
    "Compositional",
    "DeepVAE",
    "Described",
    "Draw",
    "FactorVAE",
    "Flowing",
    "FlowingParts",
    "GraphVAE",
    "ImprintVAE",
    "JointVAE",
    "LadderVAE",
    "LinearGaussian",
    "Observer",
    "Painted",
    "Patchwork",
    "SemiVAE",
    "Sharpened",
    "WholesVAE",
    "frozen",
]
