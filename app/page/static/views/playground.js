/** Write a graph and see at once what is wrong with it, how it looks, what it computes, and its derivatives. */

import { html, useEffect, useMemo, useRef, useState } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { formatCount, formatNumber } from "../lib/format.js";
import { EXAMPLES } from "../lib/playground-examples.js";
import { converted, FORMS, marksOf, packed, readSource, sourceOf, TYPES, variablesOf } from "../lib/playground-source.js";
import { ROLES } from "../lib/program.js";
import { useResource } from "../lib/poll.js";
import { navigate, route, setQuery } from "../lib/route.js";
import { MarkedEditor, showMark } from "../parts/marked-editor.js";
import { notify, problemText } from "../parts/dialog.js";
import { Structure } from "./graph-structure.js";
import { PlaygroundBuilder } from "./playground-builder.js";
import { PlaygroundInputs } from "./playground-inputs.js";
import { PlaygroundValues } from "./playground-values.js";
import { PlaygroundFit } from "./playground-fit.js";

const PAUSE = 300;
/** Graphs of more parameters are computed on request only, not after every change. */
const PARAMETERS_MAX = 20_000;

export function PlaygroundView() {
  const { query } = route.value;
  const written = useRef("");
  const [source, show] = useState(() => sourceOf(query));
  // Two changes may come between two renderings: each continues from the last, not from what was rendered.
  const latest = useRef(source);
  const setSource = (next) => show((latest.current = next));
  useEffect(() => {
    // The address may have changed again since this was rendered: what counts is the one that is shown now.
    const now = route.peek().query;
    if (now.p === written.current) return undefined;
    if (now.graph) return readGraph(now.graph, setSource);
    setSource(sourceOf(now));
    return undefined;
  }, [query.p, query.example, query.graph]);
  const change = (changes) => {
    const changed = { ...latest.current, ...(typeof changes === "function" ? changes(latest.current) : changes) };
    setSource(changed);
    written.current = packed(changed);
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
        ${source.form === "program"
          ? html`<${Variables} source=${source} faults=${read.faults} change=${change} />`
          : html`<${PlaygroundInputs} report=${report} texts=${source.values} faults=${read.faults} change=${(values) => change({ values })} />
            <${PlaygroundBuilder} definition=${read.definition} change=${(definition) => change({ text: JSON.stringify(definition, null, 2) })} />`}
      </section>
      <section class="card" aria-label="Values">
        <${PlaygroundValues} definition=${read.definition} values=${read.values} report=${valid ? report : null} automatic=${source.form === "program" || (valid && report.parameter_count <= PARAMETERS_MAX)} runs=${runs} onStored=${(id) => setStored({ id, definition: read.definition })} />
      </section>
    </div>
    ${report && html`<section class="card" aria-label="Graph"><h2>Graph</h2><${Structure} graph=${report} listed=${nodes?.data ?? null} batch=${null} /></section>
      <section class="card" aria-label="Fit"><${PlaygroundFit} definition=${read.definition} report=${valid ? report : null} suggested=${source.fit} /></section>`}`;
}

function readGraph(id, setSource) {
  let current = true;
  request(`v1/graphs/${id}`).then(
    (graph) => current && setSource({ form: "document", variables: {}, values: {}, text: JSON.stringify(graph.definition, null, 2) }),
    (problem) => current && notify(problem),
  );
  return () => (current = false);
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

function Faults({ marks, problem, report, valid }) {
  return html`<div id="faults" class="faults" role="status">
    ${marks.map((mark) => html`<button class="fault" key=${mark.from + mark.detail} onClick=${() => showMark(mark)}><span aria-hidden="true">✕</span> ${mark.detail}</button>`)}
    ${problem && problem.errors.length === 0 && html`<p class="bad">${problemText(problem)}</p>`}
    ${valid && html`<p class="muted">${`✓ ${formatCount(report.definition.nodes.length, "node")}, ${formatCount(report.parameter_count, "parameter")}, ${report.definition.losses?.length ? `loss ${report.definition.losses.join(", ")}` : "no loss"}`}</p>
      ${report.findings.map((each) => html`<p class="muted" key=${each.pointer + each.code}>${each.detail}</p>`)}`}
  </div>`;
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
