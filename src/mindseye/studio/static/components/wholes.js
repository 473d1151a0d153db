/** Wholes of the same parts side by side: the generator's at the left, the model's at the right. */

import { compact, h, s } from "../dom.js";
import { ticks } from "./curve.js";
import { canvasFor } from "./sprite.js";

const SIDES = ["truth", "made"];
const NAMES = { truth: "generator", made: "model" };
const WHOSE = { truth: "the generator's", made: "the model's" };

/** The least and the greatest of all numbers that are drawn; zero is between them. */
function rangeOf(answer) {
  let [low, high] = [0, 0];
  const see = (value) => {
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const which of SIDES) {
    const { curves, before, deviation } = answer[which];
    [...curves, ...(before ?? [])].forEach((curve) => curve.forEach(see));
    deviation?.forEach((off, t) => [-off, off].forEach((way) => see(curves[0][t] + way)));
  }
  return low < high ? [low, high] : [-1, 1];
}

/** Places of values in a panel, as shares of its sides in percent, for curves of one length. */
function scales([low, high], length) {
  const x = (t) => (100 * t) / (length - 1);
  const y = (value) => 4 + (92 * (high - value)) / (high - low);
  const points = (curve) => curve.map((v, t) => `${x(t).toFixed(2)} ${y(v).toFixed(2)}`);
  return { y, points, marks: ticks(low, high, 5) };
}

/** The numbers at the left of a panel, which keep their size. */
function ruler({ y, marks }) {
  return marks.map((value) =>
    h("span", { class: "panel-text number", style: { top: `${y(value)}%` }, text: compact(value) }),
  );
}

/** One curve over what it was before, or a mean with its deviation. */
function panel(which, { curves, before, deviation }, i, scale) {
  const curve = curves[i];
  const line = (kind, values) =>
    s("path", { class: `panel-line ${kind}`, d: `M${scale.points(values).join("L")}` });
  const rule = (value) =>
    s("path", { class: value ? "panel-grid" : "panel-zero", d: `M0 ${scale.y(value)}H100` });
  const around = (way) => curve.map((value, t) => value + way * deviation[t]);
  const what = deviation ? "mean curve" : `curve ${i + 1} of ${curves.length}`;
  const reach = `from ${compact(Math.min(...curve))} to ${compact(Math.max(...curve))}`;
  const svg = s(
    "svg",
    {
      class: "panel-curves",
      viewBox: "0 0 100 100",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${WHOSE[which]} ${what}, ${reach}`,
    },
    deviation
      ? s("path", {
          class: "panel-band",
          d: `M${[...scale.points(around(1)), ...scale.points(around(-1)).reverse()].join("L")}Z`,
        })
      : null,
    scale.marks.map(rule),
    before ? line("panel-before", before[i]) : null,
    line("panel-now", curve),
  );
  return h("div", { class: "panel" }, h("div", { "aria-hidden": "true" }, ruler(scale)), svg);
}

/** A picture. */
function tile(which, shape, pictures, index, what) {
  const canvas = canvasFor(shape, `${WHOSE[which]} ${what}`);
  pictures.draw(canvas, index);
  return h("div", { class: "tile-frame" }, canvas);
}

/** How many columns so many wholes have on each side. */
function columnsOf(count, curves) {
  if (curves) return count > 4 ? 2 : 1;
  return { 1: 1, 6: 3, 8: 4 }[count] ?? 2;
}

/** Both sides; `reserve(n)` before the first answer, `show(answer, pictures)` after each. */
export function wholeSides(model) {
  const curves = model.shape[1] === 1;
  const grids = SIDES.map((which) => h("div", { class: "wholes-grid", "data-side": which }));
  const legend = h("p", { class: "wholes-legend note" });
  const element = h(
    "div",
    { class: `wholes${curves ? " wholes-curves" : ""}` },
    SIDES.map((which, i) =>
      h(
        "section",
        { class: `wholes-side side-${which}`, "aria-label": NAMES[which] },
        h(
          "h2",
          { class: "wholes-name" },
          h("i", { class: "wholes-sign", "aria-hidden": "true" }),
          NAMES[which],
        ),
        h("div", { class: "wholes-box" }, grids[i]),
      ),
    ),
    legend,
  );

  function lay(count) {
    const columns = columnsOf(count, curves);
    element.style.setProperty("--columns", columns);
    element.style.setProperty("--rows", Math.ceil(count / columns));
    element.style.setProperty("--ratio", model.shape[2] / model.shape[1]);
  }

  function showCurves(answer) {
    const scale = scales(rangeOf(answer), model.shape[2]);
    lay(answer.made.curves.length);
    SIDES.forEach((which, k) =>
      grids[k].replaceChildren(
        ...answer[which].curves.map((_, i) => panel(which, answer[which], i, scale)),
      ),
    );
  }

  function showPictures({ spread }, pictures) {
    const count = pictures.count / 2;
    const names = spread
      ? ["mean", "deviation, twice as bright"]
      : Array.from({ length: count }, (_, i) => `picture ${i + 1} of ${count}`);
    lay(count);
    SIDES.forEach((which, k) =>
      grids[k].replaceChildren(
        ...names.map((what, i) => tile(which, model.shape, pictures, k * count + i, what)),
      ),
    );
  }

  /** What is drawn beside the wholes themselves. */
  function explain(answer) {
    if (!answer.spread) return answer.before ? `In grey: ${answer.before}` : "";
    const mean = `the mean of ${answer.n} wholes`;
    if (!curves) return `Left ${mean}, right their deviation, twice as bright`;
    return `A line is ${mean}, the band one deviation to each side${answer.before ? `; in grey: ${answer.before}` : ""}`;
  }

  return {
    element,
    reserve: lay,
    show(answer, pictures) {
      if (curves) showCurves(answer);
      else showPictures(answer, pictures);
      legend.textContent = explain(answer);
    },
  };
}
