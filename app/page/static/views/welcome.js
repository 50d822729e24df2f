/** The first visit of an empty server: train a classifier of iris flowers with one click, or with curl. */

import { html, useState } from "../lib/ui.js";
import { addressOf, Problem, request, storedKey } from "../lib/api.js";
import { putFit } from "../lib/fits.js";
import { navigate } from "../lib/route.js";
import { Copyable } from "../parts/copyable.js";
import { problemText } from "../parts/dialog.js";

const COLUMNS = "flower:float32[4]=sepal_length..petal_width,species:class";
const GRAPH = {
  name: "iris",
  inputs: { flower: { shape: ["batch", 4], dtype: "float32" }, species: { shape: ["batch"], dtype: "int64" } },
  layers: [{ layer: "batch_norm" }, { layer: "linear", units: 16, activation: "tanh" }, { layer: "linear", units: 3 }],
  loss: { kind: "cross_entropy", target: "species" },
};
const RECIPE = {
  epochs: 60,
  batch_size: 16,
  seed: 0,
  optimizer: { kind: "adam", lr: 0.01 },
  metrics: ["accuracy"],
  validation: { split: 0.2 },
};

export function Welcome() {
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState("");
  const start = async () => {
    setProblem("");
    try {
      setBusy("Uploading 150 flowers …");
      const csv = await (await fetch("page/examples/iris.csv")).blob();
      const path = `v1/datasets?name=iris&columns=${encodeURIComponent(COLUMNS)}`;
      const dataset = await request(path, { method: "POST", body: csv, headers: { "Content-Type": "text/csv" } });
      setBusy("Creating the graph …");
      const graph = await request("v1/graphs", { method: "POST", json: GRAPH });
      setBusy("Starting the fit …");
      const fit = await request("v1/fits", { method: "POST", json: { graph: graph.id, dataset: dataset.id, ...RECIPE } });
      navigate(["fits", fit.id]);
      putFit(fit);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(problemText(error));
    }
    setBusy("");
  };
  return html`<section class="welcome">
    <div class="card">
      <h1>Train a first model</h1>
      <p>This server has no fits yet. One click uploads the iris data, creates a small network of two layers and trains it
        for 60 epochs. It takes some seconds, and you see every step of it.</p>
      <ol class="steps">
        <li><strong>Dataset</strong><span>150 flowers with four measurements and a species</span></li>
        <li><strong>Graph</strong><span>4 → 16 tanh → 3, cross entropy</span></li>
        <li><strong>Fit</strong><span>Adam, 60 epochs, a fifth of the rows for validation</span></li>
      </ol>
      <div class="buttons left">
        <button class="primary big" onClick=${start} disabled=${busy !== ""}>${busy || "Train iris"}</button>
        <a href="#/datasets">or upload a dataset of your own</a>
      </div>
      <p class="bad" role="alert">${problem}</p>
    </div>
    <div class="card">
      <h2>The same with curl</h2>
      <${Copyable} text=${commands()} label="curl commands" />
    </div>
  </section>`;
}

function commands() {
  const root = addressOf("").replace(/\/$/, "");
  const key = storedKey() ? 'curl() { command curl -H "Authorization: Bearer $ADJOINT_KEY" "$@"; }\n' : "";
  return `${key}URL=${root}
id() { grep -o '"id":"[^"]*"' | head -n 1 | cut -d '"' -f 4; }
curl -s -o iris.csv $URL/page/examples/iris.csv
DATASET=$(curl -s -H 'Content-Type: text/csv' --data-binary @iris.csv \\
  "$URL/v1/datasets?name=iris&columns=${encodeURIComponent(COLUMNS)}" | id)
GRAPH=$(curl -s -H 'Content-Type: application/json' $URL/v1/graphs -d '${JSON.stringify(GRAPH)}' | id)
FIT=$(curl -s -H 'Content-Type: application/json' $URL/v1/fits -d '{
  "graph": "'$GRAPH'", "dataset": "'$DATASET'",
  ${JSON.stringify(RECIPE).slice(1, -1)}}' | id)
curl -N $URL/v1/fits/$FIT/events`;
}
