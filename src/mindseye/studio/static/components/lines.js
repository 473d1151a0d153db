/** The line at the foot of a view: the command and the Python that make the same pictures. */

import { duration, h } from "../dom.js";
import { button } from "./controls.js";
import { icon } from "./icons.js";

/** Copy a text, also where the clipboard is not given to the page. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", {
      class: "unseen",
      value: text,
      "aria-hidden": "true",
      tabindex: -1,
    });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A button that copies; `text()` is asked for when it is pressed. */
function copyButton(title, text) {
  const made = button({ sign: "copy", title, quiet: true, onClick: act });
  async function act() {
    await copy(text());
    made.replaceChildren(icon("done"));
    setTimeout(() => made.replaceChildren(icon("copy")), 1200);
  }
  return made;
}

/** A command alone, in small letters below what it makes. */
export function smallLine(title) {
  const command = h("code", { class: "small-command", tabindex: 0 });
  const element = h(
    "div",
    { class: "small-line", hidden: true },
    command,
    copyButton(title, () => command.textContent),
  );
  return {
    element,
    show(text) {
      element.hidden = text === "";
      command.textContent = text;
      command.title = text;
    },
  };
}

/** The drawer; `show(lines, seconds)` after every answer. */
export function linesDrawer() {
  let lines = { command: "", python: "" };
  const command = h("code", { class: "line-command", tabindex: 0 });
  const python = h("pre", {
    class: "line-python",
    tabindex: 0,
    "aria-label": "The same in Python",
  });
  const took = h("span", { class: "line-took number" });
  const body = h(
    "div",
    { class: "line-body", hidden: true },
    python,
    copyButton("Copy the Python", () => lines.python),
  );
  const toggle = h("button", {
    type: "button",
    class: "button button-quiet",
    "aria-expanded": "false",
    text: "Python",
    on: {
      click() {
        body.hidden = !body.hidden;
        toggle.setAttribute("aria-expanded", String(!body.hidden));
      },
    },
  });
  const head = h(
    "div",
    { class: "line-head" },
    h("span", { class: "line-prompt", "aria-hidden": "true", text: "$" }),
    command,
    copyButton("Copy the command", () => lines.command),
    toggle,
    took,
  );
  const element = h(
    "section",
    { class: "lines lines-empty", "aria-label": "The same elsewhere" },
    body,
    head,
  );
  return {
    element,
    show(next, seconds) {
      lines = next;
      element.classList.toggle("lines-empty", next.command === "" && next.python === "");
      element.classList.toggle("lines-python", next.command === "" && next.python !== "");
      command.textContent = next.command || "no command does this; Python does";
      command.title = next.command;
      python.textContent = next.python;
      toggle.disabled = next.python === "";
      took.textContent = seconds
        ? `${duration(seconds.model)} in the model, ${duration(seconds.all)} in all`
        : "";
    },
  };
}
