"""The view of sentences in a real browser: places, typing, and one word changed."""

import re

import pytest
from playwright.sync_api import expect

from .looking import accessible, answered, darkened, settled, shot, shown

pytestmark = pytest.mark.browser
MODEL = "00001-two-objects-vlvae-agg-tiny"
SAID = "description=large+red+cube+left+sphere"
FLIP = "place=first+colour&word=blue"


def opened(page, address, link=SAID):
    page.goto(f"{address}?view=captions&model={MODEL}&seed=7&drawn=2&{link}")
    settled(page)


def place(page, name):
    """The list of words of a place."""
    return page.get_by_role("group", name="The words of the sentence").get_by_label(name)


def field(page):
    return page.get_by_label("the whole sentence")


def test_the_view_shuts_nobody_out(page, captioned):
    opened(page, captioned, f"{SAID}&{FLIP}")
    expect(page).to_have_title(re.compile("Captions"))
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, "captions")
    accessible(page)
    darkened(page)
    accessible(page)


def test_it_fits_a_phone_and_a_large_screen(phone, large, captioned):
    opened(phone, captioned, f"{SAID}&{FLIP}")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    shot(phone, "captions-phone")
    opened(large, captioned, f"{SAID}&drawn=6")
    assert large.evaluate("document.documentElement.scrollHeight") <= 1440


def test_a_model_without_sentences_has_no_such_view(page, captioned):
    page.goto(f"{captioned}?view=captions&model=mnist-a")
    settled(page)
    tabs = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert "Captions" not in tabs
    assert "view=imagine" in page.url


def test_places_and_text_stay_in_step(page, captioned):
    opened(page, captioned)
    before = shown(page)
    expect(field(page)).to_have_value("large red cube left sphere")
    expect(place(page, "second shape")).to_have_value("sphere")
    with answered(page):
        place(page, "first colour").select_option("green")
    expect(field(page)).to_have_value("large green cube left sphere")
    assert "description=large+green+cube+left+sphere" in page.url
    assert shown(page) != before
    with answered(page):
        place(page, "first shape").select_option("any")
    expect(field(page)).to_have_value("large green left sphere")
    with answered(page):
        field(page).fill("a big ball to the right of a blue cylinder")
    expect(place(page, "first size")).to_have_value("large")
    expect(place(page, "first shape")).to_have_value("sphere")
    expect(place(page, "relation")).to_have_value("right")
    expect(place(page, "second colour")).to_have_value("blue")
    expect(field(page)).to_have_value("a big ball to the right of a blue cylinder")
    expect(page.get_by_role("heading", level=1)).to_have_text("large sphere right blue cylinder")
    with answered(page):
        page.get_by_role("button", name="Clear").click()
    expect(place(page, "relation")).to_have_value("")
    expect(page.get_by_role("heading", level=1)).to_have_text("anything at all")


def test_a_word_at_a_later_place_keeps_its_place(page, captioned):
    opened(page, captioned, "description=")
    with answered(page):
        place(page, "second shape").select_option("sphere")
    expect(field(page)).to_have_value("* * * * * * * * sphere")
    page.reload()
    settled(page)
    expect(place(page, "second shape")).to_have_value("sphere")
    expect(place(page, "first shape")).to_have_value("")


def test_an_unknown_word_is_explained_and_the_text_stays(page, captioned):
    page.expected.append("400")
    opened(page, captioned)
    before = shown(page)
    with answered(page):
        field(page).fill("a larg cube")
    expect(page.get_by_text("Did you mean 'large'?")).to_be_visible()
    expect(field(page)).to_have_value("a larg cube")
    expect(field(page)).to_have_attribute("aria-invalid", "true")
    assert shown(page) == before
    many = "large red rubber cube left small blue metal sphere cube"
    with answered(page):
        field(page).fill(many)
    expect(page.get_by_text("one word too many")).to_be_visible()
    page.reload()
    settled(page)
    expect(field(page)).to_have_value(many)
    expect(page.get_by_text("one word too many")).to_be_visible()
    with answered(page):
        field(page).fill("a large cube")
    expect(page.get_by_text("one word too many")).to_have_count(0)
    assert len(shown(page)) == 2


def test_a_flip_shows_both_with_the_same_noise(page, captioned, stranger):
    opened(page, captioned)
    before = shown(page)
    assert len(before) == 2
    with answered(page):
        page.get_by_label("place", exact=True).select_option("first colour")
    assert "place=first+colour&" in page.url
    assert "word=blue" in page.url  # the word after red
    both = shown(page)
    assert both[::2] == before
    assert len(both) == 4
    with answered(page):
        page.get_by_role("radio", name="blue", exact=True).press("ArrowRight")
    assert "word=green" in page.url
    other = shown(page)
    assert other[::2] == before
    assert other[1::2] != both[1::2]
    with answered(page):
        page.get_by_role("radio", name="any", exact=True).click()
    assert "word=*" in page.url or "word=%2A" in page.url
    stranger.goto(page.url)
    assert shown(stranger) == shown(page)
    with answered(page):
        page.get_by_label("place", exact=True).select_option("no word")
    assert shown(page) == before
    assert "place" not in page.url


def test_histograms_are_named_by_pointer_and_by_keys(page, captioned):
    opened(page, captioned)
    bar = page.locator(".histogram-bar[data-word=blue]").first
    bar.hover()
    tip = page.locator(".tip")
    expect(tip).to_have_text(re.compile(r"^blue \d+\.\d %$"))
    first = page.locator(".histogram").first
    first.focus()
    expect(tip).to_contain_text("small")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".histogram:focus")).to_have_attribute(
        "aria-label", re.compile("^first colour: .* is drawn; gray")
    )
    with answered(page):
        bar.click()
    assert "word=blue" in page.url


def test_the_reading_says_what_was_said_otherwise(page, captioned):
    opened(page, captioned, f"{SAID}&drawn=6")
    wrong = page.locator(".written.tile-wrong")
    assert wrong.count() > 0
    assert "as said" in wrong.first.locator("canvas").get_attribute("aria-label")
    expect(wrong.first.locator(".reading")).to_contain_text("≠")
    expect(wrong.first.locator(".reading-right")).to_have_text(re.compile(r"^\d+ %$"))
