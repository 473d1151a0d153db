/** Training curves: one small chart for the bound and for each of its terms, on one axis of time. */

import { compact, duration, h, s, unique } from "../dom.js";

const [WIDE, HIGH] = [480, 150];
const EDGE = { left: 52, right: 10, top: 10, bottom: 22 };

/** Round numbers that divide a range into a few parts. */
export function ticks(low, high, parts = 4) {
  const rough = (high - low) / parts || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step) * step;
  const count = Math.floor((high - first) / step + 1e-9) + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) =>
    Number((first + i * step).toPrecision(12)),
  );
}

/** Powers of ten within a range. */
function decades(low, high) {
  const from = Math.ceil(Math.log10(low) - 1e-9);
  const to = Math.floor(Math.log10(high) + 1e-9);
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => 10 ** (from + i));
}

/** A range that shows where most of a series is: a bad start does not flatten the rest. */
function rangeOf(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return [0, 1];
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = sorted.length > 20 ? [at(0.04), at(0.96)] : [sorted[0], sorted.at(-1)];
  const margin = 0.1 * (high - low || Math.abs(high) || 1);
  return [low - margin, high + margin];
}

/** The least and the greatest of some numbers, however many they are. */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/** Scales from values to places of a chart. */
function scales(times, values, log) {
  const bottom = HIGH - EDGE.bottom;
  const [x0, x1] = extent(times);
  const [y0, y1] = rangeOf(values);
  const bend = log ? Math.log10 : (t) => t;
  const span = bend(x1) - bend(x0) || 1;
  return {
    x: (t) => EDGE.left + ((bend(t) - bend(x0)) / span) * (WIDE - EDGE.left - EDGE.right),
    y: (v) => bottom - ((v - y0) / (y1 - y0)) * (bottom - EDGE.top),
    across: log ? decades(x0, x1) : ticks(x0, x1, 5),
    up: ticks(y0, y1),
  };
}

/** The name of a time on the axis. */
function timeText(time, unit) {
  if (unit === "seconds") return duration(time);
  return time >= 1000 ? `${compact(time / 1000)}k` : compact(time);
}

