/** The curves of a fit, live: train and validation, log scale, smoothing, zoom, over steps, epochs or time. */

import { html, useMemo } from "../lib/ui.js";
import { smooth } from "../lib/curves.js";
import { formatKey, formatNumber, formatSeconds } from "../lib/format.js";
import { route, setQuery } from "../lib/route.js";
import { seriesColor } from "../lib/theme.js";
import { Chart } from "../parts/chart.js";

const AXES = ["step", "epoch", "time"];
const FIRST = ["loss"];
const LAST = ["grad_norm", "lr", "momentum"];
/** Up to this many validation rows are marked by points. */
const MARKED_MAX = 80;

/** @param {{watch: import("../lib/watch.js").FitWatch, fit: any}} props */
export function CurvesTab({ watch, fit }) {
  const version = watch.version.value;
  const { x = "step", log, smooth: weight = "0", from, to } = route.value.query;
  const range = from !== undefined && to !== undefined ? [Number(from), Number(to)] : null;
  const axes = useMemo(() => axesOf(watch.curves, fit, x), [version, x, fit.total_steps]);
  if (watch.curves.rows === 0) {
    return html`<section class="card empty"><p role="status">${fit.terminal ? "This fit has no metric rows." : "No metric rows yet. Curves appear with the first step."}</p></section>`;
  }
  const zoom = (next) => setQuery({ from: next?.[0].toPrecision(6), to: next?.[1].toPrecision(6) });
  const keys = ordered(watch.curves.keys());
  return html`
    <${Controls} x=${x} log=${log} weight=${weight} range=${range} zoom=${zoom} />
    <div class="charts">
      ${keys.map((key, place) => {
        const lines = linesOf(watch.curves, key, axes, Number(weight));
        return html`<section class=${place === 0 ? "card first-chart" : "card"} key=${key}>
          <${Chart} title=${formatKey(key)} lines=${lines} log=${log === "1" && positive(key)} xLabel=${x} xFormat=${x === "time" ? formatSeconds : undefined} range=${range} onZoom=${zoom} group=${fit.id} height=${place === 0 ? 320 : 220} />
        </section>`;
      })}
    </div>
    <p class="muted count" role="status" data-rows=${watch.curves.rows} data-last=${watch.curves.lastSeq}>${watch.curves.lastSeq.toLocaleString("en")} metric rows${watch.curves.thinned ? `, drawn by ${watch.curves.rows.toLocaleString("en")} with the extremes of the loss` : ""}${watch.curves.nonfinite ? ` · ${formatNumber(watch.curves.nonfinite)} rows are not finite` : ""}</p>`;
}

function Controls({ x, log, weight, range, zoom }) {
  return html`<div class="controls" role="group" aria-label="How the curves are drawn">
    <span class="segments" role="group" aria-label="Horizontal axis">
      ${AXES.map((each) => html`<button key=${each} aria-pressed=${x === each} onClick=${() => setQuery({ x: each === "step" ? "" : each, from: "", to: "" })}>${each}</button>`)}
    </span>
    <button aria-pressed=${log === "1"} onClick=${() => setQuery({ log: log === "1" ? "" : "1" })}>log scale</button>
    <label class="slider">smoothing
      <input type="range" min="0" max="0.99" step="0.01" value=${weight} onInput=${(event) => setQuery({ smooth: event.target.value === "0" ? "" : event.target.value })} />
      <span class="num">${Number(weight).toFixed(2)}</span>
    </label>
    ${range ? html`<button onClick=${() => zoom(null)}>Reset zoom</button>` : html`<span class="muted hint">Drag over a curve to zoom, double-click to reset</span>`}
  </div>`;
}

/** Return the horizontal positions of the rows of each split. */
function axesOf(curves, fit, x) {
  const { train, validation } = curves.splits;
  if (x === "time") return curves.times();
  if (x !== "epoch") return { train: [...train.step], validation: [...validation.step] };
  const epochs = fit.request.epochs;
  const steps = curves.stepsPerEpoch() ?? (epochs ? fit.total_steps / epochs : 1);
  return { train: train.step.map((step) => step / steps), validation: validation.step.map((step) => step / steps) };
}

function linesOf(curves, key, axes, weight) {
  const lines = [];
  const train = curves.splits.train.values.get(key);
  const validation = curves.splits.validation.values.get(key);
  if (train) {
    if (weight > 0) lines.push({ label: "train, each row", color: seriesColor(0), x: axes.train, y: [...train], faint: true });
    lines.push({ label: "train", color: seriesColor(0), x: axes.train, y: weight > 0 ? smooth(train, weight) : [...train] });
  }
  if (validation) {
    const points = validation.length <= MARKED_MAX;
    lines.push({ label: "validation", color: seriesColor(1), x: axes.validation, y: [...validation], points });
  }
  return lines;
}

function ordered(keys) {
  const place = (key) => (FIRST.includes(key) ? -1 : LAST.includes(key) ? 1 + LAST.indexOf(key) : 0);
  return keys.sort((one, other) => place(one) - place(other));
}

function positive(key) {
  return !/accuracy|r2|corr/.test(key);
}
