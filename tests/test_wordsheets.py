"""Sheets of captions: bars in proportion, the drawn word in black, everything in its place."""

import numpy as np
import pytest

from mindseye.data.celeba import SENTENCE as FACE
from mindseye.data.scenes import SENTENCE
from mindseye.errors import UsageError
from mindseye.wordsheets import CHART, GAP, PANEL, ROOM, Place, Shown, Telling, word_sheet

BLACK, BLUE, WHITE = (34, 37, 43), (74, 127, 181), (255, 255, 255)
TOP = 20
"""The rows of a chart that its word stands in."""

GREY = np.full((1, 16, 16), 0.5)


def place(chance: float, chosen: int = 0, count: int = 2) -> Place:
    """A word with a chance; the others share what is left."""
    rest = (1 - chance) / (count - 1)
    chances = [chance if i == chosen else rest for i in range(count)]
    return Place([f"w{i}" for i in range(count)], chances, chosen)


def telling(places=(), label: str = "a", picture=GREY, note: str = "") -> Telling:
    return Telling([Shown(label, picture, note)], places)


def sheet(*places: Place, **arguments) -> np.ndarray:
    return np.asarray(word_sheet([telling(places)], **arguments))


def chart(pixels: np.ndarray, number: int = 0) -> np.ndarray:
    """The panel of a place of the first row."""
    left = GAP + ROOM + GAP + number * (PANEL + GAP)
    return pixels[GAP:, left : left + PANEL]


def bars(panel: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """How many pixels of a colour stand in every column between the lines of a chart."""
    return (panel[TOP + 1 : TOP + CHART] == colour).all(-1).sum(0)


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
def test_a_bar_is_as_high_as_its_chance(chance):
    panel = chart(sheet(place(chance)))
    assert bars(panel, BLACK).max() == pytest.approx(chance * CHART, abs=1)
    assert bars(panel, BLUE).max() == pytest.approx((1 - chance) * CHART, abs=1)


@pytest.mark.parametrize("chosen", [0, 3, 7])
def test_only_the_drawn_word_is_black_and_it_stands_in_its_order(chosen):
    panel = chart(sheet(place(0.3, chosen, count=8)))
    (black,), (blue,) = (bars(panel, colour).nonzero() for colour in (BLACK, BLUE))
    assert chosen * PANEL / 8 <= black.min() <= black.max() <= (chosen + 1) * PANEL / 8
    assert not set(black) & set(blue)


def test_chances_beyond_one_and_below_zero_stay_between_the_lines():
    panel = chart(sheet(Place(["a", "b"], [1.7, -0.7], 0)))
    assert bars(panel, BLACK).max() == CHART - 1
    assert bars(panel, BLUE).max() == 0


def test_every_place_is_one_panel_wider_and_every_picture_one_row_higher():
    wide = [sheet(*[place(0.5)] * count).shape[1] for count in (0, 1, 2, 9)]
    assert np.diff(wide).tolist() == [PANEL + GAP, PANEL + GAP, 7 * (PANEL + GAP)]
    rows = [word_sheet([telling([place(0.5)])] * count).height for count in (1, 2, 5)]
    assert rows[2] - rows[1] == 3 * (rows[1] - rows[0])
    assert rows[1] - rows[0] >= 112 + GAP


def test_a_row_that_tells_less_leaves_its_charts_blank():
    rows = [telling([place(0.5)] * 3), telling([place(0.5)], "b")]
    pixels = np.asarray(word_sheet(rows))
    lower = pixels[pixels.shape[0] // 2 :]
    assert (bars(chart(pixels, 2), BLACK) > 0).any()
    assert (lower[:, GAP + ROOM + GAP + PANEL :] == WHITE).all()


def test_a_title_and_a_note_make_room_for_themselves():
    plain = sheet(place(0.5))
    titled = sheet(place(0.5), title="told")
    assert titled.shape[1] == plain.shape[1]
    assert np.array_equal(titled[-plain.shape[0] + GAP :], plain[GAP:])
    noted = np.asarray(word_sheet([telling([place(0.5)], note="large red " * 9)]))
    assert noted.shape[0] > plain.shape[0]
    assert (noted[:, ROOM + GAP : ROOM + 2 * GAP] == WHITE).all()


def test_grey_pictures_are_colour_pictures_of_three_equal_channels():
    grey = np.random.default_rng(0).random((1, 12, 12))
    one, three = (word_sheet([telling(picture=x)]) for x in (grey, grey.repeat(3, 0)))
    assert np.array_equal(one, three)


def test_a_picture_keeps_its_colours_and_its_proportions():
    red = np.zeros((3, 8, 32))
    red[0] = 1
    pixels = np.asarray(word_sheet([telling(picture=red)], side=40))
    rows, columns = (pixels == (255, 0, 0)).all(-1).nonzero()
    assert (rows.min(), rows.max()) == (GAP, GAP + 39)
    assert columns.max() - columns.min() + 1 == 160


@pytest.mark.parametrize("words", [SENTENCE.words, FACE.words], ids=["objects", "faces"])
def test_every_word_we_know_stands_above_its_chart(words):
    for word in sorted(words, key=len)[-9:]:
        panel = chart(sheet(Place([word, "b"], [0.0, 0.0], 0)))
        assert panel[:TOP].min() < 160
        assert (panel[TOP + 1 : TOP + CHART] == WHITE).all()


@pytest.mark.parametrize("word", ["m" * 60, "wearing-a-very-large-necklace", "größe — 中"])
def test_long_words_stay_in_their_panel(word):
    odd = Place([word, "b"], [0.5, 0.5], 0)
    pixels = sheet(place(0.5), odd, place(0.5))
    plain = sheet(place(0.5), place(0.5), place(0.5))
    assert pixels.shape == plain.shape
    for number in (0, 2):
        assert np.array_equal(chart(pixels, number), chart(plain, number))
    left = GAP + ROOM + GAP + PANEL
    for gap in (left, left + PANEL + GAP):
        assert (pixels[:, gap : gap + GAP] == WHITE).all()


def test_pictures_stand_beside_each_other_and_charts_under_each_other():
    one, red = telling([place(0.5)]), np.zeros((3, 8, 8))
    red[0] = 1
    two = Telling([Shown("b", red), *one.shown], one.places)
    pixels, alone = (np.asarray(word_sheet(rows)) for rows in ([two, one], [one]))
    assert pixels.shape[1] == alone.shape[1] + ROOM + GAP
    half = pixels.shape[0] // 2
    same = pixels[GAP : GAP + 100, GAP + ROOM + GAP :]
    assert np.array_equal(same, alone[GAP : GAP + 100, GAP:])
    lower = pixels[half + GAP // 2 :]
    assert np.array_equal(lower[:100, GAP + ROOM + GAP :], same)
    assert (lower[:, : GAP + ROOM] == WHITE).all()


@pytest.mark.parametrize("tellings", [[], [Telling([])]], ids=["no rows", "no pictures"])
def test_nothing_told_is_refused(tellings):
    with pytest.raises(UsageError, match="`tellings` is empty; expected at least one picture"):
        word_sheet(tellings)
