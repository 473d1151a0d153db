/** A table of runs that can be sorted by any of its columns. */

import { compact, h } from "../dom.js";
import { icon } from "./icons.js";

/** How a run stands: a word, and a colour beside it. */
function stateOf(run) {
  return run.live ? "live" : String(run.facts.state ?? "unknown");
}

function badge(run) {
  const state = stateOf(run);
  return h("span", { class: `badge badge-${state.split(/\W/)[0]}` }, state);
}

/** Names of the facts of all runs, in the order in which they first appear. */
function columnsOf(runs) {
  return [...new Set(runs.flatMap((run) => Object.keys(run.facts)))].filter(
    (name) => name !== "state",
  );
}

function valueOf(run, column) {
  if (column === "name") return run.name;
  if (column === "state") return stateOf(run);
  return run.facts[column] ?? null;
}

/** Compare as numbers where both are. */
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Runs by a column, upwards or downwards; those that have no value come last either way. */
function sorted(runs, column, down) {
  const missing = (run) => valueOf(run, column) === null;
  const sign = down ? -1 : 1;
  return [...runs].sort((a, b) =>
    missing(a) || missing(b)
      ? missing(a) - missing(b)
      : sign * compare(valueOf(a, column), valueOf(b, column)),
  );
}

function head(column, sort, onSort) {
  const mine = sort.column === column;
  const arrow = mine ? (sort.down ? "↓" : "↑") : "";
  const press = h(
    "button",
    {
      type: "button",
      class: "sort",
      "data-key": `sort ${column}`,
      on: { click: () => onSort(column, mine && !sort.down) },
    },
    column,
    h("span", { class: "sort-arrow", "aria-hidden": "true", text: arrow }),
  );
  return h(
    "th",
    { scope: "col", "aria-sort": mine ? (sort.down ? "descending" : "ascending") : undefined },
    press,
  );
}

/**
 * The table.
 * @param {{runs, chosen: string, sort: {column, down}, onSort, onChoose}} given
 */
export function runTable({ runs, chosen, sort, onSort, onChoose }) {
  const columns = ["name", "state", ...columnsOf(runs)];
  const cell = (run, column) => {
    const value = valueOf(run, column);
    if (column === "state") return h("td", {}, badge(run));
    return h("td", {
      class: typeof value === "number" ? "number cell-number" : undefined,
      text: typeof value === "number" ? compact(value) : (value ?? "–"),
    });
  };
  const row = (run) => {
    const choose = h("button", {
      type: "button",
      class: "run-name",
      "data-key": `run ${run.name}`,
      "aria-pressed": String(run.name === chosen),
      text: run.name,
      on: { click: () => onChoose(run.name) },
    });
    const open = run.open
      ? h(
          "span",
          { class: "run-open", title: "open as a model" },
          icon("done"),
          h("span", { class: "unseen", text: "open as a model" }),
        )
      : null;
    return h(
      "tr",
      { class: run.name === chosen ? "chosen" : undefined },
      h("th", { scope: "row" }, choose, open),
      columns.slice(1).map((column) => cell(run, column)),
    );
  };
  return h(
    "div",
    { class: "table-box", tabindex: 0, role: "region", "aria-label": "Runs" },
    h(
      "table",
      { class: "table" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((column) => head(column, sort, onSort)),
        ),
      ),
      h("tbody", {}, sorted(runs, sort.column, sort.down).map(row)),
    ),
  );
}
