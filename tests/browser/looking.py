"""What a test sees of the page."""

import re
from contextlib import contextmanager

from playwright.sync_api import expect

from .conftest import SHOTS


def shown(page) -> list[str]:
    """What every picture of the page looks like, as data."""
    settled(page)
    return page.evaluate("[...document.querySelectorAll('main canvas')].map((c) => c.toDataURL())")


def drawn(page) -> tuple[list[str], list[str]]:
    """Every picture and every drawing of the page."""
    pictures = shown(page)
    drawings = page.locator("main svg").evaluate_all("(all) => all.map((e) => e.outerHTML)")
    return pictures, drawings


def settled(page) -> None:
    """Wait until the page waits for nothing: see rest.js."""
    page.evaluate("atRest()")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


@contextmanager
def answered(page):
    """What is done inside asks the server; wait until its answer is shown."""
    with page.expect_response(re.compile("/api/")):
        yield
    settled(page)


def accessible(page) -> None:
    """Refuse a page with a serious fault that axe finds."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    serious = [v for v in found if v["impact"] in ("serious", "critical")]
    assert [(v["id"], v["nodes"][0]["html"]) for v in serious] == []


def darkened(page) -> None:
    """Let the reader's system turn dark while the page is open; it follows."""
    page.emulate_media(color_scheme="dark")
    settled(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def shot(page, name: str) -> None:
    """Keep a picture of the page, if somebody wants them."""
    if SHOTS:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png")
