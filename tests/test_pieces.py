"""Multisets of parts as tensors, and back."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.errors import UsageError
from mindseye.parts import Kit, Part
from mindseye.pieces import Pieces, decode_parts, encode_parts

KIT = Kit([f"f{i}" for i in range(1, 11)])
COLOURS = Kit(["red", "green", "blue"], axes=("x", "y"))
THIRDS = Kit(["a", "b"], axes=("x",), low=-1 / 3, high=1 / 3)


def lists(kit: Kit, numbers: st.SearchStrategy[float]) -> st.SearchStrategy:
    """Some wholes of a kit whose places are such numbers."""
    part = st.builds(Part, st.sampled_from(kit.names), st.tuples(*[numbers] * len(kit.axes)))
    return st.lists(st.lists(part, max_size=5).map(kit.parts), max_size=5)


def digits(number: float | np.float32) -> str:
    """The fewest digits that tell a number from all others of its precision."""
    return np.format_float_scientific(abs(number), trim="-")


hundredths = st.integers(-100, 100).map(lambda n: n / 100)


@settings(deadline=None)
@given(lists(KIT, hundredths) | lists(COLOURS, hundredths))
def test_decoding_undoes_encoding_of_short_numbers(many):
    kit = many[0].kit if many else KIT
    assert decode_parts(kit, encode_parts(many)) == many


@settings(deadline=None)
@given(lists(COLOURS, st.floats(-1, 1)) | lists(THIRDS, st.floats(-1 / 3, 1 / 3)))
def test_any_numbers_are_rounded_once(many):
    kit = many[0].kit if many else KIT
    once = decode_parts(kit, encode_parts(many))
    assert list(map(len, once)) == list(map(len, many))
    assert decode_parts(kit, encode_parts(once)) == once


@settings(deadline=None)
@given(st.floats(-1, 1, width=32))
def test_a_place_is_the_shortest_decimal_that_gives_it(value):
    pieces = Pieces(torch.tensor([0]), torch.tensor([[value, 0.0]]), torch.tensor([1]))
    (((x, _),),) = (whole.places for whole in decode_parts(COLOURS, pieces))
    assert np.float32(x) == np.float32(value)
    assert digits(x) == digits(np.float32(value))


def test_bounds_come_back_as_they_were_written():
    whole = THIRDS.parts([("a", -1 / 3), ("b", 1 / 3)])
    assert float(np.float32(1 / 3)) > 1 / 3
    assert decode_parts(THIRDS, encode_parts([whole])) == [whole]


def test_wholes_stand_one_behind_the_other():
    pieces = encode_parts([KIT.parse("f7, 2×f2"), KIT.parts([]), KIT.parse("f1")])
    assert pieces.codes.tolist() == [1, 1, 6, 0]
    assert pieces.sizes.tolist() == [3, 0, 1]
    assert pieces.places.shape == (4, 0)


def test_places_stand_beside_their_categories():
    pieces = encode_parts([COLOURS.parse("blue@0.5,-1"), COLOURS.parse("red@0.25,0")])
    assert pieces.codes.tolist() == [2, 0]
    assert pieces.places.tolist() == [[0.5, -1], [0.25, 0]]


def test_pieces_are_integers_and_floats_wherever_they_are():
    for device in ("cpu", "meta"):
        for many in ([], [COLOURS.parts([])], [COLOURS.parse("red@0,0")]):
            pieces = encode_parts(many, device)
            kinds = [each.dtype for each in pieces]
            assert kinds == [torch.int64, torch.float32, torch.int64]
            assert {each.device.type for each in pieces} == {device}
            assert len(pieces.codes) == len(pieces.places) == sum(map(len, many))
            assert pieces.places.shape[1] == (2 if many else 0)


def test_no_wholes_are_no_pieces():
    assert decode_parts(KIT, encode_parts([])) == []


def test_places_with_a_gradient_can_be_read():
    pieces = encode_parts([COLOURS.parse("red@0.1,0.2")])
    asked = pieces._replace(places=pieces.places.requires_grad_())
    assert str(decode_parts(COLOURS, asked)[0]) == "red@0.1,0.2"


def test_parts_of_two_kits_are_refused():
    with pytest.raises(UsageError, match="`many` are parts of 2 kits; expected one"):
        encode_parts([KIT.parse("f2"), COLOURS.parse("red@0,0")])


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (([0, 10], [[], []], [2]), "`codes` has 10; expected 0 to 9"),
        (([0, -1], [[], []], [2]), "`codes` has -1; expected 0 to 9"),
        (([0, 1], [[], []], [1]), "`sizes` has 1 parts; `pieces` has 2 codes and 2 places"),
        (([0, 1], [[]], [2]), "`sizes` has 2 parts; `pieces` has 2 codes and 1 places"),
        (([0], [[0.5]], [1]), "`f1` has a place; parts have none here"),
    ],
)
def test_tensors_that_stand_for_no_parts_are_refused(pieces, message):
    with pytest.raises(UsageError, match=message):
        decode_parts(KIT, Pieces(*map(torch.tensor, pieces)))


def test_places_outside_the_bounds_are_refused():
    pieces = Pieces(torch.tensor([0]), torch.tensor([[0.0, 1.5]]), torch.tensor([1]))
    with pytest.raises(UsageError, match=r"`y` of `red` \(=1\.5\) must be a number from -1 to 1"):
        decode_parts(COLOURS, pieces)
