/** An evaluation of a checkpoint on the rows of a dataset: metrics, a confusion matrix, scores of classes, errors. */

import { html, useEffect, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { formatBytes, formatKey, formatNumber, shortId } from "../lib/format.js";
import { heatColor } from "../lib/heat.js";
import { seriesColor } from "../lib/theme.js";
import { setQuery } from "../lib/route.js";
import { Chart } from "../parts/chart.js";
import { problemText } from "../parts/dialog.js";

/** A matrix of more classes cannot be read; the table of the classes has them all. */
const MATRIX_MAX = 40;
const CURVES_MAX = 8;

/** @param {{fit: any, checkpoint: any}} props */
export function Evaluate({ fit, checkpoint }) {
  const [datasets, setDatasets] = useState([]);
  const [chosen, setChosen] = useState(fit.dataset);
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    list("v1/datasets", 1000).then(setDatasets, () => undefined);
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      setFound(await request(`v1/checkpoints/${checkpoint.id}:evaluate`, { method: "POST", json: { dataset: chosen } }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setFound(null);
      setProblem(problemText(error));
    }
    setBusy(false);
  };
  return html`<section class="card" aria-labelledby="evaluate-title">
    <div class="bar tight"><h2 id="evaluate-title">Evaluate ${shortId(checkpoint.id)} of step ${formatNumber(checkpoint.step)}</h2>
      <button class="quiet" onClick=${() => setQuery({ evaluate: "" })}>Close</button></div>
    <form class="controls" onSubmit=${submit}>
      <label>Dataset <select value=${chosen} onChange=${(event) => setChosen(event.target.value)}>${datasets.map((each) => html`<option key=${each.id} value=${each.id}>${each.name || shortId(each.id)}, ${formatNumber(each.rows)} rows, ${formatBytes(each.size_bytes)}${each.id === fit.dataset ? " (trained on)" : ""}</option>`)}</select></label>
      <button class="primary" disabled=${busy}>${busy ? "Evaluating …" : "Evaluate"}</button>
    </form>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div aria-live="polite">${found && html`<${Report} found=${found} />`}</div>
  </section>`;
}

function Report({ found }) {
  const { classification, regression } = found;
  return html`<dl class="figures"><div><dt>Rows</dt><dd class="num">${formatNumber(found.rows)}</dd></div>
      ${Object.keys(found.metrics).map((key) => html`<div key=${key}><dt>${formatKey(key)}</dt><dd class="num">${found.nonfinite[key] ?? formatNumber(found.metrics[key])}</dd></div>`)}</dl>
    ${classification && html`<${Classification} report=${classification} />`}
    ${regression && html`<${Regression} report=${regression} />`}`;
}

function Classification({ report }) {
  const { classes, confusion_matrix: matrix, roc, calibration } = report;
  return html`
    ${matrix && classes.length <= MATRIX_MAX && html`<h3>Confusion matrix</h3><${Matrix} matrix=${matrix} classes=${classes} />`}
    <h3>Classes</h3><div class="scroll events" tabindex="0" role="region" aria-label="Scores of the classes"><table>
      <thead><tr><th>Class</th><th class="number">Rows</th><th class="number">Predicted</th><th class="number">Precision</th><th class="number">Recall</th><th class="number">F1</th></tr></thead>
      <tbody>${report.per_class.map((each) => html`<tr key=${each.name}><th scope="row">${each.name}</th><td class="number num">${formatNumber(each.support)}</td><td class="number num">${formatNumber(each.predicted)}</td><td class="number num">${formatNumber(each.precision)}</td><td class="number num">${formatNumber(each.recall)}</td><td class="number num">${formatNumber(each.f1)}</td></tr>`)}</tbody>
    </table></div>
    <div class="charts">
      ${roc?.length > 0 && html`<section><${Chart} title="Receiver operating characteristic" lines=${rocLines(roc)} xLabel="false positive rate" height=${260} /></section>`}
      ${calibration && html`<section><${Chart} title=${`Calibration, expected error ${formatNumber(calibration.expected_error)}`} lines=${calibrationLines(calibration)} xLabel="confidence" height=${260} /></section>`}
    </div>`;
}

function Matrix({ matrix, classes }) {
  const most = Math.max(1, ...matrix.flat());
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix"><table class="matrix">
    <thead><tr><th scope="col">Class \\ predicted</th>${classes.map((each) => html`<th key=${each} scope="col" class="number">${each}</th>`)}</tr></thead>
    <tbody>${matrix.map((row, index) => html`<tr key=${index}><th scope="row">${classes[index]}</th>${row.map((count, other) => {
      const share = Math.sqrt(count / most);
      const style = count ? { background: heatColor(share), color: share > 0.55 ? "#000000" : "#ffffff" } : {};
      return html`<td key=${other} class="number num" style=${style}>${count || html`<span class="muted">0</span>`}</td>`;
    })}</tr>`)}</tbody></table></div>`;
}

function Regression({ report }) {
  const facts = {
    "Mean absolute error": report.mean_absolute_error, "Root of the mean squared error": report.root_mean_squared_error,
    "Mean error": report.mean_error, "Largest error": report.largest_error,
  };
  return html`<h3>Errors</h3><dl class="facts">${Object.entries(facts).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="num">${formatNumber(value)}</dd></div>`)}
    ${Object.entries(report.error_quantiles ?? {}).map(([name, value]) => html`<div key=${name}><dt>Quantile ${name}</dt><dd class="num">${formatNumber(typeof value === "number" ? value : value?.error)}</dd></div>`)}</dl>`;
}

function rocLines(roc) {
  return roc.filter((each) => each.points?.length).slice(0, CURVES_MAX).map((each, index) => {
    // Curves are drawn over one axis, on which no place may occur twice: a step up keeps its upper end.
    const highest = new Map(each.points.map((point) => [point.false_positive_rate, point.true_positive_rate]));
    const places = [...highest].sort(([one], [other]) => one - other);
    return { label: `${each.name} (area ${formatNumber(each.auc)})`, color: seriesColor(index), x: places.map(([x]) => x), y: places.map(([, y]) => y) };
  });
}

function calibrationLines({ bins }) {
  const filled = bins.filter((bin) => bin.rows > 0);
  return [
    { label: "exact", color: seriesColor(7), dash: true, x: [0, 1], y: [0, 1] },
    { label: "this checkpoint", color: seriesColor(0), points: true, x: filled.map((bin) => bin.confidence), y: filled.map((bin) => bin.accuracy) },
  ];
}
