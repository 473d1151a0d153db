/**
 * The studio's page: it finds the models and the views, and keeps the page and its link the same.
 *
 * A view is a module `views/NAME.js` with `name`, `mount(root, context)` and, if it has styles of its
 * own, their address or addresses as `styles`; `ofOneModel` names the parameters of the link that
 * would mean nothing to another model. It is mounted for one model and told of every change of the
 * link by `update(state)`. Which views there are is what the server says; nothing here knows any.
 */

import { Asker, HttpBackend } from "./backend.js";
import { button, picker } from "./components/controls.js";
import { icon } from "./components/icons.js";
import { emptyState, errorState } from "./components/states.js";
import { read, sentence, spelledOut, write } from "./concept.js";
import { h } from "./dom.js";
import { listen } from "./keys.js";
import { alike, opening } from "./pieces.js";
import { flag, freshSeed, Link, seedOf } from "./state.js";
import * as theme from "./theme.js";

const FIRST = { description: "digit=4, size=big", seed: "7" };

/** A word for every place of a sentence that is spoken in full. */
function first(vocabulary) {
  const word = ({ values }, k) => values[(3 + 4 * k) % values.length];
  return Object.fromEntries(vocabulary.map((place, k) => [place.name, word(place, k)]));
}

/** A view's module, once its styles are there. */
async function loadView(name) {
  const module = await import(`./views/${name}.js`);
  await Promise.all([module.styles ?? []].flat().map(loadSheet));
  return module;
}

/** A style sheet; the page goes on without one that is missing. */
function loadSheet(href) {
  const sheet = h("link", { rel: "stylesheet", href });
  return new Promise((resolve) => {
    sheet.addEventListener("load", resolve);
    sheet.addEventListener("error", resolve);
    document.head.append(sheet);
  });
}

class Studio {
  constructor(backend) {
    this.backend = backend;
    this.stage = document.getElementById("stage");
    this.tabs = document.getElementById("tabs");
    this.announcer = document.getElementById("announcer");
    this.link = new Link(() => this.settle());
    this.mounted = null;
    this.ready = false;
  }

  /** Ask what there is, load the views, and show what the link says. */
  async start() {
    theme.apply(this.link.state);
    theme.follow(() => this.retheme());
    this.buildTools();
    try {
      this.house = await this.backend.ask("models");
      for (const model of this.house.models) model.vocabulary = spelledOut(model.vocabulary);
    } catch (error) {
      this.stage.replaceChildren(errorState(error, () => window.location.reload()));
      return;
    }
    await this.loadViews();
    this.buildPicker();
    this.buildFoot();
    this.ready = true;
    this.settle();
  }

  /** The modules of the views the server names; one that is missing is left out. */
  async loadViews() {
    const loaded = await Promise.allSettled(this.house.views.map(({ name }) => loadView(name)));
    this.modules = new Map();
    this.house.views.forEach(({ name }, i) => {
      if (loaded[i].status === "fulfilled") this.modules.set(name, loaded[i].value);
      else console.warn(`The view ${name} could not be loaded.`, loaded[i].reason);
    });
  }

  /** The views that can show a model, in the server's order. */
  viewsOf(model) {
    return this.house.views.filter(
      ({ name }) => this.modules.has(name) && model.views.includes(name),
    );
  }

  /** Make the page what the link says; the link is completed where it says too little. */
  settle() {
    theme.apply(this.link.state);
    this.showTheme();
    if (!this.ready) return undefined; // the models are on their way, or did not come
    const { models } = this.house;
    if (!models.length)
      return this.clear(
        "No model is open",
        "Train one with `mindseye train mnist-a/telbo-lean`, then open it with `mindseye studio 0`.",
      );
    const state = this.link.state;
    const model = models.find(({ name }) => name === state.model) ?? models[0];
    const views = this.viewsOf(model);
    const view = views.find(({ name }) => name === state.view) ?? views[0];
    if (!view) {
      this.picker.show(model.name);
      return this.clear("No view can show this model", "Choose another model at the top.");
    }
    this.link.write({
      view: view.name,
      model: model.name,
      description: state.description ?? this.opening(model),
      seed: state.seed === undefined ? FIRST.seed : seedOf(state),
    });
    this.showTabs(views, view, model);
    this.warn(state.model, model);
    return this.mount(view, model);
  }

  /** Say why there is no view to see. */
  clear(title, text) {
    this.mounted?.unmount();
    this.mounted = null;
    this.stage.replaceChildren(emptyState(title, text));
  }

  /** Say so where the link asks for a model that is not open; until something changes. */
  warn(asked, model) {
    const place = document.getElementById("notice");
    place.hidden = !asked || asked === model.name;
    place.textContent = place.hidden
      ? ""
      : `The link asks for the model ${asked}, which is not open. This is ${model.name}.`;
  }

  /** What is said when the link says nothing about it. */
  opening(model) {
    if (model.kit) return opening(model.kit);
    if (model.pattern) return sentence(first(model.vocabulary), model.vocabulary, model.pattern);
    const said = read(FIRST.description, model.vocabulary);
    return write(said, model.vocabulary);
  }

  /** Mount a view unless it is there already, and tell it of the state. */
  mount(view, model) {
    const key = `${view.name} ${model.name}`;
    if (this.mounted?.key !== key) {
      this.mounted?.unmount();
      const asker = new Asker(this.backend);
      const root = h("div", { class: "mount" });
      this.stage.replaceChildren(root);
      const shown = this.modules.get(view.name).mount(root, this.context(model, asker));
      this.mounted = {
        key,
        update: (state) => shown.update(state),
        unmount: () => (asker.stop(), shown.unmount()),
      };
      document.title = `${view.title} · mindseye studio`;
    }
    this.mounted.update(this.link.state);
  }

