/** A field in which a node is looked for by its name, or by its number where it has none. */

import { h, unique } from "../dom.js";
import { button } from "./controls.js";
import { marked } from "./states.js";

const OFFERED = 12;

/** Some names that begin with what is typed, then some that have it elsewhere. */
export function offered(names, text, most = OFFERED) {
  const typed = text.trim().toLowerCase();
  const [first, later] = [[], []];
  for (const name of typed ? names : []) {
    const place = name.toLowerCase().indexOf(typed);
    if (place === 0) first.push(name);
    else if (place > 0 && later.length < most) later.push(name);
    if (first.length === most) break;
  }
  return [...first, ...later].slice(0, most);
}

/** @param {(name: string) => void} onFind  Somebody looks for a node. */
export function nodeFinder(onFind) {
  const [id, told, list] = [unique("find"), unique("complaint"), unique("names")];
  const offers = h("datalist", { id: list });
  const input = h("input", {
    id,
    class: "input",
    list,
    type: "search",
    maxlength: 200,
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": told,
  });
  const complaint = h("div", { id: told, class: "complaint", role: "status" });
  let names = [];

  function offer() {
    const found = offered(names, input.value);
    offers.replaceChildren(...found.map((value) => h("option", { value })));
  }

  function send() {
    const text = input.value.trim();
    if (text) onFind(text);
  }

  input.addEventListener("input", offer);
  input.addEventListener("change", send);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) send();
  });

  return {
    element: h(
      "div",
      { class: "field" },
      h("label", { class: "label", for: id, text: "a node by its name or number" }),
      h("div", { class: "joined" }, input, button({ text: "Find", onClick: send })),
      offers,
      complaint,
    ),
    /** What nodes are called, for suggestions. */
    knows: (next) => (names = next),
    show(name) {
      if (document.activeElement !== input) input.value = name;
    },
    /** Say what is wrong with a name; nothing if nothing is. */
    complain(error) {
      if (error) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      const lines = error ? [error.hint, error.message].filter(Boolean) : [];
      complaint.replaceChildren(
        ...lines.map((text, i) =>
          h("p", { class: i || !error.hint ? null : "complaint-hint" }, marked(text)),
        ),
      );
    },
  };
}
