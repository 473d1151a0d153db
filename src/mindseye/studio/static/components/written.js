/** Pictures with what an observer reads in them and what a model writes of them, word by word. */

import { sentence } from "../concept.js";
import { h, percent } from "../dom.js";
import { canvasFor } from "./sprite.js";

const MOVES = { ArrowRight: 1, ArrowLeft: -1 };

/** What the observer reads, in the order of the sentence; what was said otherwise has a sign. */
export function reading({ seen, told, wrong, right }, said, vocabulary) {
  const word = ({ name }) => {
    if (name in told)
      return h("span", {
        class: "seen-open",
        title: "the observer is told this",
        text: told[name],
      });
    if (wrong.includes(name))
      return h("strong", {
        class: "wrong",
        title: `${name}: ${said[name]} was said`,
        text: `≠ ${seen[name]}`,
      });
    return h("span", { class: name in said ? "seen-said" : "seen-open", text: seen[name] });
  };
  return [
    h("span", { class: "label", text: "seen " }),
    ...vocabulary.flatMap((place) => [word(place), " "]),
    right === null ? "" : h("span", { class: "reading-right number", text: percent(right) }),
  ];
}

/** The same for somebody who does not see it. */
export function readingInWords({ seen, told, wrong, right }, said, vocabulary) {
  const words = vocabulary.map(({ name }) =>
    wrong.includes(name) ? `${seen[name]}, not ${said[name]} as said,` : (told[name] ?? seen[name]),
  );
  const share = right === null ? "" : `; ${percent(right)} of the said words`;
  return `The observer reads ${words.join(" ")}${share}`;
}

/** The words of one place as bars, the drawn one black and printed above. */
function histogram({ name, values }, shares, drawn, flipped) {
  const told = values.map((value, i) => `${value} ${percent(shares[i])}`);
  return h(
    "div",
    {
      class: flipped ? "histogram histogram-flipped" : "histogram",
      role: "img",
      tabindex: -1,
      "aria-label": `${name}: ${drawn} is drawn; ${told.join(", ")}`,
    },
    h("span", { class: "histogram-word", text: drawn }),
    h(
      "span",
      { class: "histogram-bars" },
      values.map((value, i) =>
        h(
          "span",
          {
            class: value === drawn ? "histogram-bar histogram-drawn" : "histogram-bar",
            "data-tip": `${value} ${percent(shares[i], 1)}`,
            "data-place": name,
            "data-word": value,
          },
          h("span", { style: { height: `${(100 * shares[i]).toFixed(2)}%` } }),
        ),
      ),
    ),
  );
}

/** One picture and what is read and written of it. */
class Cell {
  constructor(shape) {
    this.canvas = canvasFor(shape, "a picture that is being made");
    this.sign = h("span", { class: "tile-sign", "aria-hidden": "true", text: "≠", hidden: true });
    this.reading = h("p", { class: "reading" });
    this.words = h("div", { class: "histograms", role: "group" });
    this.frame = h("div", { class: "tile-frame" }, this.canvas, this.sign);
    this.when = h("span", { class: "label written-when" }); // where there is one column
    const beside = h("figcaption", { class: "written-read" }, this.when, this.reading);
    this.element = h("figure", { class: "written" }, this.frame, beside, this.words);
  }

  show(row, i, vocabulary, { when, flipped }) {
    const name = `picture ${i + 1} ${when}`.trim();
    const read = row.readings?.[i];
    const written = row.written?.[i];
    const wrong = Boolean(read?.wrong.length);
    this.canvas.setAttribute(
      "aria-label",
      read ? `${name}. ${readingInWords(read, row.said, vocabulary)}` : name,
    );
    this.element.classList.toggle("tile-wrong", wrong);
    this.sign.hidden = !wrong;
    this.when.textContent = when;
    this.reading.hidden = !read;
    this.reading.replaceChildren(...(read ? reading(read, row.said, vocabulary) : []));
    this.words.setAttribute("aria-label", `Written of ${name}: ${written?.caption.join(" ")}`);
    this.words.hidden = !written;
    this.words.replaceChildren(
      ...(written
        ? vocabulary.map((place, k) =>
            histogram(place, written.words[k], written.caption[k], place.name === flipped),
          )
        : []),
    );
  }
}

