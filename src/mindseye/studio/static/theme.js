/** Light or dark: as the system says, unless the reader or the link says otherwise. */

import * as memory from "./memory.js";

const KEY = "mindseye-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** The theme that is shown: the link's, then the remembered one, then the system's. */
export function current(state) {
  const chosen = [state.theme, memory.recall(KEY)].find(
    (name) => name === "light" || name === "dark",
  );
  return chosen ?? (dark.matches ? "dark" : "light");
}

/** Show the theme of a state. */
export function apply(state) {
  document.documentElement.dataset.theme = current(state);
}

/** Remember a choice. */
export function remember(name) {
  memory.remember(KEY, name);
}

/** Follow the system while nothing was chosen. */
export function follow(changed) {
  dark.addEventListener("change", changed);
}
