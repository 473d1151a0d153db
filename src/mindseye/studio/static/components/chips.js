/** Words to choose from: one row of chips for each attribute, "any" first. */

import { isWide, read, sentence, wordsOf } from "../concept.js";
import { h, unique } from "../dom.js";
import { textField } from "./textfield.js";

/** A row of chips, one of which is chosen; arrow keys move the choice. */
function chipRow({ name, values, chosen, onChange }) {
  const label = unique("chips");
  const chips = [null, ...values].map((value) =>
    h("button", {
      type: "button",
      role: "radio",
      class: value === null ? "chip chip-any" : "chip",
      "data-value": value ?? "",
      text: value ?? "any",
    }),
  );
  const row = h("div", { class: "chips", role: "radiogroup", "aria-labelledby": label }, chips);

  function show(value) {
    chips.forEach((chip, i) => {
      const on = i === (value === null || value === undefined ? 0 : 1 + values.indexOf(value));
      chip.setAttribute("aria-checked", String(on));
      chip.tabIndex = on ? 0 : -1;
    });
  }

  function choose(at) {
    const value = at === 0 ? null : values[at - 1];
    chips[at].focus();
    if (chips[at].getAttribute("aria-checked") === "true") return;
    show(value);
    onChange(value);
  }

  row.addEventListener("click", (event) => {
    const at = chips.indexOf(event.target.closest(".chip"));
    if (at >= 0) choose(at);
  });
  row.addEventListener("keydown", (event) => {
    const at = chips.indexOf(event.target);
    const last = chips.length - 1;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = step
      ? (at + step + chips.length) % chips.length
      : { Home: 0, End: last }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    choose(next);
  });
  show(chosen);
  const element = h(
    "div",
    { class: "chip-row" },
    h("span", { class: "label", id: label, text: name }),
    row,
  );
  return { element, show };
}

const PARTS = "This model is told what a whole is made of, and no words.";

const WORDLESS =
  "This model knows no words: it was trained on pictures alone. What it imagines are draws from its prior.";

/** Chips for a whole vocabulary: what they say together is a description. */
export function conceptEditor({ vocabulary, said, onChange, wordless = WORDLESS }) {
  let now = { ...said };
  const rows = new Map(
    vocabulary.map(({ name, values }) => [
      name,
      chipRow({
        name,
        values,
        chosen: now[name],
        onChange(value) {
          now = { ...now, [name]: value };
          if (value === null) delete now[name];
          onChange({ ...now });
        },
      }),
    ]),
  );
  const element = h(
    "div",
    { class: "concept" },
    [...rows.values()].map((row) => row.element),
    vocabulary.length ? null : h("p", { class: "note", text: wordless }),
  );
  return {
    element,
    /** Show what is said without telling anybody. */
    show(words) {
      now = { ...words };
      for (const [name, row] of rows) row.show(words[name]);
    },
  };
}

/** A field for the link's description, where there are too many words for chips. */
function textEditor(context) {
  const { vocabulary, pattern } = context.model;
  const field = textField({
    label: "what is said",
    placeholder: "",
    most: 1000,
    words: wordsOf(vocabulary),
    onText: (description) => context.reword({ description }),
    shown: (description) =>
      /[=:]/.test(description)
        ? sentence(read(description, vocabulary), vocabulary, pattern)
        : description,
  });
  return { element: field.element, show: () => field.show(context.state.description) };
}

/** The editor of the link's description; `show(words)` when the link changes. */
export function linkEditor(context) {
  const { vocabulary, kit } = context.model;
  if (isWide(vocabulary)) return textEditor(context);
  return conceptEditor({
    vocabulary,
    wordless: kit ? PARTS : WORDLESS,
    said: read(context.state.description, vocabulary),
    onChange: (said) => context.describe(said),
  });
}
