/** Where the point is: its picture, and where it may begin. */

import { h } from "../dom.js";
import { flag, freshSeed, seedOf } from "../state.js";
import { button } from "./controls.js";
import { block } from "./frame.js";
import { dropZone, fileButton, onPaste } from "./intake.js";
import { linkSeed } from "./seed.js";
import { canvasFor, linkBlob, save } from "./sprite.js";
import { status } from "./states.js";

function titled(canvas, title) {
  return h(
    "figure",
    { class: "here-picture" },
    h("div", { class: "tile-frame" }, canvas),
    h("figcaption", { class: "label", text: title }),
  );
}

/**
 * The panel. `update(state, point)` when the link changes, `show(pictures, told)` when pictures have
 * come: the one of the point and, where one was read, that and its reconstruction.
 * @param {{take, readExample, begin}} acts  A file was brought; a training picture is wanted; the
 *     link should say that the point begins elsewhere.
 */
export function pointPanel(context, { take, readExample, begin }) {
  const { model } = context;
  const here = canvasFor(model.shape, "the picture of the point");
  const given = canvasFor(model.shape, "the picture that was read");
  const made = canvasFor(model.shape, "what the model makes of it");
  const seed = linkSeed(context, false);
  const others = h(
    "div",
    { class: "here-others", hidden: true },
    titled(given, "as it was"),
    titled(made, "reconstruction"),
  );
  const pictures = h("div", { class: "here" }, titled(here, "expected at the point"), others);
  const zero = button({
    text: "Zero",
    title: "Go to the middle of the prior",
    onClick: () => begin({ point: "zero" }),
  });
  const draw = button({
    sign: "dice",
    text: "Random draw",
    title: "Go to a draw from the prior",
    onClick: () => begin({ point: "draw", seed: freshSeed() }),
  });
  const example = button({
    text: "Training picture",
    title: "Read a picture of the training data",
    onClick: readExample,
  });
  const keep = button({
    sign: "down",
    title: "Save the picture as picture.png, for the command below",
    quiet: true,
    onClick: () => save(linkBlob(context.state.picture), "picture.png"),
  });
  const reads = h(
    "div",
    { class: "here-tools", hidden: !model.reads },
    fileButton("Read a picture", take),
    example,
    keep,
  );
  const element = block(
    "The point",
    pictures,
    h("div", { class: "here-tools" }, zero, draw),
    reads,
    seed.element,
  );
  const stopPaste = model.reads ? onPaste(take) : () => {};
  example.hidden = true;
  if (model.reads) dropZone(pictures, take);

  return {
    element,
    goings: status(pictures),
    /** Offer training pictures if there are any. */
    know: ({ over }) => (example.hidden = over === 0),
    update(state, point) {
      const picture = point === "picture";
      seed.element.hidden = point !== "draw";
      seed.show(seedOf(state), flag(state.lock, true));
      others.hidden = !picture;
      keep.hidden = !picture;
      pictures.classList.toggle("here-three", picture);
      zero.setAttribute("aria-pressed", String(point === "zero"));
      draw.setAttribute("aria-pressed", String(point === "draw"));
    },
    show(drawn, told) {
      drawn.draw(here, 0);
      here.setAttribute("aria-label", `the expected picture ${told}`);
      if (drawn.count < 3) return;
      drawn.draw(given, 1);
      drawn.draw(made, 2);
    },
    stop: stopPaste,
  };
}
