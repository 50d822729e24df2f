/** How options and results of several fits go together: parallel coordinates, a scatter plot, and a ranking. */

import { html, useMemo, useState } from "../lib/ui.js";
import { nameOf, names } from "../lib/fits.js";
import { formatKey, formatNumber, shortId } from "../lib/format.js";
import { hashOf, route, setQuery } from "../lib/route.js";
import { axisOf, ParallelCoordinates, Scatter } from "../parts/sweep-plots.js";
import { StateChip } from "../parts/state.js";

/** More axes beside one another cannot be read. */
const OPTIONS_MAX = 8;

/** @param {{found: any[], options: Map<string, unknown>[], keys: string[]}} props - options of each fit by their paths, and the paths in which they differ */
export function Together({ found, options, keys }) {
  const { query } = route.value;
  const [focus, setFocus] = useState("");
  const metrics = useMemo(() => metricsOf(found), [found]);
  const target = metrics.includes(query.target) ? query.target : (metrics.find((each) => each === monitorOf(found)) ?? metrics[0]);
  const items = found.map((fit) => ({ id: fit.id, name: `${nameOf(fit)} ${shortId(fit.id)}` }));
  if (!target || found.length < 2) return html`<p class="empty">Fits that have metric rows appear here.</p>`;
  const drawn = keys.filter((key) => key !== "sweep").slice(0, OPTIONS_MAX);
  const axes = drawn.map((key) => axisOf(key, labelOf(key), options.map((each) => valueOf(each.get(key)))));
  const result = axisOf(target, formatKey(target), found.map((fit) => fit.latest[target]));
  const across = axes.find((axis) => axis.key === query.across) ?? axes.find((axis) => axis.texts === null) ?? axes[0];
  return html`
    <div class="controls" role="group" aria-label="What the pictures show">
      <label>Result <select value=${target} onChange=${(event) => setQuery({ target: event.target.value })}>${metrics.map((each) => html`<option key=${each} value=${each}>${formatKey(each)}</option>`)}</select></label>
      ${axes.length > 0 && html`<label>Across <select value=${across.key} onChange=${(event) => setQuery({ across: event.target.value })}>${axes.map((axis) => html`<option key=${axis.key} value=${axis.key}>${axis.label}</option>`)}</select></label>`}
      <span class="muted hint">Light lines have high values of the result. Choose one to open its fit.</span>
    </div>
    ${axes.length === 0
      ? html`<p class="empty">The requests are the same: there is nothing to draw the result over.</p>`
      : html`<div class="plots"><${ParallelCoordinates} items=${items} axes=${[...axes, result]} color=${result} focus=${focus} onFocus=${setFocus} />
        <${Scatter} items=${items} across=${across} up=${result} color=${result} focus=${focus} onFocus=${setFocus} /></div>`}
    <${Ranking} found=${found} axes=${axes} target=${target} focus=${focus} onFocus=${setFocus} />`;
}

function Ranking({ found, axes, target, focus, onFocus }) {
  const best = rankedBy(found, target);
  return html`<h3>Ranking by ${formatKey(target)}</h3>
    <div class="scroll ranking" tabindex="0" role="region" aria-label="Ranking"><table>
      <thead><tr><th class="number">Rank</th><th>Fit</th><th>State</th><th class="number">${formatKey(target)}</th>${axes.map((axis) => html`<th key=${axis.key} class="number mono">${axis.label}</th>`)}</tr></thead>
      <tbody>${best.map(({ fit, index }, rank) => html`<tr key=${fit.id} class=${fit.id === focus ? "chosen" : ""} onMouseEnter=${() => onFocus(fit.id)} onMouseLeave=${() => onFocus("")}>
        <td class="number num">${rank + 1}</td><th scope="row"><a href=${hashOf(["fits", fit.id])}>${nameOf(fit)} <small class="mono muted">${shortId(fit.id)}</small></a></th>
        <td><${StateChip} state=${fit.state} /></td><td class="number num">${fit.nonfinite[target] ?? formatNumber(fit.latest[target])}</td>
        ${axes.map((axis) => html`<td key=${axis.key} class="number num">${axis.shown(index)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

/** Return the fits with the best value first; those without one come last. */
function rankedBy(found, target) {
  const sign = isSmallBest(target) ? 1 : -1;
  const value = (fit) => (typeof fit.latest[target] === "number" ? sign * fit.latest[target] : Infinity);
  return found.map((fit, index) => ({ fit, index })).sort((one, other) => value(one.fit) - value(other.fit) || one.index - other.index);
}

/** Whether less is better: of losses, errors and perplexities. */
export function isSmallBest(key) {
  return !/accuracy|r2|f1|auc|precision|recall|corr|kappa|iou|dice/.test(key);
}

function metricsOf(found) {
  const keys = [...new Set(found.flatMap((fit) => Object.keys(fit.latest)))];
  return keys.filter((key) => !/^(val_)?(grad_norm|weight_norm|lr|momentum)(\/|$)/.test(key));
}

function monitorOf(found) {
  if (found.some((fit) => "val_loss" in fit.latest)) return "val_loss";
  return "loss";
}

function labelOf(key) {
  return key.replace(/^labels\./, "label ");
}

function valueOf(text) {
  if (text === undefined) return undefined;
  const value = JSON.parse(text);
  return typeof value === "string" ? names.value.get(value) || value : value;
}
