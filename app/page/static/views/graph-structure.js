/** The structure of a graph: its picture, what a chosen box holds, and all values as a table. */

import { html, useEffect, useMemo, useState } from "../lib/ui.js";
import { formatBytes, formatCount, formatNumber, formatShape } from "../lib/format.js";
import { boxesOf, nodesOf, sumsOf } from "../lib/graph-model.js";
import { useResource } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";
import { problemText } from "../parts/dialog.js";
import { GraphPicture } from "../parts/graph-picture.js";

/** @param {{graph: any, batch: number}} props */
export function GraphStructure({ graph, batch }) {
  const { query } = route.value;
  const trains = graph.definition.losses?.length > 0;
  const backward = trains && query.backward !== "0";
  const { data, problem } = useResource(`v1/graphs/${graph.id}/nodes?backward=${backward}&batch=${batch}`);
  const [shown, setShown] = useState(null);
  useEffect(() => {
    if (data !== null) setShown({ nodes: data.data, backward });
  }, [data]);
  if (problem) return html`<p class="problem" role="alert">${problemText(problem)}</p>`;
  // What was shown stays until there is an answer, so that the page does not jump.
  if (shown === null) return html`<p class="loading" role="status">Reading the nodes …</p>`;
  return html`<${Structure} graph=${graph} listed=${shown.nodes} batch=${batch}>
    ${trains && html`<button aria-pressed=${backward} onClick=${() => setQuery({ backward: backward ? "0" : "" })}>Backward pass</button>`}
  </${Structure}>`;
}

/**
 * The picture with its panel; `listed` null draws the nodes of the definition only.
 * @param {{graph: any, listed: any[] | null, batch: number | null, children?: any}} props
 */
export function Structure({ graph, listed, batch, children }) {
  const { query } = route.value;
  const nodes = useMemo(() => nodesOf(graph, listed), [graph, listed]);
  const open = new Set((query.open ?? "").split(",").filter(Boolean));
  const { boxes, edges, groups } = useMemo(() => boxesOf(nodes, open), [nodes, query.open]);
  const write = (names) => setQuery({ open: [...names].join(",") });
  const toggle = (name) => write(open.delete(name) ? open : open.add(name));
  const chosen = boxes.find((box) => box.id === query.box);
  const choose = (id) => setQuery({ box: id === query.box ? "" : id });
  return html`
    <div class="controls" role="group" aria-label="What is drawn">
      ${children}
      ${groups.length > 0 && html`<button onClick=${() => write(groups)} disabled=${groups.every((name) => open.has(name))}>Open all layers</button>
        <button onClick=${() => write([])} disabled=${open.size === 0}>Close all layers</button>`}
      <${Totals} nodes=${nodes} batch=${batch} />
    </div>
    <div class="graph-frame">
      <${GraphPicture} nodes=${nodes} open=${open} chosen=${query.box ?? ""} onChoose=${choose} onToggle=${toggle} label=${`Picture of the graph, boxes: ${formatNumber(boxes.length)}`} />
      <aside class="graph-side" aria-label="The chosen box">
        ${chosen ? html`<${BoxDetails} box=${chosen} boxes=${boxes} edges=${edges} open=${open} toggle=${toggle} choose=${choose} />` : html`<${Legend} />`}
      </aside>
    </div>
    <${NodeTable} nodes=${nodes} />`;
}

function Totals({ nodes, batch }) {
  if (batch === null) return null;
  const [forward, backward] = [nodes.filter((node) => node.kind !== "backward"), nodes.filter((node) => node.kind === "backward")].map(sumsOf);
  return html`<span class="muted num">${formatNumber(forward.parameters)} parameters · at ${formatNumber(batch)} rows: forward ${formatFlops(forward.flops)}, ${formatBytes(forward.bytes)}${backward.flops > 0 && ` · backward ${formatFlops(backward.flops)}, ${formatBytes(backward.bytes)}`}</span>`;
}

