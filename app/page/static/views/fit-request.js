/** The request of a fit as JSON, as a curl command and as Python. */

import { html } from "../lib/ui.js";
import { addressOf } from "../lib/api.js";
import { route, setQuery } from "../lib/route.js";
import { Copyable } from "../parts/copyable.js";

const FORMS = { json: asJson, curl: asCurl, python: asPython };

/** @param {{fit: any}} props */
export function RequestTab({ fit }) {
  const form = route.value.query.as in FORMS ? route.value.query.as : "json";
  return html`<section class="card">
    <div class="bar tight"><h2>Request</h2>
      <span class="segments" role="group" aria-label="Form of the request">
        ${Object.keys(FORMS).map((each) => html`<button key=${each} aria-pressed=${each === form} onClick=${() => setQuery({ as: each === "json" ? "" : each })}>${each}</button>`)}
      </span></div>
    <${Copyable} text=${FORMS[form](requestOf(fit))} label=${`request as ${form}`} />
  </section>`;
}

/** Return what to send to have the same fit; the server writes class names down itself. */
function requestOf(fit) {
  const { classes: _classes, ...request } = fit.request;
  return Object.keys(fit.labels).length ? { ...request, labels: fit.labels } : request;
}

function asJson(request) {
  return JSON.stringify(request, null, 2);
}

function asCurl(request) {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  return `curl -s ${addressOf("v1/fits")} -H 'Content-Type: application/json' -d '${body}'`;
}

function asPython(request) {
  const { graph, dataset, ...options } = request;
  const lines = Object.entries(options).map(([name, value]) => `    ${name}=${pythonOf(value, 1)},`);
  return `from adjoint_client import Client

client = Client(${pythonOf(addressOf("").replace(/\/$/, ""), 0)})
fit = client.fit(
    ${pythonOf(graph, 1)},
    ${pythonOf(dataset, 1)},
${lines.join("\n")}
)
fit.wait(progress=True)
print(fit.losses()[-1])`;
}

/**
 * Write a value of JSON as Python.
 * @param {unknown} value
 * @param {number} depth
 * @returns {string}
 */
export function pythonOf(value, depth) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = Array.isArray(value)
    ? value.map((each) => pythonOf(each, depth + 1))
    : Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${pythonOf(each, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const line = `${open}${inner.join(", ")}${close}`;
  if (line.length <= 88) return line;
  const indent = "    ".repeat(depth);
  return `${open}\n${inner.map((each) => `${indent}    ${each},`).join("\n")}\n${indent}${close}`;
}
