"""One object: the world of the paper's Figure 1, a ball that is large or small, blue or red.

What can be said are two words; everything else of Two Objects' world is as it is there.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from mindseye.captions import Sentence
from mindseye.concepts import Attribute
from mindseye.data.raycast import render
from mindseye.data.scenes import COLOURS, FILLERS, SIZES, SYNONYMS
from mindseye.data.solids import SPHERE
from mindseye.data.two_objects import TwoObjects
from mindseye.data.worlds import staged

__all__ = ["OneObject"]

HUES = ("blue", "red")


class OneObject(TwoObjects):
    """One ball and two words, rendered where and when it is asked for."""

    vocabulary = Sentence(
        [Attribute("size", SIZES), Attribute("colour", HUES)], (*FILLERS, "ball"), SYNONYMS
    )
    shape = (3, 64, 64)
    settings = ("replications", "side")

    def _drawn(self, codes: Tensor, u: Tensor) -> Tensor:
        """The pictures of captions, at uniform numbers."""
        rubber = torch.zeros_like(codes[:, 0])
        kind = torch.stack(
            [codes[:, 0], _hues(codes.device)[codes[:, 1]], rubber, rubber + SPHERE], 1
        )
        return render(staged(kind[:, None], None, u, self.view), self.view)


@cache
def _hues(device: torch.device) -> Tensor:
    """The colours of the world that a ball may have, copied to a device once."""
    return torch.tensor([COLOURS.index(name) for name in HUES], device=device)
