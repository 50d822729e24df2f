// Creates a dataset, a graph and a fit, and polls until the fit has ended: `npm install && npm start`.

import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
declare const process: { env: Record<string, string | undefined> };

const url = process.env["ADJOINT_URL"] ?? "http://127.0.0.1:8000";
const key = process.env["ADJOINT_KEY"];

/** Sends a request and returns the JSON of the answer; a refusal is thrown with its details. */
async function call<Answer>(method: "GET" | "POST", path: string, body?: unknown): Promise<Answer> {
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  if (key !== undefined) {
    headers["Authorization"] = `Bearer ${key}`;
  }
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) {
    const problem = (await response.json()) as Schemas["Problem"];
    throw new Error(`${problem.status} ${problem.code}: ${problem.detail}`);
  }
  return (await response.json()) as Answer;
}

const rows: Schemas["InlineDataset"] = { columns: { x: [0, 1, 2, 3], y: [1, 3, 5, 7] } };
const dataset = await call<Schemas["Dataset"]>("POST", "/v1/datasets?name=line", rows);

const definition: Schemas["GraphDefinition"] = {
  inputs: { x: ["batch"], y: ["batch"] },
  parameters: { w: [], b: [] },
  program: "pred = x * w + b\nloss = mean((pred - y) ** 2)",
};
const graph = await call<Schemas["Graph"]>("POST", "/v1/graphs", definition);

const request: Schemas["FitRequest"] = {
  graph: graph.id,
  dataset: dataset.id,
  epochs: 300,
  optimizer: { kind: "adam", lr: 0.1 },
  resources: { priority: "high" },
};
let fit = await call<Schemas["Fit"]>("POST", "/v1/fits", request);

type Query = NonNullable<paths["/v1/fits/{fit_id}"]["get"]["parameters"]["query"]>;
const query: Query = { wait: 30, until: "terminal" };
while (!fit.terminal) {
  fit = await call<Schemas["Fit"]>("GET", `/v1/fits/${fit.id}?wait=${query.wait}&until=${query.until}`);
}
console.log(fit.state, fit.step, fit.latest["loss"]);
