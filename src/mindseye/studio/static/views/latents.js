/** Latents: a point of the latent space that is moved by hand, and the pictures around it. */

import { button, picker, sections, segmented } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { knownFigures } from "../components/known.js";
import { live } from "../components/live.js";
import { manifold } from "../components/manifold.js";
import { pointPanel } from "../components/point.js";
import { redrawer } from "../components/redraw.js";
import { traversalRows } from "../components/rows.js";
import { latentSliders } from "../components/sliders.js";
import { fileNameOf, save } from "../components/sprite.js";
import { status } from "../components/states.js";
import { h, later } from "../dom.js";
import { freshSeed, seedOf, unless, whole } from "../state.js";

export const name = "latents";
export const styles = new URL("latents.css", import.meta.url).href;
export const ofOneModel = ["z", "picture", "point", "across", "up", "look", "count"];

const POINTS = ["zero", "draw", "picture"];
const REST = 250;

/** Dimensions that were moved, as they stand in a link: 0:1.25,7:-0.5. */
function write(moved) {
  return [...moved].map(([dimension, value]) => `${dimension}:${value}`).join(",");
}

function read(text, latent) {
  const pairs = (text ?? "").split(",").map((piece) => piece.split(":").map(Number));
  return new Map(pairs.filter(([d, value]) => d >= 0 && d < latent && Number.isFinite(value)));
}

/** Where one begins if the link does not say: between words there may be nothing to see. */
function usually({ vocabulary }) {
  return vocabulary.length ? "draw" : "zero";
}

/** How many rows can be chosen: a few, and all if they are not too many. */
function countsOf(latent) {
  const some = [5, 10, 20, 50].filter((count) => count < latent);
  return latent <= 64 ? [...some, latent] : some;
}

