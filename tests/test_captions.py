"""Captions: concepts over the places of a sentence."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindseye.captions import Caption, Sentence
from mindseye.concepts import Attribute
from mindseye.data.scenes import SENTENCE
from mindseye.errors import UsageError
from mindseye.labels import decode, encode

NINE = "large red rubber cube left small blue metal sphere"
TAGS = Sentence([Attribute(f"word {i}", ["-", "Male", "Wavy Hair", "Hair"]) for i in (1, 2, 3)])

codes = st.tuples(*(st.one_of(st.none(), st.integers(0, n - 1)) for n in SENTENCE.sizes))


def test_a_sentence_of_two_objects_has_nine_places_and_36864_captions():
    assert SENTENCE.sizes == (2, 8, 2, 3, 4, 2, 8, 2, 3)
    assert SENTENCE.count(9) == 96 * 96 * 4
    assert len(SENTENCE.words) == 2 + 8 + 2 + 3 + 4


def test_nine_words_are_read_in_order():
    caption = SENTENCE.parse(NINE)
    assert isinstance(caption, Caption)
    assert list(caption.values.values()) == NINE.split()


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a red cube to the left of a sphere", "* red * cube left * * * sphere"),
        (
            "big shiny ball behind tiny matte block",
            "large * metal sphere behind small * rubber cube",
        ),
        ("Large, Red; cube.", "large red * cube"),
        ("red blue", "* red * * * * blue"),
        ("cube cube", "* * * cube * * * * cube"),
        ("in front of a gray cylinder", "* * * * front * gray * cylinder"),
        ("left", "* * * * left"),
        ("", "*"),
        ("* * any ?", "*"),
        ("second colour=red, relation=left", "* * * * left * red"),
    ],
)
def test_words_go_to_the_next_place_that_knows_them(text, meant):
    assert SENTENCE.parse(text) == SENTENCE.parse(meant)
    assert str(SENTENCE.parse(text)) == meant


@given(codes)
def test_what_is_printed_is_read_back(codes):
    caption = SENTENCE.from_codes(codes)
    assert SENTENCE.parse(str(caption)) == caption


@given(codes)
def test_a_caption_is_its_labels(codes):
    caption = SENTENCE.from_codes(codes)
    (back,) = decode(SENTENCE, encode([caption]))
    assert back == caption
    assert isinstance(back, Caption)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(UsageError):
        assert isinstance(SENTENCE.parse(text), Caption)


def test_words_of_several_words_are_read_whole_and_printed_with_hyphens():
    caption = TAGS.parse("wavy hair male")
    assert str(caption) == "Wavy-Hair Male"
    assert TAGS.parse(str(caption)) == caption
    assert TAGS.parse("hair - male").codes == (3, 0, 1)


def test_parents_and_children_are_captions():
    caption = SENTENCE.parse("red cube")
    assert {str(parent) for parent in caption.parents()} == {"* red", "* * * cube"}
    assert len(caption.children()) == 2 + 2 + 4 + 2 + 8 + 2 + 3
    assert all(isinstance(each, Caption) for each in caption.children())
    assert str(caption.say("relation", "behind")) == "* red * cube behind"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("large purpel cube", "'purpel' is not a word here.*Did you mean 'purple'"),
        (f"{NINE} sphere", "'sphere' is one word too many: a caption has 9 places"),
        ("cube sphere large", "'large' is one word too many"),
        ("cube left red left", "'left' has no place left: it may stand as 'relation'"),
        ("left right", "'right' has no place left: it may stand as 'relation', and the text is"),
        ("first size=tiny", "is not a value of `first size`"),
        ("red " * 5000, "at most 10000 are read"),
        (7, "must be a string"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises(UsageError, match=message):
        SENTENCE.parse(text)


def test_words_that_may_stand_anywhere_have_no_place_of_their_own():
    assert TAGS.unordered
    assert not SENTENCE.unordered


HUES = Attribute("hue", ["red", "dark blue"])
SHAPES = Attribute("shape", ["cube", "ball"])
SPOKEN = Sentence([HUES, SHAPES], ("a",), (("sphere", "ball"),), "it is a {hue} {shape} there")


def test_a_caption_with_a_pattern_is_printed_in_full_and_read_back():
    for text in ("it is a dark blue ball there", "red", "* cube", "", "red sphere", "hue=red"):
        caption = SPOKEN.parse(text)
        assert SPOKEN.parse(str(caption)) == caption
    assert str(SPOKEN.parse("dark-blue sphere")) == "it is a dark blue ball there"
    assert str(SPOKEN.parse("ball")) == "it is a * ball there"
    assert SPOKEN.pieces == ("it", "is", "a", 0, 1, "there")


def test_words_of_the_pattern_are_read_over_and_others_are_not():
    assert SPOKEN.parse("there it is a red").values == {"hue": "red"}
    with pytest.raises(UsageError, match="'where' is not a word here"):
        SPOKEN.parse("where is it")


def test_without_a_pattern_places_are_spoken_in_their_order():
    assert Sentence([HUES, SHAPES]).pieces == (0, 1)


def test_a_pattern_has_every_place_once():
    with pytest.raises(UsageError, match="must have every place once"):
        Sentence([HUES, SHAPES], pattern="it is {hue}")
    with pytest.raises(UsageError, match="must have every place once"):
        Sentence([HUES], pattern="{hue} {hue}")
    with pytest.raises(UsageError, match="which is no place; expected 'hue'"):
        Sentence([HUES], pattern="{size}")
