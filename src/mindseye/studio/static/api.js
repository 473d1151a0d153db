/** The API as a page: what /api/openapi.json says, for people. */

import { h } from "./dom.js";
import * as theme from "./theme.js";

/** What a parameter may be, in words. */
function kind(schema) {
  const type = schema.type === "array" ? `${schema.items?.type ?? "value"}s` : schema.type;
  const limits = [];
  if (schema.minimum !== undefined) limits.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) limits.push(`at most ${schema.maximum}`);
  if (schema.maxLength !== undefined) limits.push(`at most ${schema.maxLength} characters`);
  return [type, ...limits].filter(Boolean).join(", ");
}

/** One parameter as a row of a table. */
function row({ name, description, required, schema }) {
  const fallback = required ? "needed" : JSON.stringify(schema.default ?? null);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("code", { text: name })),
    h("td", { text: description ?? "" }),
    h("td", { text: kind(schema) }),
    h("td", {}, h("code", { text: fallback })),
  );
}

function table(parameters) {
  const head = ["parameter", "what", "kind", "if not given"].map((text) =>
    h("th", { scope: "col", text }),
  );
  return h(
    "div",
    { class: "api-scroll", tabindex: 0, role: "region", "aria-label": "Parameters" },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, parameters.map(row))),
  );
}

/** One address: what it answers, what it takes, and a link that tries it. */
function route(path, method, operation) {
  const parameters = operation.parameters ?? [];
  const plain =
    method === "get" && !path.includes("{") && !parameters.some((each) => each.required);
  const answer = operation.responses["200"]?.content?.["application/json"]?.schema?.$ref
    ?.split("/")
    .pop();
  return h(
    "section",
    { class: "api-route", "aria-label": `${method} ${path}` },
    h(
      "h2",
      {},
      h("span", { class: "api-method", text: method.toUpperCase() }),
      " ",
      h("code", { text: path }),
    ),
    h("p", {}, operation.description ?? "", answer ? ` Answers ${answer}.` : ""),
    operation.requestBody ? h("p", { text: "The body is the bytes of a file." }) : null,
    parameters.length ? table(parameters) : null,
    plain ? h("p", {}, h("a", { href: path, text: "Try it" })) : null,
  );
}

async function start() {
  theme.apply(Object.fromEntries(new URLSearchParams(window.location.search)));
  const place = document.getElementById("api");
  try {
    const { paths } = await (await fetch("/api/openapi.json")).json();
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods))
        place.append(route(path, method, operation));
    }
  } catch {
    place.append(
      h("p", {
        role: "alert",
        text: "The studio does not answer. Is it still running in its terminal?",
      }),
    );
  }
}

start();
