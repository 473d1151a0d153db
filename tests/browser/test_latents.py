"""Models of pictures alone on the page, and the view that moves through their latents."""

import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from mindseye.pictures import save_picture

from .looking import accessible, answered, drawn, settled, shot, shown

pytestmark = pytest.mark.browser
FLAT, WIDE = "00000-mnist-flat", "00001-mnist-wide"
VIEWS = ["Imagine", "Between", "Latents", "Runs"]
TABS = ["Imagine", "Between", "Latents", "Parts", "Graph", "Runs"]


def here(page) -> str:
    """The picture of the point."""
    return page.locator(".here canvas").first.evaluate("(canvas) => canvas.toDataURL()")


def opened(page, address, model, **more):
    link = "&".join(f"{name}={value}" for name, value in more.items())
    page.goto(f"{address}?view=latents&model={model}&seed=7&{link}")
    settled(page)


# Every view of a model without words


@pytest.mark.parametrize(
    ("view", "model", "theme"),
    [
        ("Imagine", FLAT, "dark"),
        ("Between", WIDE, "light"),
        ("Latents", FLAT, "light"),
        ("Latents", WIDE, "dark"),
        ("Runs", WIDE, "light"),
    ],
)
def test_a_model_without_words_is_shown_to_everybody(page, painters, view, model, theme):
    page.goto(f"{painters}?view={view.lower()}&model={model}&theme={theme}")
    settled(page)
    assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == TABS
    expect(page).to_have_title(re.compile(view))
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, f"{model}-{view.lower()}-{theme}")
    accessible(page)


def test_it_fits_a_phone(phone, painters):
    for model, view in zip((FLAT, WIDE, FLAT, WIDE), VIEWS, strict=True):
        phone.goto(f"{painters}?view={view.lower()}&model={model}")
        settled(phone)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        shot(phone, f"{model}-{view.lower()}-phone")


def test_it_imagines_without_chips(page, painters):
    page.goto(f"{painters}?view=imagine&model={WIDE}&seed=7&n=4")
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("draws from the prior")
    assert page.get_by_role("radiogroup").count() == 0
    before = shown(page)
    page.evaluate("Math.random = () => 0.1234")
    with answered(page):
        page.keyboard.press("r")
    assert shown(page) != before


def test_a_way_goes_from_one_draw_to_another(page, painters):
    page.goto(f"{painters}?view=between&model={WIDE}&seed=7")
    settled(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("a draw → another draw")
    first, *_, last = shown(page)[:9]
    assert first != last


def test_another_model_keeps_the_view_where_it_can(page, painters):
    page.goto(f"{painters}?view=experts&model=mnist-a&description=digit%3D4")
    settled(page)
    page.get_by_label("Model").select_option(WIDE)
    settled(page)
    assert "view=imagine" in page.url
    assert "description=&" in page.url


# The point


def test_a_slider_changes_the_picture_while_it_moves(page, painters):
    opened(page, painters, WIDE)
    before, rows = here(page), shown(page)
    with page.expect_response(re.compile("/api/latents?.*z=")):
        page.get_by_role("slider").first.fill("2.5")
    settled(page)
    assert here(page) != before
    page.wait_for_url(re.compile(r"z=\d+%3A2.5"))
    settled(page)
    assert shown(page)[1:] != rows[1:]
    expect(page.get_by_role("heading", level=1)).to_have_text("around zero, moved")


def test_a_slider_is_moved_by_keys(page, painters):
    opened(page, painters, WIDE)
    before = here(page)
    slider = page.get_by_role("slider").first
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"z=\d+%3A1($|&)"))
    settled(page)
    assert here(page) != before
    expect(slider).to_have_attribute("aria-valuetext", "1.00")


