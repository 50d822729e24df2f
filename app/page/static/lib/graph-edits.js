/** Changes of a graph document: parts are added, moved and removed; each function returns another document. */

/**
 * What a part of a document is: where its entries lie, and how many keys name one.
 * @typedef {"inputs" | "parameters" | "layers" | "nodes"} Table
 */

/**
 * Add a layer or a node at the end, or an input or a parameter by its name.
 * @param {any} definition
 * @param {Table} table
 * @param {any} entry
 * @param {string} [name] - of an input or a parameter
 */
export function addPart(definition, table, entry, name = "") {
  const before = definition[table];
  return { ...definition, [table]: Array.isArray(before) || !name ? [...(before ?? []), entry] : { ...before, [name]: entry } };
}

/**
 * Remove a part; a node also from the outputs and losses.
 * @param {any} definition
 * @param {Table} table
 * @param {string | number} key - the place of a layer or a node, the name of an input or a parameter
 */
export function removePart(definition, table, key) {
  if (!Array.isArray(definition[table])) {
    const { [key]: _removed, ...rest } = definition[table];
    return { ...definition, [table]: rest };
  }
  const left = definition[table].filter((_each, place) => place !== key);
  const changed = { ...definition, [table]: left };
  const { name } = definition[table][key];
  for (const wanted of ["outputs", "losses"]) {
    if (name && Array.isArray(changed[wanted])) changed[wanted] = changed[wanted].filter((each) => each !== name);
  }
  return changed;
}

/**
 * Exchange a layer or a node with the one before it.
 * @param {any} definition
 * @param {Table} table
 * @param {number} place
 */
export function moveUp(definition, table, place) {
  const moved = [...definition[table]];
  [moved[place - 1], moved[place]] = [moved[place], moved[place - 1]];
  return { ...definition, [table]: moved };
}

/**
 * Declare a value an output or a loss.
 * @param {any} definition
 * @param {"outputs" | "losses"} table
 * @param {string} name
 */
export function declare(definition, table, name) {
  return { ...definition, [table]: [...new Set([...(definition[table] ?? []), name])] };
}

/**
 * Return the names that a node may read.
 * @param {any} definition
 * @returns {string[]}
 */
export function namesIn(definition) {
  const tables = ["inputs", "parameters", "buffers", "constants"].flatMap((table) => Object.keys(definition[table] ?? {}));
  return [...tables, ...(definition.nodes ?? []).map((node) => node.name).filter(Boolean)];
}

/**
 * Read the shape that is typed: extents with commas, of which those that are no numbers are names.
 * @param {string} text
 * @returns {(number | string)[]}
 */
export function readShape(text) {
  const extents = text.replace(/^\[|\]$/g, "").split(",").map((each) => each.trim()).filter(Boolean);
  return extents.map((each) => (/^\d+$/.test(each) ? Number(each) : each));
}

/**
 * Read an attribute that is typed: JSON, or else a text.
 * @param {string} text
 */
export function readAttribute(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
