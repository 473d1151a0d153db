/** One row for each latent dimension, with a slider that goes along it. */

import { spoken } from "../concept.js";
import { compact, h } from "../dom.js";
import { bareRange } from "./controls.js";
import { morph, Strips } from "./strip.js";

/**
 * @param {{canvas: HTMLCanvasElement, note: HTMLElement}} look  Where one picture is seen large.
 */
export function latentRows(context, look) {
  const { model } = context;
  const ranges = [];
  const strips = new Strips({
    label: "One row for each latent",
    onPick: (row, step) => go(row, step),
  });
  const element = h("div", { class: "latents" }, strips.element);
  let now = { answer: null, pictures: null };

  function beside(row) {
    const range = bareRange(`latent z${row + 1}`, 4);
    range.addEventListener("input", () => go(row, Number(range.value)));
    ranges[row] = range;
    return h(
      "div",
      { class: "latent-head" },
      h("span", { class: "label", text: `z${row + 1}` }),
      range,
      h("span", { class: "change", title: "how much the pictures of this row change" }),
    );
  }

  function place(row, at) {
    const steps = now.answer.values.length;
    ranges[row].max = steps - 1;
    ranges[row].value = at;
    ranges[row].style.setProperty("--filled", at / (steps - 1));
    ranges[row].setAttribute("aria-valuetext", `z${row + 1} = ${compact(valueAt(at))}`);
    strips.markRow(row, at);
  }

  function valueAt(at) {
    const { values } = now.answer;
    const low = Math.floor(at);
    const high = Math.min(values.length - 1, low + 1);
    return Number((values[low] + (at - low) * (values[high] - values[low])).toFixed(2));
  }

  /** Look at a place of a row. */
  function go(row, at) {
    if (!now.answer) return;
    const steps = now.answer.values.length;
    place(row, at);
    morph(look.canvas, now.pictures, row, at, steps);
    const words = `z${row + 1} = ${compact(valueAt(at))}`;
    look.canvas.setAttribute("aria-label", words);
    look.note.textContent = words;
  }

  /** How much the pictures of each row change, as a bar beside it. */
  function changes(rows, steps) {
    const all = Array.from({ length: rows }, (_, row) =>
      now.pictures.difference(row * steps, row * steps + steps - 1),
    );
    const most = Math.max(...all, 1e-6);
    [...element.querySelectorAll(".change")].forEach((bar, row) =>
      bar.style.setProperty("--share", all[row] / most),
    );
    return all.indexOf(Math.max(...all));
  }

  return {
    element,
    reserve: (steps) => strips.reserve(model.latent, steps, model.shape, beside),
    show(answer, pictures) {
      now = { answer, pictures };
      const steps = answer.values.length;
      const rows = answer.pictures.count / steps;
      strips.reserve(rows, steps, model.shape, beside);
      strips.show(pictures, (row, step) => `z${row + 1} = ${compact(answer.values[step])}`);
      for (let row = 0; row < rows; row += 1) place(row, (steps - 1) / 2);
      go(changes(rows, steps), steps - 1);
      context.announce(`${rows} latents of ${spoken(answer.description)}, ${steps} steps each`);
    },
  };
}
