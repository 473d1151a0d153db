/** Describe: draw, drop or paste a picture; see what the model sees in it, and vary it. */

import { likeliest, probabilityBars } from "../components/bars.js";
import { button, check } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { PictureGrid } from "../components/grid.js";
import { dropZone, fileButton, onPaste } from "../components/intake.js";
import { EXAMPLES, Pad } from "../components/pad.js";
import { canvasFor, fromLink, Pictures, toBlob } from "../components/sprite.js";
import { emptyState, marked, status } from "../components/states.js";
import { spoken, write } from "../concept.js";
import { h, later, percent } from "../dom.js";
import { whole } from "../state.js";

export const name = "describe";
export const styles = new URL("describe.css", import.meta.url).href;

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

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const pad = new Pad({
    onDrawn: later(150, drawn),
    onCleared: () => context.say({ picture: null }),
  });
  const [given, made] = [
    canvasFor(model.shape, "the picture"),
    canvasFor(model.shape, "what the model makes of it"),
  ];
  const head = heading(
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
  const bars = h("div", { class: "bars-box" });
  const grid = new PictureGrid({ label: "Variations", captions: false });
  const kept = h("h2", { class: "block-title" });
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
    kept,
    grid.box,
  );
  const empty = emptyState(
    "Nothing to describe yet",
    "Draw a digit in a corner of the pad, about a quarter as high as the pad; or take an example, drop a file, or paste a picture.",
  );
  const nearest = h("div", { class: "nearest" });
  const invert = check({ label: "dark ink on light paper", checked: false, onChange: () => {} });
  const goings = status(view.stage);
  const stopPaste = onPaste(take);
  let asked = "";
  let varied = "";
  let answer = null;
  let mine = "";

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

  function drawn(canvas) {
    return fit(toBlob(canvas), false);
  }

  function take(file) {
    return fit(file, invert.element.querySelector("input").checked, true);
  }

  /** Have a picture fitted to the model, and put it into the link. */
  async function fit(body, inverted, lay = false) {
    goings.busy();
    try {
      const fitted = await context.ask("pictures", { model: model.name, invert: inverted, body });
      if (!fitted) return;
      mine = lay ? "" : fitted.picture;
      if (lay) pad.keep();
      context.say({ picture: fitted.picture });
    } catch (error) {
      goings.trouble(error, () => goings.done());
    }
  }

  async function redraw(state) {
    goings.busy();
    try {
      const got = await context.ask("describe", {
        model: model.name,
        picture: state.picture,
        seed: whole(state.seed, 0, 0),
      });
      if (!got) return;
      show(
        got,
        await Pictures.open(got.pictures),
        got.nearest ? await Pictures.open(got.nearest) : null,
      );
      vary(context.state);
    } catch (error) {
      asked = "";
      goings.trouble(error, () => redraw(context.state));
    }
  }

  function show(got, pictures, near) {
    answer = got;
    goings.done();
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
          h("span", { text: description.replace(/\w+=/g, "").replaceAll(", ", " · ") }),
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
  async function vary(state) {
    const names = keptOf(state, model.vocabulary);
    const best = likeliest(answer.attributes);
    const description = write(
      Object.fromEntries(names.map((one) => [one, best[one]])),
      model.vocabulary,
    );
    const question = {
      model: model.name,
      description,
      n: VARIATIONS,
      seed: whole(state.seed, 0, 0),
      judge: false,
    };
    bars.replaceChildren(probabilityBars(answer.attributes, names, keep));
    kept.textContent = `Variations that keep ${names.length ? description : "nothing"}`;
    if (JSON.stringify(question) === varied) return;
    varied = JSON.stringify(question);
    try {
      const got = await context.ask("imagine", question);
      if (!got) return;
      const pictures = await Pictures.open(got.pictures);
      const verdict = { seen: got.said, wrong: [] };
      grid.show(pictures, Array(got.n).fill(verdict), got.said);
    } catch (error) {
      varied = "";
      goings.trouble(error, () => vary(context.state));
    }
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
    goings.done();
    pad.blank();
    head.show("A picture, in words");
    nearest.replaceChildren(h("p", { class: "note", text: "They appear with the description." }));
    view.lines.show({ command: "mindseye describe picture.png", python: "" });
  }

  return {
    update(state) {
      const some = Boolean(state.picture);
      empty.hidden = some;
      shown.hidden = !some;
      head.element.querySelector(".toolbar").hidden = !some || !model.views.includes("between");
      const next = some ? `${state.picture} ${state.seed}` : "nothing";
      if (next === asked) return some && answer ? vary(state) : undefined;
      asked = next;
      if (!some) return showEmpty();
      if (state.picture !== mine)
        fromLink(state.picture).then(
          (image) => pad.lay(image),
          () => {},
        );
      mine = state.picture;
      if (!answer) head.show(spoken("…"));
      redraw(state);
    },
    unmount() {
      stopPaste();
    },
  };
}
