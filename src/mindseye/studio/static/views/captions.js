/** Captions: say a sentence, see what a model paints or writes of it, and change one word. */

import { segmented, slider } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { paintedStage } from "../components/painted.js";
import { redrawer } from "../components/redraw.js";
import { linkSeed } from "../components/seed.js";
import { flipper, sentenceField, sentenceLine } from "../components/sentence.js";
import { emptyState, status } from "../components/states.js";
import { writtenCells } from "../components/written.js";
import { read, sentence } from "../concept.js";
import { h, percent } from "../dom.js";
import { flag, number, seedOf, unless, whole } from "../state.js";

export const name = "captions";
export const styles = ["captions.css", "painted.css"].map(
  (file) => new URL(file, import.meta.url).href,
);
export const ofOneModel = ["place", "word", "drawn", "stroke", "looked"];

const OPEN = "*";

/** The settings of a state, with what they fall back on. */
function settingsOf(state, { usual, counts }) {
  return {
    n: whole(state.drawn, usual, 1, counts.at(-1)),
    seed: seedOf(state),
    locked: flag(state.lock, true),
    temperature: number(state.temperature, 1, 0, 3),
  };
}

/** What the link changes, `{place, word}` with null for a word that is left open, or null. */
function flipOf({ place, word }, vocabulary) {
  if (!vocabulary.some((one) => one.name === place)) return null;
  return { place, word: word === undefined || word === OPEN ? null : word };
}

/** The controls that decide how pictures are drawn. */
function drawing(context, { usual, counts }) {
  const seed = linkSeed(context);
  const count = segmented({
    label: "pictures",
    options: counts.map((n) => [String(n), String(n)]),
    chosen: usual,
    onChange: (n) => context.say({ drawn: unless(usual, n) }),
  });
  const heat = slider({
    label: "temperature",
    least: 0,
    most: 3,
    step: 0.1,
    value: 1,
    format: (value) => value.toFixed(1),
    onInput: (value) => context.say({ temperature: unless(1, value) }),
  });
  return {
    element: block("Draw", seed.element, count.element, heat.element),
    show(now) {
      seed.show(now.seed, now.locked);
      count.show(now.n);
      heat.show(now.temperature);
    },
  };
}

/** What is shown of a model that does not paint: pictures, and what it writes of them. */
function writtenStage(model, onPick) {
  const cells = writtenCells(model, { onPick });
  return {
    ...cells,
    endpoint: "captions",
    counts: [2, 4, 6, 8, 12],
    usual: 6,
    show: (answer, pictures, changed) => cells.show(answer, pictures, changed?.place),
    update() {},
    stop() {},
  };
}

export function mount(root, context) {
  const { model } = context;
  const { vocabulary, pattern } = model;
  const view = frame(name);
  const field = sentenceField(context, (description) => context.reword({ description }));
  const line = sentenceLine(vocabulary, (said) =>
    context.reword({ description: sentence(said, vocabulary, pattern) }),
  );
  const flips = flipper(vocabulary, flip);
  const cells = model.strokes ? paintedStage(context, view.aside) : writtenStage(model, flip);
  const settings = drawing(context, cells);
  const head = heading();
  const empty = emptyState(
    "No pictures yet",
    "Below the field it is said what cannot be read; the places above offer words that can.",
  );
  const veil = status(view.stage);
  const drawn = redrawer(context, {
    goings: { busy: veil.busy, done: fine, trouble },
    show,
    open: cells.open,
  });
  let shown = null;

  view.element.classList.toggle("view-painted", model.strokes > 0);
  view.say.append(block("Say", field.element), block("Flip one word", flips.element));
  view.settings.append(settings.element);
  view.stage.prepend(head.element, line.element, empty, cells.element);
  root.append(view.element);

  function flip(place, word) {
    context.say({ place: place || null, word: place ? (word ?? OPEN) : null });
  }

  function fine() {
    veil.done();
    field.complain(null);
    empty.hidden = true;
    cells.element.hidden = false;
  }

  /** Words that cannot be meant are told where they stand; the pictures of the last ones stay. */
  function trouble(error, retry) {
    if (error.meant) return veil.trouble(error, retry);
    veil.done();
    field.complain(error);
    empty.hidden = Boolean(shown);
    cells.element.hidden = !shown;
    return shown || head.show("This is no sentence");
  }

  function show(answer, pictures) {
    shown = answer;
    const [{ said, correctness }] = answer.rows;
    const changed = flipOf(context.state, vocabulary);
    line.show(said, changed);
    flips.show(changed, said);
    cells.show(answer, pictures, changed);
    view.lines.show(answer.lines, answer.seconds);
    title(said, changed);
    const right = correctness ? `; ${percent(correctness.value)} of the said words are seen` : "";
    context.announce(`${answer.n} pictures of ${spoken(said)}${right}`);
  }

  function spoken(said) {
    return sentence(said, vocabulary, pattern) || "anything at all";
  }

  function title(said, changed) {
    const open = vocabulary.filter((place) => !(place.name in said)).length;
    const [from, to] = changed ? [said[changed.place] ?? "any", changed.word ?? "any"] : [];
    head.show(
      spoken(said),
      changed
        ? `${changed.place} goes from ${from} to ${to}; the noise and all other words stay`
        : `${open || "none"} of ${vocabulary.length} words ${open === 1 ? "is" : "are"} left open`,
    );
  }

  function question(state) {
    const { n, seed, temperature } = settingsOf(state, cells);
    const { description } = state;
    const changed = flipOf(state, vocabulary);
    const other = changed ? { place: changed.place, word: changed.word ?? OPEN } : {};
    return { model: model.name, description, ...other, n, seed, temperature };
  }

  return {
    update(state) {
      const now = settingsOf(state, cells);
      const changed = flipOf(state, vocabulary);
      settings.show(now);
      field.show(state.description);
      cells.update(state);
      if (!drawn.ask(cells.endpoint, question(state)) || shown) return;
      const said = read(state.description, vocabulary);
      line.show(said, changed);
      flips.show(changed, said);
      cells.reserve(now.n, changed ? 2 : 1);
      title(said, changed);
    },
    unmount() {
      field.stop();
      cells.stop();
    },
  };
}
