/** Real pictures that fit a sentence: looked at eight by eight, the best of them shown. */

import { read } from "../concept.js";
import { h } from "../dom.js";
import { button } from "./controls.js";
import { smallLine } from "./lines.js";
import { canvasFor, Pictures } from "./sprite.js";
import { marked } from "./states.js";

const BEST = 8;

/** Nats with their sign. */
function signed(nats) {
  return `${nats < 0 ? "−" : "+"}${Math.abs(nats).toFixed(1)}`;
}

async function withPictures(answer) {
  return [answer, answer.pictures && (await Pictures.open(answer.pictures))];
}

/** One picture that was found. */
function tile({ nats, caption, pictures, at }, { shape, vocabulary }) {
  const canvas = canvasFor(shape, `A real picture: ${caption}; ${signed(nats)} nats`);
  pictures.draw(canvas, at);
  return h(
    "figure",
    { class: "tile" },
    h("div", { class: "tile-frame" }, canvas),
    h(
      "figcaption",
      { class: "found-words", title: caption },
      h("span", { class: "number", text: signed(nats) }),
      h("span", { class: "seen-open", text: Object.values(read(caption, vocabulary)).join(" ") }),
    ),
  );
}

/** The section; `show(description)` for another sentence, which is not looked for by itself. */
export function foundSection(context) {
  const { model } = context;
  const note = h("p", {
    class: "note",
    role: "status",
    title: "log p(x|y) / p(x): how much likelier the sentence y makes a picture x",
  });
  const grid = h("div", { class: "found", role: "group", "aria-label": "Real pictures that fit" });
  const line = smallLine("Copy the command that looks for them");
  const press = button({ text: "Look for them", onClick: () => (looking ? stop() : look()) });
  let [sentence, looking, found] = [null, false, []];

  function say(...text) {
    note.replaceChildren(...text);
  }

  function name(text) {
    press.querySelector("span").textContent = text;
  }

  function stop() {
    looking = false;
    context.cancel("retrieve");
    name("Look for them");
  }

  /** Look at eight after eight until there are no more, or something else is said. */
  async function look() {
    [looking, found] = [true, []];
    name("Stop");
    say("Looking at test pictures …");
    try {
      for (let first = 0, among = 1; looking && first < among; ) {
        const question = { model: model.name, description: sentence, first };
        const opened = await context.ask("retrieve", question, "retrieve", withPictures);
        if (!opened) return;
        const [answer, pictures] = opened;
        if (answer.missing) return ended(marked(answer.missing));
        first += answer.found.length;
        among = answer.among;
        add(answer, pictures);
        say(`The best of ${first} test pictures, in nats.`);
      }
      press.hidden = looking; // nothing is left to look at
      stop();
    } catch (error) {
      ended(marked(error.message));
    }
  }

  function ended(text) {
    stop();
    say(...text);
  }

  function add(answer, pictures) {
    found.push(...answer.found.map((each, at) => ({ ...each, pictures, at })));
    found.sort((a, b) => b.nats - a.nats);
    grid.replaceChildren(...found.slice(0, BEST).map((each) => tile(each, model)));
    line.show(answer.lines.command);
  }

  return {
    element: h("div", { class: "found-section" }, note, press, grid, line.element),
    stop,
    show(description) {
      if (description === sentence) return;
      stop();
      sentence = description;
      grid.replaceChildren();
      line.show("");
      press.hidden = false;
      press.disabled = !description;
      say(
        description
          ? "Test pictures, ranked by how much likelier the sentence makes them."
          : "Say something to look for.",
      );
    },
  };
}