function Legend() {
  const kinds = { input: "input", parameter: "parameter, buffer", forward: "forward", loss: "loss", backward: "backward" };
  return html`<h2>Legend</h2>
    <ul class="graph-legend">${Object.entries(kinds).map(([kind, text]) => html`<li key=${kind}><svg width="34" height="18" aria-hidden="true"><g class="node ${kind}"><rect x="1" y="1" width="32" height="16" rx=${kind === "input" || kind === "parameter" ? 8 : 4} /></g></svg> ${text}</li>`)}</ul>
    <p class="muted">Choose a box to see what it holds. Dashed edges are values that the backward pass reads.</p>
    <p class="muted">Keys: arrows follow the edges, Enter chooses, + and − open and close a layer.</p>`;
}

function BoxDetails({ box, boxes, edges, open, toggle, choose }) {
  const sums = sumsOf(box.members);
  const [first] = box.members;
  const facts = box.folded
    ? { Parts: formatCount(box.members.length, "value"), Parameters: formatNumber(sums.parameters) }
    : { Kind: first.kind, Op: first.op || "–", Shape: formatShape(first.shape), Type: first.dtype, ...(first.kind === "parameter" ? { Elements: formatNumber(first.elements) } : {}) };
  const near = (ids) => boxes.filter((each) => ids.includes(each.id));
  const before = near(edges.filter((edge) => edge.to === box.id).map((edge) => edge.from));
  const after = near(edges.filter((edge) => edge.from === box.id).map((edge) => edge.to));
  return html`<h2>${box.title}</h2>
    <dl class="facts">${Object.entries({ ...facts, FLOPs: formatNumber(sums.flops), "Bytes of outputs": formatBytes(sums.bytes) }).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="num">${value}</dd></div>`)}</dl>
    ${!box.folded && Object.keys(first.attrs).length > 0 && html`<pre class="attrs" tabindex="0" aria-label="Attributes">${JSON.stringify(first.attrs, null, 1)}</pre>`}
    ${box.group && html`<button onClick=${() => toggle(box.group)}>${open.has(box.group) ? `Close ${box.group}` : "Open the layer"}</button>`}
    <${Links} label="Reads" boxes=${before} choose=${choose} />
    <${Links} label="Is read by" boxes=${after} choose=${choose} />`;
}

function Links({ label, boxes, choose }) {
  if (boxes.length === 0) return null;
  return html`<h3>${label}</h3><ul class="links">${boxes.slice(0, 30).map((each) => html`<li key=${each.id}><button class="link" onClick=${() => choose(each.id)}>${each.title}</button></li>`)}${boxes.length > 30 && html`<li class="muted">and ${boxes.length - 30} more</li>`}</ul>`;
}

function NodeTable({ nodes }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>Nodes as a table</summary>
    ${open && html`<div class="scroll events" tabindex="0" role="region" aria-label="Nodes"><table>
      <thead><tr><th>Name</th><th>Layer</th><th>Pass</th><th>Op</th><th>Shape</th><th>Type</th><th class="number">FLOPs</th><th class="number">Bytes</th><th>Inputs</th></tr></thead>
      <tbody>${nodes.map((node) => html`<tr key=${node.id}><th scope="row" class="mono">${node.names.join(", ")}</th><td class="mono">${node.group}</td><td>${node.kind}</td><td class="mono">${node.op}</td><td class="mono nowrap">${formatShape(node.shape)}</td><td>${node.dtype}</td><td class="number num">${formatNumber(node.flops)}</td><td class="number num">${node.bytes ? formatBytes(node.bytes) : "–"}</td><td class="mono">${node.inputs.join(", ")}</td></tr>`)}</tbody>
    </table></div>`}
  </details>`;
}

/**
 * Write a number of floating-point operations.
 * @param {number} flops
 * @returns {string}
 */
export function formatFlops(flops) {
  const units = ["", "k", "M", "G", "T"];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(flops, 1)) / 3)));
  return `${formatNumber(unit ? Number((flops / 1000 ** unit).toPrecision(3)) : flops)} ${units[unit]}FLOP`;
}
