/** How well a model finds links that were held out, beside what needs no training. */

import { h } from "../dom.js";
import { marked } from "./states.js";

const MEASURES = [
  ["auc", "AUC"],
  ["ap", "AP"],
  ["hits@100", "Hits@100"],
];

const share = (value) => (value === undefined ? "–" : (100 * value).toFixed(1));

/** A row of the table: who, and every measure. */
function row(name, values, titles = {}) {
  return h(
    "tr",
    {},
    h("th", { scope: "row", text: name }),
    MEASURES.map(([key]) =>
      h("td", { class: "number", title: titles[key], text: share(values[key]) }),
    ),
  );
}

function table({ part, links, scores, beside, chance }) {
  const own = Object.fromEntries(Object.entries(scores).map(([key, { mean }]) => [key, mean]));
  const spans = Object.fromEntries(
    Object.entries(scores).map(([key, { low, high }]) => [
      key,
      `95 % interval: ${share(low)} to ${share(high)}`,
    ]),
  );
  return [
    h(
      "table",
      { class: "link-scores" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          MEASURES.map(([, title]) => h("th", { scope: "col", text: title })),
        ),
      ),
      h(
        "tbody",
        {},
        row("model", own, spans),
        Object.entries(beside).map(([name, values]) => row(name, values)),
        row("chance", chance),
      ),
    ),
    h("p", {
      class: "note",
      text: `Percent, of ${links.toLocaleString("en")} ${part} links and as many pairs without one.`,
    }),
  ];
}

/** The scores of an answer, or how to get them. */
export function linkScores({ scores, missing }) {
  return scores ? table(scores) : [h("p", { class: "note missing" }, marked(missing))];
}
