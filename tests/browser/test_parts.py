"""The view of parts in a real browser: steppers, a square, a text, and all of them in step."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from .looking import accessible, answered, settled, shot, shown

pytestmark = pytest.mark.browser
SINES, SITES = "00000-sines-compvae-tiny", "00001-sites-compvae-tiny"
PLACES = "red@-0.5,-0.4; blue@0.5,0.5"


def opened(page, address, model, link=""):
    page.goto(f"{address}?view=parts&model={model}&seed=7&wholes=2&{link}")
    settled(page)


def field(page):
    return page.get_by_label("the whole, in words")


def panels(page) -> list[str]:
    """All curves, the generator's first."""
    settled(page)
    return page.locator(".panel-curves").evaluate_all("(all) => all.map((e) => e.innerHTML)")


def now(page) -> list[str]:
    """The curves alone, without what was before."""
    lines = page.locator(".panel-now")
    return lines.evaluate_all("(all) => all.map((e) => e.getAttribute('d'))")


def site(page, name):
    return page.get_by_role("button", name=name, exact=True)


def at(page, x, y):
    """Where a place of the square is on the screen."""
    box = page.locator(".square-ground").bounding_box()
    return box["x"] + box["width"] * (x + 1) / 2, box["y"] + box["height"] * (y + 1) / 2


def placed(page, colour) -> tuple[float, ...]:
    """Where the text says that the site of a colour is."""
    settled(page)
    numbers = re.search(rf"{colour}@([-.\d]+),([-.\d]+)", field(page).input_value())
    return tuple(map(float, numbers.groups()))


@pytest.mark.parametrize(
    ("model", "theme", "link"),
    [
        (SINES, "light", "description=f2, f7&before=f2&wholes=4"),
        (SITES, "dark", f"description={PLACES}&wholes=4"),
    ],
)
def test_the_view_shuts_nobody_out(page, composed, model, theme, link):
    opened(page, composed, model, f"{link}&theme={theme}")
    expect(page).to_have_title(re.compile("Parts"))
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, f"parts-{theme}")
    accessible(page)


def test_it_fits_a_phone_and_a_large_screen(phone, large, composed):
    opened(phone, composed, SITES)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    shot(phone, "parts-phone-sites")
    opened(large, composed, SINES, "wholes=8")
    assert large.evaluate("document.documentElement.scrollHeight") <= 1440


def test_steppers_and_text_stay_in_step(page, composed, stranger):
    opened(page, composed, SINES, "description=f2, f7")
    before = now(page)
    assert len(before) == 4
    with answered(page):
        page.get_by_role("button", name="one f3 more").click()
    expect(field(page)).to_have_value("f2, f3, f7")
    expect(page.get_by_text("In grey: f2, f7")).to_be_visible()
    assert now(page) != before
    grey = page.locator(".panel-before").evaluate_all("(all) => all.map((e) => e.outerHTML)")
    assert len(grey) == 4
    stranger.goto(page.url)
    assert panels(stranger) == panels(page)
    with answered(page):
        page.get_by_role("button", name="one f3 less").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("f2, f7")
    with answered(page):
        page.get_by_label("what was before, in grey").uncheck()
    assert now(page) == before  # to the last bit
    expect(page.locator(".panel-before")).to_have_count(0)
    with answered(page):
        field(page).fill("f9 and 3×f2")
    expect(page.get_by_role("group", name="f2").locator("output")).to_have_text("3")
    expect(page.get_by_role("heading", level=1)).to_have_text("3×f2, f9")
    with answered(page):
        page.get_by_text("mean and spread").click()
    expect(page.locator(".panel-band")).to_have_count(2)


def test_what_cannot_be_made_is_explained_and_the_wholes_stay(page, composed):
    page.expected.append("400")
    opened(page, composed, SINES, "description=f2, f7")
    before = panels(page)
    with answered(page):
        field(page).fill("f2, f77")
    expect(page.get_by_text("Did you mean 'f7'?")).to_be_visible()
    assert panels(page) == before
    with answered(page):
        page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("The text names no part.")).to_be_visible()
    page.reload()
    settled(page)
    expect(page.get_by_text("No wholes yet")).to_be_visible()
    with answered(page):
        page.get_by_role("button", name="one f5 more").click()
    expect(page.get_by_text("The text names no part.")).to_have_count(0)
    expect(field(page)).to_have_value("f5")


def test_sites_are_added_moved_and_taken_away_by_hand(page, composed, stranger):
    opened(page, composed, SITES, f"description={PLACES}")
    before = shown(page)
    assert len(before) == 4
    page.get_by_text("green", exact=True).click()
    with answered(page):
        page.mouse.click(*at(page, 0.5, -0.5))
    born = placed(page, "green")
    assert born == pytest.approx((0.5, -0.5), abs=0.03)
    assert shown(page) != before
    page.mouse.move(*at(page, 0.5, -0.5))
    page.mouse.down()
    with answered(page):
        page.mouse.move(*at(page, 0.2, -0.2), steps=3)
    page.mouse.up()
    settled(page)
    place = placed(page, "green")
    assert place == pytest.approx((0.2, -0.2), abs=0.03)
    (move,) = parse_qs(urlsplit(page.url).query)["moved"]
    assert move == f"green@{born[0]:g},{born[1]:g}={place[0]:g},{place[1]:g}"
    stranger.goto(page.url)
    assert shown(stranger) == shown(page)
    expect(page.locator(".site:focus")).to_have_attribute("aria-label", re.compile("^green at 0"))
    page.keyboard.press("Delete")
    settled(page)
    expect(field(page)).to_have_value(PLACES)
    assert shown(page) == before


def test_sites_are_moved_by_keys_and_come_back(page, composed):
    opened(page, composed, SITES, f"description={PLACES}")
    before = shown(page)
    site(page, "red at −0.5, −0.4").focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    expect(site(page, "red at −0.45, −0.4")).to_be_focused()
    expect(page.locator(".square-told")).to_have_text("red at −0.45, −0.4")
    assert shown(page) != before
    page.keyboard.press("ArrowLeft")
    settled(page)
    assert shown(page) == before
    assert "moved" not in page.url
    with answered(page):
        page.get_by_role("button", name="Add").click()
    assert page.locator(".site").count() == 3
    with answered(page):
        page.get_by_role("button", name="Remove").click()
    assert shown(page) == before


def test_a_model_that_knows_no_parts_names_those_that_do(page, address, stranger, composed):
    page.goto(f"{address}?view=parts")
    settled(page)
    expect(page.get_by_text("mnist-a knows nothing of parts")).to_be_visible()
    for name in ("loads", "sines", "sites"):  # they came with the package
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    stranger.goto(f"{composed}?view=parts&model=mnist-a")
    settled(stranger)
    with answered(stranger):
        stranger.get_by_role("button", name=SITES, exact=True).click()
    expect(field(stranger)).to_have_value(re.compile("^red@"))
    assert stranger.get_by_role("navigation").get_by_role("link").all_inner_texts() == [
        "Parts",
        "Runs",
    ]
    with answered(stranger):
        stranger.get_by_label("Model", exact=True).select_option(SINES)
    expect(field(stranger)).to_have_value("2×f2, f10")
