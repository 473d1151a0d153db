/** A field in which a description is typed as a whole; what is wrong with it is told below. */

import { h, later, unique } from "../dom.js";
import { button } from "./controls.js";
import { offered } from "./finder.js";
import { marked } from "./states.js";

const PAUSE = 500;
const OFFERED = 8;

/**
 * What is typed is told after a pause, or by Enter.
 * @param {{label, placeholder, most, shown, words, onText}} given  `shown(text)` is how the link's
 *     text stands in the field; `words` are suggested while one of them is typed.
 */
export function textField(given) {
  const { label, placeholder, most, onText, words = [], shown = (text) => text } = given;
  const [id, told] = [unique("text"), unique("complaint")];
  const area = h("textarea", {
    id,
    class: "input text-area",
    rows: 3,
    maxlength: most,
    spellcheck: "false",
    autocomplete: "off",
    placeholder,
    "aria-describedby": told,
  });
  const complaint = h("div", { id: told, class: "complaint", role: "status" });
  const clear = button({ sign: "clear", text: "Clear", quiet: true, onClick: () => wipe() });
  const offers = h("div", { class: "chips offers", role: "group", "aria-label": "Words to go on" });
  const soon = later(PAUSE, send);
  let mine = null;

  area.addEventListener("input", soon);
  if (words.length) area.addEventListener("input", offer);
  area.addEventListener("change", send);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    send();
  });

  function send() {
    soon.cancel();
    const text = area.value.trim();
    if (text === mine) return;
    mine = text;
    onText(text);
  }

  /** The words that the last one may become. */
  function offer() {
    const last = area.value.match(/[^\s,;.]*$/u)[0];
    const found = offered(words, last, OFFERED).filter((word) => word !== last);
    offers.replaceChildren(
      ...found.map((text) =>
        h("button", { type: "button", class: "chip", text, on: { click: () => take(last, text) } }),
      ),
    );
  }

  function take(last, word) {
    area.value = `${area.value.slice(0, area.value.length - last.length)}${word} `;
    offers.replaceChildren();
    send();
    area.focus();
  }

  function wipe() {
    area.value = "";
    offers.replaceChildren();
    send();
    area.focus();
  }

  return {
    element: h(
      "div",
      { class: "field" },
      h(
        "div",
        { class: "field-head" },
        h("label", { class: "label", for: id, text: label }),
        clear,
      ),
      area,
      offers,
      complaint,
    ),
    /** Show the link's text, unless it was typed here. */
    show(description = "") {
      if (description === mine) return;
      mine = description;
      area.value = shown(description);
    },
    /** Say what is wrong with the text; nothing if nothing is. */
    complain(error) {
      if (error) area.setAttribute("aria-invalid", "true");
      else area.removeAttribute("aria-invalid");
      complaint.replaceChildren(
        ...(error
          ? [
              error.hint ? h("p", { class: "complaint-hint" }, marked(error.hint)) : "",
              h("p", {}, marked(error.message)),
            ]
          : []),
      );
    },
    stop: () => soon.cancel(),
  };
}
