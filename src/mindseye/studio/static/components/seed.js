/** The seed of the link: a field, a die and a lock that write it. */

import { flag, seedOf, unless } from "../state.js";
import { seedField } from "./controls.js";

/** The field of a view; `show(seed, locked)` when the link changes. */
export function linkSeed(context, lockable = context.model.vocabulary.length > 0) {
  const locked = () => flag(context.state.lock, true);
  return seedField({
    seed: seedOf(context.state),
    locked: locked(),
    lockable,
    onSeed: (next) => context.say({ seed: next }),
    onRoll: () => context.roll(),
    onLock: () => context.say({ lock: unless(true, !locked()) }),
  });
}
