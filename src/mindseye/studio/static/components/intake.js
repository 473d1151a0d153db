/** Pictures from outside: a file picker, a place to drop them, and the clipboard. */

import { h } from "../dom.js";
import { button } from "./controls.js";

/** The first picture among dropped, pasted or chosen files. */
function firstPicture(list) {
  return [...(list ?? [])].find((file) => file.type.startsWith("image/"));
}

/** A button that asks for a file. */
export function fileButton(text, onFile) {
  const input = h("input", {
    type: "file",
    accept: "image/*",
    class: "unseen",
    tabindex: -1,
    "aria-hidden": "true",
  });
  input.addEventListener("change", () => {
    const file = firstPicture(input.files);
    input.value = "";
    if (file) onFile(file);
  });
  return h(
    "div",
    { class: "file" },
    button({ sign: "open", text, onClick: () => input.click() }),
    input,
  );
}

/** Take pictures that are dropped on an element. */
export function dropZone(element, onFile) {
  const hover = (on) => element.classList.toggle("dropping", on);
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    hover(true);
  });
  element.addEventListener("dragleave", () => hover(false));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    hover(false);
    const file = firstPicture(event.dataTransfer?.files);
    if (file) onFile(file);
  });
}

/** Take pictures that are pasted anywhere; returns how to stop. */
export function onPaste(onFile) {
  const listener = (event) => {
    const file = firstPicture(event.clipboardData?.files);
    if (file) onFile(file);
  };
  document.addEventListener("paste", listener);
  return () => document.removeEventListener("paste", listener);
}
