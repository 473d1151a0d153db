/** Hierarchy: a concept, those with one word less above it, those with one word more below it. */

import { linkEditor } from "../components/chips.js";
import { block, frame, heading } from "../components/frame.js";
import { openSwitch } from "../components/openness.js";
import { redrawer } from "../components/redraw.js";
import { canvasFor } from "../components/sprite.js";
import { linkSeed } from "../components/seed.js";
import { status } from "../components/states.js";
import { read, spoken, write } from "../concept.js";
import { h, s } from "../dom.js";
import { flag, seedOf } from "../state.js";

export const name = "hierarchy";
export const styles = new URL("hierarchy.css", import.meta.url).href;

/** What a node is called: the word it drops or adds, or the whole description. */
function caption(node) {
  if (node.relation === "parent") return `− ${node.value}`;
  if (node.relation === "child") return `+ ${node.value}`;
  return spoken(node.description);
}

/** What a click does, for those who do not see the graph. */
function spokenRelation(node) {
  if (node.relation === "parent")
    return `drop ${node.attribute}=${node.value}: ${spoken(node.description)}`;
  if (node.relation === "child") return `add ${node.attribute}=${node.value}: ${node.description}`;
  return `here: ${spoken(node.description)}`;
}

/** The bits that are open if nothing is said and all values are equally likely. */
function allBits(vocabulary) {
  return vocabulary.reduce((total, { values }) => total + Math.log2(values.length), 0);
}

function openBar(share) {
  return h(
    "span",
    { class: "open-bar" },
    h("span", { class: "open-fill", style: { width: `${100 * Math.min(1, share)}%` } }),
  );
}

/** A concept: its pictures, a button that goes there, and how much it leaves open. */
function nodeCard(node, pictures, { shape, vocabulary }, onMove) {
  const mini = Array.from({ length: node.count }, (_, i) => {
    const canvas = canvasFor(shape, `a picture of ${spoken(node.description)}`);
    canvas.setAttribute("aria-hidden", "true"); // the four are told as one
    pictures?.draw(canvas, node.first + i);
    return canvas;
  });
  const here = node.relation === "self";
  const go = h(
    "button",
    {
      type: "button",
      class: "node-go",
      title: spokenRelation(node),
      "aria-current": here ? "true" : undefined,
      on: { click: () => here || onMove(node.description) },
    },
    caption(node),
    h("span", { class: "unseen", text: ` (${spokenRelation(node)})` }),
  );
  const told = `${node.count} pictures of ${spoken(node.description)}; ${node.bits.toFixed(1)} bits are open`;
  return h(
    "div",
    { class: `node node-${node.relation}` },
    h("div", { class: "node-pictures", role: "img", "aria-label": told }, mini),
    go,
    h(
      "div",
      { class: "node-open", title: `Its pictures differ by ${node.diversity.toFixed(2)} of 1.` },
      openBar(node.bits / allBits(vocabulary)),
      h("span", { class: "number", text: pictures ? `${node.bits.toFixed(1)} bits` : "–" }),
    ),
  );
}

/** The nodes that an answer will have, so that they have their places before it comes. */
function expected(said, vocabulary) {
  const node = (words, relation, attribute = null, value = null) => ({
    description: write(words, vocabulary),
    relation,
    attribute,
    value,
    first: 0,
    count: 4,
    diversity: 0,
    bits: 0,
  });
  const parents = Object.keys(said).map((one) =>
    node({ ...said, [one]: null }, "parent", one, said[one]),
  );
  const children = vocabulary
    .filter((attribute) => !(attribute.name in said))
    .flatMap(({ name: one, values }) =>
      values.map((value) => node({ ...said, [one]: value }, "child", one, value)),
    );
  return [...parents, node(said, "self"), ...children];
}

/** Children of one attribute below a bracket. */
function group(attribute, nodes, make) {
  return h(
    "div",
    { class: "node-group", role: "group", "aria-label": `say ${attribute}` },
    h("span", { class: "node-bracket" }, h("span", { class: "label", text: attribute })),
    h("div", { class: "node-row" }, nodes.map(make)),
  );
}

function curve(from, to) {
  const middle = (from.y + to.y) / 2;
  return s("path", {
    class: "edge",
    d: `M${from.x} ${from.y}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`,
  });
}

/** A place where a line of one pixel is sharp. */
function crisp(place) {
  return Math.floor(place) + 0.5;
}

/** A line beside the groups, for those of the second row and below. */
function detour(from, to, gutter) {
  const above = to.y - 9;
  return s("path", {
    class: "edge",
    d: `M${from.x} ${from.y}H${gutter + 8}q-8 0-8 8V${above - 8}q0 8 8 8H${to.x}V${to.y}`,
  });
}

