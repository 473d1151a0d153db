/** What happens to attributes nobody spoke of: filled in at random, or left to the product. */

import { flag, unless } from "../state.js";
import { segmented } from "./controls.js";

/** The switch of a view; `show(state)` when the link changes. */
export function openSwitch(context) {
  const value = (state) => (flag(state.product) ? "1" : "0");
  const made = segmented({
    label: "what is open",
    options: [
      ["0", "filled in", "What is open is filled in at random, picture by picture"],
      ["1", "product", "Drawn from the product of the said words' experts alone, as in the paper"],
    ],
    chosen: value(context.state),
    onChange: (next) => context.say({ product: unless(false, next === "1") }),
  });
  return { element: made.element, show: (state) => made.show(value(state)) };
}
