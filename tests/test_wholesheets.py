"""Sheets of wholes: curves in their colours, pictures enlarged, rings where the parts are."""

import numpy as np
import pytest
import torch

from mindseye.composing import Composer
from mindseye.curves import BEFORE, MODEL, OTHER, TRUTH
from mindseye.data import Loads, Sines, Sites
from mindseye.errors import UsageError
from mindseye.generating import Truth
from mindseye.models import ImprintVAE
from mindseye.pictures import to_uint8
from mindseye.pieces import encode_parts
from mindseye.wholesheets import (
    Step,
    WholeRow,
    growing_sheet,
    real_wholes_sheet,
    steps_sheet,
    whole_sheet,
    wholes_sheet,
)

LEFT = 24 + 3  # the margin of a sheet, and the frame of a picture
COLOURS = Sites.vocabulary


@pytest.fixture(scope="module")
def composers():
    """Untrained models of curves and of pictures."""
    torch.manual_seed(0)
    sizes = {"latent": 4, "width": 3, "hidden": 16}
    return {
        kind: Composer(ImprintVAE(kind.vocabulary, kind.shape, **sizes), "model")
        for kind in (Sines, Sites)
    }


def pixels(sheet) -> np.ndarray:
    return np.asarray(sheet).astype(int)


def has(sheet, rgb) -> bool:
    """Whether a colour is on a sheet, in more than the odd pixel."""
    return bool((np.abs(pixels(sheet) - to_uint8(rgb).astype(int)).sum(-1) < 3).sum() > 9)


def rendered(text: str) -> tuple[torch.Tensor, list]:
    parts = COLOURS.parse(text)
    return Sites("test").wholes_of(encode_parts([parts]), 0)[0], [parts]


def test_pictures_stand_on_the_sheet_four_times_as_large():
    x, parts = rendered("red@0.5,0.5; white@-0.5,0")
    shown = pixels(wholes_sheet(x, parts))[LEFT : LEFT + 128, LEFT : LEFT + 128]
    assert np.array_equal(shown[::4, ::4], np.moveaxis(to_uint8(x[0].numpy()), 0, -1))
    assert np.array_equal(shown[3::4, 3::4], shown[::4, ::4])


@pytest.mark.parametrize("place", [(0.0, 0.0), (-0.9, 0.6), (0.9, -0.9), (1.0, 1.0)])
def test_a_ring_is_around_the_place_of_its_part(place):
    x, parts = rendered(f"green@{place[0]},{place[1]}")
    plain, ringed = (
        pixels(wholes_sheet(x, parts, marks=marks))[LEFT : LEFT + 128, LEFT : LEFT + 128]
        for marks in (False, True)
    )
    rows, columns = (np.abs(plain - ringed).sum(-1) > 100).nonzero()
    at = [(value + 1) / 2 * 31 * 4 + 1.5 for value in place]
    far = np.hypot(columns - at[0], rows - at[1])
    assert far.max() < 8
    assert far.min() > 1  # a ring leaves its middle free
    if max(map(abs, place)) < 0.9:
        assert [columns.mean(), rows.mean()] == pytest.approx(at, abs=0.7)


def test_a_ring_has_the_colour_of_its_part_and_an_edge_that_is_seen():
    white = np.ones((1, 3, 32, 32))
    for name, rgb in (("red", (1, 0, 0)), ("blue", (0, 0, 1)), ("black", (0, 0, 0))):
        assert has(wholes_sheet(white, [COLOURS.parse(f"{name}@0,0")], marks=True), rgb)
    sheets = [wholes_sheet(white, [COLOURS.parse("white@0,0")], marks=m) for m in (False, True)]
    assert not np.array_equal(*map(pixels, sheets))


def test_curves_have_the_colours_that_they_are_given():
    flat = np.full((1, 1, 1, 30), 1.0)
    row = WholeRow("", flat, colours=[TRUTH], behind=[(2 * flat, OTHER), (-flat, BEFORE)])
    sheet = whole_sheet([row])
    assert all(has(sheet, rgb) for rgb in (TRUTH, OTHER, BEFORE))
    assert not has(sheet, MODEL)


def test_rows_of_different_shapes_or_none_are_refused():
    flat, picture = np.zeros((1, 1, 1, 30)), np.zeros((1, 3, 32, 32))
    for rows in ([], [WholeRow("", flat), WholeRow("", picture)], [WholeRow("", flat[:0])]):
        with pytest.raises(UsageError, match="expected wholes of one"):
            whole_sheet(rows)


