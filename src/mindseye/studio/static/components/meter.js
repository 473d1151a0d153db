/** A score from 0 to 1 between the worst and the best that can be expected. */

import { h, percent } from "../dom.js";

/**
 * A meter; `show(bounded)` with a value, its ceiling and its floor, or null.
 * @param {{title: string, about: string, nothing: string}} words  `nothing` is said for null.
 */
function meter({ title, about, nothing, ceiling, floor }) {
  const value = h("output", { class: "meter-value number", text: "–" });
  const fill = h("div", { class: "meter-fill" });
  const low = h("div", { class: "meter-tick", hidden: true });
  const high = h("div", { class: "meter-tick", hidden: true });
  const track = h(
    "div",
    {
      class: "meter-track",
      role: "meter",
      "aria-label": title,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": 0,
    },
    fill,
    low,
    high,
  );
  const below = h("span", { class: "meter-end" });
  const above = h("span", { class: "meter-end meter-end-high" });
  const note = h("p", { class: "note meter-about", text: about });
  const element = h(
    "div",
    { class: "meter" },
    h("div", { class: "meter-head" }, h("span", { class: "meter-title", text: title }), value),
    track,
    h("div", { class: "meter-ends number" }, below, above),
    note,
  );

  function place(tick, at) {
    tick.hidden = at === null || at === undefined;
    if (!tick.hidden) tick.style.setProperty("left", `${100 * Math.min(1, Math.max(0, at))}%`);
  }

  return {
    element,
    show(bounded) {
      const share = bounded?.value ?? null;
      value.textContent = percent(share);
      fill.style.setProperty("width", `${100 * Math.min(1, Math.max(0, share ?? 0))}%`);
      track.setAttribute("aria-valuenow", Math.round(100 * (share ?? 0)));
      track.setAttribute("aria-valuetext", share === null ? nothing : percent(share));
      place(low, bounded?.floor);
      place(high, bounded?.ceiling);
      below.textContent = bounded ? `${floor} ${percent(bounded.floor)}` : "";
      above.textContent =
        bounded && bounded.ceiling !== null ? `${ceiling} ${percent(bounded.ceiling)}` : "";
      note.textContent = bounded ? about : nothing;
    },
  };
}

/** The two scores of imagined pictures. */
export function scoreMeters() {
  const correctness = meter({
    title: "Correctness",
    about: "Share of the said words that the observer sees.",
    nothing: "Nothing is said yet, so nothing can be wrong.",
    ceiling: "real pictures",
    floor: "one picture for all",
  });
  const coverage = meter({
    title: "Coverage",
    about: "How evenly everything left open is used.",
    nothing: "Everything is said, so nothing is left to vary.",
    ceiling: "perfect sampler",
    floor: "one picture for all",
  });
  return {
    element: h("div", { class: "meters" }, correctness.element, coverage.element),
    show(scores) {
      correctness.show(scores?.correctness ?? null);
      coverage.show(scores?.coverage ?? null);
    },
  };
}
