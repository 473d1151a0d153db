/** How every view is laid out: words at the left, pictures in the middle, figures at the right. */

import { h } from "../dom.js";
import { linesDrawer } from "./lines.js";

/**
 * The parts of a view. On a phone they stand below each other, the pictures before the settings.
 * @param {string} name  The view's name, for its styles.
 */
export function frame(name) {
  const part = (kind, label) => h("section", { class: kind, "aria-label": label });
  const say = part("say", "What is said");
  const settings = part("settings", "Settings");
  const stage = part("view-stage", "Pictures");
  const aside = part("aside", "Figures");
  const lines = linesDrawer();
  const element = h(
    "div",
    { class: `view view-${name}` },
    say,
    settings,
    stage,
    aside,
    lines.element,
  );
  return { element, say, settings, stage, aside, lines };
}

/** The head of a stage: what is shown, a line below it, and tools at the right. */
export function heading(...tools) {
  const title = h("h1", { class: "title" });
  const note = h("p", { class: "note" });
  const element = h(
    "div",
    { class: "heading" },
    h("div", { class: "heading-text" }, title, note),
    h("div", { class: "toolbar" }, ...tools),
  );
  return {
    element,
    show(text, below = "") {
      title.textContent = text;
      title.title = text;
      note.textContent = below;
    },
  };
}

/** A titled block of a panel. */
export function block(title, ...children) {
  return h(
    "div",
    { class: "block" },
    title ? h("h2", { class: "block-title", text: title }) : null,
    ...children,
  );
}
