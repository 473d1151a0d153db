/** What is known about a model's latents: which are active, and what their code costs and loses. */

import { h } from "../dom.js";
import { block } from "./frame.js";
import { marked } from "./states.js";
import { tradeoff } from "./tradeoff.js";
import { activeUnits } from "./units.js";

const DIAGONALS =
  "Each diagonal is one −elbo, in nats a picture; lower left is better. Filled: this run; rings: open runs of the same data.";

/** Over which pictures activities were measured, or why they were not. */
function origin({ likelihood, over, examples }) {
  if (!likelihood && !over) return examples;
  const many = likelihood
    ? `${likelihood.pictures} ${likelihood.part} pictures`
    : `${over} training pictures`;
  return `Variance of E[z|x] over ${many}; above 0.01 a unit counts as active.`;
}

/** Two blocks of figures; `show(known)` when it is known. */
export function knownFigures(model) {
  const units = h("div", {});
  const balance = h("div", {});
  const balanced = block("Rate and distortion", balance);
  return {
    elements: [block("Active units", units), balanced],
    show(known) {
      const { activity, likelihood, missing, over, placed } = known;
      const layers = likelihood?.activities ?? (over ? [activity] : []);
      units.replaceChildren(
        ...activeUnits(layers),
        h("p", { class: "note" }, marked(origin(known))),
      );
      balanced.hidden = !likelihood && !missing;
      balance.replaceChildren(
        ...(likelihood ? [tradeoff(placed, model.name)] : []),
        h(
          "p",
          { class: likelihood ? "note" : "note missing" },
          marked(likelihood ? DIAGONALS : missing),
        ),
      );
    },
  };
}
