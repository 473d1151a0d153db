/**
 * Run before a page's own scripts: `atRest()` resolves when the page waits for nothing any more.
 *
 * Counted are answers and their bodies, pictures that are decoded, and timers of up to a second;
 * longer ones watch runs. Animations that end have ended, and the first view is there.
 */
(() => {
  let open = 0;

  function counted(owner, name) {
    const real = owner[name];
    owner[name] = function (...given) {
      const made = real.apply(this, given);
      const closed = () => void (open -= 1);
      open += 1;
      made.then(closed, closed);
      return made;
    };
  }

  counted(window, "fetch");
  for (const name of ["arrayBuffer", "blob", "json", "text"]) counted(Response.prototype, name);
  counted(HTMLImageElement.prototype, "decode");

  const { setTimeout, clearTimeout } = window;
  const timers = new Set();
  window.setTimeout = (act, wait = 0, ...given) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act(...given);
    }, wait);
    if (wait <= 1000) timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => {
    timers.delete(timer);
    clearTimeout(timer);
  };

  const ends = (animation) => animation.effect?.getComputedTiming().endTime < Infinity;
  const moves = (animation) => animation.playState === "running" && ends(animation);

  function waitsFor() {
    return {
      load: Number(document.readyState !== "complete"),
      view: document.querySelectorAll("#stage > noscript").length, // what a view replaces
      answers: open,
      timers: timers.size,
      animations: document.getAnimations().filter(moves).length,
    };
  }

  /** Resolves after some frames in which the page waited for nothing; fails after a time. */
  window.atRest = async (frames = 3, limit = 20_000) => {
    const until = performance.now() + limit;
    for (let quiet = 0; quiet < frames; ) {
      await new Promise(requestAnimationFrame);
      const waiting = waitsFor();
      quiet = Object.values(waiting).some(Boolean) ? 0 : quiet + 1;
      if (performance.now() > until)
        throw new Error(`The page still waits: ${JSON.stringify(waiting)}`);
    }
  };
})();
