"""The view of graphs in a real browser: a canvas of nodes, by pointer and by keys."""

import re

import pytest
from playwright.sync_api import expect

from .looking import accessible, answered, darkened, settled, shot, shown

pytestmark = pytest.mark.browser
MODEL = "00000-graph-vgae-tiny"


def opened(page, address, link=""):
    page.goto(f"{address}?view=graph&model={MODEL}&{link}")
    settled(page)


def box(page):
    return page.get_by_role("group", name="34 nodes")


def where(page, number: int) -> tuple[float, float]:
    """Where a node is on the page, by the server's places and the rule of the canvas."""
    return page.evaluate(
        """async ([model, number]) => {
          const { places } = await (await fetch(`/api/graph/plane?model=${model}`)).json();
          const side = (i) => places.map((at) => at[i]);
          const ends = [0, 1].map((i) => [Math.min(...side(i)), Math.max(...side(i))]);
          const reach = Math.max(...ends.map(([low, high]) => (high - low) / 2));
          const [cx, cy] = ends.map(([low, high]) => (low + high) / 2);
          const box = document.querySelector(".field-box").getBoundingClientRect();
          const [w, h] = [box.width - 2, box.height - 2];
          const scale = (Math.min(w, h) / 2 - 18) / reach;
          const [x, y] = places[number];
          return [box.x + 1 + w / 2 + (x - cx) * scale, box.y + 1 + h / 2 + (cy - y) * scale];
        }""",
        [MODEL, number],
    )


def test_the_view_shuts_nobody_out_and_fits_every_screen(page, linked):
    opened(page, linked, "node=33&known=1")
    expect(page).to_have_title(re.compile("Graph"))
    tabs = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert tabs == ["Graph", "Runs"]
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    shot(page, "graph")
    accessible(page)
    darkened(page)
    accessible(page)
    page.set_viewport_size({"width": 2560, "height": 1440})
    assert page.evaluate("document.documentElement.scrollHeight") <= 1440
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_pointing_looks_and_pressing_keeps(page, linked):
    opened(page, linked)
    name = page.locator(".node-name")
    expect(name).to_be_hidden()
    before = shown(page)
    at = where(page, 33)
    page.mouse.move(*at)
    expect(name).to_have_text("33")
    expect(page.locator(".node-facts")).to_have_text(re.compile("^Officer, 17 links"))
    expect(page.locator(".likely-item")).to_have_count(10)
    assert "node=" not in page.url
    page.mouse.move(at[0], at[1] + 400)
    expect(name).to_be_hidden()
    page.mouse.click(*at)
    page.mouse.move(at[0], at[1] + 400)
    settled(page)
    assert "node=33" in page.url
    expect(name).to_have_text("33")
    expect(page.locator(".line-command")).to_have_text(f"mindseye links {MODEL} 33 --n 10")
    assert shown(page) != before
    page.get_by_role("button", name="Let the node go").click()
    settled(page)
    assert "node=" not in page.url
    assert shown(page) == before
    expect(page.locator(".line-command")).to_have_text(f"mindseye plane {MODEL}")


def test_an_entry_leads_to_its_node_and_a_link_holds_everything(page, linked, stranger):
    opened(page, linked, "node=0")
    with answered(page):
        page.get_by_role("radio", name="20").check(force=True)
    with answered(page):
        page.get_by_label("also links it was trained on").check()
    kinds = set(page.locator(".likely-kind").all_inner_texts())
    assert {"training", "new"} <= kinds
    entry = page.locator(".likely-item").nth(1)
    name = entry.locator(".likely-name").inner_text().split()[0]
    with answered(page):
        entry.click()
    expect(page.locator(".node-name")).to_have_text(name)
    page.get_by_role("radio", name="straight").check(force=True)
    page.get_by_role("button", name="Officer").first.click()
    page.get_by_label("draw training links").uncheck()
    box(page).press("+")
    settled(page)
    for said in (f"node={name}&", "likely=20", "known=1", "layout=straight", "off=1", "edges=0"):
        assert said in f"{page.url}&"
    assert "window=" in page.url
    expect(page.get_by_role("button", name="Officer").first).to_have_attribute(
        "aria-pressed", "false"
    )
    page.mouse.move(5, 5)
    page.keyboard.press("Escape")  # nothing is pointed at, nor in the foreground of the list
    stranger.goto(page.url)
    assert shown(stranger) == shown(page)


def test_keys_go_from_node_to_node(page, linked):
    opened(page, linked, "node=0")
    box(page).focus()
    seen = {"0"}
    for key in ("PageDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
        settled(page)
        seen.add(page.locator(".node-name").inner_text())
    assert "1" in seen
    assert len(seen) >= 3
    expect(page.locator("#announcer")).to_contain_text("likeliest")
    before = shown(page)
    page.keyboard.press("+")
    settled(page)
    assert "window=" in page.url
    assert shown(page) != before
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    settled(page)
    assert "window=" not in page.url
    assert "node=" not in page.url


def test_a_node_is_found_by_its_number_and_a_wrong_one_is_explained(page, linked):
    page.expected.append("400")
    opened(page, linked)
    field = page.get_by_label("a node by its name or number")
    field.fill("12")
    with answered(page):
        field.press("Enter")
    expect(page.locator(".node-name")).to_have_text("12")
    field.fill("99")
    with answered(page):
        page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("no node is called '99'; expected 0 to 33.")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")


def test_the_wheel_zooms_and_a_drag_moves(page, linked):
    opened(page, linked)
    start = shown(page)
    x, y = where(page, 33)
    page.mouse.move(x, y)
    page.mouse.wheel(0, -400)
    settled(page)
    expect(page.locator(".node-name")).to_have_text("33")  # what is pointed at stays there
    page.mouse.down()
    page.mouse.move(x - 80, y - 60, steps=3)
    page.mouse.up()
    settled(page)
    assert "node=" not in page.url
    assert "window=" in page.url
    page.mouse.move(5, 5)
    page.get_by_role("button", name="All of it").click()
    settled(page)
    assert shown(page) == start


def test_without_a_graph_the_view_says_what_to_type(page, address):
    page.goto(f"{address}?view=graph")
    settled(page)
    expect(page.get_by_text("mindseye train graph/vgae")).to_be_visible()
    expect(page.get_by_text("mindseye train cora/masked")).to_be_visible()


def test_a_model_of_pictures_leads_to_those_of_graphs(page, linked):
    page.goto(f"{linked}?view=graph&model=mnist-a")
    settled(page)
    page.get_by_role("button", name=f"{MODEL}, 34 nodes").click()
    settled(page)
    expect(box(page)).to_be_visible()
    page.get_by_role("link", name="Runs").click()
    settled(page)
    expect(page.get_by_role("row", name=MODEL)).to_contain_text("vgae")
    expect(page.get_by_role("tab", name="Compare two models")).to_have_count(0)
