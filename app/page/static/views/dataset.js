/** One dataset: its columns with their statistics, findings, and its rows; small images are drawn. */

import { html, useState } from "../lib/ui.js";
import { addressOf, Problem, request, storedKey } from "../lib/api.js";
import { formatBytes, formatNumber, formatShape, formatTime, shortId } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { hashOf, navigate } from "../lib/route.js";
import { ask, notify, problemText } from "../parts/dialog.js";
import { imageShape, Picture } from "../parts/picture.js";
import { Correlation, Distribution, Findings, useProfile } from "./dataset-profile.js";

const PAGE = 20;
const SHOWN_VALUES = 8;

/** @param {{id: string}} props */
export function DatasetView({ id }) {
  const [offset, setOffset] = useState(0);
  const { data: dataset, problem } = useResource(`v1/datasets/${id}`);
  const { data: rows } = useResource(dataset ? `v1/datasets/${id}/rows?offset=${offset}&limit=${PAGE}` : null);
  const found = useProfile(dataset);
  if (problem) return html`<section class="card"><h1>Dataset</h1><p class="bad" role="alert">${problemText(problem)}</p><a href=${hashOf(["datasets"])}>All datasets</a></section>`;
  if (dataset === null) return html`<p class="loading" role="status">Reading the dataset …</p>`;
  return html`
    <div class="bar fit-head"><div>
      <p class="crumbs"><a href=${hashOf(["datasets"])}>Datasets</a> / <span class="mono">${id}</span></p>
      <h1>${dataset.name || "Dataset"}</h1>
      <p class="muted">${formatNumber(dataset.rows)} rows · ${dataset.origin ? `version ${dataset.version}, ${dataset.origin.kind} of ` : `${formatBytes(dataset.size_bytes)} ${dataset.format}`}${(dataset.origin?.datasets ?? []).slice(0, 5).map((source, index) => html`${index ? ", " : ""}<a class="mono" href=${hashOf(["datasets", source])}>${shortId(source)}</a>`)} · created ${formatTime(dataset.created_at)}</p>
    </div>
    <div class="actions">
      ${!storedKey() && html`<a class="button" href=${addressOf(`v1/datasets/${id}/content`)} download>Download</a>`}
      <button class="danger" onClick=${() => remove(dataset)}>Delete</button>
    </div></div>
    <section class="card"><h2>Columns</h2><${Columns} columns=${dataset.columns} rows=${dataset.rows} profile=${found.profile} /></section>
    <section class="card"><h2>Findings</h2><${Findings} dataset=${dataset} ...${found} /></section>
    <section class="card">
      <div class="bar tight"><h2>Rows</h2><${Pager} offset=${offset} total=${dataset.rows} go=${setOffset} /></div>
      ${rows ? html`<${Preview} columns=${dataset.columns} rows=${rows.data} offset=${offset} />` : html`<p class="loading" role="status">Reading rows …</p>`}
    </section>`;
}

function Columns({ columns, rows, profile }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Columns"><table>
    <thead><tr><th>Name</th><th>Type</th><th>Shape</th><th>Distribution</th><th class="number">Minimum</th><th class="number">Mean</th><th class="number">Maximum</th><th class="number">Missing</th><th>With the target</th><th>Classes</th></tr></thead>
    <tbody>${columns.map(
      (each) => html`<tr key=${each.name}><th scope="row" class="mono">${each.label}${each.label !== each.name && html` <span class="muted" title="Identifier: requests may give it or the label.">${each.name}</span>`}</th><td>${each.dtype}</td><td class="mono">${formatShape(each.shape)}</td><td><${Distribution} column=${each} profile=${profile} /></td>
        <td class="number num">${formatNumber(each.minimum)}</td><td class="number num">${formatNumber(each.mean)}</td><td class="number num">${formatNumber(each.maximum)}</td>
        <td class="number num">${each.missing ? html`<strong>${formatNumber(each.missing)}</strong> of ${formatNumber(rows)}` : "0"}</td>
        <td class="nowrap num"><${Correlation} column=${each} profile=${profile} /></td>
        <td class="wrap">${each.classes ? each.classes.slice(0, 12).join(", ") + (each.classes.length > 12 ? " …" : "") : "–"}</td></tr>`,
    )}</tbody></table></div>`;
}

function Preview({ columns, rows, offset }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table>
    <thead><tr><th class="number">Row</th>${columns.map((each) => html`<th key=${each.name} class="mono" title=${each.name}>${each.label}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row, index) => html`<tr key=${offset + index}><td class="number num muted">${offset + index}</td>
        ${columns.map((each) => html`<td key=${each.name} class="mono nowrap"><${Cell} value=${row[each.name]} column=${each} /></td>`)}</tr>`,
    )}</tbody></table></div>`;
}

function Cell({ value, column }) {
  if (value === null || value === undefined) return html`<span class="muted">missing</span>`;
  if (column.classes && typeof value === "number") return column.classes[value] ?? String(value);
  if (imageShape(column.shape)) return html`<${Picture} value=${value} column=${column} />`;
  if (!Array.isArray(value)) return typeof value === "number" ? formatNumber(value) : String(value);
  const flat = value.flat(Infinity);
  return `[${flat.slice(0, SHOWN_VALUES).map(formatNumber).join(", ")}${flat.length > SHOWN_VALUES ? ", …" : ""}]`;
}

function Pager({ offset, total, go }) {
  return html`<span class="pager"><button disabled=${offset === 0} onClick=${() => go(Math.max(0, offset - PAGE))}>Previous</button>
    <span class="num">${formatNumber(offset + 1)}–${formatNumber(Math.min(total, offset + PAGE))} of ${formatNumber(total)}</span>
    <button disabled=${offset + PAGE >= total} onClick=${() => go(offset + PAGE)}>Next</button></span>`;
}

async function remove(dataset) {
  const answer = await ask({ title: `Delete ${dataset.name || "the dataset"}?`, text: "Its rows are deleted. Fits that have ended keep their results. This cannot be undone.", action: "Delete", danger: true });
  if (answer === null) return;
  try {
    await request(`v1/datasets/${dataset.id}`, { method: "DELETE" });
    navigate(["datasets"]);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}