def test_a_dragged_slider_shows_pictures_on_the_way(page, painters):
    opened(page, painters, WIDE)
    asked = []
    page.on("request", lambda r: asked.append(r.url) if "/api/latents?" in r.url else None)
    box = page.get_by_role("slider").first.bounding_box()
    y, x, width = box["y"] + box["height"] / 2, box["x"], box["width"]
    page.mouse.move(x + width / 2, y)
    page.mouse.down()
    for i in range(1, 9):
        with page.expect_response(re.compile(r"/api/latents\?")):
            page.mouse.move(x + width * (0.5 + 0.04 * i), y)
    assert len(asked) > 3
    page.mouse.up()
    settled(page)


def test_zero_and_draws_begin_elsewhere(page, painters):
    opened(page, painters, WIDE, z="0%3A2")
    page.evaluate("Math.random = () => 0.1234")
    moved = here(page)
    with answered(page):
        page.get_by_role("button", name="Random draw").click()
    assert "point=draw" in page.url
    assert "seed=1234" in page.url
    assert "z=" not in page.url
    draw = here(page)
    assert draw != moved
    with answered(page):
        page.get_by_role("button", name="Zero").click()
    assert "point" not in page.url
    assert here(page) not in (moved, draw)
    expect(page.get_by_role("slider").first).to_have_attribute("aria-valuetext", "0.00")


def test_less_active_latents_are_folded_away(page, painters):
    opened(page, painters, WIDE)
    expect(page.get_by_role("slider")).to_have_count(12)
    page.get_by_text("8 more, less active").click()
    expect(page.get_by_role("slider")).to_have_count(20)


def test_a_training_picture_is_read(page, painters):
    opened(page, painters, WIDE)
    page.evaluate("Math.random = () => 0.1234")
    with answered(page):
        page.get_by_role("button", name="Training picture").click()
    page.wait_for_url(re.compile("point=picture"))
    settled(page)
    expect(page.locator(".here canvas:visible")).to_have_count(3)
    values = page.locator(".latent-value").all_inner_texts()
    assert any(value != "0.00" for value in values)
    expect(page.locator(".line-command")).to_contain_text("mindseye imagine picture.png")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the picture").click()
    assert waiting.value.suggested_filename == "picture.png"


def test_a_file_is_read(page, painters, tmp_path):
    picture = np.zeros((1, 40, 40), np.float32)
    picture[:, 5:35, 18:22] = 1
    file = save_picture(tmp_path / "one.png", picture)
    opened(page, painters, FLAT)
    with page.expect_file_chooser() as waiting:
        page.get_by_role("button", name="Read a picture").click()
    waiting.value.set_files(file)
    page.wait_for_url(re.compile("point=picture"))
    settled(page)
    expect(page.locator(".here canvas:visible")).to_have_count(3)


def test_an_imagined_picture_is_sent_to_its_latents(page, painters):
    page.goto(f"{painters}?view=imagine&model={WIDE}&seed=7&n=4")
    settled(page)
    page.get_by_role("button", name="Look closer at picture 2").click()
    page.get_by_role("button", name="Read its latents").click()
    page.wait_for_url(re.compile("view=latents.*point=picture"))
    settled(page)
    expect(page.locator(".here canvas:visible")).to_have_count(3)


# Around it


def test_a_click_in_a_row_goes_there(page, painters):
    opened(page, painters, WIDE)
    before = here(page)
    page.locator(".strip-steps").nth(1).locator("canvas").nth(8).click()
    page.wait_for_url(re.compile(r"z=\d+%3A3"))
    settled(page)
    assert here(page) != before
    strips = page.get_by_role("group", name=re.compile("A row for each latent"))
    strips.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile(r"z=\d+%3A2.25"))


