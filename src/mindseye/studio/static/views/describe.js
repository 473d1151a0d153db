/** Describe: draw, drop or paste a picture; see what the model sees in it, and vary it. */

import { likeliest, probabilityBars } from "../components/bars.js";
import { button, check } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { PictureGrid } from "../components/grid.js";
import { dropZone, fileButton, onPaste } from "../components/intake.js";
import { smallLine } from "../components/lines.js";
import { EXAMPLES, Pad } from "../components/pad.js";
import { redrawer } from "../components/redraw.js";
import { canvasFor, fromLink, linkBlob, Pictures, save, toBlob } from "../components/sprite.js";
import { emptyState, marked, status } from "../components/states.js";
import { spoken, write } from "../concept.js";
import { h, later, percent } from "../dom.js";
import { seedOf } from "../state.js";

export const name = "describe";
export const styles = new URL("describe.css", import.meta.url).href;
export const ofOneModel = ["picture", "keep"];

const VARIATIONS = 18;

/** The attributes that are kept; the first one if the link does not say. */
function keptOf(state, vocabulary) {
  if (state.keep === undefined) return [vocabulary[0].name];
  const names = state.keep.split(",");
  return vocabulary.map((attribute) => attribute.name).filter((one) => names.includes(one));
}

function titled(canvas, title) {
  return h(
    "figure",
    { class: "seen-picture" },
    h("div", { class: "tile-frame" }, canvas),
    h("figcaption", { class: "label", text: title }),
  );
}

