/** The plane of two latents as a carpet of pictures: pointing looks, pressing goes there. */

import { compact, h, s } from "../dom.js";
import { reading } from "./sliders.js";
import { canvasFor } from "./sprite.js";

const STEP = 0.25;

const MOVES = {
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
};

const clamp = (value, most) => Math.max(-most, Math.min(most, value));

/** @param {{onPlace: (x: number, y: number) => void}} acts  Somebody goes to a place. */
export function manifold(context, { onPlace }) {
  const { shape } = context.model;
  const ratio = shape[1] / shape[2];
  const svg = s("svg", { class: "carpet", role: "img", "aria-label": "The plane" });
  const box = h(
    "div",
    {
      class: "carpet-box",
      tabindex: 0,
      role: "group",
      "aria-label": "The plane of two latents; arrow keys move the point",
    },
    svg,
  );
  const small = canvasFor(shape, "the picture that is pointed at");
  const words = h("output", { class: "number" });
  const told = h("p", {
    class: "note",
    text: "Point at a picture to see where it is; press to go there.",
  });
  const pointed = h(
    "div",
    { class: "carpet-pointed" },
    h("div", { class: "tile-frame" }, small),
    h("div", {}, words, told),
  );
  const element = h("div", { class: "carpet-all" }, box, pointed);
  const under = s("rect", { class: "carpet-under", visibility: "hidden" });
  const ring = s("g", { class: "carpet-ring" });
  let now = null;
  let at = { x: 0, y: 0 };
  let pressed = false;
  let pointing = false;

  /** The place below the pointer, within the plane. */
  function placeOf(event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(svg.getScreenCTM().inverse());
    return { x: clamp(x, now.span), y: clamp(-y / ratio, now.span) };
  }

  /** The column and the row of the picture at a place. */
  function tileOf({ x, y }) {
    const index = (value) => Math.round((value + now.span) / now.cell);
    return [index(x), now.side - 1 - index(y)];
  }

  function nameOf(x, y) {
    return `z${now.across + 1} = ${reading(x)}, z${now.up + 1} = ${reading(y)}`;
  }

  /** Show the picture at a place, and where it is. */
  function look(place) {
    const [column, row] = tileOf(place);
    const [x, y] = [now.values[column], now.values[now.side - 1 - row]];
    now.pictures.draw(small, row * now.side + column);
    words.textContent = nameOf(x, y);
    small.setAttribute("aria-label", `the picture at ${nameOf(x, y)}`);
    under.setAttribute("x", x - now.cell / 2);
    under.setAttribute("y", (-y - now.cell / 2) * ratio);
  }

  function go(place) {
    at = place;
    mark();
    onPlace(Number(place.x.toFixed(2)), Number(place.y.toFixed(2)));
  }

  /** While nobody points, the picture beside the plane is the one at the point. */
  function lookHere() {
    if (now && !pointing) look({ x: clamp(at.x, now.span), y: clamp(at.y, now.span) });
  }

  function point(yes) {
    pointing = yes;
    under.setAttribute("visibility", yes ? "visible" : "hidden");
  }

  function mark() {
    if (!now) return;
    const outside = Math.max(Math.abs(at.x), Math.abs(at.y)) > now.span;
    ring.setAttribute("transform", `translate(${at.x} ${-at.y * ratio})`);
    ring.setAttribute("visibility", outside ? "hidden" : "visible");
    svg.setAttribute("aria-label", `The plane; the point is at ${nameOf(at.x, at.y)}`);
  }

  svg.addEventListener("pointermove", (event) => {
    if (!now) return;
    const place = placeOf(event);
    point(true);
    look(place);
    if (pressed) go(place);
  });
  svg.addEventListener("pointerleave", () => point(false));
  svg.addEventListener("pointerdown", (event) => {
    if (!now || event.button) return;
    event.preventDefault();
    box.focus({ focusVisible: false });
    svg.setPointerCapture(event.pointerId);
    pressed = true;
    go(placeOf(event));
  });
  for (const end of ["pointerup", "pointercancel"])
    svg.addEventListener(end, () => (pressed = false));
  box.addEventListener("keydown", (event) => {
    const way = MOVES[event.key];
    if (!way || !now) return;
    event.preventDefault();
    const place = { x: clamp(at.x + way[0], now.span), y: clamp(at.y + way[1], now.span) };
    look(place);
    go(place);
    context.announce(nameOf(place.x, place.y));
  });

  function rulers() {
    const outer = now.span + now.cell / 2;
    const write = (x, y, text, anchor, kind = "carpet-number") =>
      s("text", { class: kind, x, y, "text-anchor": anchor, text });
    const marks = [-now.span, 0, now.span];
    return [
      ...marks.map((value) => write(value, outer * ratio + 0.26, compact(value), "middle")),
      ...marks.map((value) => write(-outer - 0.1, -value * ratio + 0.07, compact(value), "end")),
      write(now.span / 2, outer * ratio + 0.26, `z${now.across + 1}`, "middle", "carpet-name"),
      write(-outer - 0.1, (-now.span / 2) * ratio + 0.07, `z${now.up + 1}`, "end", "carpet-name"),
    ];
  }

  return {
    element,
    show(answer, pictures) {
      const side = answer.values.length;
      const span = answer.values.at(-1);
      const cell = (2 * span) / (side - 1);
      const outer = span + cell / 2;
      now = { ...answer, pictures, side, span, cell };
      svg.setAttribute(
        "viewBox",
        [-outer - 0.55, -outer * ratio - 0.05, 2 * outer + 0.65, 2 * outer * ratio + 0.4].join(" "),
      );
      ring.replaceChildren(
        s("circle", { class: "carpet-halo", r: 0.13 }),
        s("circle", { class: "carpet-point", r: 0.13 }),
      );
      under.setAttribute("width", cell);
      under.setAttribute("height", cell * ratio);
      svg.replaceChildren(
        s("image", {
          href: pictures.image.src,
          x: -outer,
          y: -outer * ratio,
          width: 2 * outer,
          height: 2 * outer * ratio,
          preserveAspectRatio: "none",
        }),
        ...rulers(),
        under,
        ring,
      );
      lookHere();
      mark();
    },
    /** Show where the point is. */
    mark(x, y) {
      if (pressed || x === undefined || y === undefined) return;
      at = { x, y };
      lookHere();
      mark();
    },
  };
}
