/** What is drawn of a graph: values, grouped by the layers that they belong to, and which leads to which. */

import { formatShape } from "./format.js";
import { groupBy } from "./layered.js";

/** More boxes at a time are grouped further: a picture of them could not be read. */
export const DRAWN_MAX = 400;
const CHUNKS = 80;

/**
 * @typedef {{id: string, name: string, names: string[], kind: string, op: string, shape: (number | string)[], dtype: string,
 *   attrs: Record<string, unknown>, inputs: string[], group: string, flops: number, bytes: number, elements: number}} Node
 * @typedef {{id: string, title: string, note: string, kind: string, members: Node[], group: string, folded: boolean}} Box
 */

/**
 * Return the values of a graph, leaves first, then in the order of execution.
 * @param {any} graph - a graph or the report on one
 * @param {any[] | null} listed - what the list of its nodes holds; without it the nodes of the definition are taken
 * @returns {Node[]}
 */
export function nodesOf(graph, listed) {
  const { inputs = {}, parameters = {}, buffers = {}, constants = {}, nodes = [], losses = [] } = graph.definition;
  const groups = layersOf(graph.definition);
  const known = new Set(groups.values());
  const leaves = Object.entries({ input: inputs, parameter: parameters, buffer: buffers, constant: constants }).flatMap(([kind, table]) =>
    Object.entries(table).map(([name, spec]) => leaf(name, kind, spec, known)),
  );
  const lossNames = new Set(losses.map((each) => each.split(":")[0]));
  const values = listed === null ? nodes.map((node) => definedNode(node, graph)) : merged(listed);
  return [
    ...leaves,
    ...values.map((node) => {
      const loss = node.kind === "forward" && lossNames.has(node.names[0].split(":")[0]);
      return { ...node, kind: loss ? "loss" : node.kind, group: `${node.kind === "backward" ? "∇ " : ""}${groups.get(node.group) ?? node.group}` };
    }),
  ];
}

/**
 * Return the layer of each node of a definition, by the node's name.
 * @param {any} definition
 * @returns {Map<string, string>}
 */
export function layersOf({ nodes = [] }) {
  return new Map(nodes.map((node) => [node.name, groupName(node.name, node.op)]));
}

/** The layer of a node is the part of its name before the first dot; nodes that a program leaves unnamed have none. */
function groupName(name, op) {
  const [head, tail] = splitName(name);
  return head === op && /^\d+$/.test(tail) ? name : head;
}

function splitName(name) {
  const at = name.indexOf(".");
  return at > 0 ? [name.slice(0, at), name.slice(at + 1)] : [name, ""];
}

function leaf(name, kind, spec, groups) {
  const { shape, dtype = "float32" } = Array.isArray(spec) ? { shape: spec } : (spec ?? {});
  const head = splitName(name)[0];
  const elements = (shape ?? []).reduce((product, extent) => product * (typeof extent === "number" ? extent : 0), 1);
  return {
    id: name, name, names: [name], kind, op: "", shape: shape ?? [], dtype, attrs: {}, inputs: [],
    group: groups.has(head) && head !== name ? head : "", flops: 0, bytes: 0, elements,
  };
}

function definedNode(node, graph) {
  const spec = graph.shapes[node.name] ?? graph.shapes[`${node.name}:0`] ?? { shape: [], dtype: "" };
  const inputs = node.inputs.filter((each) => typeof each === "string");
  return {
    id: node.name, name: node.name, names: [node.name], kind: "forward", op: node.op, shape: spec.shape, dtype: spec.dtype,
    attrs: node.attrs ?? {}, inputs, group: node.name, flops: 0, bytes: 0, elements: 0,
  };
}

/** The outputs of one call are entries of the list that follow one another; they become one box. */
function merged(listed) {
  const found = [];
  let last = "";
  for (const each of listed) {
    const call = JSON.stringify([each.kind, each.definition_node, each.op, each.inputs, each.attrs]);
    if (call === last && each.flops === 0) {
      found.at(-1).names.push(each.name);
      found.at(-1).bytes += each.bytes ?? 0;
      continue;
    }
    last = call;
    const { name, kind, op, shape, dtype, attrs, inputs, definition_node: group, flops = 0, bytes = 0 } = each;
    found.push({ id: name, name, names: [name], kind, op, shape, dtype, attrs, inputs, group, flops, bytes, elements: 0 });
  }
  return found;
}

