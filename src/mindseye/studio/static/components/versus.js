/** Two models side by side, on the same words and the same seed. */

import { read, spoken } from "../concept.js";
import { h } from "../dom.js";
import { seedOf } from "../state.js";
import { picker } from "./controls.js";
import { PictureGrid } from "./grid.js";
import { scoreMeters } from "./meter.js";
import { redrawer } from "./redraw.js";
import { Pictures } from "./sprite.js";
import { marked } from "./states.js";

const COUNT = 16;

/** The open models that imagine from the same words as the chosen one. */
function comparable({ model, models }) {
  if (model.kit) return []; // it is told parts, and no words
  const words = JSON.stringify(model.vocabulary);
  return models.filter(
    ({ views, vocabulary }) => views.includes("imagine") && JSON.stringify(vocabulary) === words,
  );
}

/** Why a model stands against itself, or against none. */
function lonely({ kit, vocabulary }, count) {
  if (kit) return "A model of parts stands beside its generator in Parts.";
  const from = vocabulary.length ? "from these words" : "without words";
  return count
    ? `Only one open model imagines ${from}, so it stands against itself. Open more with \`mindseye studio RUN …\`.`
    : `No open model imagines ${from}. Open one with \`mindseye studio RUN …\`.`;
}

/** An answer and the pictures of each of its sides. */
async function opened(answer) {
  return [answer, await Promise.all(answer.answers.map((each) => Pictures.open(each.pictures)))];
}

/** One side: a model, its pictures and their scores. */
function side(context, which, models) {
  const choose = picker({
    label: which === "left" ? "this model" : "against",
    options: models.map(({ name }) => [name, name]),
    onChange: (name) => context.say({ [which]: name }),
  });
  const grid = new PictureGrid({ label: `Pictures of the ${which} model`, captions: false });
  const meters = scoreMeters();
  meters.element.hidden = !context.model.vocabulary.length; // nothing can be said, nor judged
  grid.reserve(COUNT, context.model.shape);
  return {
    choose,
    grid,
    meters,
    element: h("div", { class: "side" }, choose.element, grid.box, meters.element),
  };
}

/** @param {{goings, lines, head, editor}} parts  The rest of the view. */
export function versusSection(context, { goings, lines, editor }) {
  const { model } = context;
  const models = comparable(context);
  const names = models.map(({ name }) => name);
  const left = names.includes(model.name) ? model.name : names[0];
  const fallback = { left, right: names.find((name) => name !== left) ?? left };
  const sides = { left: side(context, "left", models), right: side(context, "right", models) };
  const alone = h(
    "p",
    { class: "note missing", hidden: models.length > 1 },
    marked(lonely(model, models.length)),
  );
  const element = h(
    "div",
    { class: "versus" },
    alone,
    h("div", { class: "sides", hidden: !models.length }, sides.left.element, sides.right.element),
  );
  const drawn = redrawer(context, { goings, show, open: opened });
  let shown = null;

  const chosen = (which) =>
    names.includes(context.state[which]) ? context.state[which] : fallback[which];

  function show(answer, pictures) {
    ["left", "right"].forEach((which, i) => {
      const { verdicts, said, scores } = answer.answers[i];
      sides[which].grid.show(pictures[i], verdicts, said);
      sides[which].meters.show(scores);
    });
    editor.show(read(answer.description, model.vocabulary));
    shown = answer;
    showLines();
    const asked = spoken(answer.description, model.vocabulary);
    context.announce(`${answer.answers.map((each) => each.model).join(" and ")} on ${asked}`);
  }

  function showLines() {
    if (shown && !element.hidden) lines.show(shown.lines, shown.seconds);
  }

  return {
    element,
    update(state) {
      if (!models.length) return;
      const pair = { left: chosen("left"), right: chosen("right") };
      if (pair.left !== state.left || pair.right !== state.right) {
        context.say(pair); // a link names both, whatever is open elsewhere
        return;
      }
      for (const which of ["left", "right"]) sides[which].choose.show(pair[which]);
      const question = {
        models: [pair.left, pair.right],
        description: state.description,
        n: COUNT,
        seed: seedOf(state),
      };
      if (!drawn.ask("compare", question)) showLines();
    },
  };
}
