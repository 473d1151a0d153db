/** How many of each category a whole has: a row for each, with one more and one less. */

import { h } from "../dom.js";
import { button } from "./controls.js";

const SHORT = 6;

/** One category; `onStep(way)` with 1 or −1. */
function stepper(name, onStep) {
  const count = h("output", { class: "stepper-count number" });
  const less = button({ sign: "less", title: `one ${name} less`, onClick: () => onStep(-1) });
  const more = button({ sign: "more", title: `one ${name} more`, onClick: () => onStep(1) });
  const element = h(
    "div",
    { class: "stepper", role: "group", "aria-label": name },
    h("span", { class: "stepper-name", text: name }),
    less,
    count,
    more,
  );
  return {
    element,
    show(n, full) {
      count.textContent = String(n);
      element.classList.toggle("stepper-none", n === 0);
      less.disabled = n === 0;
      more.disabled = full;
    },
  };
}

/**
 * The list of a kit; `show(pieces)` when it is known what there is.
 * @param {(category: string, way: number) => void} onStep  One more, or one less.
 */
export function steppers(kit, onStep) {
  const rows = kit.categories.map(({ name }) => [name, stepper(name, (way) => onStep(name, way))]);
  const short = rows.every(([name]) => name.length <= SHORT);
  return {
    element: h(
      "div",
      { class: `steppers${short ? " steppers-short" : ""}` },
      rows.map(([, row]) => row.element),
    ),
    show(pieces) {
      const full = pieces.length >= kit.most;
      for (const [name, row] of rows)
        row.show(pieces.filter(({ category }) => category === name).length, full);
    },
  };
}