export function mount(root, context) {
  const { model } = context;
  const flat = model.latent === 2;
  const counts = countsOf(model.latent);
  const usual = counts.findLast((count) => count <= 12) ?? counts[0];
  const view = frame(name);
  const panel = pointPanel(context, { take, readExample, begin });
  const sliders = latentSliders({ onMove: move });
  const rows = traversalRows(context, { onPick: move });
  const carpet = manifold(context, {
    onPlace: (x, y) =>
      moveAll([
        [plane().across, x],
        [plane().up, y],
      ]),
  });
  const goings = status(view.stage);
  const point = live(context, { endpoint: "latents", goings: panel.goings, show: showPoint });
  const drawn = redrawer(context, { goings, show: showAround });
  const writeSoon = later(REST, () => context.say({ z: write(moved) || null }));
  const known = { answer: null, told: "" };
  let moved = new Map();
  let z = [];

  const count = segmented({
    label: "rows",
    options: counts.map((n) => [String(n), n === model.latent ? "all" : String(n)]),
    chosen: usual,
    onChange: (n) => context.say({ count: unless(usual, n) }),
  });
  const steps = segmented({
    label: "steps",
    options: [5, 7, 9, 11, 15].map((n) => [String(n), String(n)]),
    chosen: 9,
    onChange: (n) => context.say({ steps: unless(9, n) }),
  });
  const names = Array.from({ length: model.latent }, (_, i) => [String(i), `z${i + 1}`]);
  const choose = (which) => (value) => context.say({ [which]: value });
  const across = picker({ label: "across", options: names, onChange: choose("across") });
  const up = picker({ label: "up", options: names, onChange: choose("up") });
  const rowTools = h("div", { class: "around-tools" }, count.element, steps.element);
  const planeTools = h("div", { class: "around-tools" }, across.element, up.element);
  count.element.hidden = counts.length < 2;
  planeTools.hidden = flat;
  const rowPart = h("div", { class: "around" }, rowTools, rows.element);
  const planePart = h("div", { class: "around" }, planeTools, carpet.element);
  const options = [
    ["rows", "One latent at a time", rowPart],
    ...(model.latent > 1 ? [["plane", flat ? "The plane" : "A plane", planePart]] : []),
  ];
  const tabs = sections({
    label: "What to see",
    options: flat ? options.reverse() : options,
    chosen: flat ? "plane" : "rows",
    onChange: (look) => context.say({ look: unless(flat ? "plane" : "rows", look) }),
  });
  const files = [
    fileTool("Film", "Save a GIF in which every latent goes there and back", "film", "gif"),
    fileTool("Sheet", "Save the rows as one picture", "sheet", "png"),
  ];
  const head = heading(...files);
  const figures = knownFigures(model);

  tabs.element.hidden = options.length < 2;
  view.say.append(panel.element);
  const sliderBlock = block("Latents, the most active first", sliders.element);
  const learning = status(sliderBlock);
  view.settings.append(sliderBlock);
  view.stage.prepend(head.element, tabs.element, rowPart, planePart);
  view.aside.append(...figures.elements);
  root.append(view.element);
  learn();

  function fileTool(text, title, endpoint, kind) {
    return button({
      sign: "down",
      text,
      title,
      quiet: true,
      onClick: async () => {
        goings.busy();
        try {
          const question = { ...whereabouts(context.state), ...rowsAsked(context.state) };
          if (kind === "gif") delete question.steps; // a film is as smooth as it can be
          const file = await context.ask(`latents/${endpoint}`, question);
          goings.done();
          if (file) save(file, fileNameOf(kind, model.name, titleOf(context.state)));
        } catch (error) {
          goings.trouble(error, () => goings.done());
        }
      },
    });
  }

  /** Where a state begins; a picture that is not there is none. */
  function pointOf({ point: at, picture }) {
    const meant = POINTS.includes(at) && (at !== "picture" || picture);
    return meant ? at : usually(model);
  }

  /** The point of a state, as the server is asked for it. */
  function whereabouts(state, changes = moved) {
    const at = pointOf(state);
    return {
      model: model.name,
      point: at,
      seed: at === "draw" ? seedOf(state) : null,
      picture: at === "picture" ? state.picture : null,
      z: write(changes) || null,
    };
  }

  function rowsAsked(state) {
    return {
      count: whole(state.count, usual, 1, Math.min(64, model.latent)),
      steps: whole(state.steps, 9, 3, 15),
    };
  }

  function lookOf({ look }) {
    const usually = flat ? "plane" : "rows";
    return options.some(([value]) => value === look) ? look : usually;
  }

  /** The two latents of the plane: the link's, else the most active ones. */
  function plane() {
    const { state } = context;
    const [first, second] = flat ? [0, 1] : (known.answer?.order ?? [0, 1]);
    const most = model.latent - 1;
    const x = whole(state.across, first, 0, most);
    const y = whole(state.up, second, 0, most);
    return { across: x, up: y === x ? (x === second ? first : second) : y };
  }

  /** Ask for what lies around the point. */
  function around(state) {
    if (lookOf(state) === "rows")
      return drawn.ask("latents/traversals", { ...whereabouts(state), ...rowsAsked(state) });
    if (!flat && !known.answer) return false; // which latents are most active is on its way
    const { across: x, up: y } = plane();
    across.show(x);
    up.show(y);
    const others = new Map([...moved].filter(([dimension]) => dimension !== x && dimension !== y));
    const at = flat ? { model: model.name } : whereabouts(state, others);
    const side = flat ? 21 : 13;
    return drawn.ask("latents/plane", { ...at, across: x, up: y, side });
  }

  function move(dimension, value) {
    moveAll([[dimension, value]]);
  }

  /** Move the point, draw its picture at once, and write the link when the hand rests. */
  function moveAll(pairs) {
    for (const [dimension, value] of pairs) moved.set(dimension, Number(value.toFixed(3)));
    showPlace();
    point.ask(whereabouts(context.state));
    writeSoon();
  }

  /** Begin somewhere else. */
  function begin(changes) {
    writeSoon.cancel();
    context.say({ z: null, ...changes, point: unless(usually(model), changes.point) });
  }

  async function take(file) {
    await reading(() => context.ask("pictures", { model: model.name, body: file }));
  }

  async function readExample() {
    const question = { model: model.name, seed: freshSeed() };
    await reading(() => context.ask("latents/example", question));
  }

  async function reading(ask) {
    panel.goings.busy();
    try {
      const got = await ask();
      panel.goings.done();
      if (got) begin({ point: "picture", picture: got.picture });
    } catch (error) {
      panel.goings.trouble(error, () => panel.goings.done());
    }
  }

  function showPoint(answer, pictures, newest) {
    panel.show(pictures, titleOf(context.state));
    if (!newest) return;
    z = answer.z;
    showPlace();
  }

  /** Sliders, rows and plane show where the point is. */
  function showPlace() {
    const here = z.map((value, dimension) => moved.get(dimension) ?? value);
    sliders.show(z, moved);
    rows.mark(here);
    carpet.mark(here[plane().across], here[plane().up]);
  }

  function showAround(answer, pictures) {
    view.lines.show(answer.lines, answer.seconds);
    if ("dimensions" in answer) rows.show(answer, pictures, known.answer && known);
    else carpet.show(answer, pictures);
    title(context.state);
    showPlace();
    context.announce(`${titleOf(context.state)}: ${answer.pictures.count} pictures`);
  }

  /** Ask once which latents are active, and what was measured. */
  async function learn() {
    learning.busy();
    try {
      const got = await context.ask("latents/known", { model: model.name });
      if (!got) return;
      learning.done();
      Object.assign(known, got, {
        answer: got,
        told: got.over ? "variance of E[z|x]:" : "change of the picture:",
      });
      sliders.know(got.order, got.activity, known.told);
      panel.know(got);
      rows.know(known);
      figures.show(got);
      showPlace();
      around(context.state);
    } catch (error) {
      learning.trouble(error, learn);
    }
  }

  function titleOf(state) {
    const at = pointOf(state);
    const began = { zero: "zero", draw: `a draw, seed ${seedOf(state)}`, picture: "a picture" }[at];
    return `around ${began}${moved.size ? ", moved" : ""}`;
  }

  function title(state) {
    const { count: n } = rowsAsked(state);
    const some =
      n < model.latent ? `the ${n} most active of ${model.latent} latents` : "each latent";
    const below = {
      rows: `${some} from −3 to 3, one at a time`,
      plane: flat
        ? "all that the model can draw, between −3 and 3"
        : "two latents between −3 and 3, the others stay",
    };
    const look = lookOf(state);
    head.show(flat && look === "plane" ? "the plane of both latents" : titleOf(state), below[look]);
  }

  return {
    update(state) {
      if ((state.z ?? "") !== write(moved)) moved = read(state.z, model.latent);
      const look = lookOf(state);
      const asked = rowsAsked(state);
      tabs.show(look);
      count.show(asked.count);
      steps.show(asked.steps);
      rowPart.hidden = look !== "rows";
      planePart.hidden = look !== "plane";
      files.forEach((tool) => (tool.hidden = look !== "rows"));
      panel.update(state, pointOf(state));
      title(state);
      rows.reserve(asked.count, asked.steps);
      showPlace();
      point.ask(whereabouts(state));
      around(state);
    },
    unmount() {
      writeSoon.cancel();
      panel.stop();
    },
  };
}
