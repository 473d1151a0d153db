/** Two models side by side, on the same words and the same seed. */

import { read, spoken } from "../concept.js";
import { h } from "../dom.js";
import { unless, whole } from "../state.js";
import { picker } from "./controls.js";
import { PictureGrid } from "./grid.js";
import { scoreMeters } from "./meter.js";
import { Pictures } from "./sprite.js";

const COUNT = 16;

/** One side: a model, its pictures and their scores. */
function side(context, which, fallback) {
  const options = context.models.map(({ name }) => [name, name]);
  const choose = picker({
    label: which === "left" ? "this model" : "against",
    options,
    chosen: fallback,
    onChange: (name) => context.say({ [which]: unless(fallback, name) }),
  });
  const grid = new PictureGrid({ label: `Pictures of the ${which} model`, captions: false });
  const meters = scoreMeters();
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
  const { model, models } = context;
  const other = models.find(({ name }) => name !== model.name)?.name ?? model.name;
  const fallback = { left: model.name, right: other };
  const sides = {
    left: side(context, "left", fallback.left),
    right: side(context, "right", fallback.right),
  };
  const alone = h("p", { class: "note missing", hidden: models.length > 1 });
  alone.append(
    "Only one model is open, so it stands against itself. Open more with ",
    h("code", { text: "mindseye studio RUN …" }),
    ".",
  );
  const element = h(
    "div",
    { class: "versus" },
    alone,
    h("div", { class: "sides" }, sides.left.element, sides.right.element),
  );
  let asked = "";

  const chosen = (which) =>
    models.some(({ name }) => name === context.state[which])
      ? context.state[which]
      : fallback[which];

  async function redraw(question) {
    goings.busy();
    try {
      const answer = await context.ask("compare", question);
      if (!answer) return;
      const pictures = await Promise.all(
        answer.answers.map((each) => Pictures.open(each.pictures)),
      );
      goings.done();
      show(answer, pictures);
    } catch (error) {
      asked = "";
      goings.trouble(error, () => redraw(question));
    }
  }

  function show(answer, pictures) {
    ["left", "right"].forEach((which, i) => {
      const { verdicts, said, scores } = answer.answers[i];
      sides[which].grid.show(pictures[i], verdicts, said);
      sides[which].meters.show(scores);
    });
    editor.show(read(answer.description, model.vocabulary));
    lines.show(answer.lines, answer.seconds);
    context.announce(
      `${answer.answers.map((each) => each.model).join(" and ")} on ${spoken(answer.description)}`,
    );
  }

  return {
    element,
    update(state) {
      for (const which of ["left", "right"]) sides[which].choose.show(chosen(which));
      const question = {
        models: [chosen("left"), chosen("right")],
        description: state.description,
        n: COUNT,
        seed: whole(state.seed, 0, 0),
      };
      if (JSON.stringify(question) === asked) return;
      asked = JSON.stringify(question);
      redraw(question);
    },
  };
}
