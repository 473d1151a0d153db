/** A slider for each latent: the most active first, the rest folded away. */

import { compact, h, unique } from "../dom.js";

const SHOWN = 12;
const REACH = 3;
const FAR = 10;

/** A value as it is read: two digits, a real minus sign. */
export function reading(value) {
  return value.toFixed(2).replace("-", "−").replace("−0.00", "0.00");
}

/** One slider; `place(value, moved)` shows where it is. */
function row(dimension, activity, most, told, onMove) {
  const id = unique("latent");
  const output = h("output", { class: "number latent-value", for: id });
  const input = h("input", { type: "range", id, class: "range latent-range", step: 0.05 });
  const element = h(
    "div",
    { class: "latent-row" },
    h("label", { class: "label", for: id, text: `z${dimension + 1}` }),
    h("span", {
      class: "activity",
      title: `${told} ${compact(activity)}`,
      style: { "--share": most > 0 ? activity / most : 0 },
    }),
    input,
    output,
  );

  function fill(value, limit) {
    const share = (Math.max(-limit, Math.min(limit, value)) + limit) / (2 * limit);
    const width = Math.abs(share - 0.5);
    input.style.setProperty("--width", width);
    input.style.setProperty("--place", Math.min(share, 0.5) / (1 - width));
    output.textContent = reading(value);
    input.setAttribute("aria-valuetext", output.textContent);
  }

  function place(value, moved) {
    const limit = Math.max(REACH, Math.min(FAR, Math.ceil(Math.abs(value))));
    if (document.activeElement !== input) {
      input.min = -limit;
      input.max = limit;
    }
    if (document.activeElement !== input || !moved) input.value = value;
    element.classList.toggle("latent-moved", moved);
    fill(value, Number(input.max));
  }

  input.addEventListener("input", () => {
    const value = Number(input.value);
    element.classList.add("latent-moved");
    fill(value, Number(input.max));
    onMove(dimension, value);
  });
  return { element, place };
}

/**
 * The sliders. `know(order, activity, told)` when it is known which are active; `show(z, moved)` for
 * a latent and the dimensions of it that were moved.
 * @param {{onMove: (dimension: number, value: number) => void}} acts
 */
export function latentSliders({ onMove }) {
  const first = h("div", { class: "latent-rows" });
  const rest = h("div", { class: "latent-rows" });
  const count = h("summary", { class: "more-title" });
  const more = h("details", { class: "more", hidden: true }, count, rest);
  const rows = new Map();
  let known = null;
  let now = { z: [], moved: new Map() };

  function build(dimensions, place) {
    const most = Math.max(...known.activity, 0);
    for (const dimension of dimensions) {
      const made = row(dimension, known.activity[dimension], most, known.told, onMove);
      rows.set(dimension, made);
      place.append(made.element);
    }
  }

  /** The sliders behind the fold are made when somebody looks. */
  function unfold() {
    if (!known || rest.children.length) return;
    build(known.order.slice(SHOWN), rest);
    place();
  }

  function place() {
    for (const [dimension, { place: put }] of rows) {
      const value = now.moved.get(dimension) ?? now.z[dimension];
      if (value !== undefined) put(value, now.moved.has(dimension));
    }
  }

  more.addEventListener("toggle", () => more.open && unfold());
  return {
    element: h("div", { class: "latent-sliders" }, first, more),
    know(order, activity, told) {
      known = { order, activity, told };
      rows.clear();
      first.replaceChildren();
      rest.replaceChildren();
      build(order.slice(0, SHOWN), first);
      more.hidden = order.length <= SHOWN;
      count.textContent = `${order.length - SHOWN} more, less active`;
      this.show(now.z, now.moved);
    },
    show(z, moved) {
      now = { z, moved };
      const folded = known?.order.slice(SHOWN) ?? [];
      if (folded.some((dimension) => moved.has(dimension))) {
        more.open = true;
        unfold();
      }
      place();
    },
  };
}
