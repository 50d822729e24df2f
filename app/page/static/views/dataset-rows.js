/** The rows of a dataset: images are drawn, texts written as texts, other tensors by their first numbers. */

import { html, useState } from "../lib/ui.js";
import { formatNumber } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";
import { imageForm, Picture } from "../parts/picture.js";

const PAGE = 20;
/** Rows of many numbers are shown fewer at a time: a page of them would take too long to read. */
const NUMBERS_MAX = 400_000;
const SHOWN_VALUES = 8;
/** Texts of more characters get a column that is wide enough to read them. */
const LONG = 30;
const LAST_CODE_POINT = 0x10ffff;

/** @param {{dataset: any}} props */
export function DatasetRows({ dataset }) {
  const { query } = route.value;
  const page = pageOf(dataset.columns);
  const offset = Math.min(Math.max(0, Number.parseInt(query.row ?? "0", 10) || 0), Math.max(0, dataset.rows - 1));
  const { data: rows } = useResource(`v1/datasets/${dataset.id}/rows?offset=${offset}&limit=${page}`);
  const coded = dataset.columns.filter(mayBeCodes);
  const characters = query.codes ? query.codes === "characters" : coded.some(looksLikeCodes);
  return html`<section class="card">
    <div class="bar tight"><h2>Rows</h2>
      ${coded.length > 0 && html`<span class="segments" role="group" aria-label="Whole numbers as">${["numbers", "characters"].map((each) => html`<button key=${each} aria-pressed=${characters === (each === "characters")} onClick=${() => setQuery({ codes: each })}>${each}</button>`)}</span>`}
      <${Pager} offset=${offset} total=${dataset.rows} page=${page} /></div>
    ${rows ? html`<${Preview} columns=${dataset.columns} rows=${rows.data} offset=${offset} characters=${characters} />` : html`<p class="loading" role="status">Reading rows …</p>`}
  </section>`;
}

function Preview({ columns, rows, offset, characters }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table class="rows">
    <thead><tr><th class="number">Row</th>${columns.map((each) => html`<th key=${each.name} class="mono" title=${each.name}>${each.label}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row, index) => html`<tr key=${offset + index}><td class="number num muted">${offset + index}</td>
        ${columns.map((each) => html`<${Cell} key=${each.name} value=${row[each.name]} column=${each} characters=${characters && mayBeCodes(each)} />`)}</tr>`,
    )}</tbody></table></div>`;
}

function Cell({ value, column, characters }) {
  if (value === null || value === undefined) return html`<td class="muted">missing</td>`;
  if (column.classes) return html`<${Text} text=${[value].flat(Infinity).map((code) => column.classes[code] ?? (code < 0 ? "missing" : code)).join(", ")} />`;
  if (imageForm(column.shape)) return html`<td><${Thumbnail} value=${value} column=${column} /></td>`;
  if (characters) return html`<${Text} text=${String.fromCodePoint(...value)} />`;
  if (!Array.isArray(value)) return html`<td class="mono nowrap">${typeof value === "number" ? formatNumber(value) : String(value)}</td>`;
  const flat = value.flat(Infinity);
  return html`<td class="mono nowrap">[${flat.slice(0, SHOWN_VALUES).map(formatNumber).join(", ")}${flat.length > SHOWN_VALUES ? ", …" : ""}]</td>`;
}

function Text({ text }) {
  return html`<td class=${text.length > LONG ? "text long" : "text"}>${text}</td>`;
}

/** An image, small until it is chosen. */
function Thumbnail({ value, column }) {
  const [big, setBig] = useState(false);
  return html`<button class="thumbnail" aria-expanded=${big} onClick=${() => setBig(!big)}><${Picture} value=${value} column=${column} big=${big} /></button>`;
}

function Pager({ offset, total, page }) {
  const go = (row) => setQuery({ row: row || "" });
  return html`<span class="pager"><button disabled=${offset === 0} onClick=${() => go(Math.max(0, offset - page))}>Previous</button>
    <span class="num">${formatNumber(offset + 1)}–${formatNumber(Math.min(total, offset + page))} of ${formatNumber(total)}</span>
    <button disabled=${offset + page >= total} onClick=${() => go(offset + page)}>Next</button></span>`;
}

function pageOf(columns) {
  const numbers = columns.reduce((sum, { shape }) => sum + shape.reduce((product, extent) => product * extent, 1), 0);
  return Math.min(PAGE, Math.max(1, Math.floor(NUMBERS_MAX / Math.max(1, numbers))));
}

/** Whether a column may hold sequences of code points. */
function mayBeCodes({ dtype, classes, shape, minimum, maximum }) {
  return /^u?int/.test(dtype) && !classes && shape.length === 1 && minimum >= 0 && maximum <= LAST_CODE_POINT;
}

/** Sequences of printable ASCII with lower-case letters; zeros pad them. */
function looksLikeCodes({ shape, minimum, maximum }) {
  return shape[0] >= 4 && [0, 9, 10, 13, 32].includes(minimum) && maximum > 96 && maximum < 127;
}
