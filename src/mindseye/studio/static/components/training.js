/** Runs in a table, and the curves of the one that is chosen; a live one is followed. */

import { compact, h } from "../dom.js";
import { flag, unless } from "../state.js";
import { check, segmented } from "./controls.js";
import { curves } from "./curve.js";
import { runTable } from "./table.js";
import { emptyState } from "./states.js";

const EVERY = 2000;
const AGAIN = 10000;

/** The number at the beginning of a run's name; -1 where there is none. */
function numberOf({ name }) {
  return Number(/^(\d+)-/.exec(name)?.[1] ?? -1);
}

/** The run to look at if nobody chose one: a live one, else the newest, else one with records. */
function preferred(runs) {
  const newest = runs.reduce(
    (best, next) => (numberOf(next) > numberOf(best) ? next : best),
    runs[0],
  );
  const begun = (run) => Number.parseInt(run.facts.steps, 10) > 0;
  return (
    runs.find((run) => run.live) ??
    (newest && numberOf(newest) >= 0 ? newest : (runs.find(begun) ?? newest))
  );
}

/** Whether a log was cut back since its last records were read: then they are not its own. */
function cutBack(run, answer) {
  return answer.next < run.next || answer.records[0]?.step <= run.records.at(-1)?.step;
}

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
  const note = h("p", { class: "note", role: "status", hidden: true });
  const tools = h("div", { class: "plot-tools" }, unit.element, log.element);
  const element = h(
    "div",
    { class: "training" },
    table,
    h("div", { class: "plot-head" }, title, tools),
    note,
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
      const answer = await context.ask("runs", {});
      if (!answer) return;
      house = answer;
      show();
    } catch {
      // The next time may go better.
    }
  }

  /** The run that is looked at: the link's, else the preferred one. */
  function chosen() {
    const names = house.runs.map((one) => one.name);
    if (names.includes(context.state.run)) return context.state.run;
    return preferred(house.runs)?.name ?? "";
  }

  function show() {
    const { state } = context;
    if (element.hidden) return;
    if (chosen() && chosen() !== state.run) {
      context.say({ run: chosen() }); // a link names its run, whatever else there is
      return;
    }
    showLines();
    const next = JSON.stringify([house.runs, chosen(), state.sort]);
    if (next !== built) buildTable(state);
    built = next;
    unit.show(state.across ?? "step");
    log.show(flag(state.log));
    if (run.name !== chosen() || (isLive(run.name) && !run.live)) follow(chosen());
    else if (run.lines) draw();
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
    note.hidden = true;
    if (!name) return;
    await more(name);
    if (run.name === name && run.lines)
      context.announce(
        `${name}: ${run.records.length} records${run.live ? ", and more to come" : ""}`,
      );
  }

  /** Read what is new in a run's log, and come back while there may be more. */
  async function more(name) {
    try {
      const answer = await context.ask(`runs/${name}`, { after: run.next }, "records");
      if (!answer || run.name !== name) return;
      note.hidden = true;
      if (cutBack(run, answer)) {
        run = { name, records: [], next: 0, live: answer.live };
        drawn = "";
        await more(name);
        return;
      }
      run = { ...run, ...answer, records: [...run.records, ...answer.records] };
      showLines();
      draw();
      if (answer.live) timer = setTimeout(() => more(name), EVERY);
    } catch (error) {
      note.textContent = `The records of ${name} did not come; they are asked for again in a moment.`;
      note.hidden = false;
      drawn = "";
      if (!run.records.length) plot.replaceChildren(emptyState(error.message, error.hint ?? ""));
      timer = setTimeout(() => more(name), isLive(name) ? EVERY : AGAIN);
    }
  }

  function showLines() {
    if (run.lines && !element.hidden) lines.show(run.lines);
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
    const focused = [...plot.querySelectorAll(".curve")].indexOf(document.activeElement);
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
    plot.querySelectorAll(".curve")[focused]?.focus();
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