/** One chart. */
function chart(title, series, unit, log) {
  const times = series.map(([time]) => time);
  const { x, y, across, up } = scales(
    times,
    series.map(([, value]) => value),
    log,
  );
  const bottom = HIGH - EDGE.bottom;
  const line = series
    .map(([time, value], i) => `${i ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  const rule = s("line", { class: "curve-rule", y1: EDGE.top, y2: bottom, visibility: "hidden" });
  const dot = s("circle", { class: "curve-dot", r: 3.5, visibility: "hidden" });
  const readout = h("output", { class: "number curve-now" });
  const clip = unique("clip");
  const last = series.at(-1);
  const svg = s(
    "svg",
    {
      class: "curve",
      viewBox: `0 0 ${WIDE} ${HIGH}`,
      role: "slider",
      tabindex: 0,
      "aria-label": title,
      "aria-valuemin": times[0],
      "aria-valuemax": last[0],
    },
    s(
      "defs",
      {},
      s(
        "clipPath",
        { id: clip },
        s("rect", {
          x: EDGE.left,
          y: EDGE.top - 4,
          width: WIDE - EDGE.left,
          height: bottom - EDGE.top + 4,
        }),
      ),
    ),
    up
      .map((v) => [
        s("line", {
          class: "curve-grid",
          x1: EDGE.left,
          x2: WIDE - EDGE.right,
          y1: y(v),
          y2: y(v),
        }),
        s("text", {
          class: "curve-text",
          x: EDGE.left - 6,
          y: y(v) + 4,
          "text-anchor": "end",
          text: compact(v),
        }),
      ])
      .flat(),
    across.map((t) =>
      s("text", {
        class: "curve-text",
        x: Math.min(WIDE - 20, x(t)),
        y: HIGH - 5,
        "text-anchor": "middle",
        text: timeText(t, unit),
      }),
    ),
    s("line", {
      class: "curve-axis",
      x1: EDGE.left,
      x2: WIDE - EDGE.right,
      y1: bottom,
      y2: bottom,
    }),
    s("path", { class: "curve-line", d: line, "clip-path": `url(#${clip})` }),
    rule,
    dot,
  );

  /** Show the record nearest to a time; null for the last one, without a mark. */
  function point(moment) {
    const [time, value] = moment === null ? last : series[nearest(x(moment))];
    for (const mark of [rule, dot])
      mark.setAttribute("visibility", moment === null ? "hidden" : "visible");
    rule.setAttribute("x1", x(time));
    rule.setAttribute("x2", x(time));
    dot.setAttribute("cx", x(time));
    dot.setAttribute("cy", Math.max(EDGE.top, Math.min(bottom, y(value))));
    readout.textContent =
      moment === null ? compact(value) : `${compact(value)} at ${timeText(time, unit)}`;
    svg.setAttribute("aria-valuenow", time);
    svg.setAttribute("aria-valuetext", `${compact(value)} at ${timeText(time, unit)}`);
  }

  /** The index of the record nearest to a place on the axis. */
  function nearest(place) {
    return times.reduce(
      (best, time, i) => (Math.abs(x(time) - place) < Math.abs(x(times[best]) - place) ? i : best),
      0,
    );
  }

  /** The time of the record below the pointer. */
  function momentAt(clientX) {
    const box = svg.getBoundingClientRect();
    return times[nearest(((clientX - box.left) / box.width) * WIDE)];
  }

  /** The time some records away from another; of none, from the last. */
  function beside(moment, key) {
    const at = moment === null ? times.length - 1 : nearest(x(moment));
    const page = Math.max(1, Math.round(times.length / 10));
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 };
    const jumps = { Home: -at, End: times.length - 1 - at, PageDown: -page, PageUp: page };
    const step = steps[key] ?? jumps[key];
    return step === undefined
      ? undefined
      : times[Math.max(0, Math.min(times.length - 1, at + step))];
  }

  point(null);
  const element = h(
    "figure",
    { class: "chart" },
    h("figcaption", { class: "chart-head" }, h("span", { text: title }), readout),
    svg,
  );
  return { element, svg, point, momentAt, beside };
}

/** The series of records that have both a time and a value. */
function seriesOf(records, unit, valueOf, log) {
  return records
    .map((record) => [unit === "seconds" ? record.seconds : record.step, valueOf(record)])
    .filter(
      ([time, value]) =>
        Number.isFinite(time) &&
        Number.isFinite(value) &&
        time !== null &&
        value !== null &&
        (!log || time > 0),
    );
}

/** Charts of all that a run's records say. @returns {HTMLElement} */
export function curves(records, { unit, log }) {
  const terms = [...new Set(records.flatMap((record) => Object.keys(record.terms)))];
  const wanted = [
    ["bound", (record) => record.bound],
    ...terms.map((term) => [term, (record) => record.terms[term]]),
  ];
  const charts = wanted
    .map(([title, valueOf]) => [title, seriesOf(records, unit, valueOf, log)])
    .filter(([, series]) => series.length > 1)
    .map(([title, series]) => chart(title, series, unit, log));
  let now = null;
  const all = (moment) => {
    now = moment;
    charts.forEach((each) => each.point(moment));
  };
  for (const each of charts) {
    each.svg.addEventListener("pointermove", (event) => all(each.momentAt(event.clientX)));
    each.svg.addEventListener("pointerleave", () => all(null));
    each.svg.addEventListener("blur", () => all(null));
    each.svg.addEventListener("keydown", (event) => {
      const next = each.beside(now, event.key);
      if (next === undefined) return;
      event.preventDefault();
      all(next);
    });
  }
  return h(
    "div",
    { class: "charts" },
    charts.map((each) => each.element),
  );
}
