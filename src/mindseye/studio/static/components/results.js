/** Published tables that were made again: what was printed, and what was found. */

import { h } from "../dom.js";
import { picker } from "./controls.js";
import { emptyState } from "./states.js";

/** A cell: words to the left, numbers to the right. */
function cell(text, column, words) {
  const heads = column < words;
  return h(heads ? "th" : "td", {
    scope: heads ? "row" : undefined,
    class: heads ? undefined : "number result-number",
    text,
  });
}

function row(cells, words) {
  return h(
    "tr",
    {},
    cells.map((text, i) => cell(text, i, words)),
  );
}

/** Rows that share their first cell, which is said once above them. */
function group(name, rows, words) {
  const label = h("th", { scope: "rowgroup", colspan: rows[0].length, text: name });
  return h(
    "tbody",
    {},
    h("tr", { class: "result-group" }, label),
    rows.map((cells) => row(cells, words)),
  );
}

/** All rows; where two columns hold words the first one is what groups have in common. */
function bodies(rows, words) {
  if (words !== 2)
    return [
      h(
        "tbody",
        {},
        rows.map((cells) => row(cells, words)),
      ),
    ];
  const names = [...new Set(rows.map(([first]) => first))];
  return names.map((name) =>
    group(
      name,
      rows.filter(([first]) => first === name).map(([, ...rest]) => rest),
      1,
    ),
  );
}

function grid({ title, head: every, rows, words: most }) {
  const head = most === 2 ? every.slice(1) : every;
  const words = most === 2 ? 1 : most;
  return h(
    "div",
    { class: "result-box", tabindex: 0, role: "region", "aria-label": title },
    h(
      "table",
      { class: "table result-table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((text, i) =>
            text
              ? h("th", { scope: "col", class: i < words ? undefined : "result-number", text })
              : h("td"),
          ),
        ),
      ),
      bodies(rows, most),
    ),
  );
}

/** A section; the two that hold the scores are open, the rest is for those who want to know. */
function section(found, i) {
  return h(
    "details",
    { class: "result", open: i < 2 },
    h("summary", { class: "result-title", text: found.title }),
    h("p", { class: "note", text: found.text }),
    grid(found),
  );
}

function figure(table, found, i) {
  return h(
    "figure",
    { class: "result-figure" },
    h("img", {
      src: `/api/tables/${encodeURIComponent(table)}/figures/${i}`,
      alt: found.name,
      width: found.width,
      height: found.height,
      loading: "lazy",
    }),
    h("figcaption", { class: "note" }, h("b", { text: `${found.name}. ` }), found.caption),
  );
}

const NONE = emptyState.bind(
  null,
  "No table was made yet",
  "Type `mindseye reproduce vedantam-4a --quick` in a terminal: in ten minutes a small version of the paper's table is here, with its pictures.",
);

/** @param {{goings, lines}} parts  Where it is said what goes on, and what makes the same. */
export function resultsSection(context, { goings, lines }) {
  const place = h("div", { class: "results-place" });
  const page = h("div", { class: "results-page" });
  const element = h("div", { class: "results" }, place, page);
  let known = null;
  let shown = null;

  async function load() {
    goings.busy();
    try {
      const answer = await context.ask("tables", {});
      if (!answer) return;
      known = answer;
      await update();
    } catch (error) {
      goings.trouble(error, load);
    }
  }

  /** The table that is looked at: the link's, else the first. */
  function chosen() {
    const names = known.tables.map((table) => table.name);
    return names.includes(context.state.table) ? context.state.table : names[0];
  }

  async function update() {
    if (element.hidden) return;
    if (!known.tables.length) {
      goings.done();
      lines.show(known.lines);
      page.replaceChildren(NONE());
      return;
    }
    if (chosen() !== context.state.table) {
      context.say({ table: chosen() }); // a link names its table, whatever else there is
      return;
    }
    if (shown?.name === chosen()) {
      lines.show(shown.lines);
      return;
    }
    await show(chosen());
  }

  async function show(name) {
    goings.busy();
    const answer = await context.ask(`tables/${name}`, {}, "table");
    if (!answer) return;
    goings.done();
    shown = answer;
    const choose = picker({
      label: "table",
      options: known.tables.map((table) => [table.name, table.name]),
      chosen: name,
      onChange: (next) => context.say({ table: next }, { push: true }),
    });
    place.replaceChildren(known.tables.length > 1 ? choose.element : "");
    page.replaceChildren(
      h("p", { class: "note result-opening", text: answer.opening }),
      ...answer.sections.map(section),
      ...answer.figures.map((found, i) => figure(name, found, i)),
    );
    lines.show(answer.lines);
    context.announce(`${name}: ${answer.sections.length} tables, ${answer.figures.length} figures`);
  }

  return {
    element,
    update: () => (known ? update().catch((error) => goings.trouble(error, load)) : load()),
  };
}
