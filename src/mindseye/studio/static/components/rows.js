/** Traversals: a row for each of some latents, along which it alone changes. */

import { compact, h } from "../dom.js";
import { Strips } from "./strip.js";

/** A value in as few digits as it needs. */
function short(value) {
  return String(Number(value.toFixed(2))).replace("-", "−");
}

/** The step whose value is nearest to one; -1 where that lies beyond both ends. */
function nearest(values, value) {
  if (value === undefined || Math.abs(value) > Math.abs(values[0]) + 1e-6) return -1;
  const distances = values.map((each) => Math.abs(each - value));
  return distances.indexOf(Math.min(...distances));
}

/**
 * @param {{onPick: (dimension: number, value: number) => void}} acts  For a click on a picture, or
 *     an arrow key along a row.
 */
export function traversalRows(context, { onPick }) {
  const { model } = context;
  const strips = new Strips({
    label: "A row for each latent; arrow keys choose a row and go along it",
    onPick: pick,
    onMove: move,
  });
  const values = h("div", { class: "row-values", "aria-hidden": "true" });
  const element = h("div", { class: "rows" }, strips.element, values);
  let now = { answer: null, z: [], row: 0 };

  function beside() {
    return h(
      "div",
      { class: "row-head" },
      h("span", { class: "label row-name" }),
      h("span", { class: "activity" }),
    );
  }

  function pick(row, step) {
    if (!now.answer) return;
    now.row = row;
    strips.markStrip(row);
    onPick(now.answer.dimensions[row], now.answer.values[step]);
  }

  function move(rows, steps) {
    if (!now.answer) return;
    const { dimensions, values: at } = now.answer;
    now.row = Math.min(dimensions.length - 1, Math.max(0, now.row + rows));
    strips.markStrip(now.row);
    const dimension = dimensions[now.row];
    if (!steps) return context.announce(`z${dimension + 1}`);
    const here = nearest(at, now.z[dimension]);
    const from = here < 0 ? (now.z[dimension] > 0 ? at.length : -1) : here;
    const next = Math.min(at.length - 1, Math.max(0, from + steps));
    context.announce(`z${dimension + 1} = ${short(at[next])}`);
    return onPick(dimension, at[next]);
  }

  /** Name the rows, and say how active their latents are. */
  function name(known) {
    const most = Math.max(...(known?.activity ?? [0]));
    element.querySelectorAll(".row-head").forEach((head, row) => {
      const dimension = now.answer.dimensions[row];
      head.querySelector(".row-name").textContent = `z${dimension + 1}`;
      const share = most > 0 ? known.activity[dimension] / most : 0;
      head.querySelector(".activity").style.setProperty("--share", share);
      head.title = known ? `${known.told} ${compact(known.activity[dimension])}` : "";
    });
  }

  return {
    element,
    reserve: (rows, steps) => strips.reserve(rows, steps, model.shape, beside),
    show(answer, pictures, known) {
      now = { ...now, answer };
      const steps = answer.values.length;
      strips.reserve(answer.dimensions.length, steps, model.shape, beside);
      element.style.setProperty("--steps", steps);
      element.style.setProperty("--rows", answer.dimensions.length);
      strips.show(
        pictures,
        (row, step) => `z${answer.dimensions[row] + 1} = ${short(answer.values[step])}`,
      );
      strips.markStrip(Math.min(now.row, answer.dimensions.length - 1));
      values.replaceChildren(
        ...answer.values.map((value) => h("span", { class: "number", text: short(value) })),
      );
      name(known);
      this.mark(now.z);
    },
    /** Mark where a latent is in every row. */
    mark(z) {
      now.z = z;
      now.answer?.dimensions.forEach((dimension, row) =>
        strips.markRow(row, nearest(now.answer.values, z[dimension])),
      );
    },
    /** Name the rows again, once it is known how active they are. */
    know: (known) => now.answer && name(known),
  };
}
