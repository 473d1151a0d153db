/** The classes of a graph: their marks, how many nodes they have, and which are shown. */

import { h, s } from "../dom.js";
import { shapeOf } from "./nodes.js";
import { hue } from "./plane.js";

const SHAPES = ["M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9z", "M2 2h8v8H2z", "M6 1l5 9H1z"];

/** The mark of a class, as nodes have it. */
export function classMark(klass) {
  return s(
    "svg",
    {
      class: "class-mark",
      viewBox: "0 0 12 12",
      "aria-hidden": "true",
      style: { "--hue": hue(klass ?? 0) },
    },
    s("path", { d: SHAPES[shapeOf(klass)] }),
  );
}

/** @param {{onTurn, onStand}} acts  A class is switched on or off; one stands out, or none. */
export function classLegend({ onTurn, onStand }) {
  const list = h("ul", { class: "classes" });
  const every = h("button", {
    type: "button",
    class: "plain classes-all",
    text: "show all",
    hidden: true,
    on: { click: () => onTurn(new Set()) },
  });
  let off = new Set();

  function turned(klass) {
    const next = new Set(off);
    if (!next.delete(klass)) next.add(klass);
    onTurn(next);
  }

  function item(name, klass, count) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "class-item",
          "aria-pressed": "true",
          on: {
            click: () => turned(klass),
            pointerenter: () => onStand(off.has(klass) ? null : klass),
            pointerleave: () => onStand(null),
            focus: () => onStand(off.has(klass) ? null : klass),
            blur: () => onStand(null),
          },
        },
        classMark(klass),
        h("span", { class: "class-name", text: name }),
        h("span", { class: "number note", text: count.toLocaleString("en") }),
      ),
    );
  }

  return {
    element: h("div", {}, list, every),
    build(names, classes) {
      const counts = names.map(() => 0);
      for (const klass of classes) counts[klass] += 1;
      list.replaceChildren(...names.map((name, klass) => item(name, klass, counts[klass])));
    },
    show(next) {
      off = next;
      every.hidden = !off.size;
      [...list.children].forEach((each, klass) =>
        each.firstChild.setAttribute("aria-pressed", String(!off.has(klass))),
      );
    },
  };
}
