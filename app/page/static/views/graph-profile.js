/** The measured time of every node of a step, and of layers, ops and phases. */

import { html, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatBytes, formatNumber, formatSeconds, formatShape } from "../lib/format.js";
import { groupBy } from "../lib/layered.js";
import { route, setQuery } from "../lib/route.js";
import { madeInputs } from "../lib/feeds.js";
import { problemText } from "../parts/dialog.js";
import { Rows } from "../parts/rows.js";
import { formatFlops } from "./graph-structure.js";

const REPEATS = 5;
const GROUPINGS = { node: "node", op: "op", phase: "phase" };

/** @param {{graph: any, batch: number, optimizer: string}} props */
export function GraphProfile({ graph, batch, optimizer }) {
  const [profile, setProfile] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const { query } = route.value;
  const by = query.by in GROUPINGS ? query.by : "node";
  const measure = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const json = { inputs: madeInputs(graph.definition, batch), repeats: REPEATS, ...(optimizer && optimizer !== "none" ? { optimizer } : {}) };
      setProfile({ ...(await request(`v1/graphs/${graph.id}:profile`, { method: "POST", json })), batch });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    }
    setBusy(false);
  };
  return html`
    <p class="muted">Runs the step ${REPEATS} times on the server, each node by its NumPy kernel, on random numbers (zeros where the graph takes integers). A fit takes less: it fuses nodes and reuses memory.</p>
    <div class="controls" role="group" aria-label="Profile">
      <button class="primary" onClick=${measure} disabled=${busy}>${busy ? "Measuring …" : profile ? "Measure again" : `Measure a step of ${formatNumber(batch)} rows`}</button>
      ${profile && html`<span class="segments" role="group" aria-label="Sums">${Object.keys(GROUPINGS).map((each) => html`<button key=${each} aria-pressed=${each === by} onClick=${() => setQuery({ by: each === "node" ? "" : each })}>by ${each}</button>`)}</span>`}
    </div>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}
    ${profile && html`<${Report} profile=${profile} by=${by} />`}`;
}

function Report({ profile, by }) {
  const total = profile.seconds || 1;
  const rows = by === "node" ? profile.data.map((each, index) => ({ ...each, key: `${index}`, count: 1 })) : summed(profile.data, by);
  const items = rows.sort((one, other) => other.seconds - one.seconds);
  const row = (each) => html`<tr key=${each.key}>
    <th scope="row" class="mono">${each.name}</th><td>${each.phase}</td><td class="mono">${each.op}</td><td class="mono nowrap wide">${each.shape ? formatShape(each.shape) : `${each.count} nodes`}</td>
    <td class="number num nowrap">${formatTiming(each.seconds)}</td>
    <td class="wide"><svg class="share" width="110" height="12" role="img" aria-label=${`${((100 * each.seconds) / total).toFixed(1)} percent`}><rect width="110" height="12" rx="3" class="rest" /><rect width=${(110 * each.seconds) / total} height="12" rx="3" /></svg> <span class="num muted">${((100 * each.seconds) / total).toFixed(1)} %</span></td>
    <td class="number num">${formatFlops(each.flops)}</td><td class="number num wide">${each.seconds > 0 ? formatNumber(Number((each.flops / each.seconds / 1e9).toPrecision(3))) : "–"}</td><td class="number num">${formatBytes(each.bytes_read + each.bytes)}</td></tr>`;
  return html`
    <dl class="figures">
      <div><dt>A step</dt><dd class="num">${formatTiming(profile.seconds)}</dd></div>
      ${Object.entries(profile.phase_seconds).map(([phase, seconds]) => html`<div key=${phase}><dt>${phase}</dt><dd class="num">${formatTiming(seconds)}</dd></div>`)}
      <div><dt>Work</dt><dd class="num">${formatFlops(profile.flops)}</dd></div>
      <div><dt>Peak memory</dt><dd class="num">${formatBytes(profile.peak_bytes)}</dd></div>
      <div><dt>Rows</dt><dd class="num">${formatNumber(profile.batch)}</dd></div>
    </dl>
    <${Rows} items=${items} row=${row} label="Times" empty="The step has no nodes."
      head=${html`<tr><th>Name</th><th>Pass</th><th>Op</th><th class="wide">Shape</th><th class="number">Time</th><th class="wide">Share</th><th class="number">Work</th><th class="number wide">GFLOP/s</th><th class="number">Bytes moved</th></tr>`} />`;
}

function summed(data, by) {
  return [...groupBy(data, (each) => (by === "op" ? `${each.op} ${each.phase}` : each.phase))].map(([key, members]) => {
    const sum = (field) => members.reduce((total, each) => total + each[field], 0);
    const [first] = members;
    return { key, name: by === "op" ? first.op : first.phase, phase: first.phase, op: by === "op" ? first.op : "–", count: members.length, seconds: sum("seconds"), flops: sum("flops"), bytes: sum("bytes"), bytes_read: sum("bytes_read") };
  });
}

function formatTiming(seconds) {
  if (seconds >= 0.1) return formatSeconds(seconds);
  return seconds >= 1e-3 ? `${formatNumber(Number((seconds * 1e3).toPrecision(3)))} ms` : `${formatNumber(Number((seconds * 1e6).toPrecision(3)))} µs`;
}