/** A description, its pictures, and the training pictures near it. */
async function opened(got) {
  return Promise.all([
    got,
    Pictures.open(got.pictures),
    got.nearest ? Pictures.open(got.nearest) : null,
  ]);
}

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const fitSoon = later(150, (canvas) => fit(toBlob(canvas), false));
  const pad = new Pad({ onDrawn: fitSoon, onCleared: clear });
  const [given, made] = [
    canvasFor(model.shape, "the picture"),
    canvasFor(model.shape, "what the model makes of it"),
  ];
  const asEnds = h(
    "div",
    { class: "as-ends", hidden: !model.views.includes("between") },
    button({
      text: "As a start",
      title: "Begin a way between two pictures here",
      quiet: true,
      onClick: () => send("start_picture"),
    }),
    button({
      text: "As an end",
      title: "End a way between two pictures here",
      quiet: true,
      onClick: () => send("end_picture"),
    }),
  );
  const keeping = button({
    sign: "down",
    text: "Save",
    title: "Save the picture as picture.png, for the command below",
    quiet: true,
    onClick: () => save(linkBlob(context.state.picture), "picture.png"),
  });
  const head = heading(asEnds, keeping);
  const bars = h("div", { class: "bars-box" });
  const grid = new PictureGrid({ label: "Variations", captions: false });
  const kept = h("h2", { class: "block-title" });
  const line = smallLine("Copy the command of the variations");
  const variations = h(
    "div",
    { class: "variations", hidden: !model.views.includes("imagine") },
    kept,
    grid.box,
    line.element,
  );
  const shown = h(
    "div",
    { class: "described" },
    h(
      "div",
      { class: "described-top" },
      titled(given, "as the model sees it"),
      titled(made, "what it makes of it"),
      bars,
    ),
    variations,
  );
  const empty = emptyState(
    "Nothing to describe yet",
    "Draw a digit in a corner of the pad, about a quarter as high as the pad; or take an example, drop a file, or paste a picture.",
  );
  const nearest = h("div", { class: "nearest" });
  const invert = check({ label: "dark ink on light paper", checked: false, onChange: () => {} });
  const goings = status(view.stage);
  const describing = redrawer(context, { goings, show, open: opened });
  const varying = redrawer(context, {
    goings: status(variations),
    show: showVariations,
    line: "variations",
  });
  const stopPaste = onPaste(take);
  let answer = null;
  let mine = "";
  let looked = null;

  view.say.append(block("Draw", pad.element, h("div", { class: "examples" }, exampleButtons())));
  view.settings.append(
    block(
      "Or bring a picture",
      h("p", { class: "note", text: "Drop it on the pad, paste it, or choose a file." }),
      h("div", { class: "intake" }, fileButton("Choose a file", take), invert.element),
    ),
  );
  view.stage.prepend(head.element, empty, shown);
  view.aside.append(block("Nearest training pictures", nearest));
  root.append(view.element);
  dropZone(pad.element, take);
  grid.reserve(VARIATIONS, model.shape, 6);

  function exampleButtons() {
    return h(
      "div",
      { class: "example-row" },
      EXAMPLES.map((example) =>
        button({ text: example.title, onClick: () => pad.example(example) }),
      ),
    );
  }

  function take(file) {
    fitSoon.cancel();
    return fit(file, invert.element.querySelector("input").checked, true);
  }

  /** Have a picture fitted to the model, and put it into the link. */
  async function fit(body, inverted, brought = false) {
    goings.busy();
    try {
      const fitted = await context.ask("pictures", { model: model.name, invert: inverted, body });
      if (!fitted) return;
      mine = brought ? "" : fitted.picture;
      if (brought) pad.keep();
      goings.done(); // it may be the picture that is there already
      context.say({ picture: fitted.picture });
    } catch (error) {
      goings.trouble(error, () => goings.done());
    }
  }

  /** Fit nothing that was drawn or brought until now. */
  function drop() {
    fitSoon.cancel();
    context.cancel("pictures");
    goings.done();
  }

  function clear() {
    drop();
    context.say({ picture: null });
  }

  /** Lay a picture onto the pad that was not drawn there. */
  function lay(picture) {
    if (picture !== mine)
      fromLink(picture).then(
        (image) => picture === context.state.picture && pad.lay(image),
        () => {},
      );
    mine = picture;
  }

  function show(got, pictures, near) {
    answer = got;
    pictures.draw(given, 0);
    pictures.draw(made, 1);
    view.lines.show(got.lines, got.seconds);
    showNearest(got, near);
    const best = likeliest(got.attributes);
    const words = write(best, model.vocabulary);
    const sure = Object.entries(best).reduce(
      (share, [one, value]) => share * got.attributes[one][value],
      1,
    );
    head.show(words, `each word is the most probable one; all of them together ${percent(sure)}`);
    given.setAttribute("aria-label", `the picture: ${words}`);
    made.setAttribute("aria-label", `what the model makes of it: ${words}`);
    context.announce(`The picture shows ${words}`);
    vary(context.state);
  }

  function showNearest(got, near) {
    const figures = got.neighbours.map(({ description, distance }, i) => {
      const canvas = canvasFor(model.shape, description);
      near.draw(canvas, i);
      return h(
        "figure",
        { class: "neighbour" },
        canvas,
        h(
          "figcaption",
          {},
          h("span", { text: description }),
          h("span", { class: "number label", text: `distance ${distance.toFixed(2)}` }),
        ),
      );
    });
    nearest.replaceChildren(
      ...figures,
      got.missing ? h("p", { class: "note missing" }, marked(got.missing)) : "",
    );
  }

  /** Imagine what is kept of the picture. */
  function vary(state) {
    const names = keptOf(state, model.vocabulary);
    const best = likeliest(answer.attributes);
    const description = write(
      Object.fromEntries(names.map((one) => [one, best[one]])),
      model.vocabulary,
    );
    bars.replaceChildren(probabilityBars(answer.attributes, names, keep));
    if (!model.views.includes("imagine")) return;
    kept.textContent = `Variations that keep ${names.length ? description : "nothing"}`;
    varying.ask("imagine", {
      model: model.name,
      description,
      n: VARIATIONS,
      seed: seedOf(state),
      judge: false,
    });
  }

  function showVariations(got, pictures) {
    const verdict = { seen: got.said, wrong: [] };
    grid.show(pictures, Array(got.n).fill(verdict), got.said);
    line.show(got.lines.command);
  }

  function keep(one, on) {
    const names = keptOf(context.state, model.vocabulary).filter((other) => other !== one);
    context.say({ keep: (on ? [...names, one] : names).join(",") });
    bars.querySelector(`[aria-label^="keep ${CSS.escape(one)}="]`)?.focus();
  }

  function send(parameter) {
    if (context.state.picture)
      context.say(
        { view: "between", ends: "pictures", [parameter]: context.state.picture },
        { push: true },
      );
  }

  function showEmpty() {
    drop();
    describing.forget();
    varying.forget();
    answer = null;
    mine = "";
    pad.blank();
    head.show("A picture, in words");
    nearest.replaceChildren(h("p", { class: "note", text: "They appear with the description." }));
    view.lines.show({ command: "mindseye describe picture.png", python: "" });
  }

  return {
    update(state) {
      const { picture = "" } = state;
      const before = looked;
      looked = picture;
      empty.hidden = Boolean(picture);
      shown.hidden = !picture;
      head.element.querySelector(".toolbar").hidden = !picture;
      if (!picture) return before === "" ? undefined : showEmpty();
      lay(picture);
      const question = { model: model.name, picture, seed: seedOf(state) };
      if (describing.ask("describe", question)) return answer || head.show(spoken("…"));
      return answer && vary(state);
    },
    unmount() {
      fitSoon.cancel();
      stopPaste();
    },
  };
}
