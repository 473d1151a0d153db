/** The nodes of a graph on a canvas: coloured by class, over the links, one in the foreground. */

import { h } from "../dom.js";
import { button } from "./controls.js";
import { planeWindow } from "./window.js";

const HUES = 10;
const NEAR = 14;
const NAMED = 60;
const MOVING = 450;

/** How lines of each kind are drawn: dashes in pixels. */
export const DASHES = { new: [], "held out": [9, 5], training: [2, 4] };

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** A mark of a class: circles first, then squares and triangles where colours come again. */
function mark(path, shape, x, y, r) {
  if (shape === 1) path.rect(x - r, y - r, 2 * r, 2 * r);
  else if (shape === 2) {
    path.moveTo(x, y - 1.3 * r);
    path.lineTo(x + 1.2 * r, y + r);
    path.lineTo(x - 1.2 * r, y + r);
    path.closePath();
  } else {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 7);
  }
}

/** Which mark a class has; circles where there are no classes. */
export const shapeOf = (klass) => Math.floor((klass ?? 0) / HUES) % 3;

/** Where places lie when the largest reach from the middle is 1; the second axis goes down. */
function frameOf(places) {
  const ends = [0, 1].map((i) =>
    places.reduce(([low, high], at) => [Math.min(low, at[i]), Math.max(high, at[i])], [
      Infinity,
      -Infinity,
    ]),
  );
  const [cx, cy] = ends.map(([low, high]) => (low + high) / 2);
  const reach = Math.max(...ends.map(([low, high]) => (high - low) / 2)) || 1;
  return ([x, y]) => [(x - cx) / reach, (cy - y) / reach];
}

/** The page's colours and its letters, as a canvas takes them. */
function coloursOf(element) {
  const probe = h("span", { hidden: true });
  element.append(probe);
  const read = (name) => {
    probe.style.setProperty("color", `var(--${name})`);
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "muted", "edge", "paper", "card", "accent"];
  const found = Object.fromEntries(names.map((name) => [name, read(name)]));
  found.hues = Array.from({ length: HUES }, (_, i) => read(`hue-${i + 1}`));
  probe.remove();
  const { fontSize, fontFamily } = getComputedStyle(element);
  found.font = `${fontSize} ${fontFamily}`;
  return found;
}

/**
 * @param {{onHover, onPin, onWindow}} acts  A node is pointed at, or none (null); one is pressed or
 *     reached by keys, or none; the window rests somewhere else, as text.
 */
