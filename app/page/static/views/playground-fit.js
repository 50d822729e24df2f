/** Turn the graph of the playground into a fit on a dataset. */

import { html, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { putFit } from "../lib/fits.js";
import { formatNumber, formatShape } from "../lib/format.js";
import { useResource, usePolling } from "../lib/poll.js";
import { navigate } from "../lib/route.js";
import { notify, problemText } from "../parts/dialog.js";

const EVERY = 20;
const IRIS = "flower:float32[4]=sepal_length..petal_width,species:class";

/** @param {{definition: any, report: any, suggested: any}} props */
export function PlaygroundFit({ definition, report, suggested = {} }) {
  const [datasets, setDatasets] = useState(null);
  const [chosen, setChosen] = useState("");
  const [feeds, setFeeds] = useState({});
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  usePolling(async () => setDatasets(await list("v1/datasets")), EVERY);
  const { data: optimizers } = useResource("v1/optimizers");
  const inputs = Object.entries(report?.definition.inputs ?? {});
  const dataset = datasets?.find((each) => each.id === chosen) ?? datasets?.find((each) => inputs.every(([name]) => each.columns.some((column) => column.name === name)));
  const columns = dataset?.columns ?? [];
  const feedOf = (name) => feeds[name] ?? columns.find((column) => column.name === name)?.name ?? "";
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const fit = await request("v1/fits", { method: "POST", json: requestOf(new FormData(event.target), definition, dataset, inputs, feedOf) });
      putFit(fit);
      navigate(["fits", fit.id]);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    }
    setBusy(false);
  };
  const addIris = async () => {
    try {
      const csv = await (await fetch("page/examples/iris.csv")).blob();
      const made = await request(`v1/datasets?name=iris&columns=${encodeURIComponent(IRIS)}`, { method: "POST", body: csv, headers: { "Content-Type": "text/csv" } });
      setDatasets(await list("v1/datasets"));
      setChosen(made.id);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify(error);
    }
  };
  const trains = report?.definition.losses?.length > 0;
  return html`<h2>Train it</h2>
    ${datasets !== null && !datasets.some((each) => each.name === "iris") && html`<p class="muted">A fit needs a dataset: upload one under <a href="#/datasets">Datasets</a>, or <button class="link" onClick=${addIris}>upload the 150 flowers of iris</button>.</p>`}
    ${report && !trains && html`<p class="muted">The graph has no loss. Call a value of one element <code>loss</code> to train it.</p>`}
    <form class="fit-form" onSubmit=${submit}>
      <label class="field">Dataset <select value=${dataset?.id ?? ""} onChange=${(event) => setChosen(event.target.value)} required>
        <option value="" disabled>choose …</option>
        ${(datasets ?? []).map((each) => html`<option key=${each.id} value=${each.id}>${each.name || each.id}, ${formatNumber(each.rows)} rows</option>`)}
      </select></label>
      ${inputs.map(([name, spec]) => html`<label class="field" key=${name}><span class="mono">${name}</span> ${formatShape(spec.shape)} from
        <select value=${feedOf(name)} onChange=${(event) => setFeeds({ ...feeds, [name]: event.target.value })} required>
          <option value="" disabled>choose a column …</option>
          ${columns.map((column) => html`<option key=${column.name} value=${column.name}>${column.label} ${formatShape(column.shape)} ${column.dtype}</option>`)}
        </select></label>`)}
      <label class="field">Optimizer <select name="optimizer">${(optimizers?.data ?? [{ kind: "adam" }]).map(({ kind }) => html`<option key=${kind} value=${kind} selected=${kind === "adam"}>${kind}</option>`)}</select></label>
      <label class="field">Learning rate <input name="lr" type="number" min="0" step="any" defaultValue=${suggested.lr ?? 0.01} required /></label>
      <label class="field">Epochs <input name="epochs" type="number" min="1" defaultValue=${suggested.epochs ?? 20} required /></label>
      <label class="field">Rows of a step <input name="batch_size" type="number" min="1" defaultValue=${suggested.batch_size ?? 32} required /></label>
      <label class="field">Share for validation <input name="validation" type="number" min="0" max="0.9" step="0.05" defaultValue="0.2" required /></label>
      <label class="field">Metrics <input name="metrics" defaultValue=${suggested.metrics ?? ""} placeholder="accuracy" /></label>
      <div class="buttons left"><button class="primary" disabled=${!trains || !dataset || busy}>Start the fit</button></div>
    </form>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}`;
}

function requestOf(form, definition, dataset, inputs, feedOf) {
  const metrics = form.get("metrics").split(/[\s,]+/).filter(Boolean);
  const split = Number(form.get("validation"));
  return {
    graph: definition,
    dataset: dataset.id,
    feeds: Object.fromEntries(inputs.map(([name]) => [name, feedOf(name)])),
    optimizer: { kind: form.get("optimizer"), lr: Number(form.get("lr")) },
    epochs: Number(form.get("epochs")),
    batch_size: Number(form.get("batch_size")),
    ...(split > 0 ? { validation: { split } } : {}),
    ...(metrics.length ? { metrics } : {}),
  };
}
