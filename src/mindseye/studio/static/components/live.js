/** A picture that follows a moving hand: one question at a time, and the newest is never lost. */

import { Pictures } from "./sprite.js";

async function withPictures(answer) {
  return [answer, await Pictures.open(answer.pictures)];
}

/**
 * While an answer is awaited, only the newest of further questions is kept; so pictures come as
 * fast as the server makes them, and none of them is thrown away.
 * @param {{endpoint: string, goings, show, open}} given  `show(answer, pictures, newest)`, where
 *     `newest` says that nothing else has been asked in the meantime; `open(answer)` lists what is
 *     shown.
 */
export function live(context, { endpoint, goings, show, open = withPictures }) {
  let [asked, next, busy] = ["", null, false];

  async function flow() {
    busy = true;
    while (next) {
      const question = next;
      next = null;
      goings.busy();
      try {
        const made = await context.ask(endpoint, question, endpoint, open);
        if (!made) break; // the view is gone
        goings.done();
        show(...made, next === null);
      } catch (error) {
        if (next) continue; // it is not asked any more
        asked = "";
        goings.trouble(error, () => ask(question));
      }
    }
    busy = false;
  }

  /** Ask, unless that was the last question. */
  function ask(question) {
    const text = JSON.stringify(question);
    if (text === asked) return;
    asked = text;
    next = question;
    if (!busy) flow();
  }

  return { ask };
}
