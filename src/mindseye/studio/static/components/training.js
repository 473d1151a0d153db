/** Runs in a table, and the curves of the one that is chosen; a live one is followed. */

import { compact, h } from "../dom.js";
import { flag, unless } from "../state.js";
import { check, segmented } from "./controls.js";
import { curves } from "./curve.js";
import { runTable } from "./table.js";
import { emptyState } from "./states.js";

const EVERY = 2000;
const AGAIN = 10000;

/** @param {{goings, lines}} parts  Where it is said what goes on, and what makes the same. */
export function trainingSection(context, { goings, lines }) {
  const table = h("div", { class: "runs-table" });
  const title = h("h2", { class: "block-title" });
  const plot = h("div", { class: "plot" });
  const unit = segmented({
    label: "across",
    options: [
      ["step", "steps"],
      ["seconds", "seconds"],
    ],
    chosen: "step",
    onChange: (value) => context.say({ across: unless("step", value) }),
  });
  const log = check({
    label: "logarithmic",
    checked: false,
    onChange: (on) => context.say({ log: unless(false, on) }),
  });
  const tools = h("div", { class: "plot-tools" }, unit.element, log.element);
  const element = h(
    "div",
    { class: "training" },
    table,
    h("div", { class: "plot-head" }, title, tools),
    plot,
  );
  let house = null;
  let run = { name: "", records: [], next: 0 };
  let timer = 0;
  let built = "";
  let drawn = "";
  const watching = setInterval(refresh, AGAIN);

  async function load() {
    goings.busy();
    try {
      const answer = await context.ask("runs", {});
      if (!answer) return;
      house = answer;
      goings.done();
      show();
    } catch (error) {
      goings.trouble(error, load);
    }
  }

  const isLive = (name) => house.runs.some((one) => one.name === name && one.live);

  /** Look for new runs, and how the others stand, without a word about it. */
  async function refresh() {
    if (!house || element.hidden || document.hidden) return;
    try {
      house = (await context.ask("runs", {})) ?? house;
      show();
    } catch {
      // The next time may go better.
    }
  }

  /** The run that is looked at: the link's, else one that is live, else the newest with a log. */
  function chosen() {
    const names = house.runs.map((one) => one.name);
    if (names.includes(context.state.run)) return context.state.run;
    return (house.runs.find((one) => one.live) ?? house.runs.at(-1))?.name ?? "";
  }

  function show() {
    const { state } = context;
    const next = JSON.stringify([house.runs, chosen(), state.sort]);
    if (next !== built) buildTable(state);
    built = next;
    unit.show(state.across ?? "step");
    log.show(flag(state.log));
    if (run.name !== chosen() || (isLive(run.name) && !run.live)) follow(chosen());
    else draw();
  }

  /** The table anew; what had the focus has it again. */
  function buildTable(state) {
    const focused = table.contains(document.activeElement)
      ? document.activeElement.dataset.key
      : null;
    const [, column, way] = /^(.*?)( down)?$/.exec(state.sort ?? "name");
    const own = house.runs.filter(
      (one) => !context.models.some((model) => model.name === one.name && model.builtin),
    );
    const made = runTable({
      runs: house.runs,
      chosen: chosen(),
      sort: { column, down: Boolean(way) },
      onSort: (next, down) => context.say({ sort: unless("name", down ? `${next} down` : next) }),
      onChoose: (name) => context.say({ run: name }, { push: true }),
    });
    const nothing = emptyState(
      "No runs of your own yet",
      `Type \`mindseye train mnist-a/telbo-lean\` in a terminal; the run appears here, in the folder \`${house.folder}\`, and its curves grow while it trains.`,
    );
    table.replaceChildren(house.runs.length ? made : "", own.length ? "" : nothing);
    if (focused) table.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  /** Read a run's log from its beginning, and go on while it is live. */
  async function follow(name) {
    clearTimeout(timer);
    run = { name, records: [], next: 0 };
    drawn = "";
    title.textContent = name;
    if (!name) return;
    await more(name);
    context.announce(
      `${name}: ${run.records.length} records${run.live ? ", and more to come" : ""}`,
    );
  }

  async function more(name) {
    try {
      const answer = await context.ask(`runs/${name}`, { after: run.next }, "records");
      if (!answer || run.name !== name) return;
      const grown = answer.records.length > 0;
      run = { ...run, ...answer, records: [...run.records, ...answer.records] };
      lines.show(answer.lines);
      if (grown || answer.next === 0) draw();
      if (answer.live) timer = setTimeout(() => more(name), EVERY);
    } catch (error) {
      plot.replaceChildren(emptyState(error.message, error.hint ?? ""));
    }
  }

  function draw() {
    const { state } = context;
    const last = run.records.at(-1);
    const next = JSON.stringify([run.name, run.next, run.live, state.across, state.log]);
    if (next === drawn) return;
    drawn = next;
    title.textContent = last
      ? `${run.name}, step ${compact(last.step)} of ${compact(run.steps)}`
      : run.name;
    tools.hidden = !last;
    plot.replaceChildren(
      last
        ? curves(run.records, { unit: state.across ?? "step", log: flag(state.log) })
        : emptyState(
            "No curves",
            run.live
              ? "Its first record has not been written yet."
              : "This run came without its log.",
          ),
    );
  }

  return {
    element,
    update: () => (house ? show() : load()),
    stop() {
      clearTimeout(timer);
      clearInterval(watching);
    },
  };
}