/**
 * Return the boxes and the edges between them: groups are one box each unless they are open.
 * @param {Node[]} nodes
 * @param {Set<string>} open
 * @returns {{boxes: Box[], edges: {from: string, to: string}[], groups: string[]}}
 */
export function boxesOf(nodes, open) {
  let groups = groupBy(nodes, (node) => node.group || `\n${node.id}`);
  const layers = [...groups].filter(([, members]) => members.length > 1).map(([name]) => name);
  if (groups.size > DRAWN_MAX) groups = chunks(groups);
  const boxes = inOrder(nodes, [...groups].flatMap(([name, members]) =>
    members.length > 1 && !open.has(name) ? [folded(name, members)] : members.map((node) => single(node, members.length > 1 ? name : "")),
  ));
  const place = new Map(boxes.flatMap((box) => box.members.flatMap((node) => node.names.map((name) => [name, box.id]))));
  const edges = new Map();
  for (const box of boxes) {
    for (const input of box.members.flatMap((node) => node.inputs)) {
      const from = place.get(input) ?? place.get(input.split(":")[0]);
      if (from !== undefined && from !== box.id) edges.set(`${from}\n${box.id}`, { from, to: box.id });
    }
  }
  return { boxes, edges: [...edges.values()], groups: [...new Set([...layers, ...groups.keys()])].filter((name) => !name.startsWith("\n")) };
}

/** Boxes in the order of execution: what is given first, and a layer where its first value is computed. */
function inOrder(nodes, boxes) {
  const index = new Map(nodes.map((node, place) => [node.id, place]));
  const start = (box) => index.get((box.members.find((node) => !isLeaf(node)) ?? box.members[0]).id);
  return boxes.sort((one, other) => start(one) - start(other));
}

/** Groups of neighbours, for graphs of too many: leaves, forward and backward nodes apart. */
function chunks(groups) {
  const size = Math.ceil(groups.size / CHUNKS);
  const kinds = groupBy(groups, ([, [first]]) => (first.kind === "backward" ? "∇ " : isLeaf(first) ? "leaves " : ""));
  const made = new Map();
  for (const [prefix, entries] of kinds) {
    for (let start = 0; start < entries.length; start += size) {
      const part = entries.slice(start, start + size);
      made.set(`${prefix}${start + 1} to ${start + part.length}`, part.flatMap(([, members]) => members));
    }
  }
  return made;
}

function single(node, group) {
  // The number of a value without a name says nothing: its op stands in its place.
  const title = node.name.startsWith("%") && node.op ? node.op : node.name;
  const note = [node.op !== title ? node.op : "", formatShape(node.shape)].filter(Boolean).join("  ");
  return { id: `value ${node.id}`, title, note, kind: node.kind, members: [node], group, folded: false };
}

function folded(name, members) {
  const values = members.filter((node) => !isLeaf(node));
  const last = values.at(-1) ?? members.at(-1);
  const kind = values.some((node) => node.kind === "loss") ? "loss" : last.kind;
  return { id: `group ${name}`, title: name, note: `${formatShape(last.shape)}  ${members.length} parts`, kind, members, group: name, folded: true };
}

/**
 * Whether a value is given: an input, a parameter, a buffer or a constant.
 * @param {Node} node
 */
export function isLeaf(node) {
  return ["input", "parameter", "buffer", "constant"].includes(node.kind);
}

/**
 * Return the sums over the values of a box, or of all.
 * @param {Node[]} members
 */
export function sumsOf(members) {
  const sum = (of) => members.reduce((total, node) => total + of(node), 0);
  return {
    parameters: sum((node) => (node.kind === "parameter" ? node.elements : 0)),
    flops: sum((node) => node.flops),
    bytes: sum((node) => node.bytes),
  };
}