/**
 * Cells of one row, or of two rows side by side.
 * @param {{onPick: (place: string, word: string) => void}} acts  For a click on a bar.
 */
export function writtenCells({ vocabulary, shape }, { onPick }) {
  const heads = ["before", "after"].map((text) =>
    h("div", { class: "written-head" }, h("h2", { class: "label", text }), h("p", {})),
  );
  const grid = h("div", { class: "written-grid" });
  const tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const element = h("div", { class: "written-box" }, grid, tip);
  let cells = [];
  let size = "";

  /** Make room for pictures; those that are shown stay until others come. */
  function reserve(n, rows) {
    if (size === `${n} ${rows}`) return;
    size = `${n} ${rows}`;
    while (cells.length < n * rows) cells.push(new Cell(shape));
    cells.length = n * rows;
    grid.style.setProperty("--rows", rows === 2 ? n : Math.ceil(n / 2));
    grid.classList.toggle("written-pairs", rows === 2);
    grid.replaceChildren(...(rows === 2 ? heads : []), ...cells.map((cell) => cell.element));
  }

  function show({ rows, n }, pictures, flipped) {
    reserve(n, rows.length);
    tip.hidden = true;
    const focused = histograms().indexOf(document.activeElement);
    cells.forEach((cell, at) => {
      const [row, i] = [at % rows.length, Math.floor(at / rows.length)];
      const when = rows.length === 2 ? ["before", "after"][row] : "";
      pictures.draw(cell.canvas, row * n + i);
      cell.show(rows[row], i, vocabulary, { when, flipped });
    });
    rows.forEach(({ said, correctness }, row) => {
      const right = correctness ? `, ${percent(correctness.value)} of the said words are seen` : "";
      heads[row].lastChild.textContent = `${sentence(said, vocabulary) || "anything"}${right}`;
    });
    const made = histograms();
    const kept = made[focused] ?? made[0];
    if (kept) kept.tabIndex = 0;
    if (focused >= 0) kept?.focus();
  }

  function histograms() {
    return [...grid.querySelectorAll(".histogram")];
  }

  /** Left and right go from word to word, up and down from picture to picture. */
  function move(event) {
    const every = histograms();
    const at = every.indexOf(event.target);
    const columns = cells[1]?.element.offsetTop === cells[0]?.element.offsetTop ? 2 : 1;
    const far = columns * vocabulary.length;
    const next = every[at + (MOVES[event.key] ?? { ArrowDown: far, ArrowUp: -far }[event.key])];
    if (at < 0 || !next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /** Name a bar, or all words of a place that has the focus. */
  function point(target, text) {
    const [box, place] = [element.getBoundingClientRect(), target.getBoundingClientRect()];
    tip.textContent = text;
    tip.hidden = false;
    const left = place.left - box.left + place.width / 2 - tip.offsetWidth / 2;
    const most = box.width - tip.offsetWidth;
    tip.style.setProperty("left", `${Math.max(0, Math.min(most, left))}px`);
    const below =
      place.bottom + tip.offsetHeight + 4 <= Math.max(box.bottom, window.innerHeight / 2);
    const top = below ? place.bottom + 4 : place.top - tip.offsetHeight - 4;
    tip.style.setProperty("top", `${top - box.top}px`);
  }

  function hide() {
    tip.hidden = true;
  }

  grid.addEventListener("keydown", move);
  grid.addEventListener("focusin", ({ target }) => {
    const bars = [...target.querySelectorAll("[data-tip]")];
    if (bars.length) point(target, bars.map((bar) => bar.dataset.tip).join("\n"));
  });
  grid.addEventListener("focusout", hide);
  grid.addEventListener("pointerover", ({ target }) => {
    const bar = target.closest("[data-tip]");
    if (bar) point(bar, bar.dataset.tip);
    else hide();
  });
  grid.addEventListener("pointerleave", hide);
  grid.addEventListener("click", ({ target }) => {
    const bar = target.closest("[data-tip]");
    if (bar) onPick(bar.dataset.place, bar.dataset.word);
  });

  return { element, reserve, show };
}
