/** Keys that work anywhere but in a field, and the dialog that lists them. */

import { button, check } from "./components/controls.js";
import { h } from "./dom.js";
import { recall, remember } from "./memory.js";

const KEY = "mindseye-keys";

const TYPING =
  "input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable]";

/** Whether keys of one sign do anything: some people's software types them by mistake. */
let on = recall(KEY) !== "off";

const LISTED = [
  [["1", "–", "9"], "go to a view"],
  [["r"], "roll a new seed"],
  [["←", "→"], "move within a row of words; what is reached is chosen"],
  [["Del"], "take away the site that has the focus; arrow keys move it"],
  [["Tab"], "go on to the next control"],
  [["t"], "light or dark"],
  [["?"], "this list"],
  [["Esc"], "close a dialog"],
];

/** Listen for keys. @param {Object} acts  What to do: `view(index)`, `roll()`, `theme()`. */
export function listen(acts) {
  const help = dialog();
  document.body.append(help);
  document.addEventListener("keydown", (event) => {
    if (!on) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPING)) return;
    if (document.querySelector("dialog[open]")) return;
    if (/^[1-9]$/.test(event.key)) acts.view(Number(event.key) - 1);
    else if (event.key === "r") acts.roll();
    else if (event.key === "t") acts.theme();
    else if (event.key === "?") help.showModal();
    else return;
    event.preventDefault();
  });
  return () => help.showModal();
}

/** Turn the keys on or off, also for the next visit. */
function turn(next) {
  on = next;
  remember(KEY, on ? "on" : "off");
}

function dialog() {
  const rows = LISTED.map(([keys, what]) =>
    h(
      "div",
      { class: "key-row" },
      h(
        "dt",
        {},
        keys.map((key) => (key === "–" ? "–" : h("kbd", { text: key }))),
      ),
      h("dd", { text: what }),
    ),
  );
  const turning = check({
    label: "listen to the keys 1–9, r, t and ?",
    checked: on,
    onChange: turn,
  });
  const made = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "keys-title" },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "keys-title", text: "Keys" }),
      button({ text: "Close", onClick: () => made.close() }),
    ),
    h("dl", { class: "keys" }, rows),
    h("div", { class: "keys-switch" }, turning.element),
  );
  return made;
}
