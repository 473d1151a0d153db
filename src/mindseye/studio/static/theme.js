/** Light or dark: as the system says, unless the reader or the link says otherwise. */

const KEY = "mindseye-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null; // storage may be forbidden
  }
}

/** The theme that is shown: the link's, then the remembered one, then the system's. */
export function current(state) {
  const chosen = [state.theme, remembered()].find((name) => name === "light" || name === "dark");
  return chosen ?? (dark.matches ? "dark" : "light");
}

/** Show the theme of a state. */
export function apply(state) {
  document.documentElement.dataset.theme = current(state);
}

/** Remember a choice. */
export function remember(name) {
  try {
    window.localStorage.setItem(KEY, name);
  } catch {
    // Then it is forgotten with the page.
  }
}

/** Follow the system while nothing was chosen. */
export function follow(changed) {
  dark.addEventListener("change", changed);
}
