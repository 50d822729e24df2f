/** API keys: administrators create and revoke them. */

import { html, useState } from "../lib/ui.js";
import { list, Problem, request, storeKey } from "../lib/api.js";
import { formatAge, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { Copyable } from "../parts/copyable.js";
import { ask, notify, problemText } from "../parts/dialog.js";

const EVERY = 10;
const SCOPES = [
  { name: "read", text: "GET requests" },
  { name: "train", text: "all other methods as well" },
  { name: "admin", text: "keys, the audit trail and backups as well" },
];

export function KeysTab() {
  const [found, setFound] = useState(null);
  const [refused, setRefused] = useState("");
  const [made, setMade] = useState(null);
  const read = async () => {
    try {
      setFound(await list("v1/keys", 1000));
      setRefused("");
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 403) throw error;
      setRefused(error.message);
    }
  };
  usePolling(read, EVERY);
  if (refused) return html`<section class="card"><h2>Keys</h2><p class="problem" role="alert">${refused}</p></section>`;
  if (found === null) return html`<p class="loading" role="status">Reading keys …</p>`;
  return html`
    ${made && html`<${Secret} made=${made} close=${() => setMade(null)} />`}
    <${Create} first=${found.length === 0} created=${(key) => (setMade(key), read())} />
    <section class="card"><h2>Keys</h2>
      ${found.length === 0 ? html`<p class="empty">No key yet: this server answers without one, on this machine only.</p>` : html`<${Table} found=${found} read=${read} />`}
    </section>`;
}

/** The secret of a new key, which is shown this once. */
function Secret({ made, close }) {
  return html`<section class="card notice" role="alert"><div class="bar tight"><h2>Key “${made.name}” was created</h2><button class="quiet" onClick=${close}>Close</button></div>
    <p>Copy it now: the server does not store it and cannot show it again.${made.closed_server && " From now on every request needs a key; this tab uses the new one."}</p>
    <${Copyable} text=${made.key} label="the new key" /></section>`;
}

function Create({ first, created }) {
  const [problem, setProblem] = useState("");
  const [scope, setScope] = useState(first ? "admin" : "train");
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const json = { name: form.get("name"), scopes: [scope] };
    if (form.get("days")) json.expires_at = new Date(Date.now() + Number(form.get("days")) * 86_400_000).toISOString();
    if (form.get("tenant")) json.tenant = form.get("tenant");
    setProblem("");
    try {
      const key = await request("v1/keys", { method: "POST", json });
      // The first key closes the server: without it this tab could not go on.
      if (key.closed_server) storeKey(key.key);
      event.target.reset();
      created(key);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(problemText(error));
    }
  };
  return html`<section class="card"><h2>Create a key</h2>
    ${first && html`<p class="muted">The first key must have the scope admin. From then on every request needs a key.</p>`}
    <form class="predict" onSubmit=${submit}>
      <label class="field">Name <input name="name" required maxlength="128" autocomplete="off" /><small>Its user or purpose.</small></label>
      <label class="field">Scope <select value=${scope} onChange=${(event) => setScope(event.target.value)}>${SCOPES.map((each) => html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}</select><small>${SCOPES.find((each) => each.name === scope).text}</small></label>
      <label class="field">Ends after days <input name="days" type="number" min="1" max="36500" /><small>Left empty, it does not end.</small></label>
      <label class="field">Tenant <input name="tenant" pattern="[a-z0-9][a-z0-9_\\-]{0,63}" autocomplete="off" /><small>Whose resources it gives access to; left empty, yours.</small></label>
      <div class="buttons left"><button class="primary">Create key</button></div>
    </form>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}</section>`;
}

function Table({ found, read }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Keys"><table>
    <thead><tr><th>Name</th><th>Id</th><th>Tenant</th><th>Scopes</th><th>State</th><th>Created</th><th>Last used</th><th>Ends</th><th>Actions</th></tr></thead>
    <tbody>${found.map((each) => html`<tr key=${each.id}>
      <th scope="row">${each.name}</th><td class="mono">${shortId(each.id)}</td><td>${each.tenant}</td><td>${each.scopes.join(", ")}</td>
      <td><span class=${`chip ${isValid(each) ? "state-succeeded" : "state-failed"}`}>${stateOf(each)}</span></td>
      <td class="nowrap muted" title=${formatTime(each.created_at)}>${formatAge(each.created_at)}</td>
      <td class="nowrap muted" title=${formatTime(each.used_at)}>${formatAge(each.used_at)}</td>
      <td class="nowrap muted">${formatTime(each.expires_at)}</td>
      <td>${each.revoked_at === null ? html`<button class="danger" onClick=${() => revoke(each, read)}>Revoke</button>` : html`<span class="muted">–</span>`}</td></tr>`)}</tbody>
  </table></div>`;
}

function isValid(key) {
  return stateOf(key) === "valid";
}

function stateOf(key) {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= Date.now() ? "expired" : "valid";
}

async function revoke(key, read) {
  const answer = await ask({ title: `Revoke the key ${key.name}?`, text: "Requests with it are refused from now on. This cannot be undone.", detail: key.id, action: "Revoke", danger: true });
  if (answer === null) return;
  try {
    await request(`v1/keys/${key.id}`, { method: "DELETE" });
    await read();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}
