/** What stands where there is nothing to see yet, or where something went wrong. */

import { h } from "../dom.js";
import { button } from "./controls.js";

/** Text in which `code` between backticks looks like code. */
export function marked(text) {
  return text.split("`").map((piece, i) => (i % 2 ? h("code", { text: piece }) : piece));
}

/** Nothing is here: what it would be, and how to get it. */
export function emptyState(title, text, ...more) {
  return h("div", { class: "state" }, h("h2", { text: title }), h("p", {}, marked(text)), ...more);
}

/** Something went wrong: what, what to do, and a button to try again. */
export function errorState(error, retry) {
  return h(
    "div",
    { class: "state state-error", role: "alert" },
    h("h2", {}, marked(error.message || "Something went wrong.")),
    error.hint ? h("p", {}, marked(error.hint)) : null,
    retry ? button({ text: "Try again", onClick: retry }) : null,
  );
}

/**
 * Shows what goes on in a part of a view: busy after a moment, an error over the old pictures.
 * @param {HTMLElement} place  The part; it keeps its size.
 */
export function status(place) {
  const veil = h("div", { class: "veil", hidden: true });
  place.classList.add("has-status");
  place.append(veil);
  let timer = 0;
  return {
    busy() {
      clearTimeout(timer);
      timer = setTimeout(() => place.setAttribute("aria-busy", "true"), 180);
    },
    done() {
      clearTimeout(timer);
      place.removeAttribute("aria-busy");
      veil.hidden = true;
      veil.replaceChildren();
    },
    trouble(error, retry) {
      clearTimeout(timer);
      place.removeAttribute("aria-busy");
      veil.replaceChildren(errorState(error, retry));
      veil.hidden = false;
    },
  };
}
