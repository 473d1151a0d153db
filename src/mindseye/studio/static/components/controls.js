/** Fields, sliders and switches, each with its label and one way to tell of a change. */

import { h, unique } from "../dom.js";
import { seedOf } from "../state.js";
import { icon } from "./icons.js";

/** A button with a sign, a text or both; `title` is its name where it has no text. */
export function button({ sign, text, title, onClick, quiet = false, disabled = false }) {
  return h(
    "button",
    {
      type: "button",
      class: `button${quiet ? " button-quiet" : ""}${text ? "" : " button-icon"}`,
      title,
      "aria-label": text ? undefined : title,
      disabled,
      on: { click: onClick },
    },
    sign ? icon(sign) : null,
    text ? h("span", { text }) : null,
  );
}

/** A few options side by side, one of which is chosen. Options are [value, text, title]. */
export function segmented({ label, options, chosen, onChange }) {
  const name = unique("segment");
  const inputs = options.map(([value]) =>
    h("input", {
      type: "radio",
      name,
      value,
      class: "unseen",
      on: { change: () => onChange(value) },
    }),
  );
  const body = options.map(([, text, title], i) =>
    h("label", { class: "segment", title }, inputs[i], h("span", { text })),
  );
  const element = h(
    "fieldset",
    { class: "field" },
    h("legend", { class: "label", text: label }),
    h("div", { class: "segments" }, body),
  );
  function show(value) {
    inputs.forEach((input) => (input.checked = input.value === String(value)));
  }
  show(chosen);
  return { element, show };
}

/** A range without a field around it, from 0 to some steps, that goes smoothly. */
export function bareRange(label, value = 0, look = "") {
  return h("input", {
    type: "range",
    class: `range ${look}`.trim(),
    min: 0,
    max: 8,
    step: "any",
    value,
    "aria-label": label,
  });
}

/** A slider that says its value; `onInput` while it moves, `onChange` when it rests. */
export function slider({ label, least, most, step, value, format = String, onChange, onInput }) {
  const id = unique("slider");
  const output = h("output", { class: "number", for: id });
  const input = h("input", { type: "range", id, min: least, max: most, step, class: "range" });
  function say() {
    output.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
    input.style.setProperty("--filled", String((Number(input.value) - least) / (most - least)));
  }
  function show(next) {
    if (document.activeElement !== input || Number(input.value) !== Number(next))
      input.value = next;
    say();
  }
  input.addEventListener("input", () => {
    say();
    onInput?.(Number(input.value));
  });
  input.addEventListener("change", () => onChange?.(Number(input.value)));
  show(value);
  const head = h(
    "div",
    { class: "field-head" },
    h("label", { class: "label", for: id, text: label }),
    output,
  );
  return { element: h("div", { class: "field" }, head, input), input, show };
}

/** A check box. */
export function check({ label, checked, onChange, disabled = false }) {
  const input = h("input", {
    type: "checkbox",
    disabled,
    on: { change: () => onChange(input.checked) },
  });
  input.checked = checked;
  const element = h("label", { class: "check" }, input, h("span", { text: label }));
  return { element, show: (on) => (input.checked = on) };
}

/** A list to pick from. Options are [value, text]. */
export function picker({ label, options, chosen, onChange, hidden = false }) {
  const id = unique("picker");
  const select = h("select", { id, class: "select", on: { change: () => onChange(select.value) } });
  select.append(...options.map(([value, text]) => h("option", { value, text })));
  select.value = chosen;
  const name = h("label", { class: hidden ? "unseen" : "label", for: id, text: label });
  return {
    element: h("div", { class: "field" }, name, select),
    select,
    show: (value) => (select.value = value),
  };
}

/** The seed: a field, a dice, and a lock that keeps it while words change, if there are words. */
export function seedField({ seed, locked, onSeed, onRoll, onLock, lockable = true }) {
  const id = unique("seed");
  const input = h("input", {
    id,
    class: "input number",
    inputmode: "numeric",
    autocomplete: "off",
    maxlength: 17,
    value: seed,
  });
  input.addEventListener("change", () => {
    const next = seedOf({ seed: input.value.trim().replace("−", "-") });
    input.value = String(next);
    onSeed(next);
  });
  const lock = h("button", {
    type: "button",
    class: "button button-icon",
    hidden: !lockable,
    on: { click: () => onLock() },
  });
  const roll = button({ sign: "dice", title: "Roll a new seed (r)", onClick: onRoll });
  function show(next, held) {
    if (document.activeElement !== input) input.value = String(next);
    lock.replaceChildren(icon(held ? "locked" : "unlocked"));
    lock.setAttribute("aria-pressed", String(held));
    lock.setAttribute("aria-label", "Keep the seed when words change");
    lock.title = held ? "The seed stays when words change" : "A new seed with every change";
  }
  show(seed, locked);
  const group = h("div", { class: "joined" }, input, roll, lock);
  const name = h("label", { class: "label", for: id, text: "seed" });
  return { element: h("div", { class: "field field-seed" }, name, group), show };
}

/** Tell which panel a tab opens, and by which tab a panel is opened. */
function joinPanel(tab, panel) {
  tab.id = unique("tab");
  panel.id = unique("panel");
  tab.setAttribute("aria-controls", panel.id);
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", tab.id);
}

/** Two or more sections of a view, as tabs. Options are [value, text, panel]. */
export function sections({ label, options, chosen, onChange }) {
  const tabs = options.map(([value, text]) =>
    h("button", { type: "button", role: "tab", class: "section-tab", "data-value": value, text }),
  );
  const element = h("div", { class: "sections", role: "tablist", "aria-label": label }, tabs);
  tabs.forEach((tab, i) => joinPanel(tab, options[i][2]));
  function show(value) {
    tabs.forEach((tab) => {
      const on = tab.dataset.value === value;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    });
  }
  element.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) onChange(tab.dataset.value);
  });
  element.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.indexOf(event.target);
    if (!step || at < 0) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.focus();
    onChange(next.dataset.value);
  });
  show(chosen);
  return { element, show };
}
