"""What can be told of a whole: which of its parts are there.

A sense knows wholes of one data set, descriptions `(B,)` of $K$ parts each. It has slots: of sines
the ten frequencies, of sites the sites themselves. What is there is bool `(B, n, slots)` of `n`
draws of every description, what counts is bool `(B, slots)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from mindseye.data import Loads, Sines, Sites
from mindseye.data.wholes import Wholes
from mindseye.metrics.parts import (
    amplitudes,
    colours_at,
    correlation,
    counts,
    flow_error,
    peaks,
    phase_spread,
    share,
    shown,
)
from mindseye.pieces import Pieces

__all__ = ["SENSES", "Sense", "Values"]

Values = Iterator[tuple[str, Tensor]]
"""Names, and a number of every whole, `(B,)`; NaN where there is none."""


class Sense:
    """What can be told of wholes of any kind: nothing of their parts.

    Arguments:
        y: Descriptions of equal size.
        real: Wholes of them that the generator drew, `(B, n, C, H, W)`; they are not scored.
    """

    sees = False
    """Whether it tells parts apart."""

    def __init__(self, y: Pieces, real: Tensor):
        self.y, self.real, self.many = y, real, len(y.sizes)
        self.codes = y.codes.unflatten(0, (self.many, -1))

    def scores(self, x: Tensor) -> Values:
        """Scores of wholes `(B, n, C, H, W)` that should have these parts."""
        yield from ()

    def there(self, x: Tensor, sizes: Tensor) -> Tensor:
        """Which slots are there in wholes of so many parts, `(B, n, slots)`."""
        raise NotImplementedError

    @property
    def counted(self) -> Tensor:
        """The slots that should be there, `(B, slots)`."""
        raise NotImplementedError

    @property
    def removable(self) -> Tensor:
        """Which parts would be missed, bool `(B, K)`."""
        return torch.ones_like(self.codes, dtype=torch.bool)

    def slot(self, chosen: Tensor) -> Tensor:
        """The slots of parts number `chosen`, `(B,)`."""
        return chosen


class Hearing(Sense):
    """Of sines: which frequencies are heard."""

    sees = True

    def __init__(self, y: Pieces, real: Tensor):
        super().__init__(y, real)
        self.times = counts(y, len(Sines.vocabulary.categories))

    def scores(self, x: Tensor) -> Values:
        """Recall, false alarms, and phases of frequencies that are said once."""
        waves = amplitudes(x.flatten(2), self.y.sizes[:, None])
        heard = peaks(waves)
        yield "recall", share(heard, self.counted)
        yield "false alarms", share(heard, ~self.counted)
        length, angle = phase_spread(waves, self.times == 1)
        yield "phase", length
        yield "angle", angle

    def there(self, x: Tensor, sizes: Tensor) -> Tensor:
        """Which frequencies are heard."""
        return peaks(amplitudes(x.flatten(2), sizes[:, None]))

    @property
    def counted(self) -> Tensor:
        """Those that are said."""
        return self.times > 0

    @property
    def removable(self) -> Tensor:
        """Parts whose frequency no other has."""
        return self.times.gather(1, self.codes) == 1

    def slot(self, chosen: Tensor) -> Tensor:
        """Their frequencies."""
        return self.codes.gather(1, chosen[:, None])[:, 0]


class Seeing(Sense):
    """Of sites: which have their colour."""

    sees = True

    def __init__(self, y: Pieces, real: Tensor):
        super().__init__(y, real)
        self.shown = shown(self.there(real, y.sizes).transpose(1, 2))

    def scores(self, x: Tensor) -> Values:
        """Recall, over all sites and over those that the generator shows."""
        right = self.there(x, self.y.sizes)
        yield "recall", share(right, torch.ones_like(self.shown))
        yield "shown", share(right, self.shown)

    def there(self, x: Tensor, sizes: Tensor) -> Tensor:
        """Which sites have their colour."""
        right = colours_at(x, self.y) == self.y.codes[:, None]  # (B K, n)
        return right.unflatten(0, (self.many, -1)).transpose(1, 2)

    @property
    def counted(self) -> Tensor:
        """Those that the generator shows."""
        return self.shown

    @property
    def removable(self) -> Tensor:
        """The same."""
        return self.shown


class Metering(Sense):
    """Of loads: the mean curve and the energy of a day."""

    def scores(self, x: Tensor) -> Values:
        """How near both are to the generator's."""
        days, real = x.flatten(2), self.real.flatten(2)
        yield "correlation", correlation(days.mean(1), real.mean(1))
        yield "energy error", flow_error(days, real)


SENSES: dict[type[Wholes], type[Sense]] = {Sines: Hearing, Sites: Seeing, Loads: Metering}
"""By data set."""
