"""The page in a real browser: every view clicked through, by pointer and by keys."""

import re

import pytest
from playwright.sync_api import expect

from .looking import accessible, answered, darkened, drawn, settled, shot, shown

pytestmark = pytest.mark.browser
VIEWS = ["Imagine", "Hierarchy", "Experts", "Describe", "Between", "Latents", "Parts", "Graph"]
VIEWS += ["Runs"]
FOUR = "description=digit%3D4%2C+size%3Dbig&seed=7"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_fits_every_screen_and_shuts_nobody_out_light_or_dark(page, address, view):
    page.goto(f"{address}?{FOUR}")
    page.get_by_role("navigation").get_by_role("link", name=view).click()
    settled(page)
    expect(page).to_have_title(re.compile(view))
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, view.lower())
    accessible(page)
    page.set_viewport_size({"width": 2560, "height": 1440})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 2560
    assert page.evaluate("document.documentElement.scrollHeight") <= 1440
    page.set_viewport_size({"width": 390, "height": 844})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shot(page, f"{view.lower()}-phone")
    darkened(page)
    accessible(page)


# Imagine


def test_a_click_on_a_word_draws_other_pictures(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    before = shown(page)
    assert len(before) >= 16
    with answered(page):
        page.get_by_role("radio", name="6", exact=True).click()
    assert "digit%3D6" in page.url
    after = shown(page)
    assert sum(a != b for a, b in zip(before, after, strict=True)) >= 12
    expect(page.locator("#announcer")).to_contain_text("digit=6")


def test_the_same_link_gives_the_same_pixels(page, address, stranger):
    page.goto(f"{address}?view=imagine&{FOUR}&n=9&samples=1&temperature=0.7")
    first = shown(page)
    stranger.goto(page.url)
    assert shown(stranger) == first


def test_any_leaves_an_attribute_open(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    with answered(page):
        page.get_by_role("radiogroup", name="size").get_by_role("radio", name="any").click()
    assert "size" not in page.url
    expect(page.get_by_role("heading", level=1)).to_have_text("digit=4")


def test_wrong_pictures_have_a_sign_and_words_for_it(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}&n=64")
    settled(page)
    wrong = page.locator(".tile-wrong")
    assert wrong.count() > 0
    assert "as said" in wrong.first.locator("canvas").get_attribute("aria-label")


def test_every_control_of_imagine_changes_link_and_pictures(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}&n=4")
    before = shown(page)
    for act, said in (
        (lambda: page.get_by_role("radio", name="sample").check(force=True), "samples=1"),
        (lambda: page.get_by_role("radio", name="product").check(force=True), "product=1"),
        (lambda: page.get_by_label("temperature").fill("0.5"), "temperature=0.5"),
        (lambda: page.get_by_role("radio", name="9", exact=True).last.check(force=True), "n=9"),
    ):
        with answered(page):
            act()
        assert said in page.url
        after = shown(page)
        assert after != before
        before = after


def test_an_unlocked_seed_rolls_with_every_word(page, address):
    page.add_init_script("Math.random = () => 0.1234")
    page.goto(f"{address}?view=imagine&{FOUR}&lock=0")
    settled(page)
    with answered(page):
        page.get_by_role("radio", name="small", exact=True).click()
    assert "seed=1234&" in page.url


def test_the_theme_is_remembered(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    page.get_by_role("button", name=re.compile("Dark")).click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    settled(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_pictures_can_be_downloaded(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    for name in ("Sheet", "Sprite"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=name).click()
        assert waiting.value.suggested_filename.endswith(".png")


def test_the_keyboard_reaches_everything(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the pictures")
    chosen = page.get_by_role("radiogroup", name="digit").get_by_role("radio", name="4", exact=True)
    chosen.focus()
    with answered(page):
        page.keyboard.press("ArrowRight")
    assert "digit%3D5" in page.url
    page.evaluate("Math.random = () => 0.1234")
    with answered(page):
        page.keyboard.press("r")
    assert "seed=1234" in page.url
    for number, view in enumerate(VIEWS, 1):
        page.keyboard.press(str(number))
        expect(page).to_have_title(re.compile(view))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_nothing_moves_while_pictures_come(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    page.evaluate(
        "window.shifts = 0; new PerformanceObserver((list) => { for (const each of"
        " list.getEntries()) if (!each.hadRecentInput) window.shifts += each.value; })"
        ".observe({type: 'layout-shift', buffered: true})"
    )
    for digit in ("1", "8"):
        with answered(page):
            page.get_by_role("radio", name=digit, exact=True).click()
    assert page.evaluate("window.shifts") < 0.05


def test_the_command_and_the_python_stand_below(page, address):
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    expect(page.locator(".line-command")).to_have_text(
        "mindseye imagine 'digit=4, size=big' --n 16 --seed 7"
    )
    page.get_by_role("button", name="Python", exact=True).click()
    expect(page.locator(".line-python")).to_contain_text("import mindseye")


@pytest.mark.parametrize("view", ["hierarchy", "experts", "between"])
def test_the_same_link_gives_the_same_page_in_every_view(page, address, stranger, view):
    page.goto(f"{address}?view={view}&{FOUR}")
    settled(page)
    first = drawn(page)
    stranger.goto(page.url)
    assert drawn(stranger) == first
    with answered(page):
        page.get_by_role("radio", name="6", exact=True).first.click()
    assert drawn(page) != first


# The others


def test_a_click_in_the_hierarchy_moves_there(page, address):
    page.goto(f"{address}?view=hierarchy&{FOUR}")
    settled(page)
    with answered(page):
        page.get_by_role("button", name=re.compile("upright")).first.click()
    assert "orientation%3Dupright" in page.url
    with answered(page):
        page.go_back()
    assert "orientation" not in page.url


def test_pointing_at_a_word_shows_its_pull(page, address):
    page.goto(f"{address}?view=experts&{FOUR}")
    settled(page)
    page.get_by_role("button", name=re.compile("digit=4")).hover()
    expect(page.locator(".plane-without")).to_be_visible()


def test_an_example_is_described_and_varied(page, address):
    page.goto(f"{address}?view=describe")
    settled(page)
    page.get_by_role("button", name="a big 4, top left").click()
    page.wait_for_url(re.compile("picture="))
    settled(page)
    expect(page.get_by_text("Variations that keep digit=4")).to_be_visible()
    shot(page, "described")


def test_a_dropped_and_a_pasted_picture_are_described(page, address):
    page.goto(f"{address}?view=describe")
    settled(page)
    for kind, target in (("drop", ".pad"), ("paste", "body")):
        before = page.url
        with answered(page):
            page.evaluate(
                """async ([kind, target]) => {
                  const canvas = document.createElement("canvas");
                  canvas.width = canvas.height = 64;
                  const ink = canvas.getContext("2d");
                  ink.fillStyle = "#fff";
                  ink.fillRect(kind === "drop" ? 12 : 44, 8, 3, 14);
                  const blob = await new Promise((done) => canvas.toBlob(done));
                  const data = new DataTransfer();
                  data.items.add(new File([blob], "x.png", { type: "image/png" }));
                  const place = document.querySelector(target);
                  const options = { bubbles: true, cancelable: true };
                  place.dispatchEvent(kind === "drop"
                    ? new DragEvent("drop", { ...options, dataTransfer: data })
                    : new ClipboardEvent("paste", { ...options, clipboardData: data }));
                }""",
                [kind, target],
            )
        page.wait_for_url(lambda url, before=before: url != before)
        assert "picture=" in page.url


def test_a_drawing_is_described(page, address):
    page.goto(f"{address}?view=describe")
    settled(page)
    box = page.locator(".pad-canvas").bounding_box()
    x, y = box["x"] + 0.75 * box["width"], box["y"] + 0.15 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 0.25 * box["height"], steps=8)
    page.mouse.up()
    page.wait_for_url(re.compile("picture="))
    settled(page)
    expect(page.get_by_text("Variations that keep digit=1")).to_be_visible()


def test_the_way_between_is_walked(page, address):
    page.goto(f"{address}?view=between&{FOUR}")
    settled(page)
    before = shown(page)
    page.locator("input[type=range]").first.fill("0")
    settled(page)
    assert shown(page) != before
    with answered(page):
        page.get_by_role("tab", name="One latent at a time").click()
    assert len(shown(page)) >= 12


def test_runs_show_the_curves_of_the_built_in_model(page, address):
    page.goto(f"{address}?view=runs")
    settled(page)
    expect(page.get_by_role("cell", name="finished").first).to_be_visible()
    assert page.locator("main svg path").count() >= 1
    with answered(page):
        page.get_by_role("tab", name="Compare two models").click()
    assert len(shown(page)) >= 32
    shot(page, "compare")


def test_curves_are_read_by_keys(page, address):
    page.goto(f"{address}?view=runs")
    settled(page)
    curve = page.get_by_role("slider", name="bound")
    last = curve.get_attribute("aria-valuetext")
    curve.focus()
    page.keyboard.press("Home")
    first = curve.get_attribute("aria-valuetext")
    assert first != last
    expect(page.locator(".chart").first).to_contain_text(first)
    page.keyboard.press("ArrowRight")
    assert curve.get_attribute("aria-valuetext") not in (first, last)
    page.keyboard.press("End")
    assert curve.get_attribute("aria-valuetext") == last


def test_a_table_is_shown_with_its_figures(page, address):
    page.goto(f"{address}?view=runs")
    settled(page)
    with answered(page):
        page.get_by_role("tab", name="Tables").click()
    settled(page)
    table = page.get_by_role("region", name="Correctness")
    expect(table.get_by_role("row", name="TELBO").first).to_contain_text("82.08 ± 0.56")
    expect(page.get_by_text("mindseye reproduce vedantam-4a").first).to_be_visible()
    shot(page, "tables")
    figure = page.get_by_role("img", name="Figure 3")
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_js_property("complete", True)
    assert figure.evaluate("(image) => image.naturalWidth") > 100
    assert "table=results" in page.url
    accessible(page)
    darkened(page)
    accessible(page)


def test_tables_fit_a_phone(phone, address):
    phone.goto(f"{address}?view=runs&part=tables")
    settled(phone)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    shot(phone, "tables-phone")


def test_another_model_forgets_what_only_the_first_could_mean(page, two_models):
    page.goto(f"{two_models}?view=experts&{FOUR}&axes=0%2C5&colour=size")
    settled(page)
    with answered(page):
        page.get_by_label("Model").select_option("00000-mine")
    assert "model=00000-mine" in page.url
    assert "axes" not in page.url
    assert "colour" not in page.url
    assert "digit%3D4" in page.url
    page.get_by_role("navigation").get_by_role("link", name="Imagine").click()
    settled(page)
    expect(page.locator(".line-command")).to_contain_text("--model 00000-mine")


# When things go wrong


def test_a_wrong_word_in_a_link_is_explained(page, address):
    page.expected.append("400")
    page.goto(f"{address}?view=imagine&description=size%3Dbigg")
    settled(page)
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'big'?")


def test_an_error_is_told_and_can_be_tried_again(page, address):
    page.expected.append("400")
    page.goto(f"{address}?view=imagine&{FOUR}")
    settled(page)
    page.route(
        "**/api/imagine*",
        lambda route: route.fulfill(
            status=400, json={"message": "This went wrong.", "hint": "Do that."}
        ),
    )
    page.get_by_role("radio", name="1", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This went wrong.")
    expect(page.get_by_role("alert")).to_contain_text("Do that.")
    page.unroute("**/api/imagine*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_be_hidden()


def test_the_api_is_documented_on_a_page(page, address):
    page.goto(f"{address}docs")
    settled(page)
    assert page.locator(".api-route").count() >= 11
    shot(page, "api")
