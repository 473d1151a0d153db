/** The latent plane: experts as ellipses, training pictures as points, holes as hatching. */

import { h, s } from "../dom.js";

const REACH = 4;
const EMPTY = 0.15;

/** The colour of the n-th of something: one of ten. */
export function hue(n) {
  return `var(--hue-${(n % 10) + 1})`;
}

/** An ellipse at some standard deviations; the plane's second axis points upwards. */
function ellipse({ x, y, a, b, angle }, deviations, kind, colour) {
  return s("ellipse", {
    class: kind,
    cx: 0,
    cy: 0,
    rx: deviations * a,
    ry: deviations * b,
    transform: `translate(${x} ${-y}) rotate(${(-angle * 180) / Math.PI})`,
    style: colour ? { "--hue": colour } : undefined,
  });
}

function rulers(names) {
  const marks = [-4, -3, -2, -1, 1, 2, 3, 4];
  const line = (kind, x1, y1, x2, y2) => s("line", { class: kind, x1, y1, x2, y2 });
  const text = (x, y, words, anchor, kind) =>
    s("text", { class: kind, x, y, "text-anchor": anchor, text: words });
  const sign = (mark) => String(mark).replace("-", "−");
  return [
    ...marks.flatMap((mark) => [
      line("plane-grid", mark, -REACH, mark, REACH),
      line("plane-grid", -REACH, mark, REACH, mark),
    ]),
    line("plane-axis", -REACH, 0, REACH, 0),
    line("plane-axis", 0, -REACH, 0, REACH),
    ...marks.map((mark) => text(mark, REACH + 0.26, sign(mark), "middle", "plane-number")),
    ...marks.map((mark) => text(-REACH - 0.1, -mark + 0.06, sign(mark), "end", "plane-number")),
    text(REACH, -0.1, names[0], "end", "plane-name"),
    text(0.1, -REACH + 0.2, names[1], "start", "plane-name"),
  ];
}

/** The pattern of holes, and the frame nothing is drawn beyond. */
function definitions() {
  const stripe = s("path", {
    class: "plane-hatch",
    d: "M-0.04 0.04L0.04-0.04M0 0.16L0.16 0M0.12 0.2L0.2 0.12",
  });
  const frame = s(
    "clipPath",
    { id: "frame" },
    s("rect", { x: -REACH, y: -REACH, width: 2 * REACH, height: 2 * REACH }),
  );
  return s(
    "defs",
    {},
    frame,
    s(
      "pattern",
      { id: "hatch", width: 0.16, height: 0.16, patternUnits: "userSpaceOnUse" },
      stripe,
    ),
  );
}

/** Cells near the prior where there is hardly any training picture. */
function holes(density) {
  const size = (2 * REACH) / density.length;
  const cells = [];
  density.forEach((row, j) =>
    row.forEach((share, i) => {
      const [x, y] = [-REACH + (i + 0.5) * size, -REACH + (j + 0.5) * size];
      if (share > EMPTY || Math.hypot(x, y) > 2.5) return;
      cells.push(
        s("rect", {
          x: x - size / 2,
          y: -y - size / 2,
          width: size,
          height: size,
          fill: "url(#hatch)",
        }),
      );
    }),
  );
  return s("g", { class: "plane-holes" }, cells);
}

function points(answer, attribute) {
  const inside = answer.points.filter(({ x, y }) => Math.abs(x) <= REACH && Math.abs(y) <= REACH);
  return inside.map(({ x, y, codes }) =>
    s("circle", {
      class: "plane-point",
      cx: x,
      cy: -y,
      r: 0.034,
      style: { "--hue": hue(codes[attribute]) },
    }),
  );
}

/** What the others would believe without a word, and how the word pulls them. */
function pull(word, product, colour) {
  const [dx, dy] = [product.x - word.without.x, word.without.y - product.y];
  const length = Math.hypot(dx, dy);
  const angle = (Math.atan2(dy, dx) * 180) / Math.PI;
  const head = s("path", {
    class: "plane-head",
    d: "M0 0L-0.2 0.09V-0.09Z",
    transform: `translate(${product.x} ${-product.y}) rotate(${angle})`,
  });
  const shaft = s("line", {
    class: "plane-pull",
    x1: word.without.x,
    y1: -word.without.y,
    x2: product.x,
    y2: -product.y,
  });
  return s(
    "g",
    { style: { "--hue": colour } },
    ellipse(word.without, 1, "plane-without"),
    shaft,
    length > 0.05 ? head : null,
  );
}

function label(word, colour) {
  const { x, y, a, b, angle } = word.expert;
  const above = y + Math.hypot(a * Math.sin(angle), b * Math.cos(angle)) + 0.1;
  const at = { x: Math.min(3.4, Math.max(-3.4, x)), y: -Math.min(3.8, Math.max(-3.8, above)) };
  return s("text", {
    class: "plane-label",
    ...at,
    "text-anchor": "middle",
    style: { "--hue": colour },
    text: word.value,
  });
}

/** What a screen reader hears of the plane. */
function told({ words, product, axes }) {
  const at = ({ x, y }) => `${x.toFixed(1)}, ${y.toFixed(1)}`;
  const each = words
    .map((word) => `${word.attribute}=${word.value} at ${at(word.expert)}`)
    .join("; ");
  return `The plane of ${axes.names.join(" and ")}: ${each || "nothing is said"}; the product is at ${at(product)}`;
}

/**
 * The plane. `show(answer, options)` draws an answer; `emphasise(i)` shows a word's pull, null none.
 * @param {(word: Object) => string} colourOf  The colour of a word.
 */
export function plane(colourOf) {
  const svg = s("svg", { class: "plane", viewBox: "-4.5 -4.25 8.8 8.65", role: "img" });
  const element = h("div", { class: "plane-box" }, svg);
  let drawn = { answer: null, words: [], over: null };

  return {
    element,
    show(answer, { attribute, withPoints, withHoles }) {
      const words = answer.words.map((word) =>
        s(
          "g",
          { class: "plane-group" },
          ellipse(word.expert, 2, "plane-word plane-second", colourOf(word)),
          ellipse(word.expert, 1, "plane-word", colourOf(word)),
          label(word, colourOf(word)),
        ),
      );
      const over = s("g", {});
      svg.setAttribute("aria-label", told(answer));
      svg.replaceChildren(
        definitions(),
        ...rulers(answer.axes.names),
        ...(withHoles ? [holes(answer.density)] : []),
        ...(withPoints ? points(answer, attribute) : []),
        s(
          "g",
          { "clip-path": "url(#frame)" },
          ellipse(answer.prior, 1, "plane-prior"),
          ellipse(answer.prior, 2, "plane-prior plane-second"),
          words,
          ellipse(answer.product, 2, "plane-product plane-second"),
          ellipse(answer.product, 1, "plane-product"),
          over,
        ),
      );
      drawn = { answer, words, over };
    },
    emphasise(index) {
      const word = index === null ? null : drawn.answer?.words[index];
      svg.classList.toggle("plane-faded", Boolean(word));
      drawn.words.forEach((group, i) => group.classList.toggle("plane-on", i === index));
      drawn.over?.replaceChildren(
        ...(word ? [pull(word, drawn.answer.product, colourOf(word))] : []),
      );
    },
  };
}
