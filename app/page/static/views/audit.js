/** The audit trail: who requested which change, and its result. */

import { html, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";

const EVERY = 10;
const PAGE = 100;

export function AuditTab() {
  const [pages, setPages] = useState(null);
  const [refused, setRefused] = useState("");
  const q = route.value.query.q ?? "";
  const read = async (cursor) => request(`v1/audit?order=desc&limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
  usePolling(async () => {
    try {
      const first = await read(null);
      // Older pages that were read stay; the newest entries come before them.
      setPages((before) => merged(first, before));
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 403) throw error;
      setRefused(error.message);
    }
  }, EVERY);
  if (refused) return html`<section class="card"><h2>Audit trail</h2><p class="problem" role="alert">${refused}</p></section>`;
  if (pages === null) return html`<p class="loading" role="status">Reading the trail …</p>`;
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = pages.entries.filter((each) => words.every((word) => `${each.action} ${each.object} ${each.result} ${each.key_id} ${each.address}`.toLowerCase().includes(word)));
  const older = async () => setPages(appended(pages, await read(pages.next)));
  return html`<section class="card">
    <div class="bar tight"><h2>Audit trail</h2><input type="search" value=${q} placeholder="Search" aria-label="Search the entries that are shown" onInput=${(event) => setQuery({ q: event.target.value })} /></div>
    <p class="muted">Each entry holds the hash of the one before it; <code>adjoint audit verify</code> checks the whole chain.</p>
    ${shown.length === 0
      ? html`<p class="empty">${pages.entries.length ? "No entry matches." : "No change was requested yet."}</p>`
      : html`<div class="scroll" tabindex="0" role="region" aria-label="Audit trail"><table>
        <thead><tr><th class="number">No.</th><th>Time</th><th>Key</th><th>Action</th><th>Resource</th><th class="number">Result</th><th>Address</th></tr></thead>
        <tbody>${shown.map((each) => html`<tr key=${each.seq}><td class="number num">${each.seq}</td><td class="nowrap">${formatTime(each.at)}</td>
          <td class="mono">${each.key_id === null ? "none" : shortId(each.key_id)}</td><td>${each.action.replaceAll("_", " ")}</td><td class="mono wrap">${each.object}</td>
          <td class="number num"><span class=${`chip ${/^2|done/.test(each.result) ? "state-succeeded" : "state-failed"}`}>${each.result}</span></td><td class="mono">${each.address}</td></tr>`)}</tbody>
      </table></div>`}
    ${pages.next && html`<div class="buttons left"><button onClick=${older}>Show older entries</button></div>`}
  </section>`;
}

function merged(first, before) {
  const last = first.data.at(-1)?.seq ?? 0;
  if (before === null || before.entries[0]?.seq < last - 1) return appended({ entries: [] }, first);
  return { entries: [...first.data, ...before.entries.filter((each) => each.seq < last)], next: before.next };
}

function appended(pages, page) {
  return { entries: [...pages.entries, ...page.data], next: page.has_more ? page.next_cursor : null };
}
