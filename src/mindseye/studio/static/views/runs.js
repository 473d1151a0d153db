/** Runs: what was trained, what is being trained, and two models side by side. */

import { conceptEditor } from "../components/chips.js";
import { sections } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { linkSeed } from "../components/seed.js";
import { status } from "../components/states.js";
import { trainingSection } from "../components/training.js";
import { versusSection } from "../components/versus.js";
import { read, spoken } from "../concept.js";
import { flag, seedOf, unless } from "../state.js";

export const name = "runs";
export const styles = new URL("runs.css", import.meta.url).href;

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const editor = conceptEditor({
    vocabulary: model.vocabulary,
    said: read(context.state.description, model.vocabulary),
    onChange: (said) => context.describe(said),
  });
  const seed = linkSeed(context);
  const head = heading();
  const goings = status(view.stage);
  const parts = { goings, lines: view.lines, editor };
  const training = trainingSection(context, parts);
  const versus = versusSection(context, parts);
  const tabs = sections({
    label: "What to see",
    options: [
      ["training", "Training", training.element],
      ["compare", "Compare two models", versus.element],
    ],
    chosen: "training",
    onChange: (part) => context.say({ part: unless("training", part) }),
  });

  view.say.append(block("Say", editor.element));
  view.settings.append(block("Draw", seed.element));
  view.aside.remove();
  view.stage.prepend(head.element, tabs.element, training.element, versus.element);
  root.append(view.element);

  let part = "";

  return {
    update(state) {
      const comparing = state.part === "compare";
      if (part !== state.part) goings.done(); // what went wrong in the other part
      part = state.part;
      tabs.show(comparing ? "compare" : "training");
      view.element.classList.toggle("view-whole", !comparing);
      view.say.hidden = !comparing;
      view.settings.hidden = !comparing;
      training.element.hidden = comparing;
      versus.element.hidden = !comparing;
      editor.show(read(state.description, model.vocabulary));
      seed.show(seedOf(state), flag(state.lock, true));
      if (comparing) {
        head.show(spoken(state.description), "the same words and the same seed, two models");
        versus.update(state);
      } else {
        head.show("Runs", "what was trained, and what is being trained");
        training.update();
      }
    },
    unmount() {
      training.stop();
    },
  };
}
