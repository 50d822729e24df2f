/** All stored graphs. */

import { html, useState } from "../lib/ui.js";
import { list } from "../lib/api.js";
import { formatAge, formatNumber, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, navigate, route, setQuery } from "../lib/route.js";
import { Rows } from "../parts/rows.js";

const EVERY = 10;

export function GraphsView() {
  const [graphs, setGraphs] = useState(null);
  usePolling(async () => setGraphs(await list("v1/graphs")), EVERY);
  const words = (route.value.query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (graphs === null) return html`<p class="loading" role="status">Reading graphs …</p>`;
  const shown = graphs.filter((graph) => words.every((word) => `${graph.name} ${graph.id} ${graph.digest}`.toLowerCase().includes(word)));
  return html`
    <div class="bar"><h1>Graphs</h1>
      <input type="search" value=${route.value.query.q ?? ""} placeholder="Search names, ids, digests" aria-label="Search graphs" onInput=${(event) => setQuery({ q: event.target.value })} />
      <a class="button" href=${hashOf(["playground"])}>New in the playground</a></div>
    <${Rows} items=${shown} label="Graphs" empty=${graphs.length ? "No graph matches." : "There are no graphs yet. Write one in the playground."} row=${(graph) => html`<${Row} key=${graph.id} graph=${graph} />`}
      head=${html`<tr><th class="name">Name</th><th class="number">Parameters</th><th class="wide">Digest</th><th>Created</th></tr>`} />`;
}

function Row({ graph }) {
  const open = (event) => {
    if (!event.target.closest("a")) navigate(["graphs", graph.id]);
  };
  return html`<tr onClick=${open}>
    <td class="name"><a href=${hashOf(["graphs", graph.id])}>${graph.name || "graph"} <small class="muted mono">${shortId(graph.id)}</small></a></td>
    <td class="number num">${formatNumber(graph.parameter_count)}</td>
    <td class="wide mono muted">${graph.digest.slice(0, 12)}</td>
    <td class="nowrap muted" title=${formatTime(graph.created_at)}>${formatAge(graph.created_at)}</td></tr>`;
}
