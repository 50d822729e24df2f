/** One dataset: its columns with their statistics, findings, and its rows. */

import { html, saveBlob } from "../lib/ui.js";
import { addressOf, Problem, request, send, storedKey } from "../lib/api.js";
import { formatBytes, formatNumber, formatShape, formatTime, shortId } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { hashOf, navigate } from "../lib/route.js";
import { ask, notify, problemText } from "../parts/dialog.js";
import { Correlation, Distribution, Findings, useProfile } from "./dataset-profile.js";
import { DatasetRows } from "./dataset-rows.js";

/** Characters of the names of classes that are listed. */
const NAMES_SHOWN = 120;

/** @param {{id: string}} props */
export function DatasetView({ id }) {
  const { data: dataset, problem } = useResource(`v1/datasets/${id}`);
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
      ${storedKey() ? html`<button onClick=${() => download(dataset)}>Download</button>` : html`<a class="button" href=${addressOf(`v1/datasets/${id}/content`)} download>Download</a>`}
      <button class="danger" onClick=${() => remove(dataset)}>Delete</button>
    </div></div>
    <section class="card"><h2>Columns</h2><${Columns} columns=${dataset.columns} rows=${dataset.rows} profile=${found.profile} /></section>
    <section class="card"><h2>Findings</h2><${Findings} dataset=${dataset} ...${found} /></section>
    <${DatasetRows} dataset=${dataset} />`;
}

function Columns({ columns, rows, profile }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Columns"><table>
    <thead><tr><th>Name</th><th>Type</th><th>Shape</th><th>Distribution</th><th class="number">Minimum</th><th class="number">Mean</th><th class="number">Maximum</th><th class="number">Missing</th><th>With the target</th><th>Classes</th></tr></thead>
    <tbody>${columns.map(
      (each) => html`<tr key=${each.name}><th scope="row" class="mono">${each.label}${each.label !== each.name && html` <span class="muted" title="Identifier: requests may give it or the label.">${each.name}</span>`}</th><td title=${each.classes ? `stored as ${each.dtype}` : undefined}>${each.classes ? "class" : each.dtype}</td><td class="mono">${formatShape(each.shape)}</td><td><${Distribution} column=${each} profile=${profile} /></td>
        ${[each.minimum, each.mean, each.maximum].map((value, index) => html`<td key=${index} class="number num">${each.classes ? "–" : formatNumber(value)}</td>`)}
        <td class="number num">${each.missing ? html`<strong>${formatNumber(each.missing)}</strong> of ${formatNumber(rows)}` : "0"}</td>
        <td class="nowrap num"><${Correlation} column=${each} profile=${profile} /></td>
        <td class="wrap classes">${each.classes ? classesText(each.classes) : "–"}</td></tr>`,
    )}</tbody></table></div>`;
}

function classesText(classes) {
  const text = classes.slice(0, NAMES_SHOWN).join(", ");
  return `${formatNumber(classes.length)}: ${text.length > NAMES_SHOWN ? `${text.slice(0, NAMES_SHOWN)} …` : text}`;
}

/** With a key, a link cannot download: the request needs its header. */
async function download(dataset) {
  try {
    saveBlob(await (await send(`v1/datasets/${dataset.id}/content`)).blob(), `${dataset.name || dataset.id}.${dataset.format}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
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
