/** Probabilities of the values of every attribute, with a box to keep the most probable one. */

import { h, percent } from "../dom.js";
import { check } from "./controls.js";

/** The most probable value of each attribute. */
export function likeliest(attributes) {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, shares]) => [
      name,
      Object.entries(shares).reduce((best, next) => (next[1] > best[1] ? next : best))[0],
    ]),
  );
}

function bar(value, share, best) {
  return h(
    "div",
    { class: best ? "bar bar-best" : "bar" },
    h("dt", { text: value }),
    h(
      "dd",
      { class: "bar-lane" },
      h("span", { class: "bar-fill", style: { width: `${100 * share}%` } }),
      h("span", { class: "bar-number number", text: percent(share) }),
    ),
  );
}

/** A column of bars for each attribute; `keeps` says which are kept. */
export function probabilityBars(attributes, keeps, onKeep) {
  const best = likeliest(attributes);
  const columns = Object.entries(attributes).map(([name, shares]) =>
    h(
      "div",
      { class: "bars-column" },
      h(
        "div",
        { class: "bars-head" },
        h("h2", { class: "label", text: name }),
        check({ label: "keep", checked: keeps.includes(name), onChange: (on) => onKeep(name, on) })
          .element,
      ),
      h(
        "dl",
        { class: "bars" },
        Object.entries(shares).map(([value, share]) => bar(value, share, best[name] === value)),
      ),
    ),
  );
  columns.forEach((column, i) => {
    const name = Object.keys(attributes)[i];
    column.querySelector("input").setAttribute("aria-label", `keep ${name}=${best[name]}`);
  });
  return h("div", { class: "bars-columns" }, columns);
}
