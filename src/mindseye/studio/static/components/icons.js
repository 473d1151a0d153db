/** The few signs the page uses, drawn with one stroke width. */

import { s } from "../dom.js";

const PATHS = {
  dice: "M3.5 3.5h9v9h-9zM6 6h.01M10 6h.01M8 8h.01M6 10h.01M10 10h.01",
  locked: "M4 7.5h8v5.5H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2",
  unlocked: "M4 7.5h8v5.5H4zM5.5 7.5V5a2.5 2.5 0 0 1 4.8-1",
  copy: "M6 6h7v7H6zM3.5 10V3.5H10",
  done: "M3.5 8.5l3 3 6-7",
  down: "M8 2.5v8M4.5 7.5L8 11l3.5-3.5M3 13.5h10",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z",
  help: "M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.8.5-1.1.9-1.1 1.7M8 12.2h.01",
  undo: "M5.5 3.5L3 6l2.5 2.5M3 6h6a3.5 3.5 0 0 1 0 7H6",
  clear: "M4 4l8 8M12 4l-8 8",
  more: "M8 3.5v9M3.5 8h9",
  less: "M3.5 8h9",
  play: "M5 3.5l7 4.5-7 4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  swap: "M3 5.5h9L9.5 3M13 10.5H4L6.5 13",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M6 3H3v3M10 3h3v3M6 13H3v-3M10 13h3v-3",
  before: "M10 3L5 8l5 5",
  after: "M6 3l5 5-5 5",
  open: "M3 12.5h10M8 10V2.5M4.8 5.7L8 2.5l3.2 3.2",
};

/** A sign of 16 by 16 pixels that screen readers skip. */
export function icon(name) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    s("path", { d: PATHS[name] }),
  );
}
