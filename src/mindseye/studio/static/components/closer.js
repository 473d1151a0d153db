/** One picture seen closely, and what can be done with it. */

import { h } from "../dom.js";
import { button } from "./controls.js";
import { seenInWords } from "./grid.js";
import { canvasFor, fileName, save, toBlob } from "./sprite.js";
import { errorState } from "./states.js";

function facts(verdict, said) {
  const rows = Object.entries(verdict?.seen ?? {}).map(([name, value]) =>
    h(
      "div",
      { class: "fact" },
      h("dt", { text: name }),
      h(
        "dd",
        {},
        verdict.wrong.includes(name) ? h("strong", { class: "wrong", text: `≠ ${value}` }) : value,
        verdict.wrong.includes(name) ? ` (${said[name]} was said)` : name in said ? "" : " (open)",
      ),
    ),
  );
  return h("dl", { class: "facts" }, rows);
}

/** Open a dialog with one picture of an answer. */
export function closer(context, pictures, index, answer) {
  const verdict = answer.verdicts?.[index];
  const canvas = canvasFor(context.model.shape, seenInWords(verdict, answer.said));
  pictures.draw(canvas, index);

  /** Hand the picture to another view, through the link; what is wrong is said here. */
  async function send(view, parameter, more = {}) {
    const question = { model: context.model.name, body: toBlob(canvas) };
    try {
      const fitted = await context.ask("pictures", question);
      dialog.close();
      if (fitted) context.say({ view, ...more, [parameter]: fitted.picture }, { push: true });
    } catch (error) {
      wrong.replaceChildren(errorState(error));
    }
  }

  const wrong = h("div", {});
  const shut = () => dialog.close();
  const can = (view) => context.model.views.includes(view);
  const dialog = h(
    "dialog",
    {
      class: "dialog closer",
      "aria-labelledby": "closer-title",
      on: { close: leave },
    },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "closer-title", text: `Picture ${index + 1} of ${answer.n}` }),
      button({ text: "Close", onClick: shut }),
    ),
    h(
      "div",
      { class: "closer-body" },
      canvas,
      h("div", { class: "closer-side" }, facts(verdict, answer.said), actions(), wrong),
    ),
  );

  function leave() {
    window.removeEventListener("popstate", shut);
    dialog.remove();
  }

  function actions() {
    return h(
      "div",
      { class: "closer-actions" },
      can("describe")
        ? button({ text: "Describe it", onClick: () => send("describe", "picture") })
        : null,
      can("latents") && context.model.reads
        ? button({
            text: "Read its latents",
            onClick: () => send("latents", "picture", { point: "picture", z: null }),
          })
        : null,
      can("between") && context.model.reads
        ? button({
            text: "Start a way here",
            onClick: () => send("between", "start_picture", { ends: "pictures" }),
          })
        : null,
      can("between") && context.model.reads
        ? button({
            text: "End a way here",
            onClick: () => send("between", "end_picture", { ends: "pictures" }),
          })
        : null,
      button({
        sign: "down",
        text: "Save",
        onClick: () =>
          save(
            toBlob(canvas),
            fileName(
              answer.model,
              answer.description,
              `seed ${answer.seed}`,
              `picture ${index + 1}`,
            ),
          ),
      }),
    );
  }

  document.body.append(dialog);
  window.addEventListener("popstate", shut); // the page behind it may be another one
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
}
