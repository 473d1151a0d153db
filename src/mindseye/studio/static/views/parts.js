/** Parts: put a whole together, and see what is true beside what a model makes of it. */

import { button, check, segmented } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { live } from "../components/live.js";
import { linkSeed } from "../components/seed.js";
import { fileNameOf, Pictures, save } from "../components/sprite.js";
import { square } from "../components/square.js";
import { emptyState, status } from "../components/states.js";
import { steppers } from "../components/steppers.js";
import { textField } from "../components/textfield.js";
import { wholeSides } from "../components/wholes.js";
import { h, later } from "../dom.js";
import { opening, pieceOf, write, writeMoves } from "../pieces.js";
import { flag, seedOf, unless, whole } from "../state.js";

export const name = "parts";
export const styles = new URL("parts.css", import.meta.url).href;
export const ofOneModel = ["moved", "before"];

const COUNTS = [1, 2, 4, 6, 8];
const USUAL = 4;
const REST = 250;

/** The settings of a state, with what they fall back on. */
function settingsOf(state) {
  return {
    n: whole(state.wholes, USUAL, 1, 8),
    seed: seedOf(state),
    locked: flag(state.lock, true),
    spread: flag(state.spread),
    grey: flag(state.grey, true),
  };
}

/** An answer and its pictures, if wholes are pictures. */
async function opened(answer) {
  return [answer, answer.pictures && (await Pictures.open(answer.pictures))];
}

/** What is seen of a model that knows no parts: who does. Some came with the package. */
function withoutParts(root, context) {
  const others = context.models.filter(({ kit }) => kit);
  const state = emptyState(
    `${context.model.name} knows nothing of parts`,
    "These models, which are open too, put wholes together of parts:",
    ...others.map(({ name: model }) =>
      button({ text: model, onClick: () => context.say({ model, description: null }) }),
    ),
  );
  state.classList.add("partless");
  root.append(state);
  return { update() {}, unmount() {} };
}

/** The controls that decide what is drawn. */
function drawing(context) {
  const curves = context.model.shape[1] === 1;
  const seed = linkSeed(context, true);
  const count = segmented({
    label: "wholes of each",
    options: COUNTS.map((n) => [String(n), String(n)]),
    chosen: USUAL,
    onChange: (n) => context.say({ wholes: unless(USUAL, n) }),
  });
  const shown = segmented({
    label: "show",
    options: [
      ["0", "each", "Some wholes, each by itself"],
      ["1", "mean and spread", "The mean of 64 wholes, and how far they are from it"],
    ],
    chosen: "0",
    onChange: (value) => context.say({ spread: unless(false, value === "1") }),
  });
  const grey = check({
    label: "what was before, in grey",
    checked: true,
    onChange: (on) => context.say({ grey: unless(true, on) }),
  });
  return {
    element: block(
      "Draw",
      seed.element,
      shown.element,
      count.element,
      curves ? h("div", { class: "field" }, grey.element) : null,
    ),
    show(now) {
      seed.show(now.seed, now.locked);
      count.show(now.n);
      count.element.hidden = now.spread;
      shown.show(now.spread ? "1" : "0");
      grey.show(now.grey);
    },
  };
}

export function mount(root, context) {
  return context.model.kit ? ofParts(root, context) : withoutParts(root, context);
}

