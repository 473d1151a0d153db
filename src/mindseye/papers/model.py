"""Which model a recipe builds: its kind, its networks and their sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from mindseye.concepts import Vocabulary
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.models import VAE, DeepVAE, FactorVAE, JointVAE, LadderVAE, Observer, SemiVAE

__all__ = ["KINDS", "Model"]

WIDEST = 2**16
"""No layer is wider than this; a recipe that asks for more is a slip of the keyboard."""

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Model:
    """Which networks, and how large."""

    kind: str = "joint"
    """joint (with words), vae, deep, ladder or factor (pictures alone), semi, or observer."""

    networks: str = "paper"
    """paper, slim, lean, dense, plain or tanh; strong or paper for an observer."""

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

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(
                f"`kind={self.kind!r}` is not known; expected {listed(KINDS)}.",
                did_you_mean(self.kind, KINDS),
            )
        for name, least in {"latent": 1, "width": 0, "hidden": 0}.items():
            self._expect(name, getattr(self, name), least)
        for name in ("latents", "units"):
            for value in getattr(self, name):
                self._expect(name, value, 1)

    def build(self, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
        """A fresh model."""
        return KINDS[self.kind](self, vocabulary, shape)

    @property
    def alone(self) -> bool:
        """Whether it is a model of pictures alone, which knows no words."""
        return self.kind in ("vae", "deep", "factor", "ladder")

    @property
    def imagines(self) -> bool:
        """Whether it makes pictures."""
        return self.kind != "observer"

    def _expect(self, name: str, value: int, least: int) -> None:
        if not least <= value <= WIDEST:
            raise UsageError(f"`{name}={value}` must be between {least} and {WIDEST}.")


def _joint(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    sizes = (model.latent, model.networks, model.width, model.hidden)
    return JointVAE(vocabulary, shape, *sizes, words=model.words)


def _observer(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return Observer(vocabulary, shape, model.networks, model.width or 32)


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


def _semi(model: Model, vocabulary: Vocabulary, shape: Shape) -> nn.Module:
    return SemiVAE(vocabulary, shape, model.latent, model.networks, model.width, model.hidden)


KINDS: dict[str, Callable[[Model, Vocabulary, Shape], nn.Module]] = {
    "joint": _joint,
    "vae": _vae,
    "deep": _deep,
    "ladder": _ladder,
    "factor": _factor,
    "semi": _semi,
    "observer": _observer,
}
"""How every kind of model is built."""
