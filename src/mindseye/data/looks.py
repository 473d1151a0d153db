"""How a world looks: how large its things are, and what they give back of the light.

`CLEVR` is that of CLEVR's own code. `ICLEVR` is that of the pictures of i-CLEVR, which were made
with other settings: things are of one size between large and small, cubes are as wide as balls, and
rubber is paler and lit more evenly. Its numbers were fitted, by least squares, to the means and the
standard deviations of the pictures of single objects that belong to the training rows of i-CLEVR.

There sizes differ from thing to thing as well. In a world of two sizes a cube, a ball and a
cylinder take up areas that tell them apart; who learns that knows nothing where sizes are others.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CLEVR", "ICLEVR", "Look"]


class Look(NamedTuple):
    """What is the same in all scenes of a world. The defaults are CLEVR's."""

    radii: tuple[float, float] = (0.7, 0.35)
    """Of large and small things."""
    spread: float = 0.0
    """By which share of it a radius differs at most, from thing to thing."""
    corner: float = 1.0
    """How far the upright edges of a cube are from its middle, by its radius."""
    powers: tuple[float, float, float] = (24.0, 7.0, 13.0)
    """Of the key, the fill and the back lamp, where they meet things."""
    ambient: float = 0.2
    """Light from everywhere."""
    tilt: float = 0.35
    """By which share less of it comes from above than from the side: the table is brighter."""
    matt: tuple[float, float, float] = (1.15, 0.04, 0.9)
    """What rubber gives back: of all light, and of that a white share and one of its colour."""
    hidden: float = 0.55
    """How much of the light from everywhere a thing keeps from the table beside it."""

    @property
    def reach(self) -> float:
        """How far from its middle a thing may reach on the table, by its radius."""
        return max(1.0, self.corner)


CLEVR = Look()

ICLEVR = Look(
    radii=(0.6, 0.35),
    spread=0.2,
    corner=1.36,
    powers=(13.6, 2.2, 4.7),
    ambient=0.31,
    tilt=0.03,
    matt=(1.0, 0.222, 0.8),
    hidden=0.15,
)
