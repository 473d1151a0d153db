"""The words of CLEVR's world: two objects on a table, and the sentence about them.

A caption has nine places, size, colour, material and shape of either object and how the first
stands to the second, as in Cremer and Kushman (2018):

    large red rubber cube left small blue metal sphere

says that the cube stands to the left of the sphere, as the camera sees it. The same picture has
four captions: each object may come first, and either axis may be spoken of.
"""

from __future__ import annotations

from mindseye.captions import Sentence
from mindseye.concepts import Attribute

__all__ = ["COLOURS", "KINDS", "MATERIALS", "RELATIONS", "SENTENCE", "SHAPES", "SIZES", "SYNONYMS"]

SIZES = ("large", "small")
COLOURS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
MATERIALS = ("rubber", "metal")
SHAPES = ("cube", "sphere", "cylinder")
RELATIONS = ("left", "right", "front", "behind")

KINDS = (SIZES, COLOURS, MATERIALS, SHAPES)
"""What is said of one object, in order."""

SYNONYMS = (
    ("big", "large"),
    ("tiny", "small"),
    ("little", "small"),
    ("grey", "gray"),
    ("matte", "rubber"),
    ("shiny", "metal"),
    ("metallic", "metal"),
    ("block", "cube"),
    ("ball", "sphere"),
    ("back", "behind"),
)
"""Those of CLEVR, and a few."""

FILLERS = ("a", "an", "the", "is", "of", "to", "in", "on", "and", "it", "thing", "object", "that")

_PARTS = ("size", "colour", "material", "shape")


def _object(which: str) -> list[Attribute]:
    names = (f"{which} {part}" for part in _PARTS)
    return [Attribute(name, words) for name, words in zip(names, KINDS, strict=True)]


SENTENCE = Sentence(
    [*_object("first"), Attribute("relation", RELATIONS), *_object("second")], FILLERS, SYNONYMS
)
"""The nine places of a caption of two objects."""
