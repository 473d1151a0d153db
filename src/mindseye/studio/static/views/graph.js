/** Graph: the nodes of a graph in a plane, and whom a model expects to be linked to whom. */

import { classLegend } from "../components/classes.js";
import { check, segmented } from "../components/controls.js";
import { nodeFinder } from "../components/finder.js";
import { block, frame, heading } from "../components/frame.js";
import { chance, nodeCard } from "../components/likely.js";
import { linkScores } from "../components/linkscores.js";
import { nodeField } from "../components/nodes.js";
import { redrawer } from "../components/redraw.js";
import { emptyState, status } from "../components/states.js";
import { h, later } from "../dom.js";
import { flag, unless, whole } from "../state.js";

export const name = "graph";
export const styles = new URL("graph.css", import.meta.url).href;
export const ofOneModel = ["node", "off", "window"];

const COUNTS = [5, 10, 20, 50];
const HOVER = 70;
const REMEMBERED = 400;
const WAYS = { near: "near ones stay near", straight: "principal components" };

const count = (number) => number.toLocaleString("en");

/** Somebody looks at a model of pictures: which models of graphs there are, or how to get one. */
function elsewhere(root, context) {
  const graphs = context.models.filter(({ nodes }) => nodes > 0);
  const choice = graphs.map((one) =>
    h("button", {
      type: "button",
      class: "button",
      text: `${one.name}, ${count(one.nodes)} nodes`,
      title: one.about,
      on: { click: () => context.say({ model: one.name }, { push: true }) },
    }),
  );
  const [title, text] = graphs.length
    ? [`${context.model.name} knows no graph`, "Choose a model that does:"]
    : [
        "No run of a graph yet",
        "`mindseye train graph/vgae` learns the 34 members of a karate club in seconds and needs no files; with `--data FOLDER` it learns a graph of your own. `mindseye train cora/masked` takes a minute, for 2,708 papers and who cites whom. Then start the studio again.",
      ];
  root.append(emptyState(title, text, h("div", { class: "graph-choice" }, choice)));
  return { update() {}, unmount() {} };
}

/** What is drawn, and how. */
function drawing(context) {
  const layout = segmented({
    label: "layout",
    options: [
      ["near", "near stay near", "t-SNE: who is near whom; distances between groups say little"],
      ["straight", "straight", "The two directions in which the latents vary most"],
    ],
    chosen: "near",
    onChange: (value) => context.say({ layout: value, window: null }),
  });
  const shown = segmented({
    label: "likeliest links",
    options: COUNTS.map((n) => [String(n), String(n)]),
    chosen: "10",
    onChange: (n) => context.say({ likely: unless(10, n) }),
  });
  const known = check({
    label: "also links it was trained on",
    checked: false,
    onChange: (on) => context.say({ known: unless(false, on) }),
  });
  const edges = check({
    label: "draw training links",
    checked: true,
    onChange: (on) => context.say({ edges: unless(true, on) }),
  });
  const large = h("p", {
    class: "note missing",
    hidden: true,
    text: "By nearness, 6,000 nodes and fewer are laid out.",
  });
  return {
    element: block(
      "Draw",
      layout.element,
      shown.element,
      h("div", { class: "field graph-checks" }, known.element, edges.element, large),
    ),
    show(now, near) {
      layout.element.disabled = !near;
      large.hidden = near;
      layout.show(now.layout);
      shown.show(now.n);
      known.show(now.known);
      edges.show(now.edges);
    },
  };
}

export function mount(root, context) {
  return context.model.nodes ? graphView(root, context) : elsewhere(root, context);
}

