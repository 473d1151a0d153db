/** A sentence: one place for each of its words, and a field in which it is typed as a whole. */

import { read, sentence } from "../concept.js";
import { h } from "../dom.js";
import { conceptEditor } from "./chips.js";
import { picker } from "./controls.js";
import { textField } from "./textfield.js";

/** One place: a list of its words, "any" first, and the word it is flipped to. */
function placeOf({ name, values }, onChange) {
  const list = picker({
    label: name,
    options: [["", "any"], ...values.map((value) => [value, value])],
    chosen: "",
    onChange: (value) => onChange(name, value || null),
  });
  const other = h("span", { class: "place-other" });
  list.element.classList.add("place");
  list.element.append(other);
  return {
    element: list.element,
    show(word, flipped) {
      list.show(word ?? "");
      list.element.classList.toggle("place-any", !word);
      list.element.classList.toggle("place-flipped", flipped !== undefined);
      other.textContent = flipped === undefined ? "" : `→ ${flipped ?? "any"}`;
    },
  };
}

/** The line of places; `show(said, flip)` when it is known what is said. */
export function sentenceLine(vocabulary, onChange) {
  let now = {};
  const places = vocabulary.map((attribute) =>
    placeOf(attribute, (name, word) => onChange({ ...now, [name]: word })),
  );
  return {
    element: h(
      "div",
      { class: "sentence", role: "group", "aria-label": "The words of the sentence" },
      places.map((place) => place.element),
    ),
    show(said, flip) {
      now = { ...said };
      vocabulary.forEach(({ name }, k) =>
        places[k].show(said[name], flip?.place === name ? flip.word : undefined),
      );
    },
  };
}

/** The field of the sentence; named words of a link stand there as running ones. */
export function sentenceField(context, onText) {
  const { vocabulary } = context.model;
  return textField({
    label: "the whole sentence",
    placeholder: example(vocabulary),
    most: 1000,
    onText,
    shown: (description) =>
      /[=:]/.test(description) ? sentence(read(description, vocabulary), vocabulary) : description,
  });
}

/** A sentence to begin with: some word of every place. */
function example(vocabulary) {
  const said = vocabulary.map(({ name, values }, k) => [name, values[k % values.length]]);
  return sentence(Object.fromEntries(said), vocabulary);
}

/** One word to change: its place, then the other words of the place as chips. */
export function flipper(vocabulary, onFlip) {
  const chips = h("div", {});
  let now = { place: "", word: null };
  let said = {};
  const place = picker({
    label: "place",
    options: [["", "no word"], ...vocabulary.map(({ name }) => [name, name])],
    chosen: "",
    onChange: begin,
  });

  /** Flip a place to the word after the one that is said. */
  function begin(name) {
    const values = vocabulary.find((one) => one.name === name)?.values ?? [];
    onFlip(name, values[(values.indexOf(said[name]) + 1) % values.length] ?? null);
  }

  function build(attribute) {
    if (!attribute) return chips.replaceChildren();
    now.editor = conceptEditor({
      vocabulary: [attribute],
      said: {},
      onChange: (words) => onFlip(attribute.name, words[attribute.name] ?? null),
    });
    return chips.replaceChildren(now.editor.element);
  }

  return {
    element: h("div", { class: "flipper" }, place.element, chips),
    /** Show what is flipped, `{place, word}` or null, of what is said. */
    show(flip, words) {
      said = words;
      place.show(flip?.place ?? "");
      if (now.place !== (flip?.place ?? "")) {
        now = { place: flip?.place ?? "" };
        build(vocabulary.find(({ name }) => name === flip?.place));
      }
      if (flip) now.editor?.show(flip.word ? { [flip.place]: flip.word } : {});
    },
  };
}
