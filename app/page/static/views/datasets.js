/** All datasets, and the upload of another by dropping a file. */

import { html, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { formatAge, formatBytes, formatNumber, formatShape, formatTime } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, navigate, route, setQuery } from "../lib/route.js";
import { notify, problemText } from "../parts/dialog.js";

const EVERY = 10;
const ORDERS = { "": "Newest", name: "Name", rows: "Most rows", size_bytes: "Largest" };
const FORMATS = {
  csv: "text/csv", json: "application/json", ndjson: "application/x-ndjson", jsonl: "application/x-ndjson",
  npy: "application/x-npy", npz: "application/x-npz", safetensors: "application/vnd.safetensors",
  parquet: "application/vnd.apache.parquet",
  arrow: "application/vnd.apache.arrow.file", feather: "application/vnd.apache.arrow.file", arrows: "application/vnd.apache.arrow.stream",
};
/** Endings of compressed files, which may follow those above; the server detects the compression. */
const COMPRESSED = ["gz", "zst"];

export function DatasetsView() {
  const [found, setFound] = useState(null);
  const { q = "", sort = "" } = route.value.query;
  usePolling(async () => setFound(await list(addressOf(q, sort))), EVERY, [q, sort]);
  return html`
    <div class="bar"><h1>Datasets</h1>
      <input type="search" value=${q} maxlength="200" placeholder="Name begins with" aria-label="Search datasets" onInput=${(event) => setQuery({ q: event.target.value })} />
      <label>Order <select value=${sort} onChange=${(event) => setQuery({ sort: event.target.value })}>${Object.entries(ORDERS).map(([key, label]) => html`<option key=${key} value=${key}>${label}</option>`)}</select></label></div>
    <${Upload} />
    ${found === null ? html`<p class="loading" role="status">Reading datasets …</p>` : html`<${Table} found=${found} filtered=${q !== ""} />`}`;
}

/** The list as the server filters and orders it. */
function addressOf(prefix, sort) {
  const query = new URLSearchParams();
  if (prefix) query.set("name_prefix", prefix);
  if (sort) query.set("order_by", sort);
  if (sort === "name") query.set("order", "asc");
  return `v1/datasets?${query}`;
}

function Upload() {
  const [file, setFile] = useState(null);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    if (event.dataTransfer.files[0]) choose(event.dataTransfer.files[0]);
  };
  const choose = (chosen) => {
    setFile(chosen);
    setProblem(chosen && !typeOf(chosen) ? `${chosen.name} has none of the endings that are accepted: ${Object.keys(FORMATS).join(", ")}, also with .${COMPRESSED.join(" or .")}.` : "");
  };
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const query = new URLSearchParams({ name: form.get("name") });
    if (form.get("columns")) query.set("columns", form.get("columns"));
    setBusy(true);
    try {
      const dataset = await request(`v1/datasets?${query}`, { method: "POST", body: file, headers: { "Content-Type": typeOf(file) } });
      notify(`Uploaded ${dataset.rows} rows`);
      navigate(["datasets", dataset.id]);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(problemText(error));
    }
    setBusy(false);
  };
  return html`<form class=${over ? "card drop over" : "card drop"} onSubmit=${submit}
      onDragOver=${(event) => (event.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <p><strong>Drop a file here</strong> or <label class="button">choose one<input type="file" class="hidden-input" accept=${[...Object.keys(FORMATS), ...COMPRESSED].map((each) => `.${each}`).join(",")} onChange=${(event) => choose(event.target.files[0] ?? null)} /></label></p>
    <p class="muted">CSV, JSON, NDJSON, .npy, .npz, safetensors, Parquet or Arrow IPC, also compressed by gzip or Zstandard</p>
    ${file && typeOf(file) && html`<div class="fields">
      <p><strong>${file.name}</strong> <span class="muted num">${formatBytes(file.size)}</span></p>
      <label class="field">Name <input name="name" defaultValue=${baseOf(file.name)} required maxlength="200" /></label>
      ${typeOf(file) === "text/csv" && html`<label class="field">Columns <small>Optional. Groups columns into tensors, such as <code>x:float32[4]=a..d,label:class</code>. Left empty, types are inferred.</small>
        <input name="columns" class="mono" spellcheck=${false} /></label>`}
      <div class="buttons left"><button class="primary" disabled=${busy}>${busy ? "Uploading …" : "Upload"}</button></div>
    </div>`}
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
  </form>`;
}

function Table({ found, filtered }) {
  if (found.length === 0) return html`<p class="empty">${filtered ? "No name begins with this text." : "No datasets yet."}</p>`;
  return html`<section class="card"><div class="scroll" tabindex="0" role="region" aria-label="Datasets"><table>
    <thead><tr><th>Name</th><th>Columns</th><th class="number">Rows</th><th class="number">Size</th><th>Format</th><th>Created</th></tr></thead>
    <tbody>${found.map(
      (each) => html`<tr key=${each.id}>
        <th scope="row"><a href=${hashOf(["datasets", each.id])}>${each.name || each.id}</a>${each.corrupt && html` <span class="chip state-failed">damaged</span>`}</th>
        <td class="mono">${each.columns.slice(0, 6).map((column) => `${column.label} ${column.classes ? "class" : column.dtype}${column.shape.length ? formatShape(column.shape) : ""}`).join(", ")}${each.columns.length > 6 ? " …" : ""}</td>
        <td class="number num">${formatNumber(each.rows)}</td>
        <td class="number num">${formatBytes(each.size_bytes)}</td>
        <td>${each.format}</td>
        <td class="muted nowrap" title=${formatTime(each.created_at)}>${formatAge(each.created_at)}</td>
      </tr>`,
    )}</tbody></table></div></section>`;
}

function typeOf(file) {
  return FORMATS[endingOf(file.name)];
}

function endingOf(name) {
  const endings = name.toLowerCase().split(".").slice(1);
  return (COMPRESSED.includes(endings.at(-1)) ? endings.at(-2) : endings.at(-1)) ?? "";
}

function baseOf(name) {
  const ending = endingOf(name);
  const at = ending ? name.toLowerCase().lastIndexOf(`.${ending}`) : -1;
  return at > 0 ? name.slice(0, at) : name;
}
