/** A prediction by a checkpoint: a form made from the inputs of the graph, filled from a row of the dataset. */

import { html, useEffect, useMemo, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatNumber, formatShape, shortened, shortId } from "../lib/format.js";
import { useResource } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";
import { DraftInput } from "../parts/draft-input.js";
import { imageForm, Picture, readPicture } from "../parts/picture.js";
import { problemText } from "../parts/dialog.js";

/** Classes and numbers that are shown of an output. */
const SHOWN_MAX = 12;

/** @param {{fit: any, checkpoint: any}} props */
export function Predict({ fit, checkpoint }) {
  const row = Math.max(0, Number.parseInt(route.value.query.row ?? "0", 10) || 0);
  const { data: graph, problem: noGraph } = useResource(`v1/graphs/${checkpoint.graph}`);
  const { data: dataset } = useResource(`v1/datasets/${fit.dataset}`);
  const { data: rows } = useResource(`v1/datasets/${fit.dataset}/rows?offset=${row}&limit=1`);
  const [texts, setTexts] = useState({});
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState("");
  const inputs = useMemo(() => (graph ? inputsOf(graph, fit, dataset) : []), [graph, dataset]);
  const values = rows?.data[0];
  useEffect(() => {
    setTexts(Object.fromEntries(inputs.map((input) => [input.name, textOf(input, values)])));
    setAnswer(null);
  }, [inputs, values]);
  const submit = async (event) => {
    event.preventDefault();
    setProblem("");
    try {
      const json = { inputs: Object.fromEntries(inputs.filter((each) => texts[each.name]).map((each) => [each.name, [valueOf(each, texts[each.name])]])) };
      setAnswer(await request(`v1/checkpoints/${checkpoint.id}:predict`, { method: "POST", json }));
    } catch (error) {
      if (!(error instanceof Problem || error instanceof SyntaxError)) throw error;
      setAnswer(null);
      setProblem(problemText(error));
    }
  };
  if (noGraph) return html`<section class="card"><h2>Predict</h2><p class="problem" role="alert">${problemText(noGraph)}</p></section>`;
  if (!graph) return html`<p class="loading" role="status">Reading the inputs …</p>`;
  const set = (name, text) => setTexts({ ...texts, [name]: text });
  return html`<section class="card" aria-labelledby="predict-title">
    <div class="bar tight"><h2 id="predict-title">Predict with ${shortId(checkpoint.id)} of step ${formatNumber(checkpoint.step)}</h2>
      <button class="quiet" onClick=${() => setQuery({ predict: "", row: "" })}>Close</button></div>
    <form class="predict" onSubmit=${submit}>
      ${dataset && html`<label class="field row-choice">Row of the dataset
        <${DraftInput} type="number" min="0" max=${dataset.rows - 1} value=${row} onCommit=${(text) => setQuery({ row: text === "0" ? "" : text })} />
        <small>0 to ${formatNumber(dataset.rows - 1)}. Its values fill the form; change them as you like.</small></label>`}
      ${inputs.map((input) => html`<${Input} key=${input.name} input=${input} text=${texts[input.name] ?? ""} set=${set} />`)}
      <div class="buttons left"><button class="primary">Predict</button></div>
    </form>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div aria-live="polite">${answer && html`<${Answer} answer=${answer} graph=${graph} fit=${fit} dataset=${dataset} values=${values} />`}</div>
  </section>`;
}

