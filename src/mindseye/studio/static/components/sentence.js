/** A sentence: one place for each of its words, and a field in which it is typed as a whole. */

import { isWide, piecesOf, read, sentence, wordsOf } from "../concept.js";
import { h, unique } from "../dom.js";
import { conceptEditor } from "./chips.js";
import { picker } from "./controls.js";
import { offered } from "./finder.js";
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

/** The line of places, empty if they have too many words; `show(said, flip)` what is said. */
export function sentenceLine(vocabulary, onChange) {
  let now = {};
  const shown = isWide(vocabulary) ? [] : vocabulary;
  const places = shown.map((attribute) =>
    placeOf(attribute, (name, word) => onChange({ ...now, [name]: word })),
  );
  return {
    element: h(
      "div",
      {
        class: "sentence",
        role: "group",
        "aria-label": "The words of the sentence",
        hidden: !shown.length,
        style: { "--places": shown.length },
      },
      places.map((place) => place.element),
    ),
    show(said, flip) {
      now = { ...said };
      shown.forEach(({ name }, k) =>
        places[k].show(said[name], flip?.place === name ? flip.word : undefined),
      );
    },
  };
}

/** The field of the sentence; named words of a link stand there as running ones. */
export function sentenceField(context, onText) {
  const { vocabulary, pattern } = context.model;
  const wide = isWide(vocabulary);
  return textField({
    label: "the whole sentence",
    placeholder: wide ? "" : example(vocabulary, pattern),
    most: 1000,
    words: wide ? wordsOf(vocabulary) : [],
    onText,
    shown: (description) =>
      /[=:]/.test(description)
        ? sentence(read(description, vocabulary), vocabulary, pattern)
        : description,
  });
}

/** A sentence to begin with: some word of every place. */
function example(vocabulary, pattern) {
  const said = vocabulary.map(({ name, values }, k) => [name, values[k % values.length]]);
  return sentence(Object.fromEntries(said), vocabulary, pattern);
}

/** A sentence for people in which the word of one place stands out. */
export function stressed(said, { vocabulary, pattern }, place) {
  const there = vocabulary.filter(({ name }) => said[name]);
  if (!there.length) return ["anything"];
  const pieces = pattern
    ? piecesOf(said, pattern)
    : there.flatMap(({ name }) => [
        { text: said[name], place: name },
        { text: " ", place: null },
      ]);
  return pieces.map(({ text, place: at }) =>
    place && at === place ? h("strong", { class: "flipped", text }) : text,
  );
}

/** A field for a word of which there are too many for chips; `show(word)` when it is known. */
function wordField({ name, values }, onWord) {
  const [id, list] = [unique("word"), unique("words")];
  const offers = h("datalist", { id: list });
  const input = h("input", {
    id,
    class: "input",
    list,
    maxlength: 200,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "any",
  });
  input.addEventListener("input", () =>
    offers.replaceChildren(...offered(values, input.value).map((value) => h("option", { value }))),
  );
  input.addEventListener("change", () => onWord(input.value.trim() || null));
  return {
    element: h(
      "div",
      { class: "field" },
      h("label", { class: "label", for: id, text: `${name}, the other word` }),
      input,
      offers,
    ),
    show({ [name]: word }) {
      if (document.activeElement !== input) input.value = word ?? "";
    },
  };
}

/** One word to change: its place, then the other words of the place as chips, or a field. */
export function flipper(vocabulary, onFlip) {
  const chips = h("div", { class: "flipper-words" });
  const wide = isWide(vocabulary);
  let now = { place: "", word: null };
  let said = {};
  const place = picker({
    label: "place",
    options: [["", "no word"], ...(wide ? [] : vocabulary.map(({ name }) => [name, name]))],
    chosen: "",
    onChange: begin,
  });

  /** Flip a place to the word after the one that is said; of very many none is next. */
  function begin(name) {
    if (wide) return onFlip(name, null);
    const values = vocabulary.find((one) => one.name === name)?.values ?? [];
    return onFlip(name, values[(values.indexOf(said[name]) + 1) % values.length] ?? null);
  }

  function editorOf(attribute) {
    const { name } = attribute;
    if (wide) return wordField(attribute, (word) => onFlip(name, word));
    return conceptEditor({
      vocabulary: [attribute],
      said: {},
      onChange: (words) => onFlip(name, words[name] ?? null),
    });
  }

  function build(attribute) {
    if (!attribute) return chips.replaceChildren();
    now.editor = editorOf(attribute);
    return chips.replaceChildren(now.editor.element);
  }

  /** Where there are too many words, the places that say something stand for all of them. */
  function list(flip) {
    const there = vocabulary.filter(({ name }) => name in said || name === flip?.place);
    place.select.replaceChildren(
      h("option", { value: "", text: "no word" }),
      ...there.map(({ name }) =>
        h("option", { value: name, text: `${name}: ${said[name] ?? "any"}` }),
      ),
    );
  }

  return {
    element: h("div", { class: "flipper" }, place.element, chips),
    /** Show what is flipped, `{place, word}` or null, of what is said. */
    show(flip, words) {
      said = words;
      if (wide) list(flip);
      place.show(flip?.place ?? "");
      if (now.place !== (flip?.place ?? "")) {
        now = { place: flip?.place ?? "" };
        build(vocabulary.find(({ name }) => name === flip?.place));
      }
      if (flip) now.editor?.show(flip.word ? { [flip.place]: flip.word } : {});
    },
  };
}
