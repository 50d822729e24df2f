/** Captured gradients of a parameter as histograms, one for each step, and their statistics. */

import { html, useEffect, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";
import { lineColor } from "../lib/heat.js";
import { usePolling } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";
import { problemText } from "../parts/dialog.js";

const EVERY = 10;
/** Largest number of captured steps that are shown, evenly spaced. */
const STEPS_MAX = 30;
const WIDTH = 900;
const LEFT = 80;
const RIGHT = 150;
const ROW = 26;
/** From this ratio of the widest to the narrowest histogram on, each has an axis of its own. */
const WIDTHS_MAX = 20;
/** How far a histogram reaches into the rows above it, in rows. */
const REACH = 2.4;

/** Statistics never change: by the address of each. */
const known = new Map();

/** @param {{watch: import("../lib/watch.js").FitWatch, fit: any}} props */
export function Histograms({ fit }) {
  const [names, setNames] = useState(null);
  const [shown, setShown] = useState(null);
  const [problem, setProblem] = useState("");
  usePolling(async () => setNames(await namesOf(fit.id)), EVERY, [fit.id]);
  const chosen = names?.includes(route.value.query.parameter) ? route.value.query.parameter : names?.[0];
  useEffect(() => setShown(null), [chosen]);
  usePolling(
    async () => {
      if (!chosen) return;
      try {
        setShown(await readStatistics(fit.id, chosen));
        setProblem("");
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        setProblem(problemText(error));
      }
    },
    EVERY,
    [fit.id, chosen],
  );
  return html`<section class="card">
    <div class="bar tight"><h2>Captured gradients</h2>
      ${names?.length > 0 && html`<label>Parameter <select class="mono" value=${chosen} onChange=${(event) => setQuery({ parameter: event.target.value })}>${names.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>`}</div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${names?.length === 0 && html`<p class="empty">No gradient was captured. A request with <code>"record": {"gradients": {"every_steps": 100}}</code> captures those of all parameters.</p>`}
    ${shown && html`<${Ridges} shown=${shown} name=${chosen} /><${Statistics} shown=${shown} />`}
  </section>`;
}

function Ridges({ shown, name }) {
  const ends = shown.map(({ histogram }) => [histogram.edges[0] ?? 0, histogram.edges.at(-1) ?? 0]);
  const low = Math.min(...ends.map(([first]) => first));
  const high = Math.max(...ends.map(([, last]) => last));
  const widths = ends.map(([first, last]) => last - first).filter((width) => width > 0);
  const { axis } = route.value.query;
  const own = axis ? axis === "own" : widths.length > 0 && Math.max(...widths) > WIDTHS_MAX * Math.min(...widths);
  const scaleOf = (index) => {
    const [first, last] = own ? ends[index] : [low, high];
    return (value) => LEFT + ((value - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  };
  const top = ROW * (REACH + 0.4);
  const height = top + ROW * shown.length + 24;
  const label = `histograms of the gradient with respect to ${name} at ${shown.length} steps, from ${formatNumber(low)} to ${formatNumber(high)}`;
  return html`<div class="controls"><span class="segments" role="group" aria-label="Axes of the histograms">
      <button aria-pressed=${!own} onClick=${() => setQuery({ axis: "common" })}>one axis for all</button><button aria-pressed=${own} onClick=${() => setQuery({ axis: "own" })}>an axis for each</button></span></div>
  <div class="scroll" tabindex="0" role="region" aria-label="Histograms"><svg class="ridges" viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${label}>
    ${shown.map((each, index) => {
      const base = top + ROW * index;
      return html`<g key=${each.step}><text x=${LEFT - 10} y=${base} text-anchor="end">step ${each.step}</text>
        <path d=${ridge(each.histogram, scaleOf(index), base)} fill=${lineColor(index / Math.max(1, shown.length - 1))}><title>${`step ${each.step}: norm ${formatNumber(each.norm)}, from ${formatNumber(each.min)} to ${formatNumber(each.max)}`}</title></path>
        <text x=${WIDTH - RIGHT + 10} y=${base}>${`${formatNumber(ends[index][0])} … ${formatNumber(ends[index][1])}`}</text></g>`;
    })}
    ${(own ? [] : [0, 0.25, 0.5, 0.75, 1]).map((part) => {
      const value = low + part * (high - low);
      return html`<text key=${part} x=${scaleOf(0)(value)} y=${height - 6} text-anchor=${part === 0 ? "start" : part === 1 ? "end" : "middle"}>${formatNumber(value)}</text>`;
    })}
  </svg></div>`;
}

/** Draw the share of elements of each stretch; heights are those of square roots, so that thin tails are seen. */
function ridge({ edges, counts }, across, base) {
  const most = Math.max(1, ...counts);
  const begin = across(edges[0] ?? 0);
  // Equal elements make a histogram without a width, which would not be seen.
  const width = Math.max(2, across(edges.at(-1) ?? 0) - begin);
  const x = (index) => (begin + (index / counts.length) * width).toFixed(1);
  const places = counts.map((count, index) => {
    const y = (base - Math.sqrt(count / most) * ROW * REACH).toFixed(1);
    return `L${x(index)} ${y}L${x(index + 1)} ${y}`;
  });
  const [first, last] = [x(0), x(counts.length)];
  return `M${first} ${base}${places.join("")}L${last} ${base}Z`;
}

function Statistics({ shown }) {
  const columns = [["norm", "Norm"], ["mean", "Mean"], ["min", "Minimum"], ["max", "Maximum"], ["zeros", "Zeros"], ["nan", "NaN"], ["inf", "Infinite"]];
  return html`<details><summary>Statistics as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Statistics of captured gradients"><table>
    <thead><tr><th class="number">Step</th>${columns.map(([key, label]) => html`<th key=${key} class="number">${label}</th>`)}</tr></thead>
    <tbody>${shown.map((each) => html`<tr key=${each.step}><td class="number num">${each.step}</td>${columns.map(([key]) => html`<td key=${key} class="number num">${each.nonfinite[key] ?? formatNumber(each[key])}</td>`)}</tr>`)}</tbody>
  </table></div></details>`;
}

/** Return the parameters whose gradients are captured, the largest first: those of the first and of the last steps. */
async function namesOf(id) {
  const sizes = new Map();
  for (const order of ["asc", "desc"]) {
    const page = await request(`v1/fits/${id}/gradients?limit=200&order=${order}`);
    for (const each of page.data) sizes.set(each.parameter, each.size_bytes);
  }
  return [...sizes.keys()].sort((one, other) => sizes.get(other) - sizes.get(one) || (one < other ? -1 : 1));
}

async function readStatistics(id, parameter) {
  const captured = (await list(`v1/fits/${id}/gradients?parameter=${encodeURIComponent(parameter)}`)).sort((one, other) => one.step - other.step);
  const stride = (captured.length - 1) / Math.max(1, Math.min(STEPS_MAX, captured.length) - 1);
  const count = Math.min(STEPS_MAX, captured.length);
  const chosen = Array.from({ length: count }, (_each, index) => captured[Math.round(index * stride)]);
  const shown = [];
  for (const each of chosen) {
    const address = each.links.stats;
    if (!known.has(address)) known.set(address, await request(address));
    shown.push(known.get(address));
  }
  return shown;
}
