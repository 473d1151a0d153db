/** A square on which parts are placed: a click adds one, dragging and arrow keys move it. */

import { h, s, unique } from "../dom.js";
import { freePlace, pieceOf, spokenPiece, textOf } from "../pieces.js";
import { button } from "./controls.js";

const FINE = 100;
const GRAB = 0.11;
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The colours to choose from, as radio buttons. */
function palette(kit, onChoose) {
  const name = unique("palette");
  const inputs = kit.categories.map(({ name: value }) =>
    h("input", {
      type: "radio",
      name,
      value,
      class: "unseen",
      on: { change: () => onChoose(value) },
    }),
  );
  inputs[0].checked = true;
  const labels = kit.categories.map(({ name: text, colour }, i) =>
    h(
      "label",
      { class: "paint" },
      inputs[i],
      h(
        "span",
        {},
        h("i", { class: "paint-dot", style: { background: colour } }),
        text,
      ),
    ),
  );
  return h(
    "fieldset",
    { class: "field" },
    h("legend", { class: "label", text: "the next one is" }),
    h("div", { class: "paints" }, labels),
  );
}

/**
 * The square of a kit with two axes; `show(pieces)` when it is known what there is.
 * @param {{onAdd, onMove, onRemove, announce}} acts  `onAdd(piece)`, `onRemove(index)`, and
 *     `onMove(index, place, resting)`, many times while a hand moves and once when it rests.
 */
