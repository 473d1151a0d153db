/** Experts: each word is a Gaussian, and the belief in a description is their product. */

import { linkEditor } from "../components/chips.js";
import { check, picker, segmented } from "../components/controls.js";
import { block, frame, heading } from "../components/frame.js";
import { hue, plane } from "../components/plane.js";
import { redrawer } from "../components/redraw.js";
import { marked, status } from "../components/states.js";
import { read, spoken } from "../concept.js";
import { h } from "../dom.js";
import { flag, unless } from "../state.js";

export const name = "experts";
export const styles = new URL("experts.css", import.meta.url).href;
export const ofOneModel = ["axes", "colour"];

/** Which plane: what the words tell apart, where pictures vary most, or two latents. */
function axesControl(context) {
  const { latent } = context.model;
  const numbers = Array.from({ length: latent }, (_, i) => [String(i), `z${i + 1}`]);
  const kindOf = (axes) => (axes === "words" || axes === "pca" ? axes : "own");
  const kind = segmented({
    label: "plane",
    options: [
      ["words", "by words", "The two latents that say most about the words"],
      ["pca", "PCA", "Where training pictures vary most"],
      ["own", "latents", "Two latents of your choice"],
    ],
    chosen: "words",
    onChange: (value) => context.say({ axes: unless("words", value === "own" ? "0,1" : value) }),
  });
  const choose = () => context.say({ axes: `${across.select.value},${up.select.value}` });
  const across = picker({ label: "across", options: numbers, chosen: "0", onChange: choose });
  const up = picker({ label: "up", options: numbers, chosen: "1", onChange: choose });
  const pair = h("div", { class: "field pair" }, across.element, up.element);
  return {
    element: h("div", {}, kind.element, pair),
    show(axes) {
      kind.show(kindOf(axes));
      pair.hidden = kindOf(axes) !== "own";
      const [first, second] = kindOf(axes) === "own" ? axes.split(",") : ["0", "1"];
      across.show(first);
      up.show(second);
    },
    /** Say how far training pictures spread in each latent. */
    spread(dimensions) {
      for (const { select } of [across, up]) {
        dimensions.forEach(
          (spread, i) => (select.options[i].textContent = `z${i + 1}, spread ${spread.toFixed(2)}`),
        );
      }
    },
  };
}

function legendItem(swatch, text, more) {
  return h(
    "li",
    {},
    h("span", { class: "legend-item" }, h("span", { class: `swatch ${swatch}` }), text, more),
  );
}

export function mount(root, context) {
  const { model } = context;
  const names = model.vocabulary.map((attribute) => attribute.name);
  const colourOf = (word) => hue(names.indexOf(word.attribute));
  const view = frame(name);
  const editor = linkEditor(context);
  const axes = axesControl(context);
  const drawn = plane(colourOf);
  const head = heading();
  const legend = h("ul", { class: "legend" });
  const colour = picker({
    label: "points coloured by",
    options: names.map((one) => [one, one]),
    chosen: names[0],
    onChange: (value) => context.say({ colour: unless(names[0], value) }),
  });
  const values = h("div", { class: "legend-values" });
  const withPoints = check({
    label: "training pictures",
    checked: true,
    onChange: (on) => context.say({ dots: unless(true, on) }),
  });
  const withHoles = check({
    label: "holes",
    checked: true,
    onChange: (on) => context.say({ holes: unless(true, on) }),
  });
  const missing = h("p", { class: "note missing", hidden: true });
  const shown = h(
    "div",
    {},
    h("div", { class: "checks" }, withPoints.element, withHoles.element),
    colour.element,
    values,
  );
  const goings = status(view.stage);
  const asker = redrawer(context, { goings, show: take, open: (got) => [got] });
  let answer = null;

  view.say.append(block("Say", editor.element));
  view.settings.append(block("Draw", axes.element));
  view.stage.prepend(head.element, drawn.element);
  view.aside.append(
    block(
      "Experts",
      legend,
      h("p", {
        class: "note",
        text: "Point at a word to see its pull: from what the others believe without it (dashed) to the product. Rings stand at one and two standard deviations.",
      }),
    ),
    block("Training pictures", shown, missing),
  );
  root.append(view.element);

  function question(state) {
    return { model: model.name, description: state.description, axes: state.axes ?? "words" };
  }

  function take(got) {
    answer = got;
    show(context.state);
    view.lines.show(got.lines, got.seconds);
    context.announce(
      `${got.words.length} experts of ${spoken(got.description)} in the plane of ${got.axes.names.join(" and ")}`,
    );
  }

  function show(state) {
    if (!answer) return;
    const attribute = Math.max(0, names.indexOf(state.colour));
    drawn.show(answer, {
      attribute,
      withPoints: flag(state.dots, true),
      withHoles: flag(state.holes, true),
    });
    head.show(
      spoken(answer.description),
      `${answer.axes.names[0]} across, ${answer.axes.names[1]} up`,
    );
    showLegend();
    axes.spread(answer.axes.dimensions);
    shown.hidden = answer.points.length === 0;
    missing.hidden = answer.missing === "";
    missing.replaceChildren(...marked(answer.missing));
    values.replaceChildren(
      ...model.vocabulary[attribute].values.map((value, i) =>
        h("span", {}, h("span", { class: "swatch swatch-dot", style: { "--hue": hue(i) } }), value),
      ),
    );
  }

  function showLegend() {
    const focused = [...legend.querySelectorAll("button")].indexOf(document.activeElement);
    const words = answer.words.map((word, i) => {
      const on = () => drawn.emphasise(i);
      const off = () => drawn.emphasise(null);
      const item = h("button", {
        type: "button",
        class: "legend-item",
        style: { "--hue": colourOf(word) },
        on: { pointerenter: on, focus: on, click: on, pointerleave: off, blur: off },
      });
      item.append(
        h("span", { class: "swatch" }),
        h("span", { text: `${word.attribute}=${word.value}` }),
      );
      return h("li", {}, item);
    });
    const product = legendItem("swatch-product", "product: the belief");
    const prior = legendItem("swatch-prior", "prior: nothing said");
    legend.replaceChildren(...words, product, prior);
    legend.querySelectorAll("button")[focused]?.focus();
  }

  return {
    update(state) {
      editor.show(read(state.description, model.vocabulary));
      axes.show(state.axes ?? "words");
      colour.show(names.includes(state.colour) ? state.colour : names[0]);
      withPoints.show(flag(state.dots, true));
      withHoles.show(flag(state.holes, true));
      if (!asker.ask("experts", question(state))) show(state);
      else if (!answer) head.show(spoken(state.description));
    },
    unmount() {},
  };
}
