/** What a graph computes at a point: outputs, gradients by any input or parameter, and second derivatives. */

import { html, useEffect, useRef, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { madeInputs, ROWS, shapeOf } from "../lib/feeds.js";
import { formatNumber, formatShape } from "../lib/format.js";
import { route, setQuery } from "../lib/route.js";
import { problemText } from "../parts/dialog.js";

const SHOWN = 12;
/** Largest number of elements whose second derivatives are shown, as a table from one request. */
const HESSIAN_MAX = 64;
const PAIRS_MAX = 5;

/**
 * @param {{definition: any, values: Record<string, any>, report: any, automatic: boolean, runs: number, onStored: (id: string) => void}} props -
 *   `values` are those that are given, others are made up; a report of null: the text is not valid at the moment
 */
export function PlaygroundValues({ definition, values, report, automatic, runs, onStored }) {
  const [result, setResult] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const scratch = useScratch();
  const turn = useRef(0);
  const { query } = route.value;
  const names = report ? resultNames(report) : (result?.names ?? []);
  const of = names.includes(query.of) ? query.of : (report?.definition.losses?.[0] ?? names[0]);
  const compute = async () => {
    const mine = (turn.current += 1);
    setBusy(true);
    try {
      const graph = await scratch(definition);
      onStored(graph);
      const found = await computed(graph, report, values, of, names);
      if (mine === turn.current) {
        setResult(found);
        setProblem(null);
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (mine === turn.current) setProblem(error);
    }
    if (mine === turn.current) setBusy(false);
  };
  useEffect(() => {
    if (report && (automatic || runs > 0 || result)) compute();
  }, [report, JSON.stringify(values), of, runs]);
  return html`
    <div class="bar tight"><h2>Values and derivatives</h2><button class="primary" onClick=${compute} disabled=${!report || busy}>Compute</button></div>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}
    ${names.length > 1 && html`<label>Derivatives of <select value=${of} onChange=${(event) => setQuery({ of: event.target.value })}>${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}
    ${result ? html`<${Result} result=${result} stale=${!report} />` : html`<p class="muted">${automatic ? "Computed as soon as the text is valid." : "A graph of many parameters is computed on request: choose Compute, or Ctrl+Enter in the text."}</p>`}`;
}

/** Return a function that stores a graph to compute with, and deletes the one before. */
function useScratch() {
  const stored = useRef({ key: "", id: null });
  const drop = (id) => id && request(`v1/graphs/${id}`, { method: "DELETE" }).catch(() => undefined);
  useEffect(() => () => void drop(stored.current.id), []);
  return async (definition) => {
    const key = JSON.stringify(definition);
    if (stored.current.key !== key) {
      const { id } = await request("v1/graphs", { method: "POST", json: definition });
      drop(stored.current.id);
      stored.current = { key, id };
    }
    return stored.current.id;
  };
}

async function computed(graph, report, values, of, names) {
  const { inputs, parameters } = report.definition;
  const given = pick(values, inputs);
  const point = { inputs: { ...madeInputs(report.definition, rowsOf(given, inputs)), ...given }, parameters: pick(values, parameters) };
  const compute = (want) => request(`v1/graphs/${graph}:compute`, { method: "POST", json: { ...point, want } });
  const first = await compute(["outputs"]);
  const outputs = { ...lossTensors(first, report.shapes), ...first.outputs };
  const floats = Object.entries({ ...inputs, ...parameters }).filter(([, spec]) => /^b?float/.test(spec.dtype ?? "float32")).map(([name]) => name);
  if (floats.length === 0 || !outputs[of] || !/^b?float/.test(outputs[of].dtype)) return { names, of, outputs, gradients: {}, hessian: null };
  const { shape, dtype } = outputs[of];
  const size = sizeOf(shape);
  const seed = size === 1 ? {} : { cotangents: { [of]: { dtype, shape, data: Array(size).fill(1) } } };
  const second = await compute([{ gradient_of: [of], by: floats, ...seed }]);
  const gradients = second.derivatives[0].tensors;
  return { names, of, summed: size > 1, outputs, gradients, hessian: size === 1 ? await hessianOf(compute, of, gradients) : null };
}

/** Return the rows of the values that are given for inputs of a row for each example; made-up values have as many. */
function rowsOf(given, inputs) {
  const name = Object.keys(given).find((each) => typeof shapeOf(inputs[each])[0] === "string" && Array.isArray(given[each]));
  return name ? given[name].length : ROWS;
}

/** The Hessian by all scalars together, or else by each small tensor. */
async function hessianOf(compute, of, gradients) {
  const scalars = Object.keys(gradients).filter((name) => gradients[name].shape.length === 0);
  const small = Object.keys(gradients).filter((name) => gradients[name].shape.length > 0 && sizeOf(gradients[name].shape) <= HESSIAN_MAX).slice(0, 4);
  const together = scalars.length >= 1 && scalars.length <= PAIRS_MAX ? scalars : [];
  const pairs = together.flatMap((one, index) => together.slice(index).map((other) => [one, other]));
  const want = [...pairs.map((by) => ({ derivative: { of, by } })), ...small.map((by) => ({ hessian: { of, by } }))].slice(0, 16);
  if (want.length === 0) return null;
  try {
    const { derivatives } = await compute(want);
    const entries = new Map(pairs.map((pair, index) => [pair.join("\n"), scalarOf(Object.values(derivatives[index].tensors)[0])]));
    const table = together.map((one) => together.map((other) => entries.get(`${one}\n${other}`) ?? entries.get(`${other}\n${one}`)));
    const blocks = derivatives.slice(pairs.length).map((each) => [each.by[0], Object.values(each.tensors)[0]]);
    return { together, table, blocks, refused: "" };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { together: [], table: [], blocks: [], refused: problemText(error) };
  }
}

function Result({ result, stale }) {
  const { of, outputs, gradients, hessian } = result;
  return html`<div>
    ${stale && html`<p class="muted">Of the last valid text:</p>`}
    <h3>Values</h3><${Tensors} tensors=${outputs} label="Outputs and losses" />
    ${Object.keys(gradients).length > 0 && html`<h3>Gradient of ${result.summed ? "the sum of " : ""}<span class="mono">${of}</span></h3><${Tensors} tensors=${gradients} label="Gradients" prefix=${`∂${of}/∂`} />`}
    ${hessian && html`<h3>Second derivatives</h3>
      ${hessian.refused && html`<p class="muted">${hessian.refused}</p>`}
      ${hessian.together.length > 0 && html`<${Matrix} rows=${hessian.table} heads=${hessian.together} label="Hessian" />`}
      ${hessian.blocks.map(([name, tensor]) => html`<div key=${name}><p class="mono">by ${name}</p><${Block} tensor=${tensor} name=${name} /></div>`)}`}
  </div>`;
}

function Tensors({ tensors, label, prefix = "" }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table><tbody>
    ${Object.entries(tensors).map(([name, tensor]) => html`<tr key=${name}><th scope="row" class="mono">${prefix}${name}</th><td class="mono muted nowrap">${tensor.dtype} ${formatShape(tensor.shape)}</td><td class="mono">${shownTensor(tensor)}</td></tr>`)}
  </tbody></table></div>`;
}

function Block({ tensor, name }) {
  const side = Math.round(Math.sqrt(sizeOf(tensor.shape)));
  const rows = Array.from({ length: side }, (_, row) => Array.from({ length: side }, (_, column) => numberAt(tensor, row * side + column)));
  const heads = rows.map((_, index) => `[${index}]`);
  return side <= SHOWN ? html`<${Matrix} rows=${rows} heads=${heads} label=${`Hessian by ${name}`} />` : html`<p class="mono">${shownTensor(tensor)}</p>`;
}

function Matrix({ rows, heads, label }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table class="matrix">
    <thead><tr><td></td>${heads.map((head) => html`<th key=${head} scope="col" class="mono">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((row, index) => html`<tr key=${heads[index]}><th scope="row" class="mono">${heads[index]}</th>${row.map((value, place) => html`<td key=${place} class="number num">${typeof value === "number" ? formatNumber(value) : value}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function shownTensor(tensor) {
  const size = sizeOf(tensor.shape);
  if (tensor.shape.length === 0) return textOf(numberAt(tensor, 0));
  if (size <= SHOWN) return nested(tensor, tensor.shape, 0);
  const numbers = tensor.data.filter((value) => typeof value === "number");
  const first = Array.from({ length: 6 }, (_, index) => textOf(numberAt(tensor, index))).join(", ");
  const mean = numbers.reduce((sum, value) => sum + value, 0) / Math.max(1, numbers.length);
  return `${first}, … · from ${formatNumber(least(numbers))} to ${formatNumber(-least(numbers.map((value) => -value)))}, mean ${formatNumber(mean)}`;
}

function nested(tensor, shape, start) {
  if (shape.length === 0) return textOf(numberAt(tensor, start));
  const step = sizeOf(shape.slice(1));
  return `[${Array.from({ length: shape[0] }, (_, index) => nested(tensor, shape.slice(1), start + index * step)).join(", ")}]`;
}

function least(numbers) {
  return numbers.reduce((low, value) => (value < low ? value : low), Infinity);
}

function numberAt(tensor, index) {
  const value = tensor.data[index];
  return value === null ? (tensor.nonfinite?.[index] ?? "not finite") : typeof value === "boolean" ? String(value) : value;
}

function textOf(value) {
  return typeof value === "number" ? formatNumber(value) : value;
}

function scalarOf(tensor) {
  return numberAt(tensor, 0);
}

function sizeOf(shape) {
  return shape.reduce((product, extent) => product * extent, 1);
}

function lossTensors({ losses, nonfinite }, shapes) {
  return Object.fromEntries(Object.entries(losses).map(([name, value]) => [name, { dtype: shapes[name]?.dtype ?? "float32", shape: [], data: [value], nonfinite: value === null ? { 0: nonfinite[name] } : {} }]));
}

function resultNames(report) {
  return [...new Set([...(report.definition.losses ?? []), ...(report.definition.outputs ?? [])])];
}

function pick(values, specs) {
  return Object.fromEntries(Object.keys(specs ?? {}).filter((name) => name in values).map((name) => [name, values[name]]));
}
