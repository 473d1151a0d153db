/** Rate and distortion: what a code costs and what it loses; diagonals have one −elbo each. */

import { compact, h, s, unique } from "../dom.js";
import { ticks } from "./curve.js";
import { numbers } from "./units.js";

const [WIDE, HIGH] = [288, 232];
const EDGE = { left: 36, right: 34, top: 18, bottom: 34 };
const [RIGHT, BOTTOM] = [WIDE - EDGE.right, HIGH - EDGE.bottom];

/** The ends of a range that holds some numbers, with room around them. */
function rangeOf(values, least) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max(0.18 * (high - low), least);
  return [low - margin, high + margin];
}

/** Places of rates and distortions. */
function scalesOf(points) {
  const rates = points.map(({ rate }) => rate.mean);
  const distortions = points.map(({ distortion }) => distortion.mean);
  const [r0, r1] = rangeOf(rates, 2);
  const [d0, d1] = rangeOf(distortions, 4);
  const from = Math.max(0, r0);
  return {
    sums: ticks(from + d0, r1 + d1, 6),
    ranges: { rate: [from, r1], distortion: [d0, d1] },
    x: (rate) => EDGE.left + ((rate - from) / (r1 - from)) * (RIGHT - EDGE.left),
    y: (distortion) => BOTTOM - ((distortion - d0) / (d1 - d0)) * (BOTTOM - EDGE.top),
  };
}

/** Where rate and distortion sum to the same. */
function diagonals({ x, y, ranges, sums }) {
  const [r0, r1] = ranges.rate;
  return sums.map((sum) =>
    s("line", { class: "figure-diagonal", x1: x(r0), y1: y(sum - r0), x2: x(r1), y2: y(sum - r1) }),
  );
}

/** Axes; at the right it is said how much diagonals sum to. */
function axes({ x, y, ranges, sums }) {
  const [d0, d1] = ranges.distortion;
  const leaving = sums
    .map((sum) => [sum, sum - ranges.rate[1]])
    .filter(([, d]) => d >= d0 && d <= d1);
  const text = (at, words, anchor) =>
    s("text", { class: "figure-text", ...at, "text-anchor": anchor, text: words });
  return [
    s("path", { class: "figure-axis", d: `M${EDGE.left} ${EDGE.top}V${BOTTOM}H${RIGHT}` }),
    ticks(...ranges.rate, 4).map((rate) =>
      text({ x: x(rate), y: BOTTOM + 14 }, compact(rate), "middle"),
    ),
    ticks(...ranges.distortion, 4).map((distortion) =>
      text({ x: EDGE.left - 6, y: y(distortion) + 4 }, compact(distortion), "end"),
    ),
    leaving.map(([sum, d]) => text({ x: RIGHT + 4, y: y(d) + 4 }, compact(sum), "start")),
    text({ x: WIDE, y: 11 }, "−elbo", "end"),
    text({ x: RIGHT, y: HIGH - 4 }, "rate, nats", "end"),
    text({ x: 0, y: 11 }, "distortion, nats", "start"),
  ];
}

/** A run, with the intervals of its two numbers. */
function mark({ name, rate, distortion }, { x, y }, own) {
  const [cx, cy] = [x(rate.mean), y(distortion.mean)];
  return s(
    "g",
    { class: own ? "run-mark run-own" : "run-mark" },
    s("line", { x1: x(rate.low), x2: x(rate.high), y1: cy, y2: cy }),
    s("line", { x1: cx, x2: cx, y1: y(distortion.low), y2: y(distortion.high) }),
    s("circle", { cx, cy, r: own ? 5 : 4 }),
    s("title", {
      text: `${name}: rate ${compact(rate.mean)}, distortion ${compact(distortion.mean)}`,
    }),
  );
}

const elbo = ({ rate, distortion }) => rate.mean + distortion.mean;

/**
 * The figure. @param {Object[]} placed  Runs with their rate, distortion and nll.
 * @param {string} name  That of the run that is looked at.
 */
export function tradeoff(placed, name) {
  const scales = scalesOf(placed);
  const clip = unique("clip");
  const own = placed.find((each) => each.name === name);
  const others = placed.filter((each) => each !== own);
  const told = `Rate and distortion of ${name}${
    others.length ? ` among ${others.length} other ${others.length > 1 ? "runs" : "run"}` : ""
  }: rate ${compact(own.rate.mean)}, distortion ${compact(own.distortion.mean)} nats`;
  const svg = s(
    "svg",
    { class: "figure", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": told },
    s(
      "clipPath",
      { id: clip },
      s("rect", {
        x: EDGE.left,
        y: EDGE.top,
        width: RIGHT - EDGE.left,
        height: BOTTOM - EDGE.top,
      }),
    ),
    s("g", { "clip-path": `url(#${clip})` }, diagonals(scales).flat()),
    axes(scales).flat(),
    others.map((each) => mark(each, scales, false)),
    mark(own, scales, true),
  );
  return h(
    "figure",
    {},
    svg,
    numbers(
      "Rates and distortions",
      ["run", "rate", "distortion", "−elbo", "−log p"],
      placed.map((each) => [
        each.name,
        compact(each.rate.mean),
        compact(each.distortion.mean),
        compact(elbo(each)),
        compact(each.nll.mean),
      ]),
    ),
  );
}
