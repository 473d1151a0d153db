/**
 * The link: everything that decides what the page shows stands in the address.
 *
 * The state is a flat object of strings, one for each query parameter. View, model, description and
 * seed are always written, and whatever falls back on what is open at the time; other options only
 * where they differ from what the views fall back on.
 */

const SEEDS = 2 ** 53;

const ALWAYS = ["view", "model", "description", "seed"];

export class Link {
  /** @param {(state: Object) => void} changed  Called when the address changes by itself. */
  constructor(changed) {
    this.state = this.read();
    window.addEventListener("popstate", () => {
      this.state = this.read();
      changed(this.state);
    });
  }

  /** What the address says. */
  read() {
    return Object.fromEntries(new URLSearchParams(window.location.search));
  }

  /** Change some of the state; null takes a parameter away. A new history entry only if `push`. */
  write(changes, { push = false } = {}) {
    const state = { ...this.state, ...changes };
    for (const [name, value] of Object.entries(state)) {
      if (value === null || value === undefined) delete state[name];
      else state[name] = String(value);
    }
    const address = this.address(state);
    const same = address === window.location.pathname + window.location.search;
    this.state = state;
    if (same) return;
    if (push) window.history.pushState(null, "", address);
    else window.history.replaceState(null, "", address);
  }

  /** The address of a state; the parameters of every view in the same order. */
  address(state) {
    const query = new URLSearchParams();
    for (const name of ALWAYS) query.set(name, state[name] ?? "");
    for (const name of Object.keys(state).sort()) {
      if (!ALWAYS.includes(name)) query.set(name, state[name]);
    }
    return `${window.location.pathname}?${query}`;
  }
}

/** A number of the state within limits, or the fallback. */
export function number(text, fallback, least = -Infinity, most = Infinity) {
  const value = text === undefined || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : fallback;
}

/** A whole number of the state within limits, or the fallback. */
export function whole(text, fallback, least, most) {
  return Math.round(number(text, fallback, least, most));
}

/** The seed of a state: any whole number that the server takes. */
export function seedOf(state) {
  return whole(state.seed, 0, -SEEDS, SEEDS);
}

/** Whether an option is on. */
export function flag(text, fallback = false) {
  return text === undefined ? fallback : text === "1" || text === "true";
}

/** What to write for an option: nothing where it is what the view falls back on. */
export function unless(fallback, value) {
  const text = typeof value === "boolean" ? (value ? "1" : "0") : String(value);
  const plain = typeof fallback === "boolean" ? (fallback ? "1" : "0") : String(fallback);
  return text === plain ? null : text;
}

/** A seed that is short enough to be told to somebody. */
export function freshSeed() {
  return Math.floor(Math.random() * 10000);
}