export function nodeField({ onHover, onPin, onWindow }) {
  const base = h("canvas", { class: "field-canvas field-base", "aria-hidden": "true" });
  const over = h("canvas", { class: "field-canvas", "aria-hidden": "true" });
  const box = h(
    "div",
    {
      class: "field-box",
      tabindex: 0,
      role: "group",
      "aria-label": "The graph",
      "aria-describedby": "field-keys",
    },
    base,
    over,
  );
  const tools = h(
    "div",
    { class: "field-tools" },
    button({ sign: "plus", title: "Closer (+)", onClick: () => seen.zoomBy(1.6) }),
    button({ sign: "minus", title: "Further away (−)", onClick: () => seen.zoomBy(1 / 1.6) }),
    button({ sign: "fit", title: "All of it (0)", onClick: whole }),
  );
  const keys = h("p", {
    id: "field-keys",
    class: "unseen",
    text: "Arrow keys go to the next node that way, Page Up and Page Down by number; + and − zoom, 0 shows all, Shift and an arrow key move the window; Escape lets a node go.",
  });
  const element = h("div", { class: "field-all" }, box, tools, keys);
  const seen = planeWindow(box, { onMove: moved, onPoint: point, onPress: press });

  let graph = null; // what is drawn of it
  let at = []; // where, between −1 and 1
  let layout = { places: null, frame: null };
  let from = null; // where nodes come from while they move
  let began = 0;
  let given = { off: new Set(), edges: true, faint: null };
  let active = { number: null, pinned: false, likely: [], elsewhere: new Map(), marked: null };
  let colours = null;
  let asked = 0;
  let resting = 0;
  let indexOf = new Map();

  const themes = new MutationObserver(recolour);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", recolour);
  const sizes = new ResizeObserver(() => {
    seen.resize(box.clientWidth, box.clientHeight);
    colours = null;
    draw(); // at once: a canvas that changes its size is empty
  });
  sizes.observe(box);

  function recolour() {
    colours = null;
    redraw();
  }

  function redraw() {
    if (!asked) asked = requestAnimationFrame(draw);
  }

  function moved() {
    redraw();
    clearTimeout(resting);
    resting = setTimeout(() => {
      resting = 0;
      onWindow(seen.text);
    }, 250);
  }

  function whole() {
    seen.show();
    moved();
  }

  const hueOf = (klass) => colours.hues[(klass ?? 0) % HUES];
  const classOf = (i) => graph.nodes.classes[i] ?? 0;
  const isOn = (i) => !given.off.has(classOf(i));

  /** Where a node is, drawn or not; null where that is not known. */
  function placeOf(number) {
    const i = indexOf.get(number);
    if (i !== undefined) return now(i);
    const elsewhere = active.elsewhere.get(number);
    return elsewhere && layout.frame ? layout.frame(elsewhere) : null;
  }

  /** How far nodes have moved, from 0 to 1. */
  function progress() {
    const t = Math.min(1, (performance.now() - began) / MOVING);
    return t * t * (3 - 2 * t);
  }

  function now(i) {
    if (!from) return at[i];
    const t = progress();
    return [from[i][0] + t * (at[i][0] - from[i][0]), from[i][1] + t * (at[i][1] - from[i][1])];
  }

  const pixel = (place) => seen.toPixel(...place);

  function radius() {
    const few = Math.min(1, Math.max(0, (400 - graph.nodes.numbers.length) / 400));
    const large = Math.sqrt(Math.max(0.8, Math.min(box.clientWidth, box.clientHeight) / 560));
    return large * Math.min(8, (2.1 + 3.4 * few) * seen.zoom ** 0.25);
  }

  // Pointers and keys

  function nearest([px, py], reach) {
    let [best, least] = [null, reach * reach];
    if (!graph) return null;
    for (let i = 0; i < at.length; i += 1) {
      if (!isOn(i)) continue;
      const [x, y] = pixel(at[i]);
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  function point(where) {
    const i = where && nearest(where, NEAR);
    box.classList.toggle("is-over", i !== null);
    onHover(i === null ? null : graph.nodes.numbers[i]);
  }

  function press(where, kind) {
    const i = nearest(where, kind === "touch" ? 2 * NEAR : NEAR);
    onPin(i === null ? null : graph.nodes.numbers[i]);
  }

  /** The next node in a direction: near, and not far to the side. */
  function towards([dx, dy]) {
    const start = active.number === null ? null : placeOf(active.number);
    if (!start) return nearest(pixel([0, 0]), Infinity);
    let [best, least] = [null, Infinity];
    for (let i = 0; i < at.length; i += 1) {
      const [x, y] = [at[i][0] - start[0], at[i][1] - start[1]];
      const along = x * dx + y * dy;
      const distance = Math.hypot(x, y);
      if (!isOn(i) || along <= 0.3 * distance || graph.nodes.numbers[i] === active.number) continue;
      const cost = distance * (1 + 2 * (1 - along / distance));
      if (cost < least) [best, least] = [i, cost];
    }
    return best;
  }

  /** The next node by number among those that are drawn. */
  function after(step) {
    const count = at.length;
    const start = indexOf.get(active.number) ?? (step > 0 ? -1 : 0);
    for (let k = 1; k <= count; k += 1) {
      const i = (((start + step * k) % count) + count) % count;
      if (isOn(i)) return i;
    }
    return null;
  }

  function go(i) {
    if (i !== null && i !== undefined) onPin(graph.nodes.numbers[i], { keys: true });
  }

  box.addEventListener("keydown", (event) => {
    if (!graph || event.ctrlKey || event.metaKey || event.altKey) return;
    const way = WAYS[event.key];
    if (way && event.shiftKey) seen.pan(-60 * way[0], -60 * way[1]);
    else if (way) go(towards(way));
    else if (event.key === "PageDown") go(after(1));
    else if (event.key === "PageUp") go(after(-1));
    else if (event.key === "+" || event.key === "=") seen.zoomBy(1.3);
    else if (event.key === "-") seen.zoomBy(1 / 1.3);
    else if (event.key === "0") whole();
    else if (event.key === "Escape" && active.pinned) onPin(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // Drawing

  function sheet(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [box.clientWidth, box.clientHeight];
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high)
      [canvas.width, canvas.height] = [wide, high];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, inside: ([x, y]) => x > -20 && y > -20 && x < width + 20 && y < height + 20 };
  }

  function draw() {
    cancelAnimationFrame(asked);
    asked = 0;
    if (!graph || !box.clientWidth) return;
    colours ??= coloursOf(box);
    const pixels = at.map((_, i) => pixel(now(i)));
    drawBase(pixels);
    drawOver(pixels);
    if (from && performance.now() - began >= MOVING) from = null;
    if (from) redraw();
  }

  function drawBase(pixels) {
    const { context, inside } = sheet(base);
    if (given.edges) {
      context.beginPath();
      for (const [one, other] of graph.drawn) {
        if (!isOn(one) || !isOn(other)) continue;
        context.moveTo(...pixels[one]);
        context.lineTo(...pixels[other]);
      }
      context.strokeStyle = colours.edge;
      context.globalAlpha = Math.min(0.5, graph.drawn.length > 1000 ? 0.16 * seen.zoom ** 0.5 : 0.5);
      context.lineWidth = 1;
      context.stroke();
    }
    const r = radius();
    const count = Math.max(1, graph.classes.length);
    for (let klass = 0; klass < count; klass += 1) {
      if (given.off.has(klass)) continue;
      context.beginPath();
      for (let i = 0; i < pixels.length; i += 1)
        if (classOf(i) === klass && inside(pixels[i]))
          mark(context, shapeOf(klass), ...pixels[i], r);
      context.fillStyle = hueOf(klass);
      context.globalAlpha = given.faint === null || given.faint === klass ? 0.85 : 0.12;
      context.fill();
    }
    context.globalAlpha = 1;
    const visible = pixels.flatMap((at, i) => (isOn(i) && inside(at) ? [i] : []));
    if (visible.length > NAMED) return;
    const occupied = new Set(active.number === null ? [] : [active.number]);
    for (const { number } of active.likely) occupied.add(number);
    const taken = [];
    for (const i of visible)
      if (!occupied.has(graph.nodes.numbers[i]))
        write(context, graph.nodes.names[i], pixels[i], r, colours.muted, { taken });
  }

  /** A name beside a point, legible over whatever is there, unless another name is there. */
  function write(context, text, [x, y], r, colour, { bold = false, taken = [] } = {}) {
    context.font = `${bold ? 600 : 400} ${colours.font}`;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = colours.paper;
    context.fillStyle = colour;
    const short = text.length > 28 ? `${text.slice(0, 27)}…` : text;
    const wide = context.measureText(short).width;
    const out = x + r + 3 + wide > box.clientWidth;
    const left = out ? x - r - 3 - wide : x + r + 3;
    const right = left + wide + 3;
    const meets = (one) => left < one.right && right > one.left && Math.abs(y - one.y) < 13;
    if (taken.some(meets)) return;
    taken.push({ left, right, y });
    context.strokeText(short, left, y + 4);
    context.fillText(short, left, y + 4);
  }

  /** The node in the foreground, its likeliest links, and their names. */
  function drawOver() {
    const { context } = sheet(over);
    const centre = active.number === null ? null : placeOf(active.number);
    if (!centre) return;
    const here = pixel(centre);
    const r = radius();
    const most = Math.max(...active.likely.map(({ probability }) => probability), 1e-9);
    const ends = active.likely
      .map((one) => ({ ...one, place: placeOf(one.number) }))
      .filter(({ place }) => place);
    for (const one of ends) {
      const marked = active.marked === one.number;
      context.beginPath();
      context.moveTo(...here);
      context.lineTo(...pixel(one.place));
      context.setLineDash(DASHES[one.known]);
      context.strokeStyle = marked ? colours.accent : colours.ink;
      context.globalAlpha = active.marked === null || marked ? 0.9 : 0.25;
      context.lineWidth = marked ? 3.5 : 1 + 2 * (one.probability / most);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    for (const one of ends) spot(context, one.class, pixel(one.place), r + 0.5);
    spot(context, active.class, here, r + 1.5, active.pinned ? 2.5 : 1.5);
    const taken = [];
    write(context, active.name, here, r + 4, colours.ink, { bold: true, taken });
    const first = ends.filter(({ number }) => number === active.marked);
    for (const one of [...first, ...ends].slice(0, NAMED))
      write(context, one.name, pixel(one.place), r + 2, colours.ink, { taken });
  }

  /** A node drawn again, on top, with a rim. */
  function spot(context, klass, [x, y], r, rim = 1) {
    for (const [more, colour] of [
      [rim + 1, colours.ink],
      [1, colours.paper],
      [0, hueOf(klass)],
    ]) {
      context.beginPath();
      mark(context, shapeOf(klass), x, y, r + more);
      context.fillStyle = colour;
      context.fill();
    }
  }

  return {
    element,
    /** Another graph, and where its nodes are. */
    show(next, places) {
      const fresh = graph !== next;
      graph = next;
      if (fresh) indexOf = new Map(graph.nodes.numbers.map((number, i) => [number, i]));
      if (layout.places === places && !fresh) return;
      const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      from = fresh || calm ? null : at.map((_, i) => now(i));
      began = performance.now();
      layout = { places, frame: frameOf(places) };
      at = places.map(layout.frame);
      if (from) setTimeout(redraw, MOVING); // whatever frames were missed
      redraw();
    },
    /** Which classes are off, whether links are drawn, and which class stands out. */
    dress(next) {
      given = { ...given, ...next };
      redraw();
    },
    /** The node in the foreground, with its likeliest links once they are known. */
    focus(next) {
      active = { marked: null, likely: [], elsewhere: new Map(), ...next };
      box.classList.toggle("is-pinned", Boolean(active.pinned));
      redraw();
    },
    /** One of its links stands out. */
    emphasise(number) {
      active.marked = number;
      redraw();
    },
    /** Move the window so far that a node is seen. */
    reach(number) {
      const i = indexOf.get(number);
      const place = i === undefined ? placeOf(number) : at[i];
      if (place && seen.reach(...place)) moved();
    },
    /** The window of the link, unless it is being moved. */
    window(text) {
      if (resting || text === seen.text) return;
      seen.show(text);
      redraw();
    },
    /** The number of the node after another, or before it, among those that are drawn. */
    beside(step) {
      const i = graph ? after(step) : null;
      return i === null ? null : graph.nodes.numbers[i];
    },
    label: (text) => box.setAttribute("aria-label", text),
    stop() {
      cancelAnimationFrame(asked);
      clearTimeout(resting);
      themes.disconnect();
      sizes.disconnect();
      system.removeEventListener("change", recolour);
    },
  };
}
