/** The forward graph of a fit with ops, shapes and parameters. */

import { html, useMemo } from "../lib/ui.js";
import { formatBytes, formatNumber, formatShape } from "../lib/format.js";
import { layout } from "../lib/layout.js";
import { useResource } from "../lib/poll.js";
import { problemText } from "../parts/dialog.js";

/** Larger graphs are shown as a table: their picture would not be readable. */
const DRAWN_MAX = 150;
const CHARACTER = 7.2;
const HEIGHT = 46;

/** @param {{fit: any}} props */
export function GraphTab({ fit }) {
  const { data: graph, problem } = useResource(`v1/graphs/${fit.graph}`);
  if (problem) return html`<section class="card"><p class="bad" role="alert">${problemText(problem)}</p></section>`;
  if (graph === null) return html`<p class="loading" role="status">Reading the graph …</p>`;
  const { nodes, edges } = partsOf(graph);
  return html`<section class="card">
    <div class="bar tight"><h2>${graph.name || "Graph"}</h2>
      <span class="muted">${formatNumber(graph.parameter_count)} parameters · ${formatBytes(graph.memory.parameter_bytes)} · activations ${formatBytes(graph.memory.activation_bytes)}</span></div>
    ${graph.findings.map((each) => html`<p class="problem" key=${each.pointer + each.code}>${each.detail}</p>`)}
    ${nodes.length <= DRAWN_MAX ? html`<${Picture} nodes=${nodes} edges=${edges} />` : html`<p class="muted">A graph of ${nodes.length} nodes is listed, not drawn.</p>`}
    <details open=${nodes.length > DRAWN_MAX}><summary>Nodes as a table</summary><${Nodes} nodes=${nodes} /></details>
  </section>`;
}

function Picture({ nodes, edges }) {
  const placed = useMemo(() => layout(nodes, edges), [nodes.map((node) => node.id).join("\n")]);
  const { places, width, height } = placed;
  return html`<div class="scroll graph" tabindex="0" role="region" aria-label="Picture of the graph">
    <svg width=${width + 24} height=${height + 24} viewBox="-12 -12 ${width + 24} ${height + 24}" role="img" aria-label=${`graph of ${nodes.length} nodes`}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" class="arrow" /></marker></defs>
      ${edges.map((edge) => html`<path class="edge" key=${`${edge.from} ${edge.to}`} d=${pathOf(places.get(edge.from), places.get(edge.to))} marker-end="url(#arrow)" />`)}
      ${nodes.map((node) => {
        const place = places.get(node.id);
        return html`<g class="node ${node.kind}" key=${node.id} transform="translate(${place.x} ${place.y})">
          <title>${node.name}: ${node.op} ${node.shape}</title>
          <rect width=${place.width} height=${place.height} rx=${node.kind === "op" || node.kind === "loss" ? 6 : 22} />
          <text x=${place.width / 2} y="19" text-anchor="middle">${node.name}</text>
          <text class="sub" x=${place.width / 2} y="36" text-anchor="middle">${node.note}</text>
        </g>`;
      })}
    </svg></div>`;
}

function Nodes({ nodes }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes"><table>
    <thead><tr><th>Name</th><th>Kind</th><th>Op</th><th>Shape</th><th>Inputs</th></tr></thead>
    <tbody>${nodes.map((node) => html`<tr key=${node.id}><th scope="row" class="mono">${node.name}</th><td>${node.kind}</td><td>${node.op}</td><td class="mono nowrap">${node.shape}</td><td class="mono">${node.inputs.join(", ")}</td></tr>`)}</tbody>
  </table></div>`;
}

/** Return what is drawn of a graph: inputs, parameters and nodes, and which leads to which. */
function partsOf(graph) {
  const { inputs = {}, parameters = {}, buffers = {}, nodes = [], losses = [] } = graph.definition;
  const parts = [
    ...Object.entries(inputs).map(([name, spec]) => part(name, "input", "", spec)),
    ...Object.entries(parameters).map(([name, spec]) => part(name, "parameter", "", spec)),
    ...Object.entries(buffers).map(([name, spec]) => part(name, "buffer", "", spec)),
    ...nodes.map((node) => part(node.name, losses.includes(node.name) ? "loss" : "op", node.op, graph.shapes[node.name], node.inputs)),
  ];
  const known = new Set(parts.map((each) => each.id));
  const edges = parts.flatMap((each) => each.inputs.map((input) => ({ from: input.split(":")[0], to: each.id })));
  const unique = new Map(edges.map((edge) => [`${edge.from}\n${edge.to}`, edge]));
  return { nodes: parts, edges: [...unique.values()].filter((edge) => known.has(edge.from)) };
}

function part(name, kind, op, spec, inputs = []) {
  const shape = spec ? `${formatShape(spec.shape)} ${spec.dtype ?? ""}`.trim() : "";
  const note = [op, spec ? formatShape(spec.shape) : ""].filter(Boolean).join("  ");
  const width = Math.max(70, Math.ceil(Math.max(name.length, note.length) * CHARACTER) + 26);
  return { id: name, name, kind, op, shape, note, inputs: inputs.filter((each) => typeof each === "string"), width, height: HEIGHT };
}

function pathOf(from, to) {
  const [x1, y1] = [from.x + from.width / 2, from.y + from.height];
  const [x2, y2] = [to.x + to.width / 2, to.y - 2];
  const bend = Math.max(18, (y2 - y1) / 2);
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}
