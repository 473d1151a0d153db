/** The way between two ends: rows of steps, and a scrubber that goes along them. */

import { spoken } from "../concept.js";
import { h } from "../dom.js";
import { bareRange, button } from "./controls.js";
import { icon } from "./icons.js";
import { morph, Strips } from "./strip.js";

const SECONDS = 4;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

/**
 * @param {{canvas: HTMLCanvasElement, note: HTMLElement}} look  Where one picture is seen large.
 */
export function wayRows(context, look) {
  const { model } = context;
  const told = (end) => spoken(end, model.vocabulary);
  const range = bareRange("Where on the way");
  const play = button({ sign: "play", title: "Play", onClick: toggle, disabled: true });
  const scrubber = h("div", { class: "scrubber" }, play, range);
  const below = bareRange("Where on the way, below the rows", 0, "strip-range");
  const strips = new Strips({
    label: "The way between; arrow keys go to another row or step",
    onPick: pick,
    onMove: move,
    foot: below,
  });
  const element = h("div", { class: "way" }, strips.element);
  let now = { answer: null, pictures: null, row: 0, at: 0, share: 0.5 };
  let frame = 0;

  function pick(row, step) {
    halt();
    now.row = row;
    go(step);
  }

  /** Go some rows down and some steps on, with the arrow keys. */
  function move(rows, steps) {
    if (!now.answer) return;
    pick(
      Math.min(now.answer.rows - 1, Math.max(0, now.row + rows)),
      steps ? Math.round(now.at) + steps : now.at,
    );
    context.announce(look.canvas.getAttribute("aria-label"));
  }

  /** Look at a place of the way. */
  function go(at) {
    if (!now.answer) return;
    const { steps, rows, start, end } = now.answer;
    now.at = Math.min(steps - 1, Math.max(0, at));
    now.row = Math.min(now.row, rows - 1);
    const share = now.at / (steps - 1);
    now.share = share;
    for (const input of [range, below]) {
      input.max = steps - 1;
      input.value = now.at;
      input.style.setProperty("--filled", share);
      input.setAttribute("aria-valuetext", `${Math.round(100 * share)} % of the way`);
    }
    strips.mark(now.at);
    strips.markStrip(now.row);
    morph(look.canvas, now.pictures, now.row, now.at, steps);
    const where =
      share === 0
        ? told(start)
        : share === 1
          ? told(end)
          : `${Math.round(100 * share)} % of the way`;
    look.canvas.setAttribute("aria-label", `row ${now.row + 1}, ${where}`);
    look.note.textContent = rows > 1 ? `${where}, row ${now.row + 1}` : where;
  }

  function toggle() {
    if (!now.answer) return undefined;
    if (frame) return halt();
    if (still.matches) return go(now.at >= now.answer.steps - 1 ? 0 : Math.floor(now.at) + 1);
    const from = performance.now() - (1000 * SECONDS * now.at) / Math.max(1, now.answer.steps - 1);
    const turn = (time) => {
      const phase = ((time - from) / (1000 * SECONDS)) % 2; // there and back
      go((phase < 1 ? phase : 2 - phase) * (now.answer.steps - 1));
      frame = requestAnimationFrame(turn);
    };
    play.replaceChildren(icon("pause"));
    frame = requestAnimationFrame(turn);
    return undefined;
  }

  function halt() {
    cancelAnimationFrame(frame);
    frame = 0;
    play.replaceChildren(icon("play"));
  }

  for (const input of [range, below]) {
    input.addEventListener("input", () => {
      halt();
      go(Number(input.value));
    });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      halt();
      go(Math.round(now.at) + step);
    });
  }

  return {
    element,
    scrubber,
    stop: halt,
    /** The rows are not looked at any more. */
    leave() {
      halt();
      now = { ...now, answer: null };
      play.disabled = true;
    },
    reserve: (rows, steps) => strips.reserve(rows, steps, model.shape),
    show(answer, pictures) {
      now = { ...now, answer, pictures };
      play.disabled = false;
      strips.reserve(answer.rows, answer.steps, model.shape);
      strips.show(
        pictures,
        (row, step) =>
          `row ${row + 1}, step ${step + 1} of ${answer.steps} from ${told(answer.start)} to ${told(answer.end)}`,
      );
      go(now.share * (answer.steps - 1));
      context.announce(
        `${answer.rows} rows of ${answer.steps} steps from ${told(answer.start)} to ${told(answer.end)}`,
      );
    },
  };
}
