/** Elements made in one line: the page has no templates and no inline markup. */

const SVG = "http://www.w3.org/2000/svg";

/** Set what an element is given: `on` listens, `style` sets properties, `text` is its text. */
function dress(element, given) {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value))
        element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, rule] of Object.entries(value)) element.style.setProperty(key, rule);
    } else if (name === "text") {
      element.textContent = value;
    } else if (name === "value" && "value" in element) {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  return element;
}

/** An HTML element with its children; strings become text. */
export function h(tag, given, ...children) {
  const element = dress(document.createElement(tag), given);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** An SVG element with its children. */
export function s(tag, given, ...children) {
  const element = dress(document.createElementNS(SVG, tag), given);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

let ids = 0;

/** A name no other element has. */
export function unique(stem) {
  ids += 1;
  return `${stem}-${ids}`;
}

/** A share as a percentage; a dash where there is none. */
export function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

/** Seconds as people say them. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** A number in few characters, with a real minus sign. */
export function compact(number) {
  if (typeof number !== "number" || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  const text =
    Number.isInteger(number) || size >= 1000
      ? number.toFixed(0)
      : number.toPrecision(size < 1 ? 2 : 4);
  return text.replace("-", "−");
}

/** Call once things have been quiet for a while. */
export function later(wait, act) {
  let timer = 0;
  const call = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