  /** What a view may use of the page, as long as it is there. */
  context(model, asker) {
    const studio = this;
    const there = (act) => (asker.stopped ? undefined : act());
    const say = (changes, options) => there(() => this.change(changes, options));
    const reword = (changes, options) => say({ ...changes, ...this.nextSeed() }, options);
    return {
      model,
      models: this.house.models,
      ask: (endpoint, question, line, open) => asker.ask(endpoint, question, line, open),
      /** Wait no longer for what was asked on a line. */
      cancel: (line) => asker.cancel(line),
      get state() {
        return studio.link.state;
      },
      /** Change the link, and the page with it. */
      say,
      /** Change words of the link; the seed changes with them unless it is locked. */
      reword,
      /** Say other words, likewise. */
      describe: (said, options) => reword({ description: write(said, model.vocabulary) }, options),
      roll: () => there(() => this.roll()),
      announce: (text) => there(() => (this.announcer.textContent = text)),
    };
  }

  /** A new seed if it is not locked. */
  nextSeed() {
    return flag(this.link.state.lock, true) ? {} : { seed: freshSeed() };
  }

  roll() {
    if (this.ready) this.change({ seed: freshSeed() });
  }

  change(changes, options) {
    this.link.write(changes, options);
    this.settle();
  }

  /** Go to a view: a new entry in the history. */
  go(name) {
    this.change({ view: name }, { push: true });
  }

  /** Another model: what it would not understand is forgotten. */
  choose(name) {
    const { vocabulary, kit } = this.house.models.find((one) => one.name === name);
    const { model, description, end } = this.link.state;
    const before = this.house.models.find((one) => one.name === model);
    const known = (text) => {
      if (text === undefined) return null;
      if (kit || before?.kit) return alike(kit, before?.kit) ? text : null;
      return write(read(text, vocabulary), vocabulary);
    };
    const theirs = [...this.modules.values()].flatMap((module) => module.ofOneModel ?? []);
    const forgotten = Object.fromEntries(theirs.map((parameter) => [parameter, null]));
    this.change(
      { ...forgotten, model: name, description: known(description), end: known(end) },
      { push: true },
    );
  }

  showTabs(views, view, model) {
    const names = views.map(({ name }) => name).join(" ");
    if (this.tabs.dataset.names !== names)
      this.tabs.replaceChildren(...views.map((one) => this.tab(one)));
    this.tabs.dataset.names = names;
    for (const anchor of this.tabs.children) {
      anchor.href = this.link.address({ ...this.link.state, view: anchor.dataset.view });
      const current = anchor.dataset.view === view.name;
      if (current && !anchor.hasAttribute("aria-current"))
        anchor.scrollIntoView({ block: "nearest", inline: "nearest" }); // a phone has no room for all
      if (current) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
    }
    this.picker.show(model.name);
    this.picker.select.title = model.about;
  }

  tab({ name, title, about }) {
    const click = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.go(name);
    };
    return h("a", {
      class: "tab",
      href: "/",
      "data-view": name,
      title: about,
      text: title,
      on: { click },
    });
  }

  /** The theme and the keys, at the right of the top. */
  buildTools() {
    const help = listen({
      view: (index) => this.pressed(index),
      roll: () => this.roll(),
      theme: () => this.retheme(true),
    });
    this.themeButton = button({
      sign: "moon",
      title: "Dark",
      quiet: true,
      onClick: () => this.retheme(true),
    });
    this.models = h("div", { class: "model" });
    const keys = button({ sign: "help", title: "Keys (?)", quiet: true, onClick: help });
    document.getElementById("tools").append(this.models, this.themeButton, keys);
    this.openKeys = help;
    this.showTheme();
  }

  buildPicker() {
    const options = this.house.models.map(({ name }) => [name, name]);
    this.picker = picker({
      label: "Model",
      options,
      chosen: options[0]?.[0],
      onChange: (name) => this.choose(name),
      hidden: true,
    });
    this.models.replaceChildren(this.picker.element);
  }

  buildFoot() {
    document.getElementById("foot").replaceChildren(
      h("span", { text: `mindseye ${this.house.version}` }),
      h("a", { href: "/docs", text: "the API" }),
      h("button", { type: "button", class: "plain", text: "keys", on: { click: this.openKeys } }),
      h("span", {
        class: "foot-end",
        text: "The address of this page makes these pictures again.",
      }),
    );
  }

  /** A number key was pressed. */
  pressed(index) {
    const tab = this.tabs.children[index];
    if (tab) tab.click();
  }

  /** Show the theme again; the other one if the reader asks for it. */
  retheme(other = false) {
    if (other) {
      theme.remember(theme.current(this.link.state) === "dark" ? "light" : "dark");
      this.link.write({ theme: null });
    }
    theme.apply(this.link.state);
    this.showTheme();
  }

  showTheme() {
    const dark = theme.current(this.link.state) === "dark";
    const title = dark ? "Light (t)" : "Dark (t)";
    this.themeButton.replaceChildren(icon(dark ? "sun" : "moon"));
    this.themeButton.title = title;
    this.themeButton.setAttribute("aria-label", title);
  }
}

new Studio(new HttpBackend()).start();
