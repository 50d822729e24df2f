/** What the playground edits: a program or a document with the values of its names, where it is kept and how it is read. */

import { JsonFault, parseWithPlaces, placeOf } from "./json-places.js";
import { EXAMPLES } from "./playground-examples.js";
import { defaultVariable, documentOf, freeNames, readValue, ROLES } from "./program.js";

export const TYPES = ["float32", "float64", "int64"];
export const FORMS = { program: "Program", document: "Layers or nodes" };

/** Longer texts are not written into the address, which browsers and proxies limit. */
const ADDRESS_MAX = 6000;

/**
 * @typedef {import("./program.js").Variable} Variable
 * @typedef {{form: "program" | "document", text: string, variables: Record<string, Variable>, values: Record<string, string>, fit?: any}} Source -
 *   `variables` are the names of a program, `values` those that are given for inputs of a document
 * @typedef {{definition: any, values: Record<string, any>, faults: {name: string, detail: string}[], places: Map<string, any> | null, fault: any}} Reading
 */

/**
 * Return what an address names: a text, an example, or else the first example.
 * @param {Record<string, string>} query
 * @returns {Source}
 */
export function sourceOf(query) {
  try {
    const { form, text, variables, values } = JSON.parse(query.p ?? "null") ?? {};
    if (form in FORMS && typeof text === "string") return { form, text, variables: checkedVariables(variables), values: checkedValues(values) };
  } catch {
    // An address that was cut: the first example is shown.
  }
  const example = Object.hasOwn(EXAMPLES, query.example ?? "") ? EXAMPLES[query.example] : EXAMPLES.parabola;
  return { variables: {}, values: {}, ...example };
}

/**
 * Write a source for the address; undefined where it is too long.
 * @param {Source} source
 * @returns {string | undefined}
 */
export function packed({ form, text, variables, values }) {
  const written = JSON.stringify(form === "program" ? { form, text, variables } : { form, text, ...(Object.keys(values).length ? { values } : {}) });
  return written.length <= ADDRESS_MAX ? written : undefined;
}

/** Of what an address says of the names, take what the page could have written. */
function checkedVariables(variables) {
  const known = Object.entries(variables ?? {}).filter(([, each]) => each?.role in ROLES && TYPES.includes(each.dtype) && typeof each.value === "string");
  return Object.fromEntries(known);
}

function checkedValues(values) {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([, each]) => typeof each === "string"));
}

/**
 * Return the names that a program reads, with what they are taken for.
 * @param {Source} source
 * @returns {Record<string, Variable>}
 */
export function variablesOf({ text, variables }) {
  return Object.fromEntries(freeNames(text).map((name, index) => [name, Object.hasOwn(variables, name) ? variables[name] : defaultVariable(index)]));
}

/**
 * Return what a text says: the document that is sent, the values that are given, and where it cannot be read.
 * @param {Source} source
 * @returns {Reading}
 */
export function readSource(source) {
  if (source.form === "program") return { ...documentOf(source.text, variablesOf(source)), places: null, fault: null };
  try {
    const { value, places } = parseWithPlaces(source.text);
    return { definition: value, ...readValues(source.values, value?.inputs ?? {}), places, fault: null };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { definition: null, values: {}, faults: [], places: null, fault: { from: error.at, to: error.at + 1, detail: error.message } };
  }
}

/** Values of names that are no inputs any more are kept for the case that they come back, but not read. */
function readValues(texts, inputs) {
  const values = {};
  const faults = [];
  for (const [name, text] of Object.entries(texts)) {
    try {
      if (text.trim() && Object.hasOwn(inputs, name)) values[name] = readValue(text);
    } catch (error) {
      faults.push({ name, detail: error.message });
    }
  }
  return { values, faults };
}

/**
 * Return the places of the text that are marked, of faults of the text, of values, and of the answer of the API.
 * @param {Source} source
 * @param {Reading} read
 * @param {any} problem
 * @returns {import("../parts/marked-editor.js").Mark[]}
 */
export function marksOf(source, read, problem) {
  if (read.fault) return [read.fault];
  const marks = [];
  for (const { name, detail } of read.faults) {
    const at = read.places ? (placeOf(read.places, `/inputs/${name}`)?.from ?? 0) : source.text.search(new RegExp(`\\b${name}\\b`));
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

/**
 * Return the other form of the same graph: a program becomes its document; a document keeps its program if it has one.
 * @param {Source} source
 * @param {Reading} read
 * @param {"program" | "document"} form
 * @returns {Source}
 */
export function converted(source, read, form) {
  if (form === "document") return { form, text: JSON.stringify(read.definition, null, 2), variables: {}, values: {}, fit: source.fit };
  const text = read.definition?.program;
  if (typeof text !== "string") return { variables: {}, values: {}, ...EXAMPLES.parabola };
  return { form, text, variables: source.variables, values: {} };
}