def test_rows_are_saved_as_a_film_and_as_a_sheet(page, painters, tmp_path):
    opened(page, painters, WIDE, count=5)
    for name, kind in (("Film", "GIF"), ("Sheet", "PNG")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        assert waiting.value.suggested_filename.endswith(f".{kind.lower()}")
        waiting.value.save_as(tmp_path / name)
        with Image.open(tmp_path / name) as found:
            assert found.format == kind
            assert getattr(found, "n_frames", 1) == (28 if kind == "GIF" else 1)


def test_the_plane_of_two_latents_is_shown_and_walked(page, painters):
    opened(page, painters, FLAT)
    expect(page.get_by_role("tab", name="The plane")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".carpet image")).to_have_count(1)
    before = here(page)
    box = page.locator(".carpet").bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    pointed = page.locator(".carpet-pointed output").inner_text()
    assert re.fullmatch(r"z1 = −?\d\.\d\d, z2 = \d\.\d\d", pointed)
    assert here(page) == before
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url(re.compile("z=0%3A"))
    settled(page)
    assert here(page) != before
    link = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != link)
    settled(page)
    expect(page.locator("#announcer")).to_contain_text("z1 =")
    with answered(page):
        page.get_by_role("tab", name="One latent at a time").click()
    expect(page.locator(".strip-steps")).to_have_count(2)


def test_any_two_latents_make_a_plane(page, painters):
    opened(page, painters, WIDE)
    with answered(page):
        page.get_by_role("tab", name="A plane").click()
    with answered(page):
        page.get_by_label("across").select_option("z5")
    assert "across=4" in page.url
    expect(page.locator(".carpet-name").first).to_have_text("z5")


def test_the_picture_beside_the_plane_is_at_the_point_though_that_comes_late(page, painters):
    held = []
    page.route("**/api/latents?*", lambda route: held.append(route))
    page.goto(f"{painters}?view=latents&model={WIDE}&seed=7&point=draw&look=plane&across=0&up=1")
    expect(page.locator(".carpet image")).to_have_count(1)
    expect(page.locator(".carpet-pointed output")).to_have_text("z1 = 0.00, z2 = 0.00")
    held.pop().continue_()
    expect(page.locator(".carpet-pointed output")).to_have_text("z1 = −1.00, z2 = −0.50")


@pytest.mark.parametrize("look", ["rows", "plane"])
def test_the_same_link_gives_the_same_page(page, painters, stranger, look):
    opened(page, painters, WIDE, point="draw", z="2%3A1.5", look=look)
    stranger.goto(page.url)
    if drawn(stranger) != drawn(
        page
    ):  # on a busy machine one may be about to draw its last picture
        page.wait_for_timeout(1000)
    assert drawn(stranger) == drawn(page)


def test_a_large_screen_is_used_without_scrolling(large, painters):
    for model in (FLAT, WIDE):
        opened(large, painters, model)
        assert large.evaluate("document.documentElement.scrollWidth") <= 2560
        assert large.evaluate("document.documentElement.scrollHeight") <= 1440


# What is known


def test_what_was_measured_is_drawn_and_stands_in_tables(page, painters):
    opened(page, painters, WIDE)
    expect(page.get_by_role("img", name="12 of 20 units are active")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Rate and distortion of"))).to_be_visible()
    for summary in page.get_by_text("as a table").all():
        summary.click()
    row = page.get_by_role("region", name="Rates and distortions").get_by_role("row", name=WIDE)
    expect(row).to_contain_text("98.50")
    assert page.get_by_role("region", name="Activities").get_by_role("row").count() == 21


def test_what_was_not_measured_says_how_to_measure_it(page, painters):
    opened(page, painters, FLAT)
    expect(page.get_by_text(f"mindseye evaluate {FLAT}")).to_be_visible()
    expect(page.get_by_text("training pictures; above 0.01")).to_be_visible()


# When things go wrong


def test_an_error_is_told_and_can_be_tried_again(page, painters):
    page.expected.append("400")
    opened(page, painters, WIDE)
    wrong = {"message": "This went wrong.", "hint": "Do that."}
    page.route("**/api/latents?*", lambda route: route.fulfill(status=400, json=wrong))
    page.get_by_role("slider").first.fill("1")
    expect(page.get_by_role("alert").first).to_contain_text("This went wrong.")
    settled(page)  # the link has followed the slider, and nothing asks again by itself
    page.unroute("**/api/latents?*")
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_link_that_moves_too_far_is_explained(page, painters):
    page.expected.append("400")
    opened(page, painters, WIDE, z="0%3A99")
    expect(page.get_by_role("alert").first).to_contain_text("between -10 and 10")