/** Lines from the middle to every parent and to every bracket, measured from the page. */
function drawEdges(lattice, edges) {
  const self = lattice.querySelector(".node-self");
  if (!self) return;
  const origin = lattice.getBoundingClientRect();
  const place = (element, side) => {
    const box = element.getBoundingClientRect();
    const y = side === "middle" ? box.top + 40 : box[side];
    const x = side === "middle" ? box.left : box.left + box.width / 2;
    return { x: crisp(x - origin.left), y: crisp(y - origin.top) };
  };
  const up = [...lattice.querySelectorAll(".node-parent")].map((node) =>
    curve(place(node, "bottom"), place(self, "top")),
  );
  const brackets = [...lattice.querySelectorAll(".node-bracket")];
  const first = Math.min(...brackets.map((bracket) => bracket.offsetParent.offsetTop));
  const lefts = [...brackets, self].map(
    (element) => element.getBoundingClientRect().left - origin.left,
  );
  const gutter = crisp(Math.max(1, Math.min(...lefts) - 16));
  const down = brackets.map((bracket) =>
    bracket.offsetParent.offsetTop > first
      ? detour(place(self, "middle"), place(bracket, "top"), gutter)
      : curve(place(self, "bottom"), place(bracket, "top")),
  );
  edges.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
  edges.replaceChildren(...up, ...down);
}

/** By attribute, in the order of the answer. */
function grouped(nodes) {
  const groups = new Map();
  for (const node of nodes)
    groups.set(node.attribute, [...(groups.get(node.attribute) ?? []), node]);
  return [...groups];
}

export function mount(root, context) {
  const { model } = context;
  const view = frame(name);
  const editor = linkEditor(context);
  const seed = linkSeed(context);
  const open = openSwitch(context);
  const head = heading();
  const edges = s("svg", { class: "edges", "aria-hidden": "true" });
  const lattice = h("div", { class: "lattice" }, edges);
  const goings = status(view.stage);
  const watch = new ResizeObserver(() => drawEdges(lattice, edges));
  const drawn = redrawer(context, { goings, show });

  view.say.append(block("Say", editor.element));
  view.settings.append(block("Draw", seed.element, open.element), legend());
  view.aside.remove();
  view.stage.prepend(head.element, lattice);
  root.append(view.element);
  watch.observe(lattice);

  function question(state) {
    return {
      model: model.name,
      description: state.description,
      seed: seedOf(state),
      n: 4,
      product: flag(state.product),
    };
  }

  function show(answer, pictures) {
    const focused = lattice.contains(document.activeElement);
    build(answer.nodes, pictures);
    if (focused) lattice.querySelector(".node-self button")?.focus();
    editor.show(read(answer.description, model.vocabulary));
    view.lines.show(answer.lines, answer.seconds);
    const of = (relation) => answer.nodes.filter((node) => node.relation === relation);
    tell(answer.description, of("parent").length, of("child").length, of("self")[0]);
  }

  /** Put nodes in their places; without pictures they are empty. */
  function build(nodes, pictures) {
    const make = (node) =>
      nodeCard(node, pictures, model, (description) =>
        context.describe(read(description, model.vocabulary), { push: true }),
      );
    const of = (relation) => nodes.filter((node) => node.relation === relation);
    lattice.replaceChildren(
      edges,
      h("div", { class: "node-row node-parents" }, of("parent").map(make)),
      h("div", { class: "node-row" }, of("self").map(make)),
      h(
        "div",
        { class: "node-groups" },
        grouped(of("child")).map(([attribute, children]) => group(attribute, children, make)),
      ),
    );
    lattice.classList.toggle("lattice-wide", of("child").length > 9);
    drawEdges(lattice, edges);
  }

  function tell(description, parents, children, self) {
    const less = parents ? `${parents} with one word less` : "nothing is more abstract";
    const more = children ? `${children} with one word more` : "nothing is more concrete";
    head.show(spoken(description), `${less}, ${more}`);
    context.announce(
      `${spoken(description)}: ${less}, ${more}; ${self.bits.toFixed(1)} bits are open`,
    );
  }

  return {
    update(state) {
      editor.show(read(state.description, model.vocabulary));
      seed.show(seedOf(state), flag(state.lock, true));
      open.show(state);
      if (!drawn.ask("hierarchy", question(state)) || lattice.querySelector(".node")) return;
      head.show(spoken(state.description));
      build(expected(read(state.description, model.vocabulary), model.vocabulary), null);
    },
    unmount() {
      watch.disconnect();
    },
  };
}

function legend() {
  return block(
    "Left open",
    h(
      "p",
      { class: "note" },
      "The bar below each concept says how many bits it leaves open, by the model's own words for what it imagines. Drop a word and it grows.",
    ),
  );
}
