import pytest
from PIL import Image, ImageColor

from mindseye.typesetting import INK, MUTED, typeset


def lines(text):
    return [line for line, _ in text.lines]


def test_no_letter_is_lost_and_every_line_fits():
    (text,) = typeset(["digit=4, orientation=anticlockwise\nbig"], 84, (13, 10))
    assert "".join(lines(text)).replace(" ", "") == "digit=4,orientation=anticlockwisebig"
    assert all(text.font.getlength(line) <= 84 for line in lines(text))
    assert text.width <= 84


def test_a_space_behind_a_sign_stays():
    (text,) = typeset(["IWAE, k = 50"], 400, [16])
    assert text.paragraphs == [["IWAE, k = 50"]]


def test_a_line_does_not_break_inside_an_equation():
    (text,) = typeset(["second stage: IWAE, k = 50, then VAE"], 160, [13])
    assert len(lines(text)) > 1
    assert any("k = 50," in line for line in lines(text))


def test_type_shrinks_before_a_word_is_broken():
    (large,) = typeset(["short"], 84, (13, 10))
    (small,) = typeset(["counterclockwise"], 84, (13, 10, 9, 8))
    assert large.font.size == 13
    assert small.font.size < 13
    assert lines(small) == ["counterclockwise"]


def test_one_long_word_sets_the_size_of_all():
    texts = typeset(["short", "counterclockwise"], 84, (13, 10, 9, 8))
    assert texts[0].font is texts[1].font


def test_a_word_too_long_for_any_size_is_broken():
    (text,) = typeset(["m" * 40], 84, (13, 10))
    assert text.font.size == 10
    assert len(lines(text)) > 1
    assert "".join(lines(text)) == "m" * 40


def test_arrows_and_dashes_need_no_other_font():
    (text,) = typeset(["digit=3 → digit=8 — 2×2"], 400, (13,))
    assert lines(text) == ["digit=3 -> digit=8 - 2x2"]


def test_letters_of_methods_are_spelled_out_so_that_every_machine_draws_them_alike():
    (text,) = typeset(["β-TCVAE, β = 6, γ = 3"], 400, (13,))
    assert lines(text) == ["beta-TCVAE, beta = 6, gamma = 3"]


@pytest.mark.parametrize("words", ["", "\n"])
def test_nothing_takes_no_width(words):
    (text,) = typeset([words], 84, (13,))
    assert text.width == 0


def test_height_is_that_of_the_lines():
    one, three = typeset(["a", "a\nb\nc"], 84, (13,))
    assert three.height == 3 * one.height > 30


def test_the_first_paragraph_is_ink_and_the_others_are_muted():
    (text,) = typeset(["a b\nc\nd"], 84, (13,))
    assert [colour for _, colour in text.lines] == [INK, MUTED, MUTED]


def test_text_is_written_inside_its_width_and_height():
    (text,) = typeset(["digit=4, size=big\nupright"], 120, (13,))
    image = Image.new("RGB", (200, 120), "white")
    text.write(image, 20, 10)
    left, top, right, bottom = image.point(lambda v: 255 - v).getbbox()
    assert left >= 20
    assert right <= 20 + text.width + 1
    assert top >= 10
    assert bottom <= 10 + text.height
    assert ImageColor.getrgb(INK) in {colour for _, colour in image.getcolors(9999)}
