/** Which words are listened to, stroke by stroke: a table whose cells are the darker the more. */

import { h, percent } from "../dom.js";

const NAMED = 12;
const TOLD = 3;

/** How dark a weight is: its root, so that small ones are seen beside large ones. */
const dark = (weight, largest) => Math.sqrt(weight / largest);

/** The words that have most of some weights, in words. */
function most(words, weights) {
  return words
    .map((word, k) => [word, weights[k]])
    .sort((a, b) => b[1] - a[1])
    .slice(0, TOLD)
    .map(([word, weight]) => `${word} ${percent(weight)}`.replaceAll(" ", "\u00a0"))
    .join(", ");
}

/** The mean of some rows. */
function mean(rows) {
  return rows[0].map((_, k) => rows.reduce((sum, row) => sum + row[k], 0) / rows.length);
}

/** Whether a stroke is named above its column; of many every fourth is. */
function isNamed(stroke, strokes) {
  return strokes <= NAMED || stroke === 1 || stroke % (strokes <= 2 * NAMED ? 4 : 8) === 0;
}

function table({ words, attention }, label, largest) {
  const strokes = attention.map((_, t) => t + 1);
  const heads = strokes.map((stroke) =>
    h(
      "th",
      { scope: "col", "data-stroke": stroke },
      h("span", { class: isNamed(stroke, strokes.length) ? null : "unseen", text: stroke }),
    ),
  );
  const cell = (word, k) => (weights, t) =>
    h(
      "td",
      {
        "data-stroke": t + 1,
        title: `${word}, stroke ${t + 1}: ${percent(weights[k], 1)}`,
        style: { "--heat": dark(weights[k], largest).toFixed(4) },
      },
      h("span", { class: "unseen", text: percent(weights[k]) }),
    );
  return h(
    "table",
    { class: "heat" },
    h("caption", { class: "unseen", text: label }),
    h("thead", {}, h("tr", {}, h("th", { scope: "col", text: "stroke" }), heads)),
    h(
      "tbody",
      {},
      words.map((word, k) =>
        h(
          "tr",
          {},
          h("th", { scope: "row", title: word, text: word }),
          attention.map(cell(word, k)),
        ),
      ),
    ),
  );
}

/**
 * One map, or two below each other; `show(paintings, whens)`, then `mark(stroke)`.
 * @param {(stroke: number) => void} onPick  For a click on a column.
 */
export function attentionMaps(onPick) {
  const element = h("div", { class: "heats" });
  let maps = [];

  element.addEventListener("click", ({ target }) => {
    const cell = target.closest("[data-stroke]");
    if (cell) onPick(Number(cell.dataset.stroke));
  });

  /** Say what is listened to at a stroke, or on the whole where there is none. */
  function mark(stroke) {
    for (const { attention, words, box, note } of maps) {
      const weights = attention[stroke - 1];
      box.style.setProperty("--at", stroke);
      box.classList.toggle("heat-over", !weights);
      note.textContent = weights
        ? `stroke ${stroke}: ${most(words, weights)}`
        : `on the whole: ${most(words, mean(attention))}`;
    }
  }

  return {
    element,
    mark,
    show(paintings, whens) {
      const every = paintings.filter(({ words }) => words.length);
      const largest = Math.max(1e-6, ...every.flatMap(({ attention }) => attention.flat()));
      maps = every.map((painting, row) => {
        const when = every.length > 1 ? `, ${whens[row]}` : "";
        const label = `How much each word is listened to at every stroke${when}`;
        const made = table(painting, label, largest);
        const box = h(
          "div",
          { class: "heat-box", style: { "--strokes": painting.attention.length } },
          made,
          h("span", { class: "heat-mark", "aria-hidden": "true" }),
        );
        return { ...painting, box, note: h("p", { class: "note heat-note" }) };
      });
      element.classList.toggle("heats-two", maps.length > 1);
      const scale = h(
        "p",
        { class: "label heat-scale", "aria-hidden": "true" },
        "0 %",
        h("span", { class: "heat-ramp" }),
        percent(largest / 4),
        h("span", { class: "heat-ramp heat-ramp-high" }),
        percent(largest),
      );
      element.replaceChildren(
        ...maps.flatMap(({ box, note }, row) => [
          ...(maps.length > 1 ? [h("h3", { class: "label heat-when", text: whens[row] })] : []),
          box,
          note,
        ]),
        maps.length ? scale : h("p", { class: "note", text: "Nothing is said to listen to." }),
      );
    },
  };
}
