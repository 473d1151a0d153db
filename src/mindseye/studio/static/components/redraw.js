/** Pictures that follow the link: the newest question wins, and nothing is asked twice. */

import { Pictures } from "./sprite.js";

/** An answer and its pictures. */
async function withPictures(answer) {
  return [answer, await Pictures.open(answer.pictures)];
}

/**
 * Asks, opens the pictures, and shows them if nothing newer was asked and the view is still there.
 * @param {Object} context  The view's.
 * @param {{goings, show, open, line}} given  Where it is said what goes on; `show(...opened)`;
 *     `open(answer)`, which lists what is shown; and the line on which newer questions come.
 */
export function redrawer(context, { goings, show, open = withPictures, line = "the stage" }) {
  let asked = "";
  let newest = [];

  async function draw(endpoint, question) {
    goings.busy();
    try {
      const opened = await context.ask(endpoint, question, line, open);
      if (!opened) return;
      goings.done();
      show(...opened);
    } catch (error) {
      asked = "";
      goings.trouble(error, () => ask(...newest));
    }
  }

  /** Ask, unless that was the last question; says whether it was asked. */
  function ask(endpoint, question) {
    const next = JSON.stringify([endpoint, question]);
    if (next === asked) return false;
    asked = next;
    newest = [endpoint, question];
    draw(endpoint, question);
    return true;
  }

  /** Wait for nothing, and ask again next time. */
  function forget() {
    asked = "";
    context.cancel(line);
    goings.done();
  }

  return { ask, forget };
}
