/** Write a graph and see at once what is wrong with it, how it looks, what it computes, and its derivatives. */

import { html, useEffect, useMemo, useRef, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatCount, formatNumber } from "../lib/format.js";
import { JsonFault, parseWithPlaces, placeOf } from "../lib/json-places.js";
import { EXAMPLES } from "../lib/playground-examples.js";
import { defaultVariable, documentOf, freeNames, ROLES } from "../lib/program.js";
import { useResource } from "../lib/poll.js";
import { navigate, route, setQuery } from "../lib/route.js";
import { MarkedEditor, showMark } from "../parts/marked-editor.js";
import { notify, problemText } from "../parts/dialog.js";
import { Structure } from "./graph-structure.js";
import { PlaygroundValues } from "./playground-values.js";
import { PlaygroundFit } from "./playground-fit.js";

const PAUSE = 300;
/** Longer texts are not written into the address, which browsers and proxies limit. */
const ADDRESS_MAX = 6000;
const TYPES = ["float32", "float64", "int64"];
const FORMS = { program: "Program", document: "Layers or nodes" };

export function PlaygroundView() {
  const { query } = route.value;
  const written = useRef("");
  const [source, show] = useState(() => initialSource(query));
  // Two changes may come between two renderings: each continues from the last, not from what was rendered.
  const latest = useRef(source);
  const setSource = (next) => show((latest.current = next));
  useEffect(() => {
    // The address may have changed again since this was rendered: what counts is the one that is shown now.
    const now = route.peek().query;
    if (now.p === written.current) return undefined;
    if (now.graph) return readGraph(now.graph, setSource);
    setSource(initialSource(now));
    return undefined;
  }, [query.p, query.example, query.graph]);
  const change = (changes) => {
    const changed = { ...latest.current, ...(typeof changes === "function" ? changes(latest.current) : changes) };
    setSource(changed);
    const { form, text, variables } = changed;
    const packed = JSON.stringify(form === "program" ? { form, text, variables } : { form, text });
    written.current = packed.length <= ADDRESS_MAX ? packed : undefined;
    setQuery({ p: written.current, example: "", graph: "" });
  };
  const read = useMemo(() => readSource(source), [source]);
  const { report, problem, checked } = useReport(read.definition);
  const marks = useMemo(() => marksOf(source, read, problem), [source, read, problem]);
  const valid = report !== null && checked === read.definition && marks.length === 0;
  const [runs, setRuns] = useState(0);
  const [stored, setStored] = useState({ id: "", definition: null });
  // The graph that is computed with is stored: of that the server also lists the backward pass.
  const { data: nodes } = useResource(valid && stored.definition === read.definition ? `v1/graphs/${stored.id}/nodes?backward=true` : null);
  return html`
    <div class="bar"><h1>Playground</h1>
      <label>Example <select value=${query.example ?? ""} onChange=${(event) => event.target.value && navigate(["playground"], { example: event.target.value })}>
        <option value="">choose …</option>
        ${Object.entries(EXAMPLES).map(([name, { label }]) => html`<option key=${name} value=${name}>${label}</option>`)}
      </select></label>
      <span class="segments" role="group" aria-label="Form of the text">${Object.entries(FORMS).map(([form, label]) => html`<button key=${form} aria-pressed=${form === source.form} onClick=${() => form !== source.form && change(converted(source, read, form))}>${label}</button>`)}</span>
    </div>
    <div class="playground">
      <section class="card" aria-label="Text">
        <${MarkedEditor} label=${source.form === "program" ? "Program" : "Graph as JSON"} text=${source.text} marks=${marks} rows=${source.form === "program" ? 6 : 22} describedBy="faults"
          onInput=${(text) => change({ text })} onRun=${() => setRuns(runs + 1)} />
        <${Faults} marks=${marks} problem=${problem} report=${report} valid=${valid} />
        ${source.form === "program" && html`<${Variables} source=${source} faults=${read.faults} change=${change} />`}
      </section>
      <section class="card" aria-label="Values">
        <${PlaygroundValues} definition=${read.definition} values=${read.values} report=${valid ? report : null} runs=${runs} onStored=${(id) => setStored({ id, definition: read.definition })} />
      </section>
    </div>
    ${report && html`<section class="card" aria-label="Graph"><h2>Graph</h2><${Structure} graph=${report} listed=${nodes?.data ?? null} batch=${null} /></section>
      <section class="card" aria-label="Fit"><${PlaygroundFit} definition=${read.definition} report=${valid ? report : null} suggested=${source.fit} /></section>`}`;
}

function initialSource(query) {
  try {
    const { form, text, variables } = JSON.parse(query.p ?? "null") ?? {};
    if (form in FORMS && typeof text === "string") return { form, text, variables: checkedVariables(variables) };
  } catch {
    // An address that was cut: the first example is shown.
  }
  const example = EXAMPLES[query.example] ?? EXAMPLES.parabola;
  return { variables: {}, ...example };
}

/** Of what an address says of the names, take what the page could have written. */
function checkedVariables(variables) {
  const known = Object.entries(variables ?? {}).filter(([, each]) => each?.role in ROLES && TYPES.includes(each.dtype) && typeof each.value === "string");
  return Object.fromEntries(known);
}

