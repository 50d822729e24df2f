/** Training sessions: models whose steps a client requests, with their processes and parameters. */

import { html, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { formatAge, formatNumber, formatSeconds, formatShape, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, route, setQuery } from "../lib/route.js";
import { Labels } from "./fits.js";
import { ask, notify } from "../parts/dialog.js";

const EVERY = 3;
const OPEN = ["active", "paused"];
const TONES = { active: "state-running", paused: "state-paused", failed: "state-failed" };

export function SessionsTab() {
  const [found, setFound] = useState(null);
  const read = async () => setFound(await list("v1/sessions", 1000));
  usePolling(read, EVERY);
  if (found === null) return html`<p class="loading" role="status">Reading sessions …</p>`;
  const shown = found.find((each) => each.id === route.value.query.session);
  return html`
    <section class="card"><h2>Sessions</h2>
      <p class="muted">A session is a model whose steps a client requests: forward, backward, step.</p>
      ${found.length === 0 ? html`<p class="empty">No session yet. A client opens one with POST /v1/sessions.</p>` : html`<${Table} found=${found} shown=${shown} read=${read} />`}
    </section>
    ${shown && html`<${Details} session=${shown} />`}`;
}

function Table({ found, shown, read }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Sessions"><table>
    <thead><tr><th>Session</th><th>Kind</th><th>State</th><th>Process</th><th class="number">Step</th><th class="number">Attempt</th><th>Last used</th><th>Expires</th><th>Actions</th></tr></thead>
    <tbody>${found.map(
      (each) => html`<tr key=${each.id} class=${each === shown ? "chosen" : ""}>
        <th scope="row"><button class="link mono" aria-expanded=${each === shown} onClick=${() => setQuery({ session: each === shown ? "" : each.id })}>${each.name || shortId(each.id)}</button> <${Labels} labels=${each.labels} /></th>
        <td>${each.kind}</td><td><span class=${`chip ${TONES[each.state] ?? ""}`}>${each.state}</span></td><td>${each.kernels ? `compiling ${each.kernels.count}/${each.kernels.total}` : each.process ?? "–"}</td>
        <td class="number num">${formatNumber(each.step)}</td><td class="number num">${each.attempt}</td>
        <td class="nowrap muted" title=${formatTime(each.used_at)}>${formatAge(each.used_at)}</td>
        <td class="nowrap muted" title=${formatTime(each.expires_at)}>${each.expires_at ? `in ${formatSeconds(Math.max(0, (Date.parse(each.expires_at) - Date.now()) / 1000))}` : "–"}</td>
        <td class="nowrap"><${Actions} session=${each} read=${read} /></td></tr>`,
    )}</tbody></table></div>`;
}

function Actions({ session, read }) {
  if (!OPEN.includes(session.state)) return html`<span class="muted">–</span>`;
  const verb = session.state === "paused" ? "resume" : "pause";
  const change = (path, options) => attempt(() => request(path, options), read);
  const close = async () => {
    const answer = await ask({ title: `Close session ${shortId(session.id)}?`, text: "Its process ends. What was not saved as a checkpoint is lost.", action: "Close session", danger: true });
    if (answer) await change(`v1/sessions/${session.id}`, { method: "DELETE" });
  };
  return html`<button onClick=${() => change(`v1/sessions/${session.id}:${verb}`, { method: "POST" })}>${verb === "pause" ? "Pause" : "Resume"}</button> <button class="danger" onClick=${close}>Close</button>`;
}

function Details({ session }) {
  const facts = {
    Id: session.id, Name: session.name ?? "–", Created: formatTime(session.created_at), Optimizer: session.optimizer ? JSON.stringify(session.optimizer) : "none",
    Precision: session.precision, Executor: session.executor ?? "–", Threads: session.threads ?? "–", Seed: session.seed,
    "Bit-exact": session.bit_exact ? "yes" : "no: resumed under other numerics", Error: session.error?.detail ?? "none",
  };
  return html`<section class="card"><h2>Session <span class="mono">${shortId(session.id)}</span></h2>
    <dl class="facts">${Object.entries(facts).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
      ${session.dataset && html`<div><dt>Dataset</dt><dd><a href=${hashOf(["datasets", session.dataset])}>${shortId(session.dataset)}</a></dd></div>`}</dl>
    <h3>Parameters</h3>
    <div class="scroll" tabindex="0" role="region" aria-label="Parameters"><table>
      <thead><tr><th>Name</th><th>Type</th><th>Shape</th></tr></thead>
      <tbody>${session.parameters.map((each) => html`<tr key=${each.name}><th scope="row" class="mono">${each.name}</th><td>${each.dtype}</td><td class="mono">${formatShape(each.shape)}</td></tr>`)}</tbody>
    </table></div></section>`;
}

/** Send a request, then read again; a problem is shown. */
async function attempt(send, read) {
  try {
    await send();
    await read();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}
