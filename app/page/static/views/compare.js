/** Several fits beside one another: their curves, the options in which they differ, and their last metrics. */

import { html, useEffect, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { pointsEach, smooth } from "../lib/curves.js";
import { nameOf, names, refreshNames } from "../lib/fits.js";
import { formatCount, formatKey, formatNumber, formatSeconds, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, route, setQuery } from "../lib/route.js";
import { seriesColor } from "../lib/theme.js";
import { Chart } from "../parts/chart.js";
import { StateChip } from "../parts/state.js";
import { isSmallBest, Together } from "./compare-sweep.js";

const EVERY = 4;

export function CompareView() {
  const { query } = route.value;
  const [variants, setVariants] = useState([]);
  usePolling(async () => setVariants(query.sweep ? await readVariants(query.sweep) : []), EVERY, [query.sweep]);
  const ids = query.sweep ? variants : (query.fits ?? "").split(",").filter(Boolean);
  const key = query.key ?? "loss";
  const split = query.split ?? "train";
  const [found, setFound] = useState(null);
  const [curves, setCurves] = useState(new Map());
  useEffect(() => {
    if (names.peek().size === 0) refreshNames().catch(() => undefined);
  }, []);
  usePolling(async () => {
    if (ids.length === 0) return;
    const read = (await Promise.all(ids.map((id) => readFit(id, found)))).filter(Boolean);
    setFound(read);
    setCurves(await readCurves(read, key, split, curves));
  }, EVERY, [ids.join(), key, split]);
  if (ids.length === 0) return query.sweep ? html`<p class="loading" role="status">Reading variants …</p>` : html`<${NoFits} />`;
  if (found === null) return html`<p class="loading" role="status">Reading fits …</p>`;
  const keys = [...new Set(found.flatMap((fit) => Object.keys(fit.latest)).map((each) => each.replace(/^val_/, "")))];
  const weight = Number(query.smooth ?? 0);
  const options = found.map((fit) => flatten({ ...fit.request, labels: fit.labels, ...(fit.variant ? { sweep: undefined } : {}) }));
  const differing = [...new Set(options.flatMap((each) => [...each.keys()]))].filter((path) => new Set(options.map((each) => each.get(path))).size > 1);
  const lines = found.flatMap((fit, index) => lineOf(fit, index, curves.get(curveName(fit, key, split)), weight));
  return html`
    <div class="bar"><h1>Compare ${formatCount(found.length, "fit")}</h1></div>
    <div class="controls" role="group" aria-label="What is compared">
      <label>Value <select value=${key} onChange=${(event) => setQuery({ key: event.target.value })}>${keys.map((each) => html`<option key=${each} value=${each}>${formatKey(each)}</option>`)}</select></label>
      <span class="segments" role="group" aria-label="Rows">${["train", "validation"].map((each) => html`<button key=${each} aria-pressed=${each === split} onClick=${() => setQuery({ split: each === "train" ? "" : each })}>${each}</button>`)}</span>
      <button aria-pressed=${query.log === "1"} onClick=${() => setQuery({ log: query.log === "1" ? "" : "1" })}>log scale</button>
      <label class="slider">smoothing <input type="range" min="0" max="0.99" step="0.01" value=${weight} onInput=${(event) => setQuery({ smooth: event.target.value === "0" ? "" : event.target.value })} /> <span class="num">${weight.toFixed(2)}</span></label>
    </div>
    <section class="card">
      ${lines.length ? html`<${Chart} title=${`${formatKey(key)}, ${split}`} lines=${lines} log=${query.log === "1"} xLabel="step" height=${380} range=${rangeOf(query)} onZoom=${(range) => setQuery({ from: range?.[0].toPrecision(6), to: range?.[1].toPrecision(6) })} />` : html`<p class="empty">No ${split} rows with ${key}.</p>`}
    </section>
    <section class="card"><h2>Options and results</h2><${Together} found=${found} options=${options} keys=${differing} /></section>
    <section class="card"><h2>Last metrics</h2><${Metrics} found=${found} /></section>
    <section class="card"><h2>Options that differ</h2><${Differences} found=${found} flat=${options} keys=${differing} /></section>`;
}

function NoFits() {
  return html`<section class="card"><h1>Compare</h1><p>Select two or more fits in the <a href=${hashOf(["fits"])}>table of fits</a>, then choose Compare.</p></section>`;
}

function Metrics({ found }) {
  const keys = [...new Set(found.flatMap((fit) => Object.keys(fit.latest)))].filter((key) => !key.startsWith("grad_norm/"));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Last metrics"><table>
    <thead><tr><th>Fit</th><th>State</th><th class="number">Step</th><th class="number">Time</th>${keys.map((key) => html`<th key=${key} class="number">${formatKey(key)}</th>`)}</tr></thead>
    <tbody>${found.map(
      (fit, index) => html`<tr key=${fit.id}><th scope="row"><${Name} fit=${fit} index=${index} /></th><td><${StateChip} state=${fit.state} /></td>
        <td class="number num">${formatNumber(fit.step)}</td><td class="number num">${formatSeconds(fit.running_seconds)}</td>
        ${keys.map((key) => html`<td key=${key} class=${bestClass(found, key, fit)}>${fit.nonfinite[key] ?? formatNumber(fit.latest[key])}</td>`)}</tr>`,
    )}</tbody></table></div>`;
}

function Differences({ found, flat, keys }) {
  if (keys.length === 0) return html`<p class="empty">The requests are the same.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Options that differ"><table>
    <thead><tr><th>Fit</th>${keys.map((key) => html`<th key=${key} class="mono">${key}</th>`)}</tr></thead>
    <tbody>${found.map((fit, index) => html`<tr key=${fit.id}><th scope="row"><${Name} fit=${fit} index=${index} /></th>${keys.map((key) => html`<td key=${key} class="mono">${shown(flat[index].get(key))}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function Name({ fit, index }) {
  return html`<svg class="swatch" width="14" height="14" aria-hidden="true"><circle cx="7" cy="7" r="5" fill=${seriesColor(index)} /></svg> <a href=${hashOf(["fits", fit.id])}>${nameOf(fit)} <small class="mono muted">${shortId(fit.id)}</small></a>`;
}

function lineOf(fit, index, curve, weight) {
  if (!curve || curve.x.length === 0) return [];
  const label = `${nameOf(fit)} ${shortId(fit.id)}`;
  // Beyond the eight colours the same ones come again, dashed.
  return [{ label, color: seriesColor(index), dash: index >= 8, x: [...curve.x], y: weight > 0 ? smooth(curve.y, weight) : [...curve.y] }];
}

/** Return the ids of the fits of a sweep, the best first. */
async function readVariants(id) {
  const found = await request(`v1/fits/${id}/variants`);
  return found.data.map((each) => each.fit);
}

/** Read a fit, unless it is known and has ended; null if there is none. */
async function readFit(id, known) {
  const old = known?.find((fit) => fit.id === id);
  if (old?.terminal) return old;
  try {
    return await request(`v1/fits/${id}`);
  } catch (error) {
    if (error instanceof Problem && [404, 422].includes(error.status)) return null;
    throw error;
  }
}

async function readCurves(found, key, split, known) {
  const read = new Map();
  for (const fit of found) {
    const name = curveName(fit, key, split);
    const old = known.get(name);
    read.set(name, old?.step === fit.step ? old : { step: fit.step, ...(await readCurve(fit, key, split, pointsEach(found.length))) });
  }
  return read;
}

async function readCurve(fit, key, split, points) {
  try {
    const page = await request(`v1/fits/${fit.id}/metrics?downsample=${points}&split=${split}&keys=${encodeURIComponent(key)}`);
    const rows = page.data.filter((row) => key in row.values);
    return { x: rows.map((row) => row.step), y: rows.map((row) => row.values[key]) };
  } catch (error) {
    if (error instanceof Problem && error.status === 422) return { x: [], y: [] };
    throw error;
  }
}

function curveName(fit, key, split) {
  return `${fit.id} ${key} ${split}`;
}

function rangeOf({ from, to }) {
  return from !== undefined && to !== undefined ? [Number(from), Number(to)] : null;
}

/** Return the options of a request by their paths, as JSON. */
function flatten(value, path = "", into = new Map()) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${key}` : key, into);
  } else {
    into.set(path, JSON.stringify(value));
  }
  return into;
}

function shown(text) {
  if (text === undefined) return "–";
  const value = JSON.parse(text);
  return typeof value === "string" ? names.value.get(value) || value : text;
}

function bestClass(found, key, fit) {
  const values = found.map((each) => each.latest[key]).filter((value) => typeof value === "number");
  if (/grad_norm|lr|momentum/.test(key) || values.length < 2) return "number num";
  const best = isSmallBest(key) ? Math.min(...values) : Math.max(...values);
  return fit.latest[key] === best ? "number num best-value" : "number num";
}