export function square(kit, { onAdd, onMove, onRemove, announce }) {
  const { low, high, axes } = kit;
  const colours = new Map(kit.categories.map(({ name, colour }) => [name, colour]));
  const size = high - low;
  const margin = 0.008 * size;
  const hint = unique("hint");
  const svg = s("svg", {
    class: "square",
    viewBox: [low - margin, low - margin, size + 2 * margin, size + 2 * margin].join(" "),
    role: "group",
    "aria-label": `The square of ${axes.join(" and ")}`,
    "aria-describedby": hint,
  });
  const ground = [
    s("rect", { class: "square-ground", x: low, y: low, width: size, height: size }),
    ...[0.25, 0.5, 0.75].flatMap((share) => {
      const at = low + share * size;
      return [
        s("line", { class: "square-grid", x1: at, x2: at, y1: low, y2: high }),
        s("line", { class: "square-grid", y1: at, y2: at, x1: low, x2: high }),
      ];
    }),
  ];
  const told = h("p", { class: "square-told number" });
  const add = button({
    sign: "more",
    text: "Add",
    title: "Add one where there is most room",
    onClick: () => placed(freePlace(pieces, kit)),
  });
  const remove = button({
    sign: "less",
    text: "Remove",
    title: "Take away the one that is chosen (Del)",
    onClick: () => taken(chosen),
  });
  const tools = h("div", { class: "square-tools" }, add, remove, told);
  let colour = kit.categories[0].name;
  let pieces = [];
  let sites = [];
  let chosen = -1;
  let held = null;
  let wanted = null; // the text of the piece that should have the focus, and whether it should

  const clamp = (value) => Math.max(low, Math.min(high, value));
  const rounded = (value) => Math.round(clamp(value) * FINE) / FINE;

  function placeOf(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
    return { x, y };
  }

  function placed(place) {
    if (pieces.length >= kit.most) return announce(`There are ${kit.most} already`);
    const piece = pieceOf(colour, place.map(rounded));
    wanted = { text: textOf(piece), focus: false };
    announce(`${spokenPiece(piece)} added`);
    return onAdd(piece);
  }

  function taken(index) {
    const piece = pieces[index];
    if (!piece) return;
    const next = pieces[index + 1] ?? pieces[index - 1];
    const focus = svg.contains(document.activeElement);
    wanted = next ? { text: textOf(next), focus } : null;
    if (!next) add.focus();
    announce(`${spokenPiece(piece)} taken away`);
    onRemove(index);
  }

  /** Show a piece where it is now. */
  function put(index) {
    const [x, y] = pieces[index].place;
    sites[index].setAttribute("transform", `translate(${x} ${y})`);
    sites[index].setAttribute("aria-label", spokenPiece(pieces[index]));
    if (index === chosen) told.textContent = spokenPiece(pieces[index]);
  }

  function move(index, place, resting) {
    pieces[index] = { ...pieces[index], place: place.map(rounded) };
    put(index);
    onMove(index, pieces[index].place, resting);
  }

  function choose(index) {
    chosen = pieces[index] ? index : -1;
    sites.forEach((site, i) => site.classList.toggle("site-chosen", i === chosen));
    told.textContent = chosen < 0 ? "" : spokenPiece(pieces[chosen]);
    remove.disabled = chosen < 0;
  }

  function site(index) {
    const ring = 0.035 * size;
    const fill = colours.get(pieces[index].category);
    const made = s(
      "g",
      { class: "site", tabindex: 0, role: "button", "aria-roledescription": "part" },
      s("circle", { class: "site-grab", r: (GRAB * size) / 2 }),
      s("circle", { class: "site-halo", r: 1.28 * ring }),
      s("circle", { class: "site-dot", r: ring, style: { fill } }),
    );
    made.addEventListener("focus", () => choose(index));
    made.addEventListener("keydown", (event) => pressed(event, index));
    made.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      made.focus({ focusVisible: false });
      made.setPointerCapture(event.pointerId);
      const [x, y] = pieces[index].place;
      const from = placeOf(event);
      held = { index, off: [x - from.x, y - from.y], moved: false };
    });
    made.addEventListener("pointermove", (event) => {
      if (held?.index !== index) return;
      const to = placeOf(event);
      const place = [to.x + held.off[0], to.y + held.off[1]].map(rounded);
      const [x, y] = pieces[index].place;
      if (place[0] === x && place[1] === y) return;
      held.moved = true;
      move(index, place, false);
    });
    for (const end of ["pointerup", "pointercancel"])
      made.addEventListener(end, () => {
        if (held?.index !== index) return;
        const { moved } = held;
        held = null;
        wanted = { text: textOf(pieces[index]), focus: true };
        if (moved) move(index, pieces[index].place, true);
      });
    return made;
  }

  function pressed(event, index) {
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      return taken(index);
    }
    const way = WAYS[event.key];
    if (!way) return undefined;
    event.preventDefault();
    const step = event.shiftKey ? 1 / FINE : 5 / FINE;
    const place = pieces[index].place.map((value, axis) => rounded(value + step * way[axis]));
    wanted = { text: textOf({ ...pieces[index], place }), focus: true };
    announce(spokenPiece({ ...pieces[index], place }));
    return move(index, place, true);
  }

  svg.addEventListener("click", (event) => {
    if (event.target.closest(".site")) return;
    const { x, y } = placeOf(event);
    placed([x, y]);
  });

  choose(-1);
  return {
    element: h(
      "div",
      { class: "square-all" },
      palette(kit, (name) => (colour = name)),
      svg,
      tools,
      h("p", {
        class: "note square-hint",
        id: hint,
        text: "Click: add. Drag or arrow keys: move. Del: remove.",
      }),
    ),
    /** Show what there is; nothing is taken out of a hand that holds it. */
    show(next) {
      if (held) return;
      const before = chosen < 0 ? null : textOf(pieces[chosen]);
      const { text, focus } = wanted ?? {
        text: before,
        focus: svg.contains(document.activeElement),
      };
      wanted = null;
      pieces = next.map((piece) => ({ ...piece }));
      sites = pieces.map((_, i) => site(i));
      sites.forEach((_, i) => put(i));
      svg.replaceChildren(...ground, ...sites);
      const at = pieces.findIndex((piece) => textOf(piece) === text);
      choose(at);
      if (focus && at >= 0) sites[at].focus();
    },
  };
}
