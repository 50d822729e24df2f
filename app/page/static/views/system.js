/** The server: workers, queue, memory, numerics, quotas and limits; and beside it sessions, keys and the audit trail. */

import { html, useState } from "../lib/ui.js";
import { request } from "../lib/api.js";
import { formatBytes, formatCount, formatNumber, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf } from "../lib/route.js";
import { Tabs } from "../parts/tabs.js";
import { AuditTab } from "./audit.js";
import { KeysTab } from "./keys.js";
import { SessionsTab } from "./sessions.js";

const EVERY = 3;
const TABS = [
  { path: "server", label: "Server", view: ServerTab },
  { path: "sessions", label: "Sessions", view: SessionsTab },
  { path: "keys", label: "Keys", view: KeysTab },
  { path: "audit", label: "Audit trail", view: AuditTab },
];

/** @param {{tab: string}} props */
export function SystemView({ tab }) {
  const shown = TABS.find((each) => each.path === tab) ?? TABS[0];
  return html`
    <div class="bar"><h1>System</h1></div>
    <${Tabs} label="Parts of the system" shown=${shown.path} tabs=${TABS.map(({ path, label }) => ({ path, label, href: hashOf(["system", path]) }))} />
    <${shown.view} />`;
}

function ServerTab() {
  const [system, setSystem] = useState(null);
  usePolling(async () => setSystem(await request("v1/system")), EVERY);
  if (system === null) return html`<p class="loading" role="status">Reading the state of the server …</p>`;
  const { blas, cores, limits, memory, queue, recovery } = system;
  return html`
    <dl class="figures">
      <div><dt>Running</dt><dd class="num">${queue.running} <small class="muted">of ${limits.workers} workers</small></dd></div>
      <div><dt>Queued</dt><dd class="num">${formatNumber(queue.queued)}</dd></div>
      <div class="wide-figure"><dt>Memory reserved</dt><dd class="num">${formatBytes(memory.reserved_bytes)} <small class="muted">of ${memory.budget_bytes === null ? "any" : formatBytes(memory.budget_bytes)}</small></dd></div>
      <div><dt>Stored</dt><dd class="num">${formatBytes(system.stored_bytes)}</dd></div>
      <div><dt>Free disk</dt><dd class="num">${formatBytes(system.data_dir_free_bytes)}</dd></div>
      <div><dt>Quarantine</dt><dd class="num">${formatBytes(system.quarantine_bytes)}</dd></div>
    </dl>
    <section class="card"><h2>Worker processes</h2><${Workers} workers=${system.workers} /></section>
    <div class="columns">
      <section class="card"><h2>Numerics</h2><${Facts} facts=${{
        Version: system.version,
        Python: system.python,
        NumPy: system.numpy,
        BLAS: `${blas.library}, ${blas.core_type}, ${formatCount(blas.threads, "thread")}`,
        Executors: system.executors.join(", "),
        "Usable cores": cores.usable,
        "Threads of a fit": cores.threads_per_fit,
        "CPUs": cores.cpus.join(", ") + (cores.quota === null ? "" : ` (quota ${cores.quota})`),
        "Memory that a fit may ask for": formatBytes(memory.fit_max_bytes),
      }} /></section>
      <section class="card"><h2>Quotas of the tenant ${system.tenant.name ?? ""}</h2><${Quotas} tenant=${system.tenant} /></section>
      <section class="card"><h2>Last start</h2>${recovery === null ? html`<p class="empty">Nothing had to be recovered.</p>` : html`<${Facts} facts=${{
        Started: formatTime(recovery.at),
        "Attempts that were lost and continue": recovery.attempts_lost,
        "Damaged checkpoints": recovery.damaged_checkpoints,
        "Unfinished files, deleted": recovery.temporary_files,
        "Files without an owner": recovery.orphan_blobs,
        "Moved to quarantine": recovery.quarantined,
        "Returned from quarantine": recovery.returned,
      }} />`}</section>
      <section class="card"><h2>Limits</h2><${Facts} facts=${Object.fromEntries(Object.entries(limits).map(([name, value]) => [name.replaceAll("_", " "), limitText(name, value)]))} /></section>
    </div>`;
}

function Workers({ workers }) {
  if (workers.length === 0) return html`<p class="empty">No worker process is running.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Worker processes"><table>
    <thead><tr><th class="number">Process</th><th>Works on</th><th class="number">Attempt</th><th>State</th><th class="number">Memory</th></tr></thead>
    <tbody>${workers.map(
      (each) => html`<tr key=${each.pid}><td class="number num">${each.pid}</td>
        <td>${each.fit ? html`<a href=${hashOf(["fits", each.fit])}>fit ${shortId(each.fit)}</a>` : (each.session ? html`<a href=${hashOf(["system", "sessions"], { session: each.session })}>session ${shortId(each.session)}</a>` : "computations")}</td>
        <td class="number num">${each.attempt}</td><td>${each.state}</td><td class="number num">${formatBytes(each.rss_bytes)}</td></tr>`,
    )}</tbody></table></div>`;
}

function Quotas({ tenant }) {
  const rows = [
    ["Queued fits", tenant.queued, tenant.queued_max, formatNumber],
    ["Running fits", tenant.running, tenant.running_max, formatNumber],
    ["Open sessions", tenant.sessions, tenant.sessions_max, formatNumber],
    ["Stored", tenant.stored_bytes, tenant.stored_bytes_max, formatBytes],
  ];
  return html`<dl class="facts">${rows.map(
    ([name, used, most, format]) => html`<div key=${name}><dt>${name}</dt><dd class="num">
      ${format(used)} ${most === null ? html`<small class="muted">no limit</small>` : html`<small class="muted">of ${format(most)}</small> <meter min="0" max=${most} high=${0.9 * most} value=${used} aria-label=${`${name}, used part of the quota`}></meter>`}</dd></div>`,
  )}</dl>`;
}

function Facts({ facts }) {
  return html`<dl class="facts">${Object.entries(facts).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="num">${value}</dd></div>`)}</dl>`;
}

function limitText(name, value) {
  if (value === null) return "none";
  return name.endsWith("_bytes") ? formatBytes(value) : formatNumber(value);
}
