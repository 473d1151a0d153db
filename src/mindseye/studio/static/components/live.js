/** A picture that follows a moving hand: one question at a time, and the newest is never lost. */

import { Pictures } from "./sprite.js";

async function withPictures(answer) {
  return [answer, await Pictures.open(answer.pictures)];
}

/**
 * While an answer is awaited, only the newest of further questions is kept; so pictures come as
 * fast as the server makes them, and none of them is thrown away.
 * @param {{endpoint: string, goings, show}} given  `show(answer, pictures, newest)`, where `newest`
 *     says that nothing else has been asked in the meantime.
 */
export function live(context, { endpoint, goings, show }) {
  let [asked, next, busy] = ["", null, false];

  async function flow() {
    busy = true;
    try {
      while (next) {
        const question = next;
        next = null;
        goings.busy();
        const made = await context.ask(endpoint, question, endpoint, withPictures);
        if (!made) return; // the view is gone
        goings.done();
        show(...made, next === null);
      }
    } catch (error) {
      const again = next ?? JSON.parse(asked);
      [asked, next] = ["", null];
      goings.trouble(error, () => ask(again));
    } finally {
      busy = false;
    }
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
