r"""The observer: a classifier $p(y \mid x) = \prod_k p(y_k \mid x)$ that plays the human.

It is trained apart from every model, on source pictures no model has seen, and judges what models
imagine. Three architectures:

`strong`     Convolutions with batch normalisation, three halvings, then 128 units per attribute;
             1.5 M weights.
`attentive`  The same convolutions with two halvings, then a question per attribute that looks for
             its answer in all places: for pictures of several things, of which it needs fewer.
`paper`      That of the authors' code: two 5x5 convolutions with pooling, then a tower of 1024
             units with dropout per attribute; 67 M weights.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mindseye.concepts import Vocabulary
from mindseye.distributions import Attributes
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.networks import MLP, Glances

__all__ = ["Observer"]


class Observer(nn.Module):
    """A classifier of every attribute of a picture.

    Arguments:
        vocabulary: The attributes.
        shape: Channels, height and width of a picture.
        architecture: `strong`, `attentive` or `paper`.
        width: Channels of the first convolution.
        told: An attribute whose value it is told and does not judge: how one object stands to the
            other says which of them is the first. Nobody telling it, it takes the first value.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: tuple[int, int, int] = (1, 64, 64),
        architecture: str = "strong",
        width: int = 32,
        *,
        told: str = "",
    ):
        super().__init__()
        if architecture not in _TRUNKS:
            raise UsageError(
                f"`architecture={architecture!r}` is not known; expected {listed(_TRUNKS)}.",
                did_you_mean(architecture, _TRUNKS),
            )
        trunk, halvings, hidden, dropout = _TRUNKS[architecture]
        self.vocabulary, self.shape = vocabulary, shape
        self.accuracy: dict[str, float] = {}
        """How often it is right on real pictures, by attribute, where that has been measured."""
        self.trunk, channels = trunk(shape[0], width)
        self.told = vocabulary.names.index(told) if told else None
        answers = vocabulary.sizes[self.told] if self.told is not None else 1
        judged = [k for k in range(len(vocabulary)) if k != self.told]
        if architecture == "attentive":
            self.glances = Glances(channels, len(judged), hidden, kinds=answers)
            features, answers = hidden, 1  # the questions are those of what it is told
        else:
            self.glances = None
            rows, columns = (-(-side >> halvings) for side in shape[1:])  # halvings round up
            features = channels * rows * columns
        self.heads = nn.ModuleList(
            nn.Sequential(
                nn.Linear(features, hidden),
                nn.ReLU(),
                nn.Dropout(dropout),
                MLP([hidden, vocabulary.sizes[k] * answers]),
            )
            for k in judged
        )

    def forward(self, x: Tensor, told: Tensor | None = None) -> Attributes:
        """p(y|x) for pictures `(B, C, H, W)`, given the codes `(B,)` of what it is told."""
        if tuple(x.shape[1:]) != tuple(self.shape):
            raise UsageError(
                f"the observer judges pictures of shape {tuple(self.shape)}; "
                f"these have {tuple(x.shape[1:])}.",
                "Use one that was trained on pictures of the same size.",
            )
        if self.told is None or told is None:
            told = torch.zeros(len(x), dtype=torch.int64, device=x.device)
        logits = self._logits(self.trunk(x), told)
        if self.told is not None:
            known = nn.functional.one_hot(told, self.vocabulary.sizes[self.told])
            logits.insert(self.told, known.to(logits[0]) * 2 * SURE - SURE)
        widest = max(self.vocabulary.sizes)
        padded = [nn.functional.pad(each, (0, widest - each.shape[1])) for each in logits]
        return Attributes(torch.stack(padded, 1).float(), self.vocabulary.sizes)

    def _logits(self, features: Tensor, told: Tensor) -> list[Tensor]:
        """Of every attribute that it judges, `(B, V)`."""
        if self.glances is not None:
            seen = self.glances(features, told).unbind(1)
            return [head(each) for head, each in zip(self.heads, seen, strict=True)]
        logits = [head(features) for head in self.heads]
        if self.told is None:
            return logits
        size = self.vocabulary.sizes[self.told]
        return [_chosen(each.unflatten(1, (size, -1)), told) for each in logits]

    def extra_repr(self) -> str:
        """The factorisation, the pictures and the attributes."""
        words = ", ".join(f"{a.name} ({len(a.values)})" for a in self.vocabulary)
        return f"p(y | x) = ∏ p(y_k | x), pictures {self.shape}, attributes {words}"

    @torch.no_grad()
    def judge(self, x: Tensor, told: Tensor | None = None) -> Tensor:
        """The most probable codes of some pictures, `(B, K)`."""
        return self(x, told).mode


SURE = 50.0
"""Log odds of what an observer is told."""


def _chosen(logits: Tensor, told: Tensor) -> Tensor:
    """The answers `(B, V)`, of those for every value `(B, T, V)`, to what was told `(B,)`."""
    index = told[:, None, None].expand(-1, 1, logits.shape[-1])
    return logits.gather(1, index)[:, 0]


def _attentive(channels: int, width: int) -> tuple[nn.Module, int]:
    return nn.Sequential(*_blocks(channels, width)), 4 * width


def _strong(channels: int, width: int) -> tuple[nn.Module, int]:
    layers = nn.Sequential(
        *_blocks(channels, width),
        *_block(4 * width, 4 * width, stride=2),
        nn.Conv2d(4 * width, width, 1),
        nn.ReLU(),
        nn.Flatten(),
    )
    return layers, width


def _paper(channels: int, width: int) -> tuple[nn.Module, int]:
    layers = nn.Sequential(
        nn.Conv2d(channels, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Conv2d(width, 2 * width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(),
    )
    return layers, 2 * width


def _blocks(channels: int, width: int) -> list[nn.Module]:
    """Convolutions that halve a picture twice and give it `4 * width` channels."""
    return [
        *_block(channels, width, stride=1),
        *_block(width, 2 * width, stride=2),
        *_block(2 * width, 2 * width, stride=1),
        *_block(2 * width, 4 * width, stride=2),
        *_block(4 * width, 4 * width, stride=1),
    ]


def _block(before: int, after: int, stride: int) -> list[nn.Module]:
    """A convolution, batch normalisation and a rectifier."""
    conv = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
    return [conv, nn.BatchNorm2d(after, momentum=0.01), nn.ReLU()]


_TRUNKS = {
    "strong": (_strong, 3, 128, 0.1),
    "attentive": (_attentive, 2, 128, 0.1),
    "paper": (_paper, 2, 1024, 0.5),
}
"""Convolutions, how often they halve the picture, units and dropout of a head."""
