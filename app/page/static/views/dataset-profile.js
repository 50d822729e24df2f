/** The profile of a dataset, which the server computes: a histogram of each column, and findings. */

import { html, useState } from "../lib/ui.js";
import { formatNumber } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { problemText } from "../parts/dialog.js";

const WIDTH = 132;
const HEIGHT = 30;
const MEASURES = { pearson: "r", correlation_ratio: "η", cramers_v: "V" };

/**
 * Read the profile of a dataset; null until it is there. The target is guessed until one is chosen.
 * @param {any} dataset
 * @returns {{profile: any, problem: Error | null, target: string, setTarget: (name: string) => void}}
 */
export function useProfile(dataset) {
  const [chosen, setTarget] = useState(null);
  const target = chosen ?? guessTarget(dataset);
  const query = target ? `?target=${encodeURIComponent(target)}` : "";
  const { data, problem } = useResource(dataset ? `v1/datasets/${dataset.id}/profile${query}` : null);
  return { profile: data, problem, target, setTarget };
}

/** The last column of texts, which is usually the one that is to be predicted. */
function guessTarget(dataset) {
  return dataset?.columns.findLast((column) => column.classes && column.shape.length === 0)?.name ?? "";
}

/** @param {{column: any, profile: any}} props */
export function Distribution({ column, profile }) {
  if (profile === null) return html`<span class="muted">…</span>`;
  const found = profile.columns.find((each) => each.name === column.name);
  const bars = found ? barsOf(found) : [];
  if (bars.length === 0) return html`<span class="muted">–</span>`;
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const width = WIDTH / bars.length;
  const label = `distribution of ${column.label}: ${found.top.length ? bars.slice(0, 3).map((bar) => `${bar.name} ${bar.count}`).join(", ") : `most rows between ${bars.reduce((best, bar) => (bar.count > best.count ? bar : best)).name}`}`;
  return html`<svg class="distribution" width=${WIDTH} height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    ${bars.map((bar, index) => {
      const height = bar.count === 0 ? 0 : Math.max(1, (bar.count / most) * (HEIGHT - 1));
      return html`<rect key=${index} x=${index * width} y=${HEIGHT - height} width=${Math.max(1, width - 1)} height=${height}><title>${`${bar.name}: ${formatNumber(bar.count)}`}</title></rect>`;
    })}</svg>`;
}

function barsOf({ top, histogram }) {
  if (top.length) return top.map(({ value, count }) => ({ name: value, count }));
  if (!histogram) return [];
  const { edges, counts } = histogram;
  return counts.map((count, index) => ({ name: `${formatNumber(edges[index])} and ${formatNumber(edges[index + 1])}`, count }));
}

/**
 * How a column goes with the target.
 * @param {{column: any, profile: any}} props
 */
export function Correlation({ column, profile }) {
  const found = profile?.columns.find((each) => each.name === column.name)?.correlation;
  return found ? html`<span title=${found.measure.replaceAll("_", " ")}>${MEASURES[found.measure]} ${formatNumber(found.value)}</span>` : html`<span class="muted">–</span>`;
}

/** @param {{dataset: any, profile: any, problem: Error | null, target: string, setTarget: (name: string) => void}} props */
export function Findings({ dataset, profile, problem, target, setTarget }) {
  const choices = dataset.columns.filter((column) => column.shape.length === 0);
  return html`
    <label class="field">Target <select value=${target} onChange=${(event) => setTarget(event.target.value)}>
      <option value="">none</option>${choices.map(({ name, label }) => html`<option key=${name} value=${name}>${label}</option>`)}</select></label>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}
    ${!problem && profile === null && html`<p class="loading" role="status">Profiling the rows …</p>`}
    ${profile && html`<${Found} dataset=${dataset} profile=${profile} />`}`;
}

function Found({ dataset, profile }) {
  const extent = profile.rows_read === profile.rows ? "all rows" : `${formatNumber(profile.rows_read)} rows, evenly spread`;
  const classes = profile.target?.classes ?? [];
  return html`${profile.findings.length === 0
      ? html`<p class="empty">No findings: no missing values, no constant columns, no rare classes, similar scales.</p>`
      : html`<ul class="findings">${profile.findings.map((each) => html`<li key=${each.code + each.column}><span class="mono">${each.column === null ? "rows" : labelOf(dataset, each.column)}</span> ${each.detail}</li>`)}</ul>`}
    ${classes.length > 0 && html`<p>Classes of ${labelOf(dataset, profile.target.column)}: ${classes.slice(0, 12).map(({ value, count }) => `${value} ${formatNumber(count)}`).join(", ")}${classes.length > 12 ? " …" : ""}</p>`}
    <p class="muted">Histograms and findings are computed from ${extent}.</p>`;
}

function labelOf(dataset, name) {
  return dataset.columns.find((column) => column.name === name)?.label ?? name;
}
