/** Build a graph of layers or nodes by forms: parts are added, moved and removed, and the text of the document follows. */

import { html, useState } from "../lib/ui.js";
import { formatShape } from "../lib/format.js";
import { addPart, declare, moveUp, namesIn, readAttribute, readShape, removePart } from "../lib/graph-edits.js";
import { shapeOf } from "../lib/feeds.js";
import { useResource } from "../lib/poll.js";

const TYPES = ["float32", "float64", "int64"];
const TABLES = { inputs: "Inputs", parameters: "Parameters", layers: "Layers", nodes: "Nodes" };
const SINGULAR = { inputs: "Input", parameters: "Parameter", layers: "Layer", nodes: "Node", loss: "Loss" };

/** @param {{definition: any, change: (definition: any) => void}} props - a definition of null: the text is no JSON at the moment */
export function PlaygroundBuilder({ definition, change }) {
  const [adding, setAdding] = useState("");
  if (definition === null || typeof definition !== "object" || Array.isArray(definition)) return html`<p class="muted">The text is not a JSON object: correct it, or choose an example.</p>`;
  const ofNodes = Array.isArray(definition.nodes);
  const kinds = ofNodes ? ["nodes", "inputs", "parameters"] : ["layers", "inputs", "loss"];
  const kind = kinds.includes(adding) ? adding : kinds[0];
  const forms = { layers: LayerForm, nodes: NodeForm, inputs: LeafForm, parameters: LeafForm, loss: LossForm };
  return html`<section class="builder" aria-labelledby="builder-title">
    <h2 id="builder-title">Parts</h2>
    ${Object.keys(TABLES).filter((table) => partsOf(definition, table).length > 0).map((table) => html`<${Parts} key=${table} definition=${definition} table=${table} change=${change} />`)}
    <div class="segments" role="group" aria-label="What is added">${kinds.map((each) => html`<button key=${each} aria-pressed=${each === kind} onClick=${() => setAdding(each)}>${each === "loss" ? "Loss" : `Add ${SINGULAR[each].toLowerCase()}`}</button>`)}</div>
    <${forms[kind]} key=${kind} table=${kind} definition=${definition} change=${change} />
  </section>`;
}

function partsOf(definition, table) {
  const parts = definition[table];
  if (Array.isArray(parts)) return parts.map((each, place) => [place, each]);
  return parts && typeof parts === "object" ? Object.entries(parts) : [];
}

function Parts({ definition, table, change }) {
  const parts = partsOf(definition, table);
  const ordered = Array.isArray(definition[table]);
  return html`<ol class="parts" aria-label=${TABLES[table]}>${parts.map(([key, part]) => {
    const text = describe(table, key, part);
    return html`<li key=${key}><span class="mono">${text}</span>
      ${ordered && html`<button class="icon" disabled=${key === 0} aria-label=${`Move ${text} up`} onClick=${() => change(moveUp(definition, table, key))}>↑</button>
        <button class="icon" disabled=${key === parts.length - 1} aria-label=${`Move ${text} down`} onClick=${() => change(moveUp(definition, table, key + 1))}>↓</button>`}
      <button class="icon" aria-label=${`Remove ${text}`} onClick=${() => change(removePart(definition, table, key))}>✕</button></li>`;
  })}</ol>`;
}

/** A part in one line, as the lists of the builder show it. */
function describe(table, key, part) {
  if (table === "inputs" || table === "parameters") return `${key} ${formatShape(shapeOf(part))} ${part?.dtype ?? "float32"}`;
  if (typeof part === "string") return part;
  const { layer, name, op, inputs, attrs, ...rest } = part ?? {};
  const options = Object.entries({ ...attrs, ...rest }).map(([option, value]) => `${option}=${Array.isArray(value) || typeof value === "object" ? JSON.stringify(value) : value}`);
  const head = table === "nodes" ? `${name ?? "unnamed"} = ${op}(${(inputs ?? []).join(", ")})` : `${layer ?? "layer"}${name ? ` ${name}` : ""}`;
  return [head, ...options].join(" ");
}

function LeafForm({ table, definition, change }) {
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    change(addPart(definition, table, { shape: readShape(form.get("shape")), dtype: form.get("dtype") }, form.get("name")));
    event.target.reset();
  };
  return html`<form class="fit-form" onSubmit=${submit}>
    <label class="field">Name <input name="name" class="mono" required maxlength="64" /></label>
    <label class="field">Shape <input name="shape" class="mono" placeholder=${table === "inputs" ? "batch, 4" : "4, 3"} /><small>Empty: a scalar.</small></label>
    <label class="field">Type <select name="dtype">${TYPES.filter((each) => table === "inputs" || each !== "int64").map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
    <div class="buttons left"><button>${`Add the ${SINGULAR[table].toLowerCase()}`}</button></div>
  </form>`;
}

function LayerForm({ definition, change }) {
  const { data } = useResource("v1/layers");
  const [kind, setKind] = useState("linear");
  const chosen = data?.data.find((each) => each.kind === kind);
  const submit = (event) => {
    event.preventDefault();
    change(addPart(definition, "layers", { layer: kind, ...attributesOf(event.target, chosen.attrs) }));
  };
  return html`<form class="fit-form" onSubmit=${submit}>
    <${Choice} label="Layer" value=${kind} set=${setKind} names=${data?.data.map((each) => each.kind) ?? []} />
    <${Attributes} key=${kind} attrs=${chosen?.attrs ?? []} />
    <div class="buttons left"><button disabled=${!chosen}>Add the layer</button></div>
    <${Doc} text=${chosen?.doc} />
  </form>`;
}

