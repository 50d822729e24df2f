/** What a sample of the rows shows of each column: a histogram, and what deserves a look before training. */

import { html, useEffect, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";

/** Rows are read in stretches that lie evenly over the dataset. */
const STRETCHES = 5;
const STRETCH_ROWS = 400;
/** Values that are looked at in one row of a column of tensors. */
const VALUES_A_ROW = 64;
const BINS = 24;
const CLASSES_SHOWN = 24;
const WIDTH = 132;
const HEIGHT = 30;
const RARE = 0.02;
const SCALES_RATIO = 1000;
const IDENTIFIER_SHARE = 0.98;

/**
 * Read a sample of the rows; null until it is there.
 * @param {any} dataset
 * @returns {any[] | null}
 */
export function useSample(dataset) {
  const [sample, setSample] = useState(null);
  useEffect(() => {
    if (dataset === null) return undefined;
    let over = false;
    readSample(dataset).then(
      (rows) => over || setSample(rows),
      (error) => {
        if (!(error instanceof Problem)) throw error;
      },
    );
    return () => {
      over = true;
    };
  }, [dataset?.id]);
  return sample;
}

async function readSample({ id, rows }) {
  const all = rows <= STRETCHES * STRETCH_ROWS;
  const starts = all
    ? range(Math.ceil(rows / STRETCH_ROWS)).map((index) => index * STRETCH_ROWS)
    : range(STRETCHES).map((index) => Math.floor((index * (rows - STRETCH_ROWS)) / (STRETCHES - 1)));
  const pages = [];
  for (const start of starts) pages.push(await request(`v1/datasets/${id}/rows?offset=${start}&limit=${STRETCH_ROWS}`));
  return pages.flatMap((page) => page.data);
}

/** @param {{column: any, sample: any[] | null}} props */
export function Distribution({ column, sample }) {
  if (sample === null) return html`<span class="muted">…</span>`;
  const bars = column.classes ? countClasses(column, sample) : countNumbers(column, sample);
  if (bars.length === 0) return html`<span class="muted">–</span>`;
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const width = WIDTH / bars.length;
  const label = `distribution of ${column.label}: ${column.classes ? bars.slice(0, 3).map((bar) => `${bar.name} ${bar.count}`).join(", ") : `most rows between ${bars.reduce((best, bar) => (bar.count > best.count ? bar : best)).name}`}`;
  return html`<svg class="distribution" width=${WIDTH} height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    ${bars.map((bar, index) => {
      const height = bar.count === 0 ? 0 : Math.max(1, (bar.count / most) * (HEIGHT - 1));
      return html`<rect key=${index} x=${index * width} y=${HEIGHT - height} width=${Math.max(1, width - 1)} height=${height}><title>${`${bar.name}: ${formatNumber(bar.count)}`}</title></rect>`;
    })}</svg>`;
}

/** @param {{dataset: any, sample: any[] | null}} props */
export function Findings({ dataset, sample }) {
  if (sample === null) return html`<p class="loading" role="status">Looking at a sample of the rows …</p>`;
  const found = findingsOf(dataset, sample);
  const extent = sample.length === dataset.rows ? "all rows" : `a sample of ${formatNumber(sample.length)} rows`;
  return html`${found.length === 0
      ? html`<p class="empty">Nothing deserves a look: no missing values, no constant columns, no rare classes, similar scales.</p>`
      : html`<ul class="findings">${found.map((each) => html`<li key=${each.column + each.text}><span class="mono">${each.column}</span> ${each.text}</li>`)}</ul>`}
    <p class="muted">Histograms and findings are those of ${extent}${sample.length === dataset.rows ? "" : "; minimum, mean, maximum and missing values those of all"}.</p>`;
}

function findingsOf(dataset, sample) {
  const found = [];
  const add = (column, text) => found.push({ column: column.label, text });
  for (const column of dataset.columns) {
    if (column.missing) add(column, `lacks ${formatNumber(column.missing)} values, ${percent(column.missing / dataset.rows)} of the rows: fill them, or leave the rows out.`);
    if (!column.classes && column.minimum !== null && column.minimum === column.maximum) add(column, `is ${formatNumber(column.minimum)} in every row: it carries no information.`);
    if (column.classes) addClasses(column, sample, add);
    else if (isIdentifier(column, sample)) add(column, "is another whole number in almost every row: an identifier is learned by heart.");
  }
  addScales(dataset, add);
  const texts = sample.map((row) => JSON.stringify(row));
  const repeated = texts.length - new Set(texts).size;
  if (repeated > 0) found.push({ column: "rows", text: `${formatNumber(repeated)} of ${formatNumber(sample.length)} repeat another one: with a random split they are in both parts.` });
  return found;
}

function addClasses(column, sample, add) {
  const bars = countClasses(column, sample, Infinity);
  if (column.classes.length === 1) add(column, `has one class, ${column.classes[0]}.`);
  const rare = bars.filter((bar) => bar.count > 0 && bar.count < RARE * sample.length);
  if (rare.length && bars.length <= 100) add(column, `has rare classes: ${rare.slice(0, 5).map((bar) => `${bar.name} in ${percent(bar.count / sample.length)}`).join(", ")}. Weigh classes, or split by class.`);
}

function addScales(dataset, add) {
  const spans = dataset.columns.filter((each) => !each.classes && each.dtype.startsWith("float") && each.maximum > each.minimum).map((each) => ({ column: each, span: each.maximum - each.minimum }));
  const smallest = Math.min(...spans.map((each) => each.span));
  for (const { column, span } of spans) {
    if (span > SCALES_RATIO * smallest) add(column, `spans ${formatNumber(span)}, another column ${formatNumber(smallest)}: normalise them.`);
  }
}

function isIdentifier(column, sample) {
  if (column.shape.length > 0 || !/int/.test(column.dtype) || sample.length < 50) return false;
  return new Set(sample.map((row) => row[column.name])).size > IDENTIFIER_SHARE * sample.length;
}

function countClasses(column, sample, most = CLASSES_SHOWN) {
  const counts = new Map();
  for (const row of sample) {
    const value = row[column.name];
    for (const each of [value].flat(Infinity).slice(0, VALUES_A_ROW)) {
      const name = typeof each === "number" ? (column.classes[each] ?? String(each)) : String(each);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const bars = column.classes.map((name) => ({ name, count: counts.get(name) ?? 0 }));
  return bars.length <= most ? bars : bars.sort((one, other) => other.count - one.count).slice(0, most);
}

function countNumbers(column, sample) {
  const { minimum: low, maximum: high } = column;
  if (low === null || high === null) return [];
  const whole = /int|bool/.test(column.dtype) && high - low < BINS;
  const bins = whole ? high - low + 1 : BINS;
  const width = whole ? 1 : (high - low) / bins || 1;
  const bars = range(bins).map((index) => ({
    name: whole ? String(low + index) : `${formatNumber(low + index * width)} and ${formatNumber(low + (index + 1) * width)}`,
    count: 0,
  }));
  for (const row of sample) {
    for (const value of [row[column.name]].flat(Infinity).slice(0, VALUES_A_ROW)) {
      if (typeof value === "number" || typeof value === "boolean") bars[Math.max(0, Math.min(bins - 1, Math.floor((Number(value) - low) / width)))].count += 1;
    }
  }
  return bars;
}

function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function range(count) {
  return Array.from({ length: count }, (_each, index) => index);
}
