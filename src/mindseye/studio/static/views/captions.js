/** Captions: say a sentence, read what a model writes of its pictures, and change one word. */

import { segmented, slider } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { redrawer } from "../components/redraw.js";
import { linkSeed } from "../components/seed.js";
import { flipper, sentenceField, sentenceLine } from "../components/sentence.js";
import { emptyState, status } from "../components/states.js";
import { writtenCells } from "../components/written.js";
import { read, sentence } from "../concept.js";
import { h, percent } from "../dom.js";
import { flag, number, seedOf, unless, whole } from "../state.js";

export const name = "captions";
export const styles = new URL("captions.css", import.meta.url).href;
export const ofOneModel = ["place", "word"];

const COUNTS = [2, 4, 6, 8, 12];
const OPEN = "*";

/** The settings of a state, with what they fall back on. */
function settingsOf(state) {
  return {
    n: whole(state.drawn, 6, 1, 12),
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
function drawing(context) {
  const seed = linkSeed(context);
  const count = segmented({
    label: "pictures",
    options: COUNTS.map((n) => [String(n), String(n)]),
    chosen: 6,
    onChange: (n) => context.say({ drawn: unless(6, n) }),
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

export function mount(root, context) {
  const { model } = context;
  const { vocabulary } = model;
  const view = frame(name);
  const field = sentenceField(context, (description) => context.reword({ description }));
  const line = sentenceLine(vocabulary, (said) =>
    context.reword({ description: sentence(said, vocabulary) }),
  );
  const flips = flipper(vocabulary, flip);
  const settings = drawing(context);
  const cells = writtenCells(model, { onPick: flip });
  const head = heading();
  const empty = emptyState(
    "No pictures yet",
    "Below the field it is said what cannot be read; the places above offer words that can.",
  );
  const veil = status(view.stage);
  const drawn = redrawer(context, {
    goings: { busy: veil.busy, done: fine, trouble },
    show,
  });
  let shown = null;

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
    cells.show(answer, pictures, changed?.place);
    view.lines.show(answer.lines, answer.seconds);
    title(said, changed);
    const right = correctness ? `; ${percent(correctness.value)} of the said words are seen` : "";
    context.announce(`${answer.n} pictures of ${spoken(said)}${right}`);
  }

  function spoken(said) {
    return sentence(said, vocabulary) || "anything at all";
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
    const { n, seed, temperature } = settingsOf(state);
    const { description } = state;
    const changed = flipOf(state, vocabulary);
    const other = changed ? { place: changed.place, word: changed.word ?? OPEN } : {};
    return { model: model.name, description, ...other, n, seed, temperature };
  }

  return {
    update(state) {
      const now = settingsOf(state);
      const changed = flipOf(state, vocabulary);
      settings.show(now);
      field.show(state.description);
      if (!drawn.ask("captions", question(state)) || shown) return;
      const said = read(state.description, vocabulary);
      line.show(said, changed);
      flips.show(changed, said);
      cells.reserve(now.n, changed ? 2 : 1);
      title(said, changed);
    },
    unmount() {
      field.stop();
    },
  };
}
