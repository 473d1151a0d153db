/** What the browser remembers between visits, if it may. */

export function recall(key) {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null; // storage may be forbidden
  }
}

export function remember(key, text) {
  try {
    window.localStorage.setItem(key, text);
  } catch {
    // Then it is forgotten with the page.
  }
}