function NodeForm({ definition, change }) {
  const { data } = useResource("v1/ops");
  const [op, setOp] = useState("mul");
  const chosen = data?.data.find((each) => each.supported && each.name === op);
  const names = namesIn(definition);
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const name = form.get("name");
    const inputs = chosen.inputs.flatMap((input) => readOperands(form.get(`input ${input.name}`), input.variadic));
    const attrs = attributesOf(event.target, chosen.attrs);
    const node = { name, op, inputs, ...(Object.keys(attrs).length ? { attrs } : {}) };
    const added = addPart(definition, "nodes", node);
    change(form.get("role") === "value" ? added : declare(added, form.get("role"), name));
  };
  return html`<form class="fit-form" onSubmit=${submit}>
    <${Choice} label="Op" value=${op} set=${setOp} names=${data?.data.filter((each) => each.supported).map((each) => each.name) ?? []} />
    <label class="field">Name <input name="name" class="mono" required maxlength="64" /></label>
    ${(chosen?.inputs ?? []).map((input) => html`<label class="field" key=${`${op} ${input.name}`}><span class="mono">${input.name}</span>
      <input name=${`input ${input.name}`} class="mono" list="builder-names" required=${input.required} placeholder=${input.variadic ? "names with commas" : "a name or a number"} /></label>`)}
    <datalist id="builder-names">${names.map((each) => html`<option key=${each} value=${each}></option>`)}</datalist>
    <${Attributes} key=${op} attrs=${chosen?.attrs ?? []} />
    <label class="field">Role <select name="role"><option value="value">a value</option><option value="outputs">an output</option><option value="losses">the loss</option></select></label>
    <div class="buttons left"><button disabled=${!chosen}>Add the node</button></div>
    <${Doc} text=${chosen?.doc} />
  </form>`;
}

function LossForm({ definition, change }) {
  const { data } = useResource("v1/losses");
  const [kind, setKind] = useState(definition.loss?.kind ?? "mse_loss");
  const chosen = data?.data.find((each) => each.kind === kind || each.aliases.includes(kind));
  const submit = (event) => {
    event.preventDefault();
    change({ ...definition, loss: { kind, target: new FormData(event.target).get("target"), ...attributesOf(event.target, chosen.attrs) } });
  };
  return html`<form class="fit-form" onSubmit=${submit}>
    <${Choice} label="Loss" value=${kind} set=${setKind} names=${data?.data.map((each) => each.kind) ?? []} />
    <label class="field">Target <select name="target">${Object.keys(definition.inputs ?? {}).map((each) => html`<option key=${each} value=${each} selected=${each === definition.loss?.target}>${each}</option>`)}</select></label>
    <${Attributes} key=${kind} attrs=${chosen?.attrs ?? []} />
    <div class="buttons left"><button disabled=${!chosen}>Set the loss</button></div>
    <${Doc} text=${chosen?.doc} />
  </form>`;
}

/** A name out of many: typing narrows the list. */
function Choice({ label, value, set, names }) {
  const id = `builder-${label.toLowerCase()}`;
  return html`<label class="field">${label} <input class="mono" list=${id} value=${value} required onInput=${(event) => set(event.target.value.trim())} /></label>
    <datalist id=${id}>${names.map((each) => html`<option key=${each} value=${each}></option>`)}</datalist>`;
}

/** Fields of options: those that are needed, and the others behind a heading; what is left empty keeps its default. */
function Attributes({ attrs }) {
  const optional = attrs.filter((each) => !each.required);
  return html`${attrs.filter((each) => each.required).map((each) => html`<${Attribute} key=${each.name} attr=${each} />`)}
    ${optional.length > 0 && html`<details class="options"><summary>Options</summary><div class="fit-form">${optional.map((each) => html`<${Attribute} key=${each.name} attr=${each} />`)}</div></details>`}`;
}

function Attribute({ attr }) {
  const { name, type, required, default: usual } = attr;
  const words = type === "true or false" ? ["true", "false"] : (/^one of ((?:'[^']*'(?:, )?)+)$/.exec(type)?.[1].split(", ").map((each) => each.slice(1, -1)) ?? null);
  const shown = usual === undefined || usual === null ? "" : typeof usual === "string" ? usual : JSON.stringify(usual);
  return html`<label class="field"><span class="mono">${name}</span>
    ${words
      ? html`<select name=${`attr ${name}`}>${!required && html`<option value="">${shown ? `default: ${shown}` : "default"}</option>`}${words.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select>`
      : html`<input name=${`attr ${name}`} class="mono" required=${required} placeholder=${shown} title=${type} />`}</label>`;
}

function attributesOf(form, attrs) {
  const given = new FormData(form);
  const entries = attrs.map(({ name }) => [name, (given.get(`attr ${name}`) ?? "").trim()]).filter(([, text]) => text !== "");
  return Object.fromEntries(entries.map(([name, text]) => [name, readAttribute(text)]));
}

/** Names or numbers; an optional operand that is left empty is left out. */
function readOperands(text, variadic) {
  const parts = (variadic ? (text ?? "").split(",") : [text ?? ""]).map((each) => each.trim()).filter(Boolean);
  return parts.map((each) => (Number.isNaN(Number(each)) ? each : Number(each)));
}

function Doc({ text }) {
  return text ? html`<p class="muted doc">${text.split("\n\n")[0]}</p>` : null;
}
