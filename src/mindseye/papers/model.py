"""Which model a recipe builds: its kind, its networks and their sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.models import (
    VAE,
    VLVAE,
    CaptionedVAE,
    CompVAE,
    DeepVAE,
    Draw,
    FactorVAE,
    Flowing,
    FlowingParts,
    GraphVAE,
    ImprintVAE,
    JointVAE,
    LadderVAE,
    Observer,
    SemiVAE,
    Sharpened,
    WholesVAE,
)

__all__ = ["KINDS", "Model"]

WIDEST = 2**16
"""No layer is wider than this; a recipe that asks for more is a slip of the keyboard."""

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Model:
    """Which networks, and how large."""

    kind: str = "joint"
    """joint (words), vlvae, draw or captioned (captions), comp (parts), graph, vae, deep, semi …"""

    networks: str = "paper"
    """paper, slim, dense …; imprint of comp; residual or folded of a vlvae; align … of draw …"""

    latent: int = 10
    """Size of the latent."""

    width: int = 0
    """Channels of the decoder's (or observer's) first layer; 0 for the networks' own."""

    hidden: int = 0
    """Width of the dense layers; 0 for the networks' own."""

    words: str = "factorised"
    """factorised (an expert for each word) or atomic (a symbol for each full description)."""

    latents: tuple[int, ...] = ()
    """Sizes of the layers of a deep model, or channels of a ladder's, nearest to x first."""

    units: tuple[int, ...] = ()
    """Widths of the dense layers below every layer of a deep model."""

    likelihood: str = "bernoulli"
    """What a pixel of a vae or deep model is: bernoulli, normal, quantised-normal …"""

    inference: str = "marginal"
    """What a vlvae infers its latent from: the picture (marginal), or its caption too (joint)."""

    flow: int = 0
    """Couplings of the flows beside a trained model, which is held still; 0 for none."""

    flow_hidden: int = 0
    """Width of their networks; 0 for 128."""

    normals: int = 0
    """Of each coordinate of the autoregressive base of q(z); 0 for a normal as of q(z|y)."""

    kinds: int = 0
    """Of the mixture by which parts of a category with imprints differ: normals; 0 for 24."""

    reads: str = ""
    """Which inference networks that model has trained, such as q_x q_xy."""

    strokes: int = 32
    """Strokes of a model that draws."""

    window: int = 8
    """Filters of its windows, in either direction."""

    language: int = 128
    """Size of the state in which such a model reads captions, in either direction."""

    sharpen: int = 0
    """Channels of a sharpener beside a trained model that paints, held still; 0 for none."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(
                f"`kind={self.kind!r}` is not known; expected {listed(KINDS)}.",
                did_you_mean(self.kind, KINDS),
            )
        for name in ("latent", "strokes", "window", "language"):
            self._expect(name, getattr(self, name), 1)
        for name in ("width", "hidden", "flow", "flow_hidden", "normals", "kinds", "sharpen"):
            self._expect(name, getattr(self, name), 0)
        for name in ("latents", "units"):
            for value in getattr(self, name):
                self._expect(name, value, 1)

    def build(self, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
        """A fresh model."""
        made = KINDS[self.kind](self, vocabulary, shape)
        if self.sharpen:
            return Sharpened(made, self.sharpen)
        return self._with_flows(made, vocabulary) if self.flow else made

    @property
    def alone(self) -> bool:
        """Whether it is a model of pictures alone, which knows no words."""
        return self.kind in ("vae", "deep", "factor", "ladder") and not self.flow

    @property
    def imagines(self) -> bool:
        """Whether it makes pictures."""
        return self.kind not in ("observer", "graph")

    def _with_flows(self, made: nn.Module, vocabulary: Vocabulary) -> nn.Module:
        """Flows beside a model that is held still."""
        sizes = (self.flow, self.flow_hidden or 128)
        if isinstance(made, WholesVAE):
            return FlowingParts(made, *sizes)
        joint = "q_xy" in self.reads.split()
        return Flowing(made, vocabulary, *sizes, joint=joint, normals=self.normals)

    def _expect(self, name: str, value: int, least: int) -> None:
        if not least <= value <= WIDEST:
            raise UsageError(f"`{name}={value}` must be between {least} and {WIDEST}.")


def _joint(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden)
    return JointVAE(vocabulary, shape, *sizes, words=model.words)


def _observer(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    told = "relation" if "relation" in vocabulary.names else ""
    return Observer(vocabulary, shape, model.networks, model.width or 32, told=told)


def _vlvae(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden)
    return VLVAE(vocabulary, shape, *sizes, inference=model.inference)


def _draw(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return Draw(
        vocabulary,
        shape,
        model.latent,
        model.strokes,
        model.hidden or 300,
        model.window,
        model.language,
        hearing=model.networks,
        likelihood=model.likelihood,
    )


def _captioned(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden, model.language)
    return CaptionedVAE(vocabulary, shape, *sizes, likelihood=model.likelihood)


def _vae(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden)
    return VAE(shape, *sizes, likelihood=model.likelihood)


def _factor(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden)
    return FactorVAE(shape, *sizes, likelihood=model.likelihood)


def _deep(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return DeepVAE(shape, model.latents, model.units, likelihood=model.likelihood)


def _ladder(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes: dict[str, Any] = {"latents": model.latents} if model.latents else {}
    sizes |= {"filters": model.width} if model.width else {}
    return LadderVAE(shape, **sizes, likelihood=model.likelihood)


def _comp(model: Model, kit: Any, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.width, model.hidden)
    if model.networks == "paper":
        return CompVAE(kit, shape, *sizes)
    if model.networks == "imprint":
        return ImprintVAE(kit, shape, *sizes, model.kinds)
    names = ("paper", "imprint")
    raise UsageError(
        f"`networks={model.networks!r}` is not known; expected {listed(names)}.",
        did_you_mean(model.networks, names),
    )


def _graph(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return GraphVAE(shape[2], model.latent, model.networks, model.width, model.hidden)


def _semi(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return SemiVAE(vocabulary, shape, model.latent, model.networks, model.width, model.hidden)


KINDS: dict[str, Callable[[Model, Vocabulary, Shape], nn.Module]] = {
    "joint": _joint,
    "vlvae": _vlvae,
    "draw": _draw,
    "captioned": _captioned,
    "comp": _comp,
    "graph": _graph,
    "vae": _vae,
    "deep": _deep,
    "ladder": _ladder,
    "factor": _factor,
    "semi": _semi,
    "observer": _observer,
}
"""How every kind of model is built."""