function Input({ input, text, set }) {
  const [over, setOver] = useState(false);
  const picture = imageForm(input.shape);
  const value = picture && parsed(text);
  const read = async (file) => {
    if (file) set(input.name, JSON.stringify(await readPicture(file, input)));
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    read(event.dataTransfer.files[0]);
  };
  return html`<div class=${over ? "input over" : "input"} onDragOver=${(event) => picture && (event.preventDefault(), setOver(true))} onDragLeave=${() => setOver(false)} onDrop=${(event) => picture && drop(event)}>
    <label class="field"><span class="mono">${input.name}</span> <small class="mono">${input.dtype} ${formatShape(input.shape)}</small>
      ${input.classes && input.shape.length === 0
        ? html`<select value=${text} onChange=${(event) => set(input.name, event.target.value)}>${input.classes.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`
        : html`<textarea class="mono" rows=${input.shape.length ? 3 : 1} spellcheck=${false} value=${text} onInput=${(event) => set(input.name, event.target.value)}></textarea>`}
    </label>
    ${picture && html`<div class="picture">
      ${value && html`<${Picture} value=${value} column=${input} big=${true} />`}
      <label class="button">Use an image<input type="file" accept="image/*" class="hidden-input" onChange=${(event) => read(event.target.files[0])} /></label>
      <small class="muted">or drop one here</small></div>`}
  </div>`;
}

function Answer({ answer, graph, fit, dataset, values }) {
  return html`${Object.entries(answer.outputs).map(([name, tensor]) => {
    const classes = answer.classes[name] ?? classesOf(graph, fit, dataset, tensor);
    const truth = classes && truthOf(graph, fit, dataset, values);
    return html`<div key=${name} class="output"><h3 class="mono">${name} <small class="muted">${tensor.dtype} ${formatShape(tensor.shape.slice(1))}</small></h3>
      ${classes ? html`<${Classes} scores=${tensor.data} classes=${classes} truth=${truth} />` : html`<${Numbers} tensor=${tensor} />`}</div>`;
  })}`;
}

/** Scores of a cross entropy as probabilities, the most probable class first. */
function Classes({ scores, classes, truth }) {
  const largest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((sum, each) => sum + each, 0);
  const order = [...weights.keys()].sort((one, other) => weights[other] - weights[one]);
  return html`<table class="bars"><thead><tr><th>Class</th><th>Probability</th><th class="number">Score</th></tr></thead>
    <tbody>${order.slice(0, SHOWN_MAX).map((index) => {
      const share = weights[index] / total;
      return html`<tr key=${index}><th scope="row">${classes[index] ?? index}${String(classes[index] ?? index) === String(truth) && html` <span class="chip state-succeeded"><span aria-hidden="true">✓</span> in the dataset</span>`}</th>
        <td class="nowrap"><meter min="0" max="1" value=${share} aria-label=${`probability of ${classes[index] ?? index}`}></meter> <span class="num">${(100 * share).toFixed(share > 0.001 ? 1 : 3)} %</span></td>
        <td class="number num">${formatNumber(scores[index])}</td></tr>`;
    })}</tbody></table>
    ${order.length > SHOWN_MAX && html`<p class="muted">and ${order.length - SHOWN_MAX} less probable classes</p>`}`;
}

function Numbers({ tensor }) {
  const flat = [tensor.data].flat(Infinity);
  const shown = flat.slice(0, 64).map((value) => (value === null ? "not finite" : formatNumber(value)));
  return html`<p class="mono wrap">${shown.join(", ")}${flat.length > 64 ? ` … ${formatNumber(flat.length)} numbers` : ""}</p>`;
}

/** Return the inputs that the outputs of a graph depend on, with their columns in the dataset. */
function inputsOf(graph, fit, dataset) {
  const needed = neededBy(graph.definition);
  return Object.entries(graph.definition.inputs)
    .filter(([name]) => needed.has(name))
    .map(([name, { shape, dtype }]) => {
      const column = columnOf(name, fit, dataset);
      return {
        name, dtype, shape: shape.slice(1), column: column?.name,
        classes: column?.classes ?? null, minimum: column?.minimum ?? 0, maximum: column?.maximum ?? 1,
      };
    });
}

/** Return the names of all values that the outputs depend on; of a graph without outputs, of everything. */
function neededBy({ nodes, inputs, outputs }) {
  const names = [outputs ?? []].flat();
  if (names.length === 0) return new Set(Object.keys(inputs));
  const byName = new Map(nodes.flatMap((node) => [node.name, ...(node.outputs ?? [])].map((name) => [name, node])));
  const needed = new Set();
  const open = [...names];
  while (open.length) {
    const name = open.pop();
    if (needed.has(name)) continue;
    needed.add(name);
    const node = byName.get(name) ?? byName.get(name.replace(/[.:][^.:]*$/, ""));
    open.push(...(node?.inputs ?? []).filter((each) => typeof each === "string"));
  }
  return needed;
}

function columnOf(name, fit, dataset) {
  const feed = fit.request.feeds?.[name];
  return dataset?.columns.find((each) => each.name === (typeof feed === "string" ? feed : name));
}

function lossNames({ losses }) {
  if (Array.isArray(losses)) return losses.map((each) => (typeof each === "string" ? each : each.name));
  return Object.keys(losses ?? {});
}

function lossNode(graph) {
  const [name] = lossNames(graph.definition);
  return graph.definition.nodes.find((node) => node.name === name);
}

/** Return the class names of scores: those of the target of a cross entropy, or numbers; null for other outputs. */
function classesOf(graph, fit, dataset, tensor) {
  const loss = lossNode(graph);
  if (!loss || !/cross_entropy|nll/.test(loss.op) || tensor.shape.length !== 2) return null;
  const count = tensor.shape[1];
  return targetColumn(graph, fit, dataset)?.classes ?? Array.from({ length: count }, (_each, index) => String(index));
}

function targetColumn(graph, fit, dataset) {
  const loss = lossNode(graph);
  const target = loss?.inputs.find((name) => name in graph.definition.inputs);
  return columnOf(target, fit, dataset);
}

function truthOf(graph, fit, dataset, values) {
  const column = targetColumn(graph, fit, dataset);
  if (!column || !values) return undefined;
  const value = values[column.name];
  return typeof value === "number" ? (column.classes?.[value] ?? value) : value;
}

function textOf(input, values) {
  const value = input.column && values ? values[input.column] : undefined;
  if (value === undefined || value === null) return "";
  if (input.classes && typeof value === "number") return input.classes[value] ?? "";
  return typeof value === "string" ? value : JSON.stringify(shortened(value));
}

function valueOf(input, text) {
  if (input.classes && Number.isNaN(Number(text))) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError(`${input.name}: expected JSON of one row, such as ${input.shape.length ? "[0.5, 1.5]" : "0.5"}`);
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
