/** How often the observer sees each value: columns for digits, bars for words. */

import { h } from "../dom.js";

function counts(verdicts, { name, values }) {
  return values.map((value) => verdicts.filter((verdict) => verdict.seen[name] === value).length);
}

/** Values of one or two letters stand side by side. */
function columns(values, numbers, share, told) {
  const made = values.map((value, i) =>
    h(
      "div",
      {
        class: told(value) ? "seen-column seen-told" : "seen-column",
        title: `${value}: ${numbers[i]}`,
      },
      h(
        "span",
        { class: "seen-well" },
        h("span", { class: "seen-fill", style: { height: share(i) } }),
      ),
      h("span", { text: value }),
    ),
  );
  return h("div", { class: "seen-columns" }, made);
}

/** Longer values stand below each other. */
function bars(values, numbers, share, told) {
  return values.map((value, i) =>
    h(
      "div",
      { class: told(value) ? "seen-bar seen-told" : "seen-bar" },
      h("span", { text: value }),
      h(
        "span",
        { class: "seen-lane" },
        h("span", { class: "seen-fill", style: { width: share(i) } }),
      ),
      h("span", { class: "number", text: String(numbers[i]) }),
    ),
  );
}

function row(attribute, verdicts, said) {
  const { name, values } = attribute;
  const numbers = counts(verdicts, attribute);
  const most = Math.max(1, ...numbers);
  const draw = values.every((value) => value.length <= 2) ? columns : bars;
  const told = values.map((value, i) => `${value} ${numbers[i]}`).join(", ");
  return h(
    "div",
    { role: "img", "aria-label": `${name} seen: ${told}` },
    h("span", { class: "label", text: name }),
    draw(
      values,
      numbers,
      (i) => `${(100 * numbers[i]) / most}%`,
      (value) => said[name] === value,
    ),
  );
}

/** A block of them; `show(verdicts, said)` after every answer. */
export function seenColumns(vocabulary) {
  const element = h("div", { class: "seen" });
  return {
    element,
    show(verdicts, said) {
      element.replaceChildren(
        ...(verdicts ? vocabulary.map((attribute) => row(attribute, verdicts, said)) : []),
      );
    },
  };
}