function graphView(root, context) {
  const { model } = context;
  const view = frame(name);
  const head = heading();
  const goings = status(view.stage);
  const finder = nodeFinder((text) => context.say({ node: text }, { push: true }));
  const legend = classLegend({
    onTurn: (off) => context.say({ off: [...off].sort((a, b) => a - b).join(",") || null }),
    onStand: (klass) => field.dress({ faint: klass }),
  });
  const classes = block("Classes", legend.element);
  const settings = drawing(context);
  const field = nodeField({
    onHover: hovered,
    onPin: pin,
    onWindow: (text) => context.say({ window: text || null }),
  });
  const card = nodeCard({
    onGo: (one) => pin(one.number, { name: one.name }),
    onMark: (number) => field.emphasise(number),
    onStep: (step) => pin(field.beside(step)),
    onFree: () => pin(null),
  });
  const scores = h("div", {});
  const bar = h("progress", { class: "graph-progress", "aria-label": "Laying out", hidden: true });
  const asker = redrawer(context, { goings, show: take, open: (got) => [got], line: "graph" });
  const answers = new Map(); // links by question
  const soon = later(HOVER, follow);
  let refused = { key: "", error: null }; // the last question that could not be meant
  let graph = null;
  let names = new Map(); // numbers of the nodes that are drawn, by name
  let planes = { near: null, straight: null }; // answers
  let laying = null; // how far it is
  let over = null; // the number of the node that is pointed at
  let pinned = { text: "", answer: null }; // as the link has it
  let first = true; // the window of a link is not moved

  view.say.append(block("Find", finder.element), classes);
  view.settings.append(settings.element);
  field.element.append(bar);
  view.stage.prepend(head.element, field.element);
  view.aside.append(block("Node", card.element), block("How well it finds links", scores));
  root.append(view.element);
  head.show(`${count(model.nodes)} nodes`);

  function settingsOf(state) {
    const near = graph ? graph.near : true;
    return {
      layout: near && state.layout !== "straight" ? "near" : "straight",
      n: whole(state.likely, 10, 1, 100),
      known: flag(state.known),
      edges: flag(state.edges, true),
      node: state.node ?? "",
      off: new Set((state.off ?? "").split(",").filter(Boolean).map(Number)),
    };
  }

  // The graph and its planes

  function take(got) {
    graph = got;
    planes.straight = { places: got.nodes.places, lines: got.lines, seconds: got.seconds };
    names = new Map(got.nodes.names.map((each, i) => [each, got.nodes.numbers[i]]));
    finder.knows(got.nodes.names);
    classes.hidden = !got.classes.length;
    legend.build(got.classes, got.nodes.classes);
    scores.replaceChildren(...linkScores(got));
    field.label(
      `${count(got.nodes.numbers.length)} nodes of ${model.name} in a plane, ${count(got.drawn.length)} links between them`,
    );
    show(context.state);
    context.announce(`${count(got.count)} nodes and ${count(got.links)} links`);
  }

  /** Ask for the plane by nearness until it is laid out. */
  async function layOut() {
    if (laying || planes.near) return;
    laying = { done: 0, steps: 0 };
    try {
      while (!planes.near) {
        const got = await context.ask("graph/plane", { model: model.name, layout: "near" });
        if (!got) return; // the view is gone
        laying = got;
        if (got.places) planes.near = got;
        else showTitle(settingsOf(context.state));
      }
    } catch (error) {
      goings.trouble(error, () => {
        goings.done();
        layOut();
      });
    } finally {
      laying = null;
    }
    show(context.state);
  }

  function showTitle(now) {
    const drawn = graph.nodes.numbers.length;
    const waits = now.layout === "near" && !planes.near;
    const sample = drawn < graph.count ? `a sample of ${count(drawn)} nodes is drawn; ` : "";
    const steps = laying?.steps ? `, ${laying.done} of ${laying.steps} steps` : "";
    head.show(
      `${count(graph.count)} nodes, ${count(graph.links)} links`,
      waits
        ? `laying out${steps}; principal components meanwhile`
        : `${sample}${WAYS[now.layout]}`,
    );
    bar.hidden = !waits;
    if (laying?.steps) [bar.max, bar.value] = [laying.steps, laying.done];
    else bar.removeAttribute("value");
  }

  // Nodes

  /** What is known of a node at once: that it is drawn, or that its answer has come. */
  function nodeOf(number) {
    const i = graph.nodes.numbers.indexOf(number);
    if (i < 0) return null;
    const { nodes } = graph;
    return { number, name: nodes.names[i], class: nodes.classes[i], links: nodes.links[i] };
  }

  function questionOf(node) {
    const { n, known } = settingsOf(context.state);
    return { model: model.name, node, n, known };
  }

  async function linksOf(node, line) {
    const question = questionOf(node);
    const key = JSON.stringify(question);
    if (refused.key === key) throw refused.error;
    if (!answers.has(key)) {
      const got = await context.ask("graph/links", question, line).catch((error) => {
        if (!error.meant) refused = { key, error };
        throw error;
      });
      if (!got) return undefined;
      if (answers.size > REMEMBERED) answers.clear();
      answers.set(key, got);
    }
    return answers.get(key);
  }

  const remembered = (node) => answers.get(JSON.stringify(questionOf(node)));

  function pin(number, { name: called } = {}) {
    soon.cancel();
    over = null;
    const next = number === null ? null : (called ?? nodeOf(number)?.name);
    const same = next === context.state.node;
    context.say({ node: same ? null : next }, { push: next !== null && !same });
  }

  function hovered(number) {
    if (over === number || !graph) return;
    over = number;
    present();
    if (number === null) soon.cancel();
    else soon();
  }

  /** The links of the node that is pointed at. */
  async function follow() {
    const node = over === null ? null : nodeOf(over);
    if (!node) return;
    try {
      await linksOf(node.name, "hover");
      present();
    } catch {
      // Pressing it says what is the matter.
    }
  }

  /** The links of the node of the link. */
  async function keep(now) {
    const text = now.node;
    const moved = pinned.text !== text;
    const follows = moved && !(first && context.state.window);
    first = false;
    pinned = { text, answer: text ? remembered(text) : null };
    finder.show(text);
    if (moved) finder.complain(null);
    if (!text) context.cancel("links");
    present();
    if (!text) return;
    if (follows && names.has(text)) field.reach(names.get(text));
    try {
      const got = await linksOf(text, "links");
      if (!got || pinned.text !== text) return;
      pinned.answer = got;
      finder.complain(null);
      present();
      if (follows && !names.has(text)) field.reach(got.node.number);
      if (moved) tell(got);
    } catch (error) {
      if (pinned.text !== text) return;
      if (error.meant) goings.trouble(error, () => (goings.done(), keep(now)));
      else finder.complain(error);
    }
  }

  function tell({ node, links, likely }) {
    const klass = graph.classes[node.class];
    const first = likely[0];
    context.announce(
      `${node.name}${klass ? `, ${klass}` : ""}, ${links} links; ${
        first
          ? `likeliest ${first.name}, ${chance(first.probability)}, ${first.known}`
          : "nothing is left to link"
      }`,
    );
  }

  /** Show the node that is pointed at, else the one of the link, else none. */
  function present() {
    const kept = over === null;
    const answer = kept ? pinned.answer : remembered(nodeOf(over).name);
    const drawn = kept ? nodeOf(names.get(pinned.text) ?? answer?.node.number) : nodeOf(over);
    const node = drawn ?? (answer ? { ...answer.node, links: answer.links } : null);
    card.show(node, answer, graph.classes, kept && node !== null);
    const ends = answer ? [answer.node, ...answer.likely] : [];
    field.focus({
      number: node ? node.number : null,
      name: node?.name,
      class: node?.class,
      pinned: kept && node !== null,
      likely: answer?.likely ?? [],
      elsewhere: new Map(ends.map(({ number, at }) => [number, at])),
    });
    const plane = planes[settingsOf(context.state).layout] ?? planes.straight;
    const lines = pinned.answer ?? plane;
    view.lines.show(lines.lines, lines.seconds);
  }

  function show(state) {
    const now = settingsOf(state);
    settings.show(now, graph.near);
    legend.show(now.off);
    field.dress({ off: now.off, edges: now.edges });
    field.show(graph, (planes[now.layout] ?? planes.straight).places);
    field.window(state.window ?? "");
    showTitle(now);
    keep(now);
    if (now.layout === "near") layOut();
  }

  return {
    update(state) {
      settings.show(settingsOf(state), graph?.near ?? true);
      asker.ask("graph", { model: model.name });
      if (graph) show(state);
    },
    unmount() {
      soon.cancel();
      field.stop();
    },
  };
}
