"""Pictures that are painted, in a real browser: strokes, words, one word changed, real pictures."""

import re

import pytest
from playwright.sync_api import expect

from .looking import accessible, answered, darkened, settled, shot, shown

pytestmark = pytest.mark.browser
MODEL = "00000-captioned-mnist-align-tiny"
SAID = "description=the+digit+three+is+at+the+top+left+of+the+image"
STROKES = 4


def opened(page, address, link=SAID, model=MODEL):
    page.goto(f"{address}?view=captions&model={model}&seed=7&drawn=2&{link}")
    settled(page)


def told(page):
    return page.locator(".player-told")


def flipped(page):
    """The list of places of which one is flipped."""
    return page.get_by_role("region", name="What is said").get_by_label("place", exact=True)


def pictures(page, which):
    """What the canvases of a part of the page show."""
    return page.locator(f"{which} canvas").evaluate_all("(all) => all.map((c) => c.toDataURL())")


def test_strokes_are_played_and_gone_through_by_hand(page, brushes, stranger):
    opened(page, brushes)
    expect(told(page)).to_have_text("finished")
    page.evaluate(
        """() => {
          const told = document.querySelector(".player-told");
          window.seen = [];
          new MutationObserver(() => window.seen.push(told.textContent))
            .observe(told, { childList: true });
        }"""
    )
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(told(page)).to_have_text("finished")
    each = [f"stroke {k} of {STROKES}" for k in range(1, STROKES + 1)]
    assert page.evaluate("window.seen") == [*each, "finished"]
    finished, film = pictures(page, ".painted-tiles"), pictures(page, ".film")
    assert finished[0] == film[-1]
    assert len(set(film)) == STROKES
    slider = page.get_by_role("slider", name="Stroke")
    slider.press("Home")
    expect(told(page)).to_have_text("stroke 1 of 4")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "stroke 2 of 4")
    assert pictures(page, ".painted-tiles")[0] == film[1]
    assert "stroke=2" in page.url
    expect(page.locator(".tile .patch")).to_have_count(2)
    expect(page.locator(".heat-note")).to_have_text(re.compile(r"^stroke 2: \w+\s\d+\s%"))
    page.get_by_role("button", name="Look at picture 2").click()
    assert pictures(page, ".film")[1] == pictures(page, ".painted-tiles")[1]
    page.locator(".film canvas").nth(2).click()
    assert "stroke=3" in page.url
    stranger.goto(page.url)
    assert shown(stranger) == shown(page)


def test_a_flip_is_painted_beside_it_and_shuts_nobody_out(page, phone, brushes):
    page.emulate_media(reduced_motion="reduce")
    opened(page, brushes)
    expect(told(page)).to_have_text("finished")  # at once
    before = pictures(page, ".painted-tiles")
    with answered(page):
        flipped(page).select_option("digit")
    assert "word=four" in page.url  # the one after three
    both = pictures(page, ".painted-tiles")
    assert both[:2] == before
    assert both[2:] != before
    heads = page.locator(".painted-head p")
    expect(heads.nth(1)).to_contain_text("the digit four is at the top left of the image")
    table = page.get_by_role("table").first
    expect(table.get_by_role("row")).to_have_count(1 + len(SAID.split("+")))
    expect(table.get_by_role("columnheader")).to_have_count(1 + STROKES)
    shares = [int(text.split()[0]) for text in table.locator("td:nth-child(2)").all_inner_texts()]
    assert sum(shares) == pytest.approx(100, abs=6)
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, "painting")
    accessible(page)
    darkened(page)
    accessible(page)
    opened(phone, brushes, f"{SAID}&place=digit&word=five")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    shot(phone, "painting-phone")


def test_real_pictures_that_fit_come_best_first(page, brushes):
    opened(page, brushes)
    page.get_by_role("button", name="Look for them").click()
    expect(page.get_by_text("The best of 64 test pictures")).to_be_visible(timeout=30_000)
    settled(page)
    nats = page.locator(".found-words .number").all_inner_texts()
    values = [float(text.replace("−", "-")) for text in nats]
    assert len(values) == 8
    assert values == sorted(values, reverse=True)
    expect(page.locator(".small-command")).to_contain_text("mindseye retrieve 'the digit three")
    with answered(page):
        page.get_by_role("group", name="The words").get_by_label("digit").select_option("five")
    expect(page.locator(".found-words")).to_have_count(0)
    expect(page.get_by_role("button", name="Look for them")).to_be_enabled()


def test_thousands_of_words_are_typed_and_not_listed(page, brushes):
    opened(page, brushes, "description=a+word7", "00002-coco-wide")
    assert page.evaluate("document.querySelectorAll('*').length") < 2000
    field = page.get_by_label("the whole sentence")
    field.press_sequentially(" word199")
    with answered(page):
        page.get_by_role("button", name="word1995").click()
    expect(field).to_have_value("a word7 word1995 ")
    expect(page.get_by_role("heading", level=1)).to_have_text("a word7 word1995")
    with answered(page):
        flipped(page).select_option("word 2")
    with answered(page):
        page.get_by_label("word 2, the other word").fill("word8")
        page.keyboard.press("Enter")
    assert "word=word8" in page.url
    page.get_by_role("link", name="Imagine").click()
    settled(page)
    expect(page.get_by_role("textbox", name="what is said")).to_have_value("a word7 word1995")
    assert page.evaluate("document.querySelectorAll('*').length") < 2000
