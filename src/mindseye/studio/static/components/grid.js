/** A grid of pictures, with what the observer sees below each of them. */

import { h } from "../dom.js";
import { canvasFor } from "./sprite.js";

/** What is seen in a picture, in words; what was said otherwise is told. */
export function seenInWords(verdict, said) {
  if (!verdict) return "a picture";
  return Object.entries(verdict.seen)
    .map(([name, value]) =>
      verdict.wrong.includes(name)
        ? `${name} ${value}, not ${said[name]} as said`
        : `${name} ${value}`,
    )
    .join("; ");
}

/** What is seen: said words first, wrong ones with a sign, then what was left open. */
function caption(verdict, said) {
  const word = (name) =>
    verdict.wrong.includes(name)
      ? h("strong", {
          class: "wrong",
          title: `${name}=${said[name]} was said`,
          text: `≠ ${verdict.seen[name]}`,
        })
      : h("span", { text: verdict.seen[name] });
  const line = (kind, names) =>
    h(
      "span",
      { class: kind },
      names.flatMap((name, i) => (i ? [" · ", word(name)] : [word(name)])),
    );
  const names = Object.keys(verdict.seen);
  const [told, open] = [
    names.filter((name) => name in said),
    names.filter((name) => !(name in said)),
  ];
  return [
    told.length ? line("seen-said", told) : null,
    open.length ? line("seen-open", open) : null,
  ].filter(Boolean);
}

/** The most nearly square arrangement: columns for a number of pictures. */
function columnsFor(n) {
  return Math.ceil(Math.sqrt(n));
}

export class PictureGrid {
  /** @param {{label: string, captions: boolean, onPick?: (index: number) => void}} options */
  constructor({ label, captions = true, onPick }) {
    this.captions = captions;
    this.onPick = onPick;
    this.tiles = [];
    this.element = h("div", { class: "grid", role: "group", "aria-label": label });
    this.box = h("div", { class: "grid-box" }, this.element);
    this.element.addEventListener("keydown", (event) => this.move(event));
  }

  /** Make room for some pictures; those that are shown stay until others come. */
  reserve(n, shape, columns = columnsFor(n)) {
    const rows = Math.ceil(n / columns);
    this.columns = columns;
    this.element.style.setProperty("--columns", columns);
    this.element.style.setProperty("--rows", rows);
    this.element.style.setProperty("--ratio", shape[1] / shape[2]);
    this.element.style.setProperty("--unit", shape[2] > 32 ? "8px" : `${shape[2] / 2}px`);
    this.element.classList.toggle("grid-dense", n > 25);
    this.element.classList.toggle("grid-bare", !this.captions);
    while (this.tiles.length < n) this.tiles.push(this.tile(this.tiles.length, shape));
    this.tiles.length = n;
    this.element.replaceChildren(...this.tiles.map((tile) => tile.figure));
    this.hold();
  }

  /** Tab reaches one picture: the one that arrow keys reached last, else the first. */
  hold() {
    const last = this.tiles.findIndex((tile) => tile.pick?.tabIndex === 0);
    this.tiles.forEach(({ pick }, i) => {
      if (pick) pick.tabIndex = i === Math.max(0, last) ? 0 : -1;
    });
  }

  tile(index, shape) {
    const canvas = canvasFor(shape, "a picture that is being made");
    const sign = h("span", { class: "tile-sign", "aria-hidden": "true", text: "≠", hidden: true });
    const pick = this.onPick
      ? h("button", {
          type: "button",
          class: "tile-open",
          tabindex: -1,
          "aria-label": `Look closer at picture ${index + 1}`,
          on: { click: () => this.onPick(index) },
        })
      : null;
    const words = this.captions ? h("figcaption", { class: "tile-words" }) : null;
    const figure = h(
      "figure",
      { class: "tile" },
      h("div", { class: "tile-frame" }, canvas, sign, pick),
      words,
    );
    return { figure, canvas, sign, pick, words };
  }

  /** Draw pictures, and verdicts if there are any. */
  show(pictures, verdicts, said) {
    this.tiles.forEach((tile, i) => {
      const verdict = verdicts?.[i];
      const wrong = Boolean(verdict?.wrong.length);
      const words = seenInWords(verdict, said);
      pictures.draw(tile.canvas, i);
      tile.canvas.setAttribute("aria-label", words);
      tile.figure.classList.toggle("tile-wrong", wrong);
      tile.sign.hidden = !wrong;
      if (tile.pick) tile.pick.title = verdict ? `seen: ${words}` : "";
      tile.words?.replaceChildren(...(verdict ? caption(verdict, said) : []));
    });
  }

  /** Arrow keys go from picture to picture. */
  move(event) {
    const at = this.tiles.findIndex((tile) => tile.pick === event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[
      event.key
    ];
    const next = this.tiles[at + step];
    if (at < 0 || !step || !next) return;
    event.preventDefault();
    this.tiles[at].pick.tabIndex = -1;
    next.pick.tabIndex = 0;
    next.pick.focus();
  }

  /** The grid as one picture, with small gaps, on black. */
  sheet(pictures, gap = 4, scale = 2) {
    const { width, height } = pictures.sprite;
    const rows = Math.ceil(pictures.count / this.columns);
    const sheet = document.createElement("canvas");
    sheet.width = this.columns * (width * scale + gap) + gap;
    sheet.height = rows * (height * scale + gap) + gap;
    const ink = sheet.getContext("2d");
    ink.fillStyle = "#3a3f46";
    ink.fillRect(0, 0, sheet.width, sheet.height);
    ink.imageSmoothingEnabled = false;
    this.tiles.forEach(({ canvas }, i) => {
      const x = gap + (i % this.columns) * (width * scale + gap);
      const y = gap + Math.floor(i / this.columns) * (height * scale + gap);
      ink.drawImage(canvas, x, y, width * scale, height * scale);
    });
    return sheet;
  }
}
