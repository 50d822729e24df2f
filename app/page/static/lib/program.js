/** Programs as the reader types them: which names they need, and the document that is made of them. */

const TOKEN = /[ \t\r]*(?:(?<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?<name>[A-Za-z_][A-Za-z0-9_]*)|(?<string>'[^'\\\n]*'|"[^"\\\n]*")|(?<operator>\*\*|<=|>=|==|!=|[-+*/@<>=()[\],.:])|(?<comment>#[^\n]*)|(?<newline>\n|;)|(?<other>.))/gy;
const WORDS = new Set(["and", "or", "not", "true", "True", "false", "False", "null", "None"]);

/** @typedef {{role: "input" | "rows" | "parameter", value: string, dtype: string}} Variable */

/** The roles of a name: an input of one value, an input with a row for each example, or what is trained. */
export const ROLES = { input: "input", rows: "input by row", parameter: "parameter" };

/**
 * Return the names that a program reads before it assigns to them, in their order.
 * @param {string} text
 * @returns {string[]}
 */
export function freeNames(text) {
  const tokens = [...text.matchAll(TOKEN)].map((match) => ({ text: match[0].trim(), name: match.groups.name !== undefined, newline: match.groups.newline !== undefined })).filter((token) => token.text || token.newline);
  const assigned = new Set();
  const free = new Set();
  for (const line of linesOf(tokens)) {
    const equals = line.findIndex((token) => token.text === "=");
    const targets = equals > 0 ? line.slice(0, equals) : [];
    readNames(line.slice(equals > 0 ? equals + 1 : 0)).forEach((name) => assigned.has(name) || free.add(name));
    for (const token of targets) if (token.name) assigned.add(token.text);
  }
  return [...free];
}

function linesOf(tokens) {
  const lines = [[]];
  for (const token of tokens) {
    if (token.newline) lines.push([]);
    else lines.at(-1).push(token);
  }
  return lines;
}

/** A name before `(` is an op, behind a dot a method, and before `=` an attribute. */
function readNames(line) {
  return line
    .filter((token, index) => token.name && !WORDS.has(token.text) && !["(", "="].includes(line[index + 1]?.text) && line[index - 1]?.text !== ".")
    .map((token) => token.text);
}

/**
 * Return the document of a program with its variables, and how the values of some cannot be read.
 * @param {string} text
 * @param {Record<string, Variable>} variables
 * @returns {{definition: any, values: Record<string, any>, faults: {name: string, detail: string}[]}}
 */
export function documentOf(text, variables) {
  const definition = { name: "playground", inputs: {}, parameters: {}, program: text };
  const values = {};
  const faults = [];
  for (const name of freeNames(text)) {
    const { role, value, dtype } = variables[name] ?? defaultVariable(0);
    try {
      const read = readValue(value);
      const shape = shapeOfValue(read);
      if (role === "rows" && shape.length === 0) throw new Error("needs a list: a row for each example");
      values[name] = read;
      if (role === "parameter") definition.parameters[name] = { shape, dtype };
      else definition.inputs[name] = { shape: role === "rows" ? ["batch", ...shape.slice(1)] : shape, dtype };
    } catch (error) {
      faults.push({ name, detail: error.message });
    }
  }
  return { definition, values, faults };
}

/**
 * What a name is taken for when it is new.
 * @param {number} index
 * @returns {Variable}
 */
export function defaultVariable(index) {
  return { role: "input", value: String(index + 1), dtype: "float32" };
}

/**
 * Read a value that is typed; throws an error that says what is expected.
 * @param {string} text
 * @returns {any} a number or nested lists of numbers
 */
export function readValue(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("give a number or lists of numbers, such as [[1, 2], [3, 4]]");
  }
  shapeOfValue(value);
  return value;
}

/** Return the shape of nested lists; throws where they are not of one length each. */
export function shapeOfValue(value) {
  if (!Array.isArray(value)) {
    if (typeof value !== "number" && typeof value !== "boolean") throw new Error("give numbers");
    return [];
  }
  const inner = value.map(shapeOfValue);
  if (inner.some((shape) => JSON.stringify(shape) !== JSON.stringify(inner[0]))) throw new Error("give lists of one length each");
  return [value.length, ...(inner[0] ?? [])];
}