def test_a_step_shows_what_was_before_and_what_parts_give_alone(composers):
    composer = composers[Sines]
    start = composer.composed("f2, f7", 2)
    after = composer.added(start, "f3")
    plain = steps_sheet([Step("start", start)])
    both = steps_sheet([Step("start", start), Step("+ f3", after)])
    assert (has(plain, BEFORE), has(both, BEFORE)) == (False, True)
    assert both.height > plain.height + 80
    beside = steps_sheet([Step("start", start, composer.summed(start))])
    assert (has(plain, OTHER), has(beside, OTHER)) == (False, True)
    observed = torch.zeros(2, *Sines.shape)
    assert has(steps_sheet([Step("taken apart", start)], "", observed), TRUTH)


def test_of_pictures_the_sum_of_parts_has_its_own_row(composers):
    composer = composers[Sites]
    start = composer.composed("red@0,0; blue@0.5,0.5", 2)
    plain = steps_sheet([Step("start", start)])
    beside = steps_sheet([Step("start", start, composer.summed(start))])
    assert beside.height - plain.height == 128 + 6 + 16


def test_what_is_true_stands_below_a_step(composers):
    composer, truth = composers[Sines], Truth(Sines())
    plain = Step("start", composer.composed("f2, f7", 3))
    both = plain._replace(truth=truth.composed("f2, f7", 3))
    alone, beside = (steps_sheet([step]) for step in (plain, both))
    assert beside.height - alone.height > 92
    assert not has(alone, TRUTH)
    assert has(beside, TRUTH)


@pytest.mark.parametrize("kind", [Sines, Sites])
def test_the_spread_of_wholes_is_drawn_once_for_each_step(composers, kind):
    text = {Sines: "f2, f7", Sites: "red@0.2,-0.5; blue@0.6,0.1"}[kind]
    made = [maker.composed(text, 16) for maker in (composers[kind], Truth(kind()))]
    few, many = (
        steps_sheet([Step("start", made[0], truth=true)], spread=True) for true in (None, made[1])
    )
    assert many.height > few.height + 92
    assert has(few, MODEL) == (kind is Sines)
    assert has(many, TRUTH) == (kind is Sines)


def test_no_more_than_a_few_wholes_of_a_step_are_drawn(composers):
    widths = [
        steps_sheet([Step("start", composers[Sines].composed("f1", n))]).width for n in (6, 7, 40)
    ]
    assert len(set(widths)) == 1


def test_what_parts_give_alone_is_the_whole_where_there_is_one_part(composers):
    for kind, text in ((Sines, "f2"), (Sites, "red@0,0")):
        whole = composers[kind].composed(text, 3, seed=5)
        assert torch.equal(composers[kind].summed(whole), whole.means)


@pytest.mark.parametrize("kind", [Sines, Sites])
def test_real_wholes_stand_beside_those_of_a_model(composers, kind):
    sheet = growing_sheet(composers[kind], kind("test"), n=2)
    sizes = {Sines: [1, 2, 4, 8, 16], Sites: [1, 2, 4, 8]}[kind]
    assert sheet.height > len(sizes) * (90 if kind is Sines else 128)
    if kind is Sines:
        assert has(sheet, TRUTH)
        assert has(sheet, MODEL)
    few = growing_sheet(composers[kind], kind("test", most=3), n=2)
    assert few.height < sheet.height


def test_the_numbers_of_parts_grow_to_the_most():
    asked = []

    class Counting(Sines):
        def examples(self, index, sizes=None):
            asked.extend([] if sizes is None else sizes.tolist())
            return super().examples(index, sizes)

    class Silent:
        name = "silent"

        def imagine(self, parts, n, seed):
            return torch.zeros(n, *Sines.shape)

    growing_sheet(Silent(), Counting("test", most=6))  # pyright: ignore[reportArgumentType]
    assert asked == [1, 2, 4, 6]


@pytest.mark.parametrize("kind", [Sines, Sites, Loads])
def test_real_wholes_are_drawn_over_their_parts_or_of_some(kind):
    every = real_wholes_sheet(kind("test"), "", 5, 0, title="all")
    some = real_wholes_sheet(kind("test"), kind.vocabulary.example, 5, 0, title="some")
    assert every.width > 400
    assert not np.array_equal(*(pixels(sheet)[:200, :400] for sheet in (every, some)))
