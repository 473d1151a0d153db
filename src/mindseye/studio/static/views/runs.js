/** Runs: what was trained, what is being trained, two models side by side, and tables of results. */

import { linkEditor } from "../components/chips.js";
import { sections } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { linkSeed } from "../components/seed.js";
import { status } from "../components/states.js";
import { trainingSection } from "../components/training.js";
import { resultsSection } from "../components/results.js";
import { versusSection } from "../components/versus.js";
import { read, spoken } from "../concept.js";
import { flag, seedOf, unless } from "../state.js";

export const name = "runs";
export const styles = new URL("runs.css", import.meta.url).href;
export const ofOneModel = ["left", "right"];

const TITLES = { training: "Runs", tables: "Tables" };
const ABOUT = {
  training: "what was trained, and what is being trained",
  compare: "the same words and the same seed, two models",
  tables: "what was published, and what was found here",
};

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const editor = linkEditor(context);
  const seed = linkSeed(context);
  const head = heading();
  const goings = status(view.stage);
  const parts = { goings, lines: view.lines, editor };
  const training = trainingSection(context, parts);
  const versus = model.shape ? versusSection(context, parts) : null; // a graph is no picture
  const results = resultsSection(context, parts);
  const panels = { training, ...(versus && { compare: versus }), tables: results };
  const titles = { training: "Training", compare: "Compare two models", tables: "Tables" };
  const tabs = sections({
    label: "What to see",
    options: Object.entries(panels).map(([one, { element }]) => [one, titles[one], element]),
    chosen: "training",
    onChange: (part) => context.say({ part: unless("training", part) }),
  });

  view.say.append(block("Say", editor.element));
  view.settings.append(block("Draw", seed.element));
  view.aside.remove();
  const shown = Object.values(panels).map(({ element }) => element);
  view.stage.prepend(head.element, tabs.element, ...shown);
  root.append(view.element);

  let part = "";

  /** What two models are compared by; without words only the seed is the same. */
  function comparedBy({ description }) {
    if (model.kit) return ["wholes and their parts", model.about];
    if (!model.vocabulary.length) return ["draws from the prior", "the same seed, two models"];
    return [spoken(description), ABOUT.compare];
  }

  return {
    update(state) {
      const next = state.part in panels ? state.part : "training";
      if (part !== next) goings.done(); // what went wrong in the other part
      part = next;
      const comparing = part === "compare";
      tabs.show(part);
      view.element.classList.toggle("view-whole", !comparing);
      view.say.hidden = !comparing;
      view.settings.hidden = !comparing;
      for (const [one, panel] of Object.entries(panels)) panel.element.hidden = one !== part;
      editor.show(read(state.description, model.vocabulary));
      seed.show(seedOf(state), flag(state.lock, true));
      head.show(...(comparing ? comparedBy(state) : [TITLES[part], ABOUT[part]]));
      panels[part].update(state);
    },
    unmount() {
      training.stop();
    },
  };
}
