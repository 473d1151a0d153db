/** A pad to draw on, white on black, with undo; pictures can also be laid onto it. */

import { h } from "../dom.js";
import { button, slider } from "./controls.js";

const SIDE = 256;
const KEPT = 24;

/** Digits as strokes, in a square from 0 to 1. */
const STROKES = {
  4: [
    [
      [0.62, 0],
      [0.1, 0.62],
      [0.95, 0.62],
    ],
    [
      [0.7, 0.3],
      [0.62, 1],
    ],
  ],
  7: [
    [
      [0.08, 0.06],
      [0.9, 0.06],
      [0.62, 0.48],
      [0.4, 1],
    ],
  ],
  3: [
    [
      [0.15, 0.12],
      [0.45, 0],
      [0.8, 0.14],
      [0.75, 0.36],
      [0.42, 0.47],
      [0.8, 0.58],
      [0.88, 0.82],
      [0.5, 1],
      [0.1, 0.86],
    ],
  ],
};

/** Drawings to begin with: a digit, its left upper corner and its height in parts of the pad. */
export const EXAMPLES = [
  { title: "a big 4, top left", digit: 4, x: 0.15, y: 0.12, high: 0.27, turn: 0 },
  { title: "a small 7, bottom right", digit: 7, x: 0.7, y: 0.68, high: 0.17, turn: 0 },
  { title: "a leaning 3, top right", digit: 3, x: 0.64, y: 0.14, high: 0.27, turn: -0.6 },
];

/** A smooth line through points. */
function trace(ink, points) {
  ink.beginPath();
  ink.moveTo(...points[0]);
  for (let i = 1; i < points.length - 1; i += 1) {
    const [x, y] = points[i];
    const [nextX, nextY] = points[i + 1];
    ink.quadraticCurveTo(x, y, (x + nextX) / 2, (y + nextY) / 2);
  }
  ink.lineTo(...points.at(-1));
  ink.stroke();
}

/** An example's strokes on a pad, its corners kept sharp where digits have them. */
function strokesOf({ digit, x, y, high, turn }) {
  const wide = 0.75 * high;
  const [middleX, middleY] = [x + wide / 2, y + high / 2];
  const place = ([u, v]) => {
    const [dx, dy] = [(u - 0.5) * wide, (v - 0.5) * high];
    return [
      SIDE * (middleX + dx * Math.cos(turn) - dy * Math.sin(turn)),
      SIDE * (middleY + dx * Math.sin(turn) + dy * Math.cos(turn)),
    ];
  };
  return STROKES[digit].map((stroke) => stroke.map(place));
}

export class Pad {
  /** @param {{onDrawn: (canvas: HTMLCanvasElement) => void, onCleared: () => void}} acts */
  constructor({ onDrawn, onCleared }) {
    this.acts = { onDrawn, onCleared };
    this.before = [];
    this.points = null;
    this.canvas = h("canvas", {
      class: "pad-canvas",
      width: SIDE,
      height: SIDE,
      role: "img",
      "aria-label": "The drawing; without a pointer, take an example or a file",
    });
    this.ink = this.canvas.getContext("2d", { willReadFrequently: true });
    this.brush = slider({
      label: "brush",
      least: 5,
      most: 24,
      step: 1,
      value: 11,
      format: (px) => `${(px / 4).toFixed(1)} px`,
    });
    this.undoing = button({
      sign: "undo",
      text: "Undo",
      onClick: () => this.undo(),
      disabled: true,
    });
    const clear = button({ sign: "clear", text: "Clear", onClick: () => this.clear() });
    this.element = h(
      "div",
      { class: "pad" },
      h("div", { class: "pad-frame" }, this.canvas),
      h("div", { class: "pad-tools" }, this.brush.element, this.undoing, clear),
    );
    this.blank();
    this.listen();
  }

  listen() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [
        (SIDE * (event.clientX - box.left)) / box.width,
        (SIDE * (event.clientY - box.top)) / box.height,
      ];
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      event.preventDefault();
      this.canvas.setPointerCapture(event.pointerId);
      this.keep();
      this.points = [place(event), place(event)];
      this.stroke();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.points) return;
      for (const each of event.getCoalescedEvents?.() ?? [event]) this.points.push(place(each));
      this.ink.putImageData(this.before.at(-1), 0, 0);
      this.stroke();
    });
    const end = () => {
      if (!this.points) return;
      this.points = null;
      this.acts.onDrawn(this.canvas);
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
  }

  stroke() {
    this.pen(Number(this.brush.input.value));
    trace(this.ink, this.points);
  }

  pen(width) {
    Object.assign(this.ink, {
      strokeStyle: "#fff",
      lineWidth: width,
      lineCap: "round",
      lineJoin: "round",
    });
  }

  blank() {
    this.ink.fillStyle = "#000";
    this.ink.fillRect(0, 0, SIDE, SIDE);
  }

  /** Remember what is there, for undo. */
  keep() {
    this.before.push(this.ink.getImageData(0, 0, SIDE, SIDE));
    if (this.before.length > KEPT) this.before.shift();
    this.undoing.disabled = false;
  }

  undo() {
    const last = this.before.pop();
    if (!last) return;
    this.ink.putImageData(last, 0, 0);
    this.undoing.disabled = this.before.length === 0;
    if (last.data.some((value, i) => i % 4 < 3 && value > 0)) this.acts.onDrawn(this.canvas);
    else this.acts.onCleared();
  }

  clear() {
    this.keep();
    this.blank();
    this.acts.onCleared();
  }

  /** Draw one of the examples. */
  example(example) {
    this.keep();
    this.blank();
    this.pen(0.034 * SIDE);
    for (const points of strokesOf(example)) trace(this.ink, points);
    this.acts.onDrawn(this.canvas);
  }

  /** Lay a picture onto the pad without telling anybody. */
  lay(image) {
    this.ink.imageSmoothingEnabled = false;
    this.ink.drawImage(image, 0, 0, SIDE, SIDE);
  }
}
