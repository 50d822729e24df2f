/** Norms of the gradient and the weights of each parameter over the steps, as heat maps; what is dead or explodes is marked. */

import { html, useEffect, useMemo, useRef, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { heatColor } from "../lib/heat.js";
import { Histograms } from "./fit-histograms.js";

const KINDS = [
  { prefix: "grad_norm/", title: "Norm of the gradient by parameter", option: '"record": {"gradient_norms": true}' },
  { prefix: "weight_norm/", title: "Norm of the weights by parameter", option: '"record": {"weight_norms": true}' },
];
/** About this many steps are shown, evenly spaced. */
const COLUMNS = 240;
const LIMIT = 1000;
const EVERY = 5;
/** Below it, over the last rows, a parameter learns nothing. */
const DEAD = 1e-9;
/** This multiple of the median of its own norms. */
const EXPLODING = 100;
const RECENT = 10;
const HEIGHT = 22;
const MARK = 4;

/** @param {{watch: import("../lib/watch.js").FitWatch, fit: any}} props */
export function GradientsTab({ watch, fit }) {
  return html`<${Norms} watch=${watch} fit=${fit} /><${Histograms} watch=${watch} fit=${fit} />`;
}

function Norms({ watch, fit }) {
  const steps = fit.terminal ? fit.step : fit.total_steps;
  const every = fit.record_every_steps * Math.max(1, Math.floor(steps / fit.record_every_steps / COLUMNS));
  const [read, setRead] = useState({ every: 0, after: 0, rows: null });
  const last = watch.curves.lastSeq;
  usePolling(async () => {
    const before = read.every === every ? read : { every, after: 0, rows: [] };
    if (before.after < last || before.rows.length === 0) setRead(await readOn(fit.id, before));
  }, EVERY, [fit.id, every]);
  const { rows } = read;
  if (rows === null) return html`<p class="loading" role="status">Reading norms …</p>`;
  return KINDS.map((kind) => html`<${HeatMap} key=${kind.prefix} kind=${kind} rows=${rows} />`);
}

function HeatMap({ kind, rows }) {
  const norms = useMemo(() => normsOf(rows, kind.prefix), [rows, kind]);
  if (norms.length === 0) {
    return html`<section class="card"><h2>${kind.title}</h2><p class="empty">Not recorded. A request with <code>${kind.option}</code> has it recorded.</p></section>`;
  }
  const scale = scaleOf(norms);
  const marked = norms.filter((each) => each.finding);
  return html`<section class="card">
    <div class="bar tight">
      <h2>${kind.title}</h2>
      <${Legend} scale=${scale} />
    </div>
    <p class="muted">A band above marks steps where the norm explodes (${EXPLODING} times its median, or not finite), a band below those where it vanishes. From step ${rows[0].step} to step ${rows.at(-1).step}. ${marked.length === 0 ? "No parameter is dead or exploding." : `${marked.length} of ${norms.length} parameters are marked.`}</p>
    <div class="scroll" tabindex="0" role="region" aria-label=${kind.title}>
    <table class="heat">
      <thead><tr><th>Parameter</th><th class="strip-head">Over the steps</th><th class="number">First</th><th class="number">Largest</th><th class="number">Last</th><th>Finding</th></tr></thead>
      <tbody>${norms.map(
        (each) => html`<tr key=${each.name}>
          <th scope="row" class="mono">${each.name}</th>
          <td><${Strip} values=${each.values} marks=${each.marks} scale=${scale} rows=${rows} /></td>
          <td class="number num">${formatNumber(each.first)}</td>
          <td class="number num">${formatNumber(each.largest)}</td>
          <td class="number num">${formatNumber(each.last)}</td>
          <td>${each.finding ? html`<span class="chip state-failed">${each.finding}</span>` : html`<span class="muted">–</span>`}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}

/** Read the rows that follow; only rows at multiples of a number of steps. */
async function readOn(id, { every, after, rows }) {
  const found = [...rows];
  let next = after;
  let more = true;
  while (more) {
    try {
      const page = await request(`v1/fits/${id}/metrics?every=${every}&split=train&limit=${LIMIT}&after=${next}`);
      found.push(...page.data);
      more = page.has_more && page.next_after > next;
      next = page.next_after;
    } catch (error) {
      // 422: no row of an ended fit is of such a step.
      if (!(error instanceof Problem) || error.status !== 422) throw error;
      more = false;
    }
  }
  return { every, after: next, rows: found };
}

/** Mark a place of a strip: a light band above where a gradient explodes or is not finite, a dark one below where it is dead. */
function drawMark(context, mark, left, width, height) {
  const above = mark !== "dead";
  context.fillStyle = above ? "#ffffff" : "#000000";
  context.fillRect(left, above ? 0 : height - MARK - 1, width, MARK + 1);
  context.fillStyle = above ? "#d55e00" : "#cc79a7";
  context.fillRect(left, above ? 0 : height - MARK, width, MARK);
}

function Strip({ values, marks, scale, rows }) {
  const canvas = useRef(null);
  const [at, setAt] = useState(null);
  useEffect(() => {
    const context = canvas.current.getContext("2d");
    const { width, height } = canvas.current;
    context.clearRect(0, 0, width, height);
    values.forEach((value, index) => {
      const left = Math.floor((index * width) / values.length);
      const right = Math.floor(((index + 1) * width) / values.length);
      context.fillStyle = value === null ? "#d55e00" : heatColor(share(value, scale));
      context.fillRect(left, 0, Math.max(1, right - left), height);
      if (marks[index]) drawMark(context, marks[index], left, Math.max(2, right - left), height);
    });
  }, [values, marks, scale.low, scale.high]);
  const move = (event) => {
    const { left, width } = event.target.getBoundingClientRect();
    setAt(Math.min(values.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * values.length))));
  };
  const title = at === null ? "" : `step ${rows[at].step}: ${formatNumber(values[at])}${marks[at] ? `, ${marks[at]}` : ""}`;
  return html`<canvas ref=${canvas} class="strip" width="480" height=${HEIGHT} title=${title} onMouseMove=${move} role="img" aria-label=${`from ${formatNumber(values[0])} to ${formatNumber(values.at(-1))}`}></canvas>`;
}

