/** One graph, alone or as a part of its fit: structure, plan, profile and the NumPy program of a step. */

import { html, useEffect } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatBytes, formatNumber, formatTime } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { hashOf, navigate, route, setQuery } from "../lib/route.js";
import { ask, notify, problemText } from "../parts/dialog.js";
import { DraftInput } from "../parts/draft-input.js";
import { Tabs } from "../parts/tabs.js";
import { GraphStructure } from "./graph-structure.js";
import { GraphPlan } from "./graph-plan.js";
import { GraphProfile } from "./graph-profile.js";
import { GraphProgram } from "./graph-program.js";

const BATCH = 32;
const PARTS = { structure: ["Structure", GraphStructure], plan: ["Plan", GraphPlan], profile: ["Profile", GraphProfile], program: ["Program", GraphProgram] };

/** @param {{id: string}} props */
export function GraphView({ id }) {
  const { data: graph, problem } = useResource(`v1/graphs/${id}`);
  useEffect(() => {
    if (graph) document.title = `${graph.name || "Graph"} · Adjoint`;
  }, [graph]);
  if (problem) return html`<section class="card"><h1>Graph</h1><p class="bad" role="alert">${problemText(problem)}</p><a href=${hashOf(["graphs"])}>All graphs</a></section>`;
  if (graph === null) return html`<p class="loading" role="status">Reading the graph …</p>`;
  return html`
    <div class="bar fit-head"><div>
      <p class="crumbs"><a href=${hashOf(["graphs"])}>Graphs</a> / <span class="mono">${id}</span></p>
      <h1>${graph.name || "Graph"}</h1>
      <p class="muted">${formatNumber(graph.parameter_count)} parameters, ${formatBytes(graph.memory.parameter_bytes)} · created ${formatTime(graph.created_at)}</p>
    </div>
    <div class="actions">
      <a class="button" href=${hashOf(["playground"], { graph: id })}>Open in the playground</a>
      <button class="danger" onClick=${() => remove(graph)}>Delete</button>
    </div></div>
    <${GraphPanel} graph=${graph} optimizer=${graph.definition.losses?.length ? "adam" : ""} batch=${BATCH} />`;
}

/**
 * The parts of a graph; the address says which one, at which batch and with which optimizer.
 * @param {{graph: any, optimizer: string, batch: number}} props
 */
export function GraphPanel({ graph, optimizer, batch }) {
  const { path, query } = route.value;
  const part = query.part in PARTS ? query.part : "structure";
  const [, View] = PARTS[part];
  const rows = Number.isInteger(Number(query.batch)) && Number(query.batch) > 0 ? Number(query.batch) : batch;
  return html`
    <${Tabs} label="Parts of the graph" shown=${part}
      tabs=${Object.entries(PARTS).map(([name, [label]]) => ({ path: name, label, href: hashOf(path, { ...query, part: name === "structure" ? "" : name }) }))} />
    <section class="card">
      ${graph.findings.map((each) => html`<p class=${each.severity === "warning" ? "problem" : "muted"} key=${each.pointer + each.code}><strong>${each.severity}</strong> ${each.detail} <span class="mono">${each.pointer}</span></p>`)}
      <div class="controls" role="group" aria-label="Step">
        <label>Rows <${RowsField} rows=${rows} /></label>
        ${part !== "structure" && html`<${OptimizerChoice} graph=${graph} chosen=${query.optimizer ?? optimizer} />`}
      </div>
      <${View} graph=${graph} batch=${rows} optimizer=${graph.definition.losses?.length ? (query.optimizer ?? optimizer) : ""} key=${graph.id} />
    </section>`;
}

function RowsField({ rows }) {
  const commit = (text) => {
    const value = Math.round(Number(text));
    setQuery({ batch: value >= 1 ? value : "" });
  };
  return html`<${DraftInput} type="number" class="small-field" min="1" max="1048576" value=${rows} onCommit=${commit} aria-label="Rows of a step" />`;
}

function OptimizerChoice({ graph, chosen }) {
  const { data } = useResource("v1/optimizers");
  if (!graph.definition.losses?.length) return null;
  const kinds = data?.data.map((each) => each.kind) ?? [chosen].filter(Boolean);
  return html`<label>Step <select value=${chosen === "" ? "none" : chosen} onChange=${(event) => setQuery({ optimizer: event.target.value })}>
    <option value="none">evaluation only</option>
    ${kinds.map((kind) => html`<option key=${kind} value=${kind}>training with ${kind}</option>`)}
  </select></label>`;
}

async function remove(graph) {
  const answer = await ask({ title: `Delete ${graph.name || "the graph"}?`, text: "Fits that have ended keep their results. This cannot be undone.", action: "Delete", danger: true });
  if (answer === null) return;
  try {
    await request(`v1/graphs/${graph.id}`, { method: "DELETE" });
    navigate(["graphs"]);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}
