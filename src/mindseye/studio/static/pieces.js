/**
 * Parts on the page: what a whole is made of, as a list and as a text.
 *
 * A piece is `{category, place, born}`: `place` has a number for every axis of the kit, `born` is
 * the text of the piece where it stood before it was moved. Texts are read by the server alone,
 * whose complaints are better than ours.
 */

/** Where a piece is; no number is −0. */
function placeText({ place }) {
  return place.map((value) => String(value + 0)).join(",");
}

/** A piece as it is written. */
export function textOf(piece) {
  return piece.place.length ? `${piece.category}@${placeText(piece)}` : piece.category;
}

/** A piece that was never moved. */
export function pieceOf(category, place = []) {
  const piece = { category, place };
  return { ...piece, born: textOf(piece) };
}

/** What some pieces are called together, those that are alike with their number. */
export function write(pieces, kit) {
  const names = kit.categories.map(({ name }) => name);
  const order = ({ category }) => names.indexOf(category);
  const counts = new Map();
  for (const piece of [...pieces].sort((a, b) => order(a) - order(b))) {
    const text = textOf(piece);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .map(([text, n]) => (n > 1 ? `${n}×${text}` : text))
    .join(kit.axes.length ? "; " : ", ");
}

/** The pieces that were moved, and where to, as the server is told. */
export function writeMoves(pieces) {
  return pieces
    .filter((piece) => piece.born !== textOf(piece))
    .map((piece) => `${piece.born}=${placeText(piece)}`)
    .join("; ");
}

/** A piece for people: red at 0.2, −0.5. */
export function spokenPiece({ category, place }) {
  const at = place.map((value) => String(Number(value.toFixed(3)) + 0)).join(", ");
  return at ? `${category} at ${at.replaceAll("-", "−")}` : category;
}

/** A whole to begin with. */
export function opening(kit) {
  const names = kit.categories.map(({ name }) => name);
  if (!kit.axes.length)
    return write([1, 1, -1].map((i) => pieceOf(names.at(i % names.length))), kit);
  const reach = (kit.high - kit.low) / 2;
  const middle = (kit.high + kit.low) / 2;
  const places = [
    [-0.5, -0.4],
    [0.5, -0.3],
    [0, 0.5],
  ];
  return write(
    places.map((place, i) =>
      pieceOf(
        names[i % names.length],
        place.map((share) => middle + reach * share),
      ),
    ),
    kit,
  );
}

/** Whether two models know the same parts. */
export function alike(one, other) {
  const known = ({ categories, axes, low, high }) =>
    JSON.stringify([categories.map(({ name }) => name), axes, low, high]);
  return Boolean(one && other) && known(one) === known(other);
}

/** A place that no piece is near to: of a grid, the one farthest from all; else the middle. */
export function freePlace(pieces, kit) {
  const step = (kit.high - kit.low) / 10;
  const marks = [1, 3, 5, 7, 9].map((i) => Number((kit.low + i * step).toFixed(3)));
  let best = { place: [marks[2], marks[2]], far: -1 };
  for (const x of marks)
    for (const y of marks) {
      const far = Math.min(
        Infinity,
        ...pieces.map(({ place }) => Math.hypot(place[0] - x, place[1] - y)),
      );
      if (far > best.far && far < Infinity) best = { place: [x, y], far };
    }
  return best.place;
}
