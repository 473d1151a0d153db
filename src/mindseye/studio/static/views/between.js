/** Between: the way from one thought or picture to another, and one latent at a time. */

import { button, sections, segmented } from "../components/controls.js";
import { bothEnds } from "../components/ends.js";
import { block, frame, heading } from "../components/frame.js";
import { redrawer } from "../components/redraw.js";
import { linkSeed } from "../components/seed.js";
import { canvasFor } from "../components/sprite.js";
import { emptyState, status } from "../components/states.js";
import { latentRows } from "../components/latents.js";
import { wayRows } from "../components/way.js";
import { read, spoken, write } from "../concept.js";
import { h } from "../dom.js";
import { flag, seedOf, unless, whole } from "../state.js";

export const name = "between";
export const styles = new URL("between.css", import.meta.url).href;
export const ofOneModel = ["start_picture", "end_picture"];

const MOST_LATENTS = 32;

/** The other end if the link has none: the first attribute gets the value half-way round. */
function otherEnd(description, vocabulary) {
  if (!vocabulary.length) return "";
  const said = read(description, vocabulary);
  const { name: first, values } = vocabulary[0];
  const at = said[first] === undefined ? 0 : values.indexOf(said[first]);
  return write(
    { ...said, [first]: values[(at + Math.floor(values.length / 2)) % values.length] },
    vocabulary,
  );
}

function settingsOf(state) {
  return {
    n: whole(state.rows, 6, 1, 6),
    steps: whole(state.steps, 9, 3, 15),
    seed: seedOf(state),
  };
}

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const ends = bothEnds(context, {
    onWords: say,
    onFile: take,
    onClear: (which) => context.say({ [`${which}_picture`]: null }),
  });
  const seed = linkSeed(context);
  const rows = segmented({
    label: "rows",
    options: [1, 2, 4, 6].map((n) => [String(n), String(n)]),
    chosen: 6,
    onChange: (n) => context.say({ rows: unless(6, n) }),
  });
  const steps = segmented({
    label: "steps",
    options: [5, 7, 9, 11, 15].map((n) => [String(n), String(n)]),
    chosen: 9,
    onChange: (n) => context.say({ steps: unless(9, n) }),
  });
  const swap = button({
    sign: "swap",
    text: "Swap",
    title: "Swap the two ends",
    quiet: true,
    onClick: swapEnds,
  });
  const head = heading(swap);
  const large = canvasFor(model.shape, "the picture that is looked at");
  const largeNote = h("p", { class: "note large-note" });
  const look = { canvas: large, note: largeNote };
  const shown = { way: wayRows(context, look), latents: latentRows(context, look) };
  const wordless = !model.vocabulary.length;
  const rowed = !wordless && model.latent <= MOST_LATENTS; // the view Latents shows the others
  const tabs = sections({
    label: "What to see",
    options: [
      ["way", "The way between", shown.way.element],
      ...(rowed ? [["latents", "One latent at a time", shown.latents.element]] : []),
    ],
    chosen: "way",
    onChange: (section) => context.say({ section: unless("way", section) }),
  });
  const empty = emptyState(
    "Two pictures make a way",
    "Choose a file for each end, or send pictures here: from Describe, or by a click on one in Imagine.",
  );
  const goings = status(view.stage);
  const drawn = redrawer(context, { goings, show });

  tabs.element.hidden = !rowed;
  view.say.append(ends.element);
  view.settings.append(
    block("Draw", seed.element, h("div", { class: "field pair" }, rows.element, steps.element)),
  );
  view.stage.prepend(head.element, tabs.element, empty, shown.way.element, shown.latents.element);
  view.aside.append(
    block(
      "Looked at",
      h("div", { class: "tile-frame large" }, large),
      shown.way.scrubber,
      largeNote,
    ),
  );
  root.append(view.element);

  function wordsOf(state) {
    return {
      start: state.description,
      end: state.end ?? otherEnd(state.description, model.vocabulary),
    };
  }

  function say(which, said) {
    const description = write(said, model.vocabulary);
    const { end } = wordsOf(context.state);
    context.reword(which === "start" ? { end, description } : { end: description });
  }

  async function take(which, file) {
    goings.busy();
    try {
      const fitted = await context.ask("pictures", { model: model.name, body: file }, which);
      goings.done();
      if (fitted) context.say({ [`${which}_picture`]: fitted.picture });
    } catch (error) {
      goings.trouble(error, () => goings.done());
    }
  }

  function swapEnds() {
    const { start, end } = wordsOf(context.state);
    const { start_picture: first, end_picture: last } = context.state;
    context.reword({
      description: end,
      end: start,
      start_picture: last ?? null,
      end_picture: first ?? null,
    });
  }

  /** What to ask for a state, or null where an end is missing. */
  function question(state) {
    const { n, steps: count, seed: number } = settingsOf(state);
    const { start_picture, end_picture } = state;
    const pictures = state.ends === "pictures";
    if (rowed && state.section === "latents") {
      const from =
        pictures && start_picture ? { picture: start_picture } : { description: state.description };
      return ["traversals", { model: model.name, ...from, seed: number, steps: count }];
    }
    if (!pictures)
      return ["between", { model: model.name, ...wordsOf(state), n, steps: count, seed: number }];
    if (!start_picture || !end_picture) return null;
    return [
      "between",
      { model: model.name, start_picture, end_picture, steps: count, seed: number },
    ];
  }

  function show(answer, pictures) {
    view.lines.show(answer.lines, answer.seconds);
    if ("values" in answer) shown.latents.show(answer, pictures);
    else shown.way.show(answer, pictures);
  }

  function title(state, latents) {
    const { start, end } = wordsOf(state);
    const pictures = state.ends === "pictures";
    if (latents)
      return head.show(
        pictures && state.start_picture ? "a picture" : spoken(start),
        `each row changes one of ${model.latent} latents and nothing else`,
      );
    if (!pictures && wordless)
      return head.show(
        "a draw → another draw",
        "each row goes along a straight line between two draws from the prior",
      );
    return head.show(
      pictures ? "a picture → a picture" : `${spoken(start)} → ${spoken(end)}`,
      pictures
        ? "along a straight line between the two codes"
        : "each row fills in what is open in its own way",
    );
  }

  return {
    update(state) {
      const latents = rowed && state.section === "latents";
      const now = settingsOf(state);
      tabs.show(latents ? "latents" : "way");
      ends.show(state, wordsOf(state), latents);
      rows.element.hidden = latents || state.ends === "pictures";
      seed.show(now.seed, flag(state.lock, true));
      rows.show(now.n);
      steps.show(now.steps);
      title(state, latents);
      swap.hidden = latents || (wordless && state.ends !== "pictures");
      const asking = question(state);
      empty.hidden = asking !== null;
      shown.way.element.hidden = latents || asking === null;
      shown.way.scrubber.hidden = latents;
      shown.latents.element.hidden = !latents;
      view.aside.classList.toggle("aside-idle", asking === null);
      if (latents || asking === null) shown.way.leave();
      if (asking === null) return drawn.forget();
      if (latents) shown.latents.reserve(now.steps);
      else shown.way.reserve(state.ends === "pictures" ? 1 : now.n, now.steps);
      return drawn.ask(...asking);
    },
    unmount() {
      shown.way.stop();
    },
  };
}
