/** The values at which a document is computed: typed, taken from the first rows of a dataset, or random numbers. */

import { html, useState } from "../lib/ui.js";
import { list, Problem, request } from "../lib/api.js";
import { ROWS } from "../lib/feeds.js";
import { formatNumber, formatShape, shortened } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { notify } from "../parts/dialog.js";

const EVERY = 20;

/** @param {{report: any, texts: Record<string, string>, faults: {name: string}[], change: (texts: Record<string, string>) => void}} props */
export function PlaygroundInputs({ report, texts, faults, change }) {
  const [datasets, setDatasets] = useState([]);
  usePolling(async () => setDatasets(await list("v1/datasets")), EVERY);
  const inputs = Object.entries(report?.definition.inputs ?? {});
  if (inputs.length === 0) return null;
  const fitting = datasets.filter(({ columns }) => inputs.every(([name, { shape }]) => columns.some((column) => takes(column, name, shape))));
  const fill = async (id) => {
    try {
      const { data } = await request(`v1/datasets/${id}/rows?limit=${ROWS}`);
      change(Object.fromEntries(inputs.map(([name]) => [name, JSON.stringify(shortened(data.map((row) => row[name] ?? 0)))])));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify(error);
    }
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Values of the inputs"><table class="variables">
      <thead><tr><th>Input</th><th>Shape</th><th>Value</th></tr></thead>
      <tbody>${inputs.map(([name, { shape, dtype }]) => html`<tr key=${name}>
        <th scope="row" class="mono">${name}</th><td class="mono muted nowrap">${dtype} ${formatShape(shape)}</td>
        <td><input class="mono" value=${texts[name] ?? ""} placeholder=${/float/.test(dtype) ? "random numbers" : "zeros"} onInput=${(event) => change({ ...texts, [name]: event.target.value })} aria-label=${`Value of ${name}`} aria-invalid=${faults.some((fault) => fault.name === name)} /></td>
      </tr>`)}</tbody></table></div>
    ${fitting.length > 0 && html`<label class="field">Take the first ${ROWS} rows of <select value="" onChange=${(event) => event.target.value && fill(event.target.value)}>
      <option value="">choose a dataset …</option>${fitting.map((each) => html`<option key=${each.id} value=${each.id}>${each.name || each.id}, ${formatNumber(each.rows)} rows</option>`)}</select></label>`}`;
}

/** Whether a column can be fed to an input without being named. */
function takes(column, name, shape) {
  return column.name === name && column.shape.length === shape.length - 1 && column.shape.every((extent, axis) => typeof shape[axis + 1] === "string" || shape[axis + 1] === extent);
}
