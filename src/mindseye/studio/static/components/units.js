/** Active units: how much the expectation of each latent varies from picture to picture. */

import { compact, h, s } from "../dom.js";

const ACTIVE = 0.01;
const [WIDE, HIGH] = [288, 112];
const EDGE = { left: 34, right: 2, top: 6, bottom: 6 };
const [LOW, TOP] = [-4, 1]; // powers of ten

function heightOf(value) {
  const power = Math.log10(Math.max(value, 10 ** LOW));
  const share = (Math.min(power, TOP) - LOW) / (TOP - LOW);
  return share * (HIGH - EDGE.top - EDGE.bottom);
}

function rule(value, text, kind) {
  const y = HIGH - EDGE.bottom - heightOf(value);
  return [
    s("line", { class: kind, x1: EDGE.left, x2: WIDE - EDGE.right, y1: y, y2: y }),
    s("text", {
      class: "figure-text",
      x: EDGE.left - 6,
      y: y + 4,
      "text-anchor": "end",
      text,
    }),
  ];
}

/** Bars of one layer, the most active first. */
function bars(units, told) {
  const step = Math.min(24, (WIDE - EDGE.left - EDGE.right) / units.length);
  const width = step > 4 ? step - 1.5 : Math.max(0.4, 0.8 * step);
  const made = units.map(({ name, value }, i) =>
    s(
      "rect",
      {
        class: value > ACTIVE ? "unit unit-active" : "unit",
        x: EDGE.left + i * step,
        y: HIGH - EDGE.bottom - Math.max(1, heightOf(value)),
        width,
        height: Math.max(1, heightOf(value)),
      },
      s("title", { text: `${name}: ${compact(value)}` }),
    ),
  );
  return s(
    "svg",
    { class: "figure", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": told },
    rule(1, "1", "figure-grid"),
    made,
    rule(ACTIVE, "0.01", "figure-limit"),
    s("line", {
      class: "figure-axis",
      x1: EDGE.left,
      x2: WIDE - EDGE.right,
      y1: HIGH - EDGE.bottom,
      y2: HIGH - EDGE.bottom,
    }),
  );
}

/** The same numbers for those who read them. */
export function numbers(title, head, rows) {
  const cell = (text, i) => h(i ? "td" : "th", { scope: i ? undefined : "row", text });
  return h(
    "details",
    { class: "numbers" },
    h("summary", { text: "as a table" }),
    h(
      "div",
      { class: "numbers-box", tabindex: 0, role: "region", "aria-label": title },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((text) => h("th", { scope: "col", text })),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row) => h("tr", {}, row.map(cell))),
        ),
      ),
    ),
  );
}

/** One layer; `first` is the number of its first latent. */
function layer(values, first, title) {
  const units = values
    .map((value, i) => ({ name: `z${first + i + 1}`, value }))
    .sort((a, b) => b.value - a.value);
  const active = units.filter(({ value }) => value > ACTIVE).length;
  const told = `${active} of ${units.length} units ${active === 1 ? "is" : "are"} active`;
  return h(
    "figure",
    { class: "layer" },
    h(
      "figcaption",
      { class: "layer-head" },
      h("span", { text: told }),
      title ? h("span", { class: "label", text: title }) : null,
    ),
    bars(units, `${title} ${told}`.trim()),
    numbers(
      `Activities ${title}`.trim(),
      ["unit", "variance", "active"],
      units.map(({ name, value }) => [name, compact(value), value > ACTIVE ? "yes" : "no"]),
    ),
  );
}

/** Bars of every layer. @param {number[][]} layers  The variances, the layer at the picture first. */
export function activeUnits(layers) {
  let first = 0;
  return layers.map((values, i) => {
    const made = layer(values, first, layers.length > 1 ? `layer ${i + 1}` : "");
    first += values.length;
    return made;
  });
}
