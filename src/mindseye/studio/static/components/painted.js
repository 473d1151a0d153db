/** Pictures that are painted: all canvases of a stroke at once, one picture's strokes in a row. */

import { h, percent, s } from "../dom.js";
import { unless, whole } from "../state.js";
import { attentionMaps } from "./attention.js";
import { foundSection } from "./found.js";
import { block } from "./frame.js";
import { player } from "./player.js";
import { stressed } from "./sentence.js";
import { canvasFor, Pictures } from "./sprite.js";
import { Strips } from "./strip.js";
import { reading, readingInWords } from "./written.js";

const WHENS = ["before", "after"];

/** Where a patch is: within the picture, by its middle, its spacing and how many filters it has. */
function boxOf([row, column, spacing], window, { width, height }) {
  const half = (spacing * (window - 1)) / 2;
  const within = (value, most) => Math.min(most, Math.max(0, value));
  const [left, right] = [column + 0.5 - half, column + 0.5 + half].map((x) => within(x, width));
  const [top, bottom] = [row + 0.5 - half, row + 0.5 + half].map((y) => within(y, height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** One picture, a frame over it, and what is told and read of it. */
class Tile {
  constructor([, height, width], onPick) {
    this.size = { height, width };
    this.canvas = canvasFor([1, height, width], "a picture that is being painted");
    this.boxes = ["patch-halo", "patch-line"].map((kind) => s("rect", { class: kind }));
    this.patch = s(
      "svg",
      { class: "patch", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
      this.boxes,
    );
    this.pick = h("button", { type: "button", class: "tile-open", on: { click: onPick } });
    this.words = h("figcaption", { class: "painted-words reading" });
    const frame = h("div", { class: "tile-frame" }, this.canvas, this.patch, this.pick);
    this.element = h("figure", { class: "tile" }, frame, this.words);
  }

  /** Show where the patch of a stroke is; null if nothing is being painted. */
  frame(place, window) {
    this.patch.toggleAttribute("hidden", !place);
    if (!place) return;
    const box = boxOf(place, window, this.size);
    for (const rect of this.boxes)
      for (const [name, value] of Object.entries(box)) rect.setAttribute(name, value);
  }

  /** Show what was told where the sentence says nothing, and what an observer reads. */
  tell(row, i, name, { vocabulary }) {
    const read = row.readings?.[i];
    const { caption } = row.paintings[i];
    const told = caption === row.description ? "" : caption;
    this.name = [
      name,
      told ? `told “${told}”` : "",
      read ? readingInWords(read, row.said, vocabulary) : "",
    ]
      .filter(Boolean)
      .join(". ");
    this.element.classList.toggle("tile-wrong", Boolean(read?.wrong.length));
    this.pick.setAttribute("aria-label", `Look at ${name}`);
    this.words.replaceChildren(
      ...(told ? [h("span", { class: "painted-told", text: told })] : []),
      ...(read ? reading(read, row.said, vocabulary) : []),
    );
  }
}

/** The strokes of all pictures, and what came of them where that is something else. */
async function opened(answer) {
  const done = answer.pictures ? await Pictures.open(answer.pictures) : null;
  return [answer, { canvases: await Pictures.open(answer.canvases), done }];
}

/**
 * What a view shows of a model that paints.
 * @param {HTMLElement} aside  Where the words that are listened to go, and real pictures.
 */
export function paintedStage(context, aside) {
  const { model } = context;
  const { strokes } = model;
  const heads = WHENS.map((text) =>
    h("div", { class: "painted-head" }, h("h2", { class: "label", text }), h("p", {})),
  );
  const rows = WHENS.map(() => h("div", { class: "painted-tiles", role: "group" }));
  const steps = player({
    label: "Stroke",
    steps: strokes + 1,
    told: (step) => (step > strokes ? finished() : `stroke ${step} of ${strokes}`),
    onStep: draw,
    onRest: (step) => context.say({ stroke: step === null ? null : unless(strokes + 1, step) }),
  });
  const strips = new Strips({
    label: "The strokes of one picture; arrow keys go to another stroke",
    onPick: (_, step) => jump(step + 1),
    onMove: (_, step) => jump(Math.min(strokes + 1, Math.max(1, steps.at + step))),
  });
  const film = h("p", { class: "label film-label" });
  const maps = attentionMaps(jump);
  const heard = block("Words that are listened to", maps.element);
  const real = foundSection(context);
  const many = strokes > 1;
  const element = h(
    "div",
    { class: "painted-box" },
    rows.flatMap((row, i) => [heads[i], row]),
    ...(many ? [steps.element, h("div", { class: "film" }, film, strips.element)] : []),
  );
  let [tiles, size, now] = [[], "", null];

  strips.element.style.setProperty("--across", Math.min(strokes, 16));
  aside.append(heard, block("Real pictures that fit", real.element));

  function finished() {
    return now?.done ? "sharpened" : "finished";
  }

  /** Go to a stroke, and keep it in the link. */
  function jump(step) {
    steps.rest(step);
    context.say({ stroke: unless(strokes + 1, step) });
  }

  /** Make room for pictures; those that are shown stay until others come. */
  function reserve(n, count) {
    if (size === `${n} ${count}`) return;
    size = `${n} ${count}`;
    const pick = (i) => context.say({ looked: unless(1, i + 1) });
    tiles = Array.from({ length: n * count }, (_, k) => new Tile(model.shape, () => pick(k % n)));
    rows.forEach((row, r) => {
      row.hidden = r >= count;
      heads[r].hidden = count < 2;
      row.style.setProperty("--n", n);
      row.replaceChildren(...tiles.slice(r * n, (r + 1) * n).map((tile) => tile.element));
    });
    element.classList.toggle("painted-pairs", count > 1);
    strips.reserve(count, strokes, model.shape, (row) =>
      count > 1 ? h("span", { class: "label strip-when", text: WHENS[row] }) : null,
    );
  }

  /** Show every picture as it is after a stroke; after the last come the finished ones. */
  function draw(step) {
    if (!now) return;
    const { answer, canvases, done } = now;
    const over = step > strokes;
    tiles.forEach((tile, k) => {
      const painting = answer.rows[Math.floor(k / answer.n)].paintings[k % answer.n];
      if (over && done) done.draw(tile.canvas, k);
      else canvases.draw(tile.canvas, k * strokes + Math.min(step, strokes) - 1);
      tile.frame(over ? null : painting.places[step - 1], answer.window);
      const when = over ? finished() : `stroke ${step} of ${strokes}`;
      tile.canvas.setAttribute("aria-label", many ? `${tile.name}. ${when}` : tile.name);
    });
    strips.mark(step - 1);
    maps.mark(step);
  }

  /** Show the strokes of one picture, and the words that it listens to. */
  function look(state) {
    if (!now) return;
    const { answer, canvases } = now;
    const { n } = answer;
    const at = whole(state.looked, 1, 1, n) - 1;
    tiles.forEach((tile, k) => {
      tile.element.classList.toggle("tile-looked", many && n > 1 && k % n === at);
      tile.pick.hidden = !many;
      tile.pick.setAttribute("aria-pressed", String(k % n === at));
    });
    film.textContent = `picture ${at + 1} of ${n}, stroke by stroke`;
    const index = (k) => (Math.floor(k / strokes) * n + at) * strokes + (k % strokes);
    strips.show(
      { draw: (canvas, k) => canvases.draw(canvas, index(k)) },
      (row, step) =>
        `picture ${at + 1}${answer.rows.length > 1 ? ` ${WHENS[row]}` : ""}, stroke ${step + 1}`,
    );
    const looked = answer.rows.map((row) => row.paintings[at]);
    heard.hidden = looked.some(({ attention }) => !attention);
    if (!heard.hidden) maps.show(looked, WHENS);
    maps.mark(steps.at);
  }

  function show(answer, pictures, changed) {
    const before = now?.answer;
    now = { answer, ...pictures };
    reserve(answer.n, answer.rows.length);
    answer.rows.forEach((row, r) => {
      const when = answer.rows.length > 1 ? ` ${WHENS[r]}` : "";
      const right = row.correctness && `; ${percent(row.correctness.value)} of the words are seen`;
      rows[r].setAttribute("aria-label", `Pictures${when}`);
      heads[r].lastChild.replaceChildren(...stressed(row.said, model, changed?.place), right ?? "");
      row.paintings.forEach((_, i) =>
        tiles[r * answer.n + i].tell(row, i, `picture ${i + 1}${when}`, model),
      );
    });
    look(context.state);
    real.show(answer.rows[0].description);
    const { stroke } = context.state;
    if (stroke !== undefined) steps.rest(strokeOf(stroke));
    else if (before && told(before) === told(answer)) steps.go(steps.at);
    else steps.play();
  }

  /** What is said to pictures: others are painted from the beginning. */
  function told({ seed, rows: every }) {
    return JSON.stringify([seed, every.map(({ description }) => description)]);
  }

  function strokeOf(text) {
    return whole(text, strokes + 1, 1, strokes + 1);
  }

  return {
    element,
    endpoint: "paint",
    open: opened,
    counts: [1, 2, 3, 4],
    usual: 4,
    reserve,
    show,
    /** The link has changed. */
    update(state) {
      look(state);
      const { stroke } = state;
      if (stroke !== undefined && strokeOf(stroke) !== steps.at) steps.rest(strokeOf(stroke));
    },
    stop() {
      steps.halt();
      real.stop();
    },
  };
}
