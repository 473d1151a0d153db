r"""The generator of a data set of wholes, with the verbs of whoever makes wholes of parts.

A generator draws numbers $s_i$ of every part and $s_0$ of the whole, and makes of them and of the
parts one observation (`data.wholes`). Here the numbers of a part depend on the seed, on what the
part is and on how many like it stand before it, as the noise of a model does. So what is true can
be changed part by part too: all numbers but those of the part that comes or goes stay as they are,
and a part that moves takes its own with it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mindseye.composing import Composition, Maker
from mindseye.data.wholes import Specifics, Wholes
from mindseye.parts import Kit, Part, Parts
from mindseye.pieces import Pieces, encode_parts
from mindseye.randomness import keys

__all__ = ["Truth"]


class Truth(Maker):
    """The generator of a data set, with its verbs.

    What it makes are compositions too: `w` has the numbers of the parts, `noise` those of the
    whole, and nothing is left to chance when they are known.

    >>> from mindseye.data.sines import Sines
    >>> truth = Truth(Sines())
    >>> before = truth.composed("f2, f7", n=3, seed=1)
    >>> after = truth.added(before, "f3", seed=1)
    >>> torch.equal(truth.removed(after, "f3").means, before.means)
    True

    Arguments:
        data: The data set.
    """

    def __init__(self, data: Wholes):
        self.data = data

    @property
    def vocabulary(self) -> Kit:
        """What parts there are."""
        return self.data.vocabulary

    def _written(self, parts: Parts, w: Tensor, noise: Tensor) -> Composition:
        n, one = len(w), encode_parts([parts])
        pieces = Pieces(one.codes.repeat(n), one.places.repeat(n, 1), one.sizes.repeat(n))
        x = self.data.render(pieces, Specifics(w.flatten(0, 1), noise))
        return Composition(parts, w, noise, x, torch.zeros_like(x))

    def _drawn(self, part: Part, like: int, n: int, seed: int) -> Tensor:
        return self._numbers(n, seed, f"true {part} {like}").own

    def _noise(self, n: int, seed: int) -> Tensor:
        return self._numbers(n, seed, "true whole").shared

    def _carried(self, w: Tensor, old: Part, new: Part) -> Tensor:
        """The same numbers: they say nothing about where a part is."""
        return w

    def _numbers(self, n: int, seed: int, stream: str) -> Specifics:
        key = keys(seed, torch.arange(n), stream)
        return self.data.specifics(key, key)
