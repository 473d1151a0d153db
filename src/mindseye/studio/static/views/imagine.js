/** Imagine: say some words, and look at pictures that show them and differ in all the rest. */

import { linkEditor } from "../components/chips.js";
import { button, segmented, slider } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { PictureGrid } from "../components/grid.js";
import { closer } from "../components/closer.js";
import { scoreMeters } from "../components/meter.js";
import { openSwitch } from "../components/openness.js";
import { redrawer } from "../components/redraw.js";
import { seenColumns } from "../components/seen.js";
import { fileName, save, spriteBlob, toBlob } from "../components/sprite.js";
import { linkSeed } from "../components/seed.js";
import { status } from "../components/states.js";
import { read, spoken } from "../concept.js";
import { h, percent } from "../dom.js";
import { flag, number, seedOf, unless, whole } from "../state.js";

export const name = "imagine";

const COUNTS = [4, 9, 16, 25, 36, 64];
const NAMED = 9;

/** The settings of a state, with what they fall back on. */
function settingsOf(state) {
  return {
    n: whole(state.n, 16, 1, 64),
    seed: seedOf(state),
    locked: flag(state.lock, true),
    samples: flag(state.samples),
    product: flag(state.product),
    temperature: number(state.temperature, 1, 0, 3),
  };
}

/** The controls that decide how pictures are drawn. */
function drawing(context, settings) {
  const seed = linkSeed(context);
  const count = segmented({
    label: "pictures",
    options: COUNTS.map((n) => [String(n), String(n)]),
    chosen: settings.n,
    onChange: (n) => context.say({ n: unless(16, n) }),
  });
  const shown = segmented({
    label: "each picture",
    options: [
      ["0", "expected", "The mean of every pixel"],
      ["1", "sample", "Every pixel drawn at random"],
    ],
    chosen: settings.samples ? "1" : "0",
    onChange: (value) => context.say({ samples: unless(false, value === "1") }),
  });
  const open = openSwitch(context);
  const heat = slider({
    label: "temperature",
    least: 0,
    most: 3,
    step: 0.1,
    value: settings.temperature,
    format: (value) => value.toFixed(1),
    onInput: (value) => context.say({ temperature: unless(1, value) }),
  });
  return {
    element: block(
      "Draw",
      seed.element,
      count.element,
      context.model.bits ? shown.element : null,
      context.model.vocabulary.length ? open.element : null,
      heat.element,
    ),
    show(now) {
      seed.show(now.seed, now.locked);
      count.show(now.n);
      shown.show(now.samples ? "1" : "0");
      open.show(context.state);
      heat.show(now.temperature);
    },
  };
}

/** What is heard when pictures have come. */
function announcement({ n, description, scores }, vocabulary) {
  if (!vocabulary.length) return `${n} draws from the prior`;
  const right = scores.correctness ? `; ${percent(scores.correctness.value)} right` : "";
  return `${n} pictures of ${spoken(description)}${right}`;
}

/** Why nothing is judged. */
function unjudged({ vocabulary }) {
  return vocabulary.length
    ? "There is no observer for these data."
    : "An observer compares pictures with words, and nothing can be said here.";
}

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const settings = drawing(context, settingsOf(context.state));
  const editor = linkEditor(context);
  const meters = scoreMeters();
  const seen = seenColumns(model.vocabulary);
  const grid = new PictureGrid({
    label: "Imagined pictures",
    captions: model.judged,
    onPick: (index) => look(index),
  });
  const head = heading(
    button({
      sign: "down",
      text: "Sheet",
      title: "Save the grid as one picture",
      quiet: true,
      onClick: saveSheet,
    }),
    button({
      sign: "down",
      text: "Sprite",
      title: "Save the pictures as they were sent, pixel by pixel",
      quiet: true,
      onClick: saveSprite,
    }),
  );
  const goings = status(view.stage);
  const drawn = redrawer(context, { goings, show });
  let shown = null;

  view.say.append(block("Say", editor.element));
  view.settings.append(settings.element);
  view.stage.prepend(head.element, grid.box);
  view.aside.append(
    model.judged
      ? h(
          "div",
          { class: "judged" },
          block("Judged by an observer", meters.element),
          block("What it sees", seen.element),
        )
      : block("Not judged", h("p", { class: "note", text: unjudged(model) })),
  );
  root.append(view.element);

  function question(state) {
    const { n, seed, samples, product, temperature } = settingsOf(state);
    return {
      model: model.name,
      description: state.description,
      n,
      seed,
      samples,
      product,
      temperature,
      judge: model.judged,
    };
  }

  function show(answer, pictures) {
    shown = { answer, pictures };
    editor.show(answer.said);
    grid.reserve(answer.n, model.shape);
    grid.show(pictures, answer.verdicts, answer.said);
    meters.show(answer.scores);
    seen.show(answer.verdicts, answer.said);
    view.lines.show(answer.lines, answer.seconds);
    title(answer.description, answer.open);
    context.announce(announcement(answer, model.vocabulary));
  }

  function title(description, open) {
    if (!model.vocabulary.length)
      return head.show("draws from the prior", `z from N(0, I) of ${model.latent} dimensions`);
    const names =
      open.length > NAMED ? `${open.length} of ${model.vocabulary.length}` : open.join(", ");
    const rest = open.length
      ? `${names} ${open.length > 1 ? "are" : "is"} left open`
      : "nothing is left open";
    return head.show(spoken(description), rest);
  }

  function look(index) {
    if (shown) closer(context, shown.pictures, index, shown.answer);
  }

  function saveSheet() {
    if (!shown) return;
    save(
      toBlob(grid.sheet(shown.pictures)),
      fileName(model.name, shown.answer.description, `seed ${shown.answer.seed}`),
    );
  }

  function saveSprite() {
    if (shown)
      save(
        spriteBlob(shown.answer.pictures),
        fileName(model.name, shown.answer.description, `seed ${shown.answer.seed}`, "sprite"),
      );
  }

  return {
    update(state) {
      const now = settingsOf(state);
      settings.show(now);
      const said = read(state.description, model.vocabulary);
      editor.show(said);
      if (!drawn.ask("imagine", question(state)) || shown) return;
      grid.reserve(now.n, model.shape);
      title(
        state.description,
        model.vocabulary.map((attribute) => attribute.name).filter((one) => !(one in said)),
      );
    },
    unmount() {},
  };
}
