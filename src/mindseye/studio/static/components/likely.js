/** A node of a graph, and the nodes that it is most likely linked to. */

import { h, percent, s } from "../dom.js";
import { button } from "./controls.js";
import { DASHES } from "./nodes.js";
import { classMark } from "./classes.js";

const ABOUT = {
  new: "new: the graph has no such link",
  "held out": "held out: a link of the graph that the model was not told",
  training: "training: a link that the model was told",
};

/** A probability in as many digits as say something. */
export function chance(probability) {
  return probability > 0.995 ? "> 99 %" : percent(probability, probability < 0.0995 ? 1 : 0);
}

/** A line as it is drawn in the plane. */
function stroke(kind) {
  return s(
    "svg",
    { class: "likely-stroke", viewBox: "0 0 34 8", "aria-hidden": "true" },
    s("path", { d: "M1 4h32", "stroke-dasharray": DASHES[kind].join(" ") || "none" }),
  );
}

/** One link: where it goes, what kind it is, and how likely. */
function entry(one, most, classes, { onGo, onMark }) {
  const mark = () => onMark(one.number);
  const rest = () => onMark(null);
  return h(
    "li",
    {},
    h(
      "button",
      {
        type: "button",
        class: "likely-item",
        title: `${ABOUT[one.known]}. Go to ${one.name}.`,
        on: {
          click: () => onGo(one),
          pointerenter: mark,
          pointerleave: rest,
          focus: mark,
          blur: rest,
        },
      },
      classMark(one.class),
      h(
        "span",
        { class: "likely-name" },
        one.name,
        classes.length ? h("span", { class: "note", text: ` ${classes[one.class] ?? ""}` }) : null,
      ),
      h("span", { class: "likely-chance number", text: chance(one.probability) }),
      h("span", { class: "likely-kind" }, stroke(one.known), one.known),
      h(
        "span",
        { class: "likely-lane", "aria-hidden": "true" },
        h("span", {
          class: "likely-fill",
          style: { width: `${(100 * one.probability) / most}%` },
        }),
      ),
    ),
  );
}

/** @param {{onGo, onMark, onStep, onFree}} acts  To another node; one stands out; next; none. */
export function nodeCard(acts) {
  const nothing = h("p", {
    class: "note",
    text: "Point at a node to see its likeliest links. Press it to keep it here; arrow keys go on from it.",
  });
  const name = h("p", { class: "node-name" });
  const facts = h("p", { class: "note node-facts" });
  const quiet = (sign, title, onClick) => button({ sign, title, onClick, quiet: true });
  const free = quiet("clear", "Let the node go (Esc)", acts.onFree);
  const steps = h(
    "div",
    { class: "node-steps" },
    quiet("before", "The node before (Page Up)", () => acts.onStep(-1)),
    quiet("after", "The next node (Page Down)", () => acts.onStep(1)),
    free,
  );
  const list = h("ol", { class: "likely" });
  const empty = h("p", { class: "note", hidden: true, text: "Nothing is left to link." });
  const card = h(
    "div",
    { class: "node-card", hidden: true },
    h("div", { class: "node-head" }, name, steps),
    facts,
    list,
    empty,
  );
  return {
    element: h("div", {}, nothing, card),
    /** What is known of the node at once; `answer` once its links have come. */
    show(node, answer, classes, pinned) {
      nothing.hidden = Boolean(node);
      card.hidden = !node;
      if (!node) return;
      const held = answer ? answer.links - answer.trained : 0;
      const links = `${node.links} ${node.links === 1 ? "link" : "links"}`;
      const more = held ? `${held} of them held out` : "";
      name.replaceChildren(classMark(node.class), node.name);
      facts.textContent = [classes[node.class], links, more].filter(Boolean).join(", ");
      free.hidden = !pinned;
      list.classList.toggle("is-old", !answer);
      if (!answer) return;
      const most = Math.max(...answer.likely.map(({ probability }) => probability), 1e-9);
      list.replaceChildren(...answer.likely.map((one) => entry(one, most, classes, acts)));
      empty.hidden = answer.likely.length > 0;
    },
  };
}