function Legend({ scale }) {
  const canvas = useRef(null);
  useEffect(() => {
    const context = canvas.current.getContext("2d");
    for (let x = 0; x < 120; x += 1) {
      context.fillStyle = heatColor(x / 119);
      context.fillRect(x, 0, 1, 10);
    }
  }, []);
  return html`<span class="legend"><span class="num">${formatNumber(10 ** scale.low)}</span>
    <canvas ref=${canvas} width="120" height="10" role="img" aria-label="colour scale, logarithmic"></canvas>
    <span class="num">${formatNumber(10 ** scale.high)}</span></span>`;
}

function normsOf(rows, prefix) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row.values)))].filter((key) => key.startsWith(prefix));
  return keys.map((key) => {
    const values = rows.map((row) => row.values[key] ?? null);
    const finite = values.filter((value) => value !== null);
    return {
      name: key.slice(prefix.length),
      values,
      marks: marksOf(values, finite),
      first: values[0],
      last: values.at(-1),
      largest: finite.length ? Math.max(...finite) : null,
      finding: findingOf(values, finite),
    };
  });
}

/** Return for each row what is wrong with a norm in it; empty if nothing is. */
function marksOf(values, finite) {
  const middle = median(finite);
  return values.map((value) => {
    if (value === null) return "not finite";
    if (value < DEAD) return "dead";
    return middle > 0 && value > EXPLODING * middle ? "exploding" : "";
  });
}

function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)];
}

/** Say what is wrong with the norms of a parameter; empty if nothing is. */
function findingOf(values, finite) {
  if (values.slice(-RECENT).includes(null)) return "not finite";
  if (finite.length >= RECENT && finite.slice(-RECENT).every((value) => value < DEAD)) return "dead";
  const middle = median(finite);
  return finite.slice(-RECENT).some((value) => value > EXPLODING * middle && middle > 0) ? "exploding" : "";
}

function scaleOf(norms) {
  const logs = norms.flatMap((each) => each.values).filter((value) => value > 0).map(Math.log10);
  if (logs.length === 0) return { low: -1, high: 0 };
  const low = logs.reduce((one, other) => Math.min(one, other));
  const high = logs.reduce((one, other) => Math.max(one, other));
  return { low: Math.max(low, high - 8), high: high > low ? high : low + 1 };
}

function share(value, { low, high }) {
  return value > 0 ? Math.min(1, Math.max(0, (Math.log10(value) - low) / (high - low))) : 0;
}
