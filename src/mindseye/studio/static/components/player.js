/** Something that happens step by step: played, paused, or moved through by hand. */

import { h } from "../dom.js";
import { button } from "./controls.js";
import { icon } from "./icons.js";

const SECONDS = 2.6;
const [FASTEST, SLOWEST] = [0.1, 0.26];
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Steps from 1 to `steps`; it ends at the last.
 * @param {{label, steps, told, onStep, onRest}} given  `told(step)` names a step, `onStep(step)`
 *     shows it, `onRest(step)` is told where a hand has left it; null if it goes on by itself.
 */
export function player({ label, steps, told, onStep, onRest }) {
  const pace = 1000 * Math.min(SLOWEST, Math.max(FASTEST, SECONDS / steps));
  const range = h("input", { type: "range", class: "range", min: 1, max: steps, step: 1 });
  const output = h("span", { class: "player-told number", "aria-hidden": "true" });
  const toggle = button({ sign: "play", title: "Play", onClick: press });
  const element = h("div", { class: "player" }, toggle, range, output);
  let [at, frame] = [steps, 0];

  range.setAttribute("aria-label", label);

  function go(step) {
    at = Math.min(steps, Math.max(1, step));
    range.value = at;
    range.style.setProperty("--filled", (at - 1) / Math.max(1, steps - 1));
    range.setAttribute("aria-valuetext", told(at));
    output.textContent = told(at);
    onStep(at);
  }

  function sign(name, title) {
    toggle.replaceChildren(icon(name));
    toggle.title = title;
    toggle.setAttribute("aria-label", title);
  }

  function halt() {
    cancelAnimationFrame(frame);
    frame = 0;
    sign("play", "Play");
  }

  /** Go on to the end; whoever wants no motion is there at once. */
  function play(from = 1) {
    halt();
    if (still.matches || steps < 2) return go(steps);
    let started = null;
    const turn = (time) => {
      started ??= time;
      const step = Math.min(steps, from + Math.floor((time - started) / pace));
      if (step !== at) go(step);
      if (step === steps) return halt();
      frame = requestAnimationFrame(turn);
      return undefined;
    };
    go(from);
    sign("pause", "Pause");
    frame = requestAnimationFrame(turn);
    return undefined;
  }

  function press() {
    if (frame) {
      halt();
      return onRest(at);
    }
    const from = at === steps ? 1 : at;
    if (still.matches) go(at === steps ? 1 : at + 1);
    else play(from);
    return onRest(still.matches ? at : null);
  }

  range.addEventListener("input", () => {
    halt();
    go(Number(range.value));
  });
  range.addEventListener("change", () => onRest(at));

  return {
    element,
    go,
    play,
    halt,
    /** Rest at a step. */
    rest(step) {
      halt();
      go(step);
    },
    get at() {
      return at;
    },
  };
}
