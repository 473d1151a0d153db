/**
 * Where answers come from.
 *
 * The page asks a `Backend` and nothing else, so that one that runs a model in the browser can take
 * the server's place. Questions are plain objects with the names of the query parameters; answers
 * are the types that `/docs` lists.
 */

/** What went wrong, and what to do instead; `meant` is false where words cannot be meant. */
export class Trouble extends Error {
  constructor(message, hint = "", meant = true) {
    super(message);
    this.hint = hint;
    this.meant = meant;
  }
}

/**
 * What every backend can be asked, by the name of the endpoint:
 *
 *     models                  Models       all that is open, and all there is to see
 *     imagine                 Imagined     pictures of a description
 *     captions                Captions     pictures of a sentence and what is written of them
 *     paint                   Paintings    the same stroke by stroke
 *     retrieve                Retrieved    how well a sentence fits some real pictures
 *     hierarchy               Hierarchy    a concept and its neighbours
 *     experts                 Experts      the product of experts in a plane
 *     pictures, with a body   Picture      a file's bytes as the model sees them
 *     describe                Described    what a picture shows
 *     between                 Between      the way between two descriptions or pictures
 *     traversals              Traversals   one row of pictures for each latent dimension
 *     latents                 Latents      the picture at a point of the latent space
 *     latents/traversals      Rows         one row for each of the most active dimensions
 *     latents/sheet           a PNG file   the same with names
 *     latents/film            a GIF file   the same in motion
 *     latents/plane           Plane        pictures over two dimensions
 *     latents/example         Example      a training picture
 *     latents/known           Known        which dimensions are active, and the likelihood
 *     parts                   Wholes       wholes of parts, true ones and a model's
 *     graph                   Graph        the nodes and links of a graph
 *     graph/plane             Plane        where its nodes are, or how far that is
 *     graph/links             LikelyLinks  the likeliest links of a node
 *     runs                    Runs         the runs of the folder
 *     runs/NAME               Records      a run's log
 *     compare                 Compared     the same description by several models
 *     tables                  Tables       published tables that were made again
 *     tables/NAME             Table        one of them
 *
 * A family that adds a view asks for an endpoint of its own; nothing here has to know of it.
 */
export class Backend {
  /**
   * @param {string} endpoint  What is asked for.
   * @param {Object} question  Parameters by name; `body` holds bytes to send.
   * @param {{signal: AbortSignal}} options  To give up waiting.
   * @returns {Promise<Object>} The answer; a `Trouble` is thrown where there is none.
   */
  async ask(endpoint, _question, _options) {
    throw new Trouble(`This backend cannot answer \`${endpoint}\`.`);
  }
}

const RETRIES = 2;

/** The studio's own server. */
export class HttpBackend extends Backend {
  constructor(base = "/api") {
    super();
    this.base = base;
  }

  /** One request; a busy server that took nothing is asked again after the time it names. */
  async ask(endpoint, { body, ...question } = {}, { signal } = {}) {
    const path = endpoint.split("/").map(encodeURIComponent).join("/");
    const address = `${this.base}/${path}${query(question)}`;
    const method = body ? "POST" : "GET";
    for (let turn = 0; ; turn += 1) {
      const response = await reach(address, { signal, method, body });
      if (response.ok) return opened(response);
      const again = response.status === 429 && method === "GET" && turn < RETRIES;
      if (!again) throw await complaint(response);
      await pause(Number(response.headers.get("Retry-After")) || 1, signal);
    }
  }
}

/** What came: plain data, or the bytes of a file. */
function opened(response) {
  const plain = response.headers.get("Content-Type")?.includes("json");
  return plain ? response.json() : response.blob();
}

/** A question as a query string; lists repeat their name, nothing is sent for null. */
function query(question) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) pairs.append(name, String(one));
  }
  const text = pairs.toString();
  return text ? `?${text}` : "";
}

async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(
      "The studio does not answer.",
      "Is `mindseye studio` still running in its terminal?",
    );
  }
}

/** The server's complaint, or a plain one where it sent none. */
async function complaint(response) {
  const busy = response.status === 429 || response.status === 503;
  const plain = busy
    ? "The studio is busy just now."
    : `The studio answered with ${response.status}.`;
  const advice = busy ? "Try again in a moment." : "";
  try {
    const { message, hint } = await response.json();
    return new Trouble(message || plain, hint || advice, response.status !== 400);
  } catch {
    return new Trouble(plain, advice);
  }
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * Math.min(seconds, 10));
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("A newer question was asked.", "AbortError"));
    });
  });
}

/** Asks for one view: a newer question on a line cancels the older one. */
export class Asker {
  constructor(backend) {
    this.backend = backend;
    this.lines = new Map();
    this.stopped = false;
  }

  /**
   * The answer, or undefined if a newer question took its place or nobody looks any more.
   * @param {(answer: Object) => any} open  Makes of an answer what is shown; it may take its time.
   */
  async ask(endpoint, question, line = endpoint, open = (answer) => answer) {
    if (this.stopped) return undefined;
    this.cancel(line);
    const controller = new AbortController();
    const { signal } = controller;
    this.lines.set(line, controller);
    try {
      const made = await open(await this.backend.ask(endpoint, question, { signal }));
      return signal.aborted ? undefined : made;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  /** Wait no longer for what was asked on a line. */
  cancel(line) {
    this.lines.get(line)?.abort();
    this.lines.delete(line);
  }

  /** Cancel everything that is under way; nothing is asked any more. */
  stop() {
    this.stopped = true;
    for (const line of [...this.lines.keys()]) this.cancel(line);
  }
}
