/** The two ends of a way: words or pictures. */

import { read } from "../concept.js";
import { h } from "../dom.js";
import { conceptEditor } from "./chips.js";
import { button, segmented } from "./controls.js";
import { block } from "./frame.js";
import { dropZone, fileButton } from "./intake.js";
import { canvasFor, fromLink, linkBlob, save } from "./sprite.js";

/** One end: chips for words, or a picture with buttons. */
function end({ title, context, onWords, onFile, onClear }) {
  const { model } = context;
  const editor = conceptEditor({
    vocabulary: model.vocabulary,
    said: {},
    onChange: onWords,
    wordless: title === "From" ? "a draw from the prior" : "another draw",
  });
  const canvas = canvasFor(model.shape, `${title}: no picture yet`);
  const clear = button({
    sign: "clear",
    title: `Take the picture away (${title})`,
    quiet: true,
    onClick: onClear,
  });
  const keep = button({
    sign: "down",
    title: `Save the picture (${title})`,
    quiet: true,
    onClick: () => save(linkBlob(laid), file),
  });
  const picture = h(
    "div",
    { class: "end-picture" },
    h("div", { class: "tile-frame" }, canvas),
    h("div", { class: "end-tools" }, fileButton("Choose a file", onFile), keep, clear),
  );
  dropZone(picture, onFile);
  let laid = "";
  let file = "";

  function blank() {
    canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
    canvas.setAttribute("aria-label", `${title}: no picture yet`);
  }

  function draw(image) {
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  }

  return {
    element: h("div", { class: "end" }, block(title, editor.element, picture)),
    show(pictures, description, link, name) {
      file = name;
      keep.title = `Save the picture as ${name}, for the command below`;
      editor.element.hidden = pictures;
      picture.hidden = !pictures;
      clear.hidden = !link;
      keep.hidden = !link;
      editor.show(read(description, model.vocabulary));
      if (link === laid) return;
      laid = link;
      blank();
      if (!link) return;
      canvas.setAttribute("aria-label", `${title}: a picture`);
      fromLink(link).then(
        (image) => link === laid && draw(image),
        () => {},
      );
    },
  };
}

/**
 * Both ends, with a switch between words and pictures.
 * @param {{onWords, onFile, onClear}} acts  Each is told "start" or "end" first.
 */
export function bothEnds(context, { onWords, onFile, onClear }) {
  const made = ["start", "end"].map((which) =>
    end({
      title: which === "start" ? "From" : "To",
      context,
      onWords: (said) => onWords(which, said),
      onFile: (file) => onFile(which, file),
      onClear: () => onClear(which),
    }),
  );
  const kind = segmented({
    label: "between",
    options: [
      ["words", context.model.vocabulary.length ? "words" : "draws"],
      ["pictures", "pictures"],
    ],
    chosen: "words",
    onChange: (value) => context.say({ ends: value === "words" ? null : value }),
  });
  kind.element.hidden = !context.model.reads;
  return {
    element: h("div", { class: "ends" }, kind.element, made[0].element, made[1].element),
    /** Show the ends of a state; the second has no part in latents. */
    show(state, words, latents) {
      const pictures = state.ends === "pictures";
      made[1].element.hidden = latents;
      kind.show(pictures ? "pictures" : "words");
      made[0].show(
        pictures,
        words.start,
        state.start_picture ?? "",
        latents ? "picture.png" : "start.png",
      );
      made[1].show(pictures, words.end, state.end_picture ?? "", "end.png");
    },
  };
}