function readGraph(id, setSource) {
  let current = true;
  request(`v1/graphs/${id}`).then(
    (graph) => current && setSource({ form: "document", variables: {}, text: JSON.stringify(graph.definition, null, 2) }),
    (problem) => current && notify(problem),
  );
  return () => (current = false);
}

/** Return what the text says: the document that is sent, the values that are given, and where it cannot be read. */
function readSource(source) {
  if (source.form === "program") return { ...documentOf(source.text, variablesOf(source)), places: null, fault: null };
  try {
    const { value, places } = parseWithPlaces(source.text);
    return { definition: value, values: null, faults: [], places, fault: null };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { definition: null, values: null, faults: [], places: null, fault: { from: error.at, to: error.at + 1, detail: error.message } };
  }
}

/** Ask the server about a document, some time after its last change. */
function useReport(definition) {
  const [answer, setAnswer] = useState({ report: null, problem: null, checked: null });
  const key = JSON.stringify(definition);
  useEffect(() => {
    if (definition === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const report = await request("v1/graphs:validate", { method: "POST", json: definition, signal: controller.signal });
        setAnswer({ report, problem: null, checked: definition });
      } catch (error) {
        if (controller.signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        setAnswer((before) => ({ report: before.report, problem: error, checked: definition }));
      }
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);
  const same = answer.checked !== null && JSON.stringify(answer.checked) === key;
  return { report: answer.report, problem: same ? answer.problem : null, checked: same ? definition : answer.checked };
}

function marksOf(source, read, problem) {
  if (read.fault) return [read.fault];
  const marks = [];
  for (const { name, detail } of read.faults) {
    const at = source.text.search(new RegExp(`\\b${name}\\b`));
    marks.push({ from: at, to: at + name.length, detail: `value of ${name}: ${detail}` });
  }
  for (const error of problem?.errors ?? []) {
    const place = read.places ? placeOf(read.places, error.pointer) : placeInProgram(source.text, error);
    marks.push({ from: place?.from ?? 0, to: place?.to ?? 1, detail: `${read.places && error.pointer ? `${error.pointer}: ` : ""}${error.detail}` });
  }
  return marks;
}

/** The API names a line and a column; what is marked is the word that begins there. */
function placeInProgram(text, { line, column }) {
  if (line === undefined) return { from: 0, to: text.length };
  const start = text.split("\n").slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  // The API counts characters, the text of the field is in UTF-16 units.
  const before = [...(text.split("\n")[line - 1] ?? "")].slice(0, column - 1).join("").length;
  const from = Math.min(start + before, text.length);
  const word = /^(?:\w+|\*\*|[<>=!]=|.)/.exec(text.slice(from));
  return { from, to: from + (word?.[0].length ?? 1) };
}

function Faults({ marks, problem, report, valid }) {
  return html`<div id="faults" class="faults" role="status">
    ${marks.map((mark) => html`<button class="fault" key=${mark.from + mark.detail} onClick=${() => showMark(mark)}><span aria-hidden="true">✕</span> ${mark.detail}</button>`)}
    ${problem && problem.errors.length === 0 && html`<p class="bad">${problemText(problem)}</p>`}
    ${valid && html`<p class="muted">${`✓ ${formatCount(report.definition.nodes.length, "node")}, ${formatNumber(report.parameter_count)} parameters, ${report.definition.losses?.length ? `loss ${report.definition.losses.join(", ")}` : "no loss"}`}</p>
      ${report.findings.map((each) => html`<p class="muted" key=${each.pointer + each.code}>${each.detail}</p>`)}`}
  </div>`;
}

function variablesOf({ text, variables }) {
  return Object.fromEntries(freeNames(text).map((name, index) => [name, Object.hasOwn(variables, name) ? variables[name] : defaultVariable(index)]));
}

function Variables({ source, faults, change }) {
  const variables = variablesOf(source);
  const edit = (name, field) => (event) =>
    change((now) => ({ variables: { ...now.variables, ...variablesOf(now), [name]: { ...variablesOf(now)[name], [field]: event.target.value } } }));
  if (Object.keys(variables).length === 0) return html`<p class="empty">The program reads no names.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Names that the program reads"><table class="variables">
    <thead><tr><th>Name</th><th>Is</th><th>Type</th><th>Value</th></tr></thead>
    <tbody>${Object.entries(variables).map(([name, { role, value, dtype }]) => html`<tr key=${name}>
      <th scope="row" class="mono">${name}</th>
      <td><select value=${role} onChange=${edit(name, "role")} aria-label=${`Role of ${name}`}>${Object.entries(ROLES).map(([each, label]) => html`<option key=${each} value=${each}>${label}</option>`)}</select></td>
      <td><select value=${dtype} onChange=${edit(name, "dtype")} aria-label=${`Type of ${name}`}>${TYPES.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></td>
      <td><input class="mono" value=${value} onInput=${edit(name, "value")} aria-label=${`Value of ${name}`} aria-invalid=${faults.some((fault) => fault.name === name)} /></td>
    </tr>`)}</tbody></table></div>`;
}

/** The other form of the same graph: a program becomes its document; a document keeps its program if it has one. */
function converted(source, read, form) {
  if (form === "document") return { form, text: JSON.stringify(read.definition, null, 2), fit: source.fit };
  const text = read.definition?.program;
  if (typeof text !== "string") return { ...EXAMPLES.parabola };
  return { form, text, variables: source.variables };
}
