/** Rows of pictures with as many steps: a way, of which one step is looked at. */

import { h } from "../dom.js";
import { canvasFor } from "./sprite.js";

const MOVES = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export class Strips {
  /**
   * @param {{label: string, onPick, onMove, foot: Element}} options  `onPick(row, step)` for a click
   *     and, if the rows can have the focus, `onMove(rows, steps)` for an arrow key.
   */
  constructor({ label, onPick, onMove = null, foot = null }) {
    this.foot = foot;
    this.onPick = onPick;
    this.rows = [];
    this.element = h("div", { class: "strips", role: "group", "aria-label": label });
    this.element.addEventListener("click", (event) => {
      const canvas = event.target.closest("canvas");
      if (canvas) this.onPick(Number(canvas.dataset.row), Number(canvas.dataset.step));
    });
    if (onMove) this.listen(onMove);
  }

  /** Arrow keys go from row to row and from step to step. */
  listen(onMove) {
    this.element.tabIndex = 0;
    this.element.addEventListener("keydown", (event) => {
      const way = MOVES[event.key];
      if (!way || event.target !== this.element) return;
      event.preventDefault();
      onMove(...way);
    });
  }

  /** Make room for rows of steps; `beside(row)` makes what stands at the left of a row. */
  reserve(rows, steps, shape, beside = () => null) {
    const size = `${rows} ${steps}`;
    if (this.size === size) return;
    this.size = size;
    this.element.style.setProperty("--steps", steps);
    this.element.style.setProperty("--rows", rows);
    this.rows = Array.from({ length: rows }, (_, row) =>
      Array.from({ length: steps }, (_, step) => {
        const canvas = canvasFor(shape, "a picture that is being made");
        canvas.dataset.row = row;
        canvas.dataset.step = step;
        return canvas;
      }),
    );
    this.element.replaceChildren(
      ...this.rows.map((canvases, row) =>
        h("div", { class: "strip" }, beside(row), h("div", { class: "strip-steps" }, canvases)),
      ),
      ...(this.foot ? [this.foot] : []),
    );
  }

  /** Draw pictures; `told(row, step)` names one. */
  show(pictures, told) {
    this.rows.forEach((canvases, row) =>
      canvases.forEach((canvas, step) => {
        pictures.draw(canvas, row * canvases.length + step);
        canvas.setAttribute("aria-label", told(row, step));
      }),
    );
  }

  /** Mark a column. */
  mark(step) {
    this.rows.forEach((_, row) => this.markRow(row, step));
  }

  /** Mark the row that is looked at. */
  markStrip(row) {
    this.element
      .querySelectorAll(".strip")
      .forEach((strip, i) => strip.classList.toggle("strip-on", i === row));
  }

  /** Mark one picture of one row, and leave the other rows. */
  markRow(row, step) {
    this.rows[row]?.forEach((canvas, i) =>
      canvas.classList.toggle("marked", i === Math.round(step)),
    );
  }
}

/** Draw a picture between two steps of a row: one fades into the other. */
export function morph(canvas, pictures, row, step, steps) {
  const low = Math.min(steps - 1, Math.floor(step));
  const high = Math.min(steps - 1, low + 1);
  pictures.draw(canvas, row * steps + low);
  if (step > low) pictures.draw(canvas, row * steps + high, step - low);
}