function ofParts(root, context) {
  const { model } = context;
  const { kit } = model;
  const curves = model.shape[1] === 1;
  const view = frame(name);
  const field = textField({
    label: "the whole, in words",
    placeholder: opening(kit),
    most: 4000,
    onText: (description) => context.reword({ description, ...earlier(description) }),
  });
  const editor = kit.axes.length ? square(kit, hands()) : counts();
  const settings = drawing(context);
  const sides = wholeSides(model);
  const head = heading(
    button({
      sign: "down",
      text: "JSON",
      title: "Save the numbers and how they are made",
      quiet: true,
      onClick: saveNumbers,
    }),
  );
  const empty = emptyState(
    "No wholes yet",
    "Add a part at the left; below the field it is said what cannot be read.",
  );
  const veil = status(view.stage);
  const drawn = live(context, {
    endpoint: "parts",
    goings: { busy: veil.busy, done: fine, trouble },
    show,
    open: opened,
  });
  const writeSoon = later(REST, () => context.say(said()));
  let pieces = [];
  let shown = null;

  view.say.append(block("Put together", editor.element, field.element));
  view.settings.append(settings.element);
  view.stage.prepend(head.element, empty, sides.element);
  view.aside.remove();
  root.append(view.element);
  editor.show(pieces);
  empty.hidden = true;

  function counts() {
    return steppers(kit, (category, way) => {
      const at = pieces.findIndex((piece) => piece.category === category);
      if (way > 0) change([...pieces, pieceOf(category)]);
      else if (at >= 0) change(pieces.filter((_, i) => i !== at));
    });
  }

  /** What hands do on the square. */
  function hands() {
    return {
      onAdd: (piece) => change([...pieces, piece]),
      onRemove: (index) => change(pieces.filter((_, i) => i !== index)),
      onMove: moved,
      announce: (text) => context.announce(text),
    };
  }

  /** Other parts: they are shown at once, and drawn when the link says so. */
  function change(next) {
    writeSoon.cancel();
    const description = write(next, kit);
    pieces = next;
    editor.show(pieces);
    context.reword({ ...said(), ...earlier(description) });
  }

  /** A part is on its way, or rests: it is drawn at once, and the link is written later. */
  function moved(index, place, resting) {
    pieces = pieces.map((piece, i) => (i === index ? { ...piece, place } : piece));
    const next = { ...context.state, ...said() };
    field.show(next.description);
    drawn.ask(question(next));
    if (resting) writeSoon();
  }

  /** The pieces as the link has them. */
  function said() {
    return { description: write(pieces, kit), moved: writeMoves(pieces) || null };
  }

  /** What a change of curves is seen against: what is shown now. */
  function earlier(description) {
    if (!curves || !shown || shown.description === description) return {};
    return { before: shown.description };
  }

  function fine() {
    veil.done();
    field.complain(null);
    empty.hidden = true;
    sides.element.hidden = false;
  }

  /** Words that cannot be meant are told where they stand; the wholes of the last ones stay. */
  function trouble(error, retry) {
    if (error.meant) return veil.trouble(error, retry);
    veil.done();
    field.complain(error);
    empty.hidden = Boolean(shown);
    sides.element.hidden = !shown;
    return shown || head.show("Nothing to put together");
  }

  function show(answer, pictures, newest) {
    shown = answer;
    sides.show(answer, pictures);
    view.lines.show(answer.lines, answer.seconds);
    title(answer);
    if (!newest) return;
    pieces = answer.parts.map(({ category, place, born }) => ({ category, place, born }));
    editor.show(pieces);
    const what = answer.spread ? "The mean of wholes" : `${answer.n} wholes`;
    context.announce(`${what} of ${answer.description}, the generator's and the model's`);
  }

  function title({ description, parts }) {
    const n = parts.length;
    const many = `${n} part${n > 1 ? "s" : ""}`;
    const trained = `training had ${kit.trained} at most`;
    head.show(description, n > kit.trained ? `${many}, more than ever before: ${trained}` : many);
  }

  function saveNumbers() {
    if (!shown) return;
    const text = JSON.stringify(shown, null, 1);
    save(
      new Blob([text], { type: "application/json" }),
      fileNameOf("json", model.name, shown.description, `seed ${shown.seed}`),
    );
  }

  function question(state) {
    const { n, seed, spread, grey } = settingsOf(state);
    return {
      model: model.name,
      description: state.description ?? "",
      moved: kit.axes.length ? state.moved : null,
      before: curves && grey ? state.before : null,
      n,
      seed,
      spread,
    };
  }

  return {
    update(state) {
      const now = settingsOf(state);
      settings.show(now);
      field.show(state.description);
      if (!shown) sides.reserve(now.spread ? 1 : now.n);
      drawn.ask(question(state));
    },
    unmount() {
      writeSoon.cancel();
      field.stop();
    },
  };
}
