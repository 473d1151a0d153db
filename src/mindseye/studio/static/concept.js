/**
 * Descriptions on the page: text to words and back.
 *
 * The server's grammar decides; this reads the same forms for the chips, and leaves what it cannot
 * read to the server, whose complaint is better than ours.
 */

const TOKEN = /([,;])|([=:])|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s,;=:]+)/gsu;

/** The form in which words are compared: "Top-Left" and "top left" are the same. */
function fold(word) {
  return word
    .trim()
    .replace(/(?<=[^\s_-])[\s_-]+(?=.)/gsu, " ")
    .toLowerCase();
}

/** The pieces of a text: words, quoted phrases, "is" and "stop". */
function tokens(text) {
  return [...text.matchAll(TOKEN)].map(([, stop, is, double, single, word]) => {
    if (stop) return { kind: "stop", text: "" };
    if (is) return { kind: "is", text: "" };
    const quoted = double ?? single;
    if (quoted !== undefined) return { kind: "quoted", text: quoted.replace(/\\(.)/gsu, "$1") };
    return { kind: "word", text: word };
  });
}

/** The longest phrase from here that is known, and where it ends. */
function phrase(pieces, at, known) {
  const kind = pieces[at]?.kind;
  if (kind !== "word" && kind !== "quoted") return null;
  let end = at + 1;
  while (kind === "word" && end < pieces.length && pieces[end].kind === "word") end += 1;
  for (; end > at; end -= 1) {
    const found = known.get(
      fold(
        pieces
          .slice(at, end)
          .map((piece) => piece.text)
          .join(" "),
      ),
    );
    if (found !== undefined) return { found, end };
  }
  return null;
}

/** A function of an object that is called once for each of them. */
function once(make) {
  const made = new WeakMap();
  return (of) => made.get(of) ?? made.set(of, make(of)).get(of);
}

const valuesOf = once((attribute) => {
  const known = new Map(attribute.values.map((value) => [fold(value), value]));
  return known.set("*", null).set("any", null);
});

/** The attributes that know a word, in order; none for a word that leaves things open. */
const ownersOf = once((vocabulary) => {
  const known = new Map();
  vocabulary.forEach(({ name, values }, k) =>
    values.forEach((value) => {
      const word = fold(value);
      if (!known.has(word)) known.set(word, []);
      known.get(word).push({ k, name, value });
    }),
  );
  return known.set("*", []).set("any", []);
});

/** A vocabulary as it was sent, with the words that an attribute shares with another one. */
export function spelledOut(vocabulary) {
  const lists = new Map(vocabulary.map(({ name, values }) => [name, values]));
  return vocabulary.map(({ name, values, like }) => ({ name, values: lists.get(like) ?? values }));
}

const WIDE = 100;

/** Whether there are too many words to show them all. */
export function isWide(vocabulary) {
  return vocabulary.some(({ values }) => values.length > WIDE);
}

/** All different words. */
export const wordsOf = once((vocabulary) => [
  ...new Set([...new Set(vocabulary.map(({ values }) => values))].flat()),
]);

/**
 * What a text says of a vocabulary, as {attribute: value}; what cannot be read is left out.
 *
 * A word that several attributes know goes to the next of them, as in a sentence, and "*" passes one.
 */
export function read(text, vocabulary) {
  const names = new Map(vocabulary.map((attribute) => [fold(attribute.name), attribute]));
  const owners = ownersOf(vocabulary);
  const pieces = tokens(text ?? "");
  const said = {};
  let place = 0;
  for (let at = 0; at < pieces.length;) {
    const name = phrase(pieces, at, names);
    if (name && pieces[name.end]?.kind === "is") {
      const value = phrase(pieces, name.end + 1, valuesOf(name.found));
      if (value?.found) said[name.found.name] = value.found;
      at = value ? value.end : name.end + 1;
      continue;
    }
    const bare = phrase(pieces, at, owners);
    const owner = bare?.found.find(({ k }) => k >= place) ?? bare?.found[0];
    if (owner) said[owner.name] = owner.value;
    if (bare) place = owner ? owner.k + 1 : place + 1;
    at = bare ? bare.end : at + 1;
  }
  return said;
}

/** A word so that it can be read back. */
function quoted(word) {
  return /^[^\s,;=:"']+( [^\s,;=:"']+)*$/u.test(word)
    ? word
    : `"${word.replace(/(["\\])/gu, "\\$1")}"`;
}

/** The printed form of what is said, in the order of the vocabulary. */
export function write(said, vocabulary) {
  return vocabulary
    .filter(({ name }) => said[name] !== undefined && said[name] !== null)
    .map(({ name }) => `${quoted(name)}=${quoted(said[name])}`)
    .join(", ");
}

/**
 * What is said as a sentence: in the words of the pattern, if there is one; else a word goes to the
 * next place that knows it. "*" passes a place.
 */
export function sentence(said, vocabulary, pattern = "") {
  if (pattern && vocabulary.some(({ name }) => said[name]))
    return piecesOf(said, pattern)
      .map(({ text }) => text)
      .join("");
  const words = [];
  let next = 0;
  vocabulary.forEach(({ name }, k) => {
    const word = said[name];
    if (word === undefined || word === null) return;
    const first = vocabulary.findIndex(({ values }, i) => i >= next && values.includes(word));
    if (first < k) words.push(...Array(k - next).fill("*"));
    words.push(word.replaceAll(" ", "-"));
    next = k + 1;
  });
  return words.join(" ");
}

/** A sentence of a pattern in pieces, `{text, place}`; the pattern's own words have no place. */
export function piecesOf(said, pattern) {
  return pattern
    .split(/\{([^}]*)\}/u)
    .map((text, i) => (i % 2 ? { text: said[text] ?? "*", place: text } : { text, place: null }));
}

/** A description for people: never empty. Without words nothing can be said. */
export function spoken(description, vocabulary) {
  const nothing = vocabulary?.length === 0 ? "a draw from the prior" : "anything at all";
  return description === "" || description === undefined ? nothing : description;
}
