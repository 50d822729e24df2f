/** The request of a fit as JSON, as a curl command and as Python; its bundle, and its replays. */

import { html, saveBlob, useEffect } from "../lib/ui.js";
import { addressOf, Problem, request, send, storedKey } from "../lib/api.js";
import { shortId } from "../lib/format.js";
import { fits, refreshFits } from "../lib/fits.js";
import { hashOf, navigate, route, setQuery } from "../lib/route.js";
import { Copyable } from "../parts/copyable.js";
import { notify } from "../parts/dialog.js";

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
  </section>
  <${Reproduction} fit=${fit} />`;
}

/** The bundle, which holds everything that determines the result, and replays, which compare it bit for bit. */
function Reproduction({ fit }) {
  useEffect(() => void refreshFits().catch(() => undefined), [fit.id]);
  const ended = fit.state === "succeeded";
  const download = async () => {
    await attempt(async () => saveBlob(await (await send(`v1/fits/${fit.id}/bundle`)).blob(), `${fit.id}.bundle.json`));
  };
  const replay = async () => {
    await attempt(async () => navigate(["fits", (await request("v1/fits:replay", { method: "POST", json: { fit: fit.id } })).id]));
  };
  const found = [...(fits.value?.values() ?? [])].filter((each) => each.replay?.of === fit.id);
  return html`<section class="card"><h2>Bundle and replay</h2>
    <p class="muted">A bundle is one JSON document with graph, data digests, request, seed and numerics, and the digests of the result. A replay trains again from it and compares every row and every parameter.</p>
    ${fit.replay && html`<${Verdict} replay=${fit.replay} />`}
    ${ended
      ? html`<div class="buttons left"><button onClick=${download}>Download the bundle</button><button onClick=${replay}>Replay this fit</button></div>`
      : html`<p class="empty">There is a bundle once the fit has succeeded.</p>`}
    ${found.length > 0 && html`<h3>Replays of this fit</h3><ul>${found.map((each) => html`<li key=${each.id}><a href=${hashOf(["fits", each.id, "request"])}>${shortId(each.id)}</a> ${each.state}${each.replay.verdict ? `, ${each.replay.verdict.bit_exact ? "equal bit for bit" : "differs"}` : ""}</li>`)}</ul>`}
  </section>`;
}

function Verdict({ replay }) {
  const { verdict } = replay;
  const tone = verdict === null ? "" : verdict.bit_exact ? "state-succeeded" : "state-failed";
  const text = verdict === null ? "compared when it has succeeded" : verdict.bit_exact ? "equal bit for bit" : `differs in ${verdict.differences.join(", ")}`;
  return html`<p>This fit replays <a class="mono" href=${hashOf(["fits", replay.of])}>${shortId(replay.of)}</a>: <span class=${`chip ${tone}`}>${text}</span>
    ${!replay.same_numerics && html` <span class="muted">The numerics of this server differ in ${replay.numerics_differences.join(", ")}: equal bits cannot be expected.</span>`}
    ${verdict?.first_row && html` <span class="muted">The first row that differs is ${verdict.first_row}.</span>`}</p>`;
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}

/** Return what to send to have the same fit; the server writes class names down itself. */
function requestOf(fit) {
  const { classes: _classes, ...body } = fit.request;
  return Object.keys(fit.labels).length ? { ...body, labels: fit.labels } : body;
}

function asJson(request) {
  return JSON.stringify(request, null, 2);
}

function asCurl(request) {
  const body = JSON.stringify(request, null, 2).replaceAll("'", "'\\''");
  const key = storedKey() ? ' -H "Authorization: Bearer $ADJOINT_KEY"' : "";
  return `curl -s ${addressOf("v1/fits")}${key} -H 'Content-Type: application/json' -d '${body}'`;
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
