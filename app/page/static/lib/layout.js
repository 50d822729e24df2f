/** Places the nodes of a graph in layers from top to bottom (Sugiyama, Tagawa and Toda 1981, without dummy nodes). */

/** @typedef {{id: string, width: number, height: number, x: number, y: number, layer: number}} Place */

const GAP_X = 28;
const GAP_Y = 44;
const SWEEPS = 8;

/**
 * Return the places of the nodes, and the size of the picture.
 * @param {{id: string, width: number, height: number}[]} nodes - in an order in which every edge leads forward
 * @param {{from: string, to: string}[]} edges
 * @returns {{places: Map<string, Place>, width: number, height: number}}
 */
export function layout(nodes, edges) {
  const places = new Map(nodes.map((node) => [node.id, { ...node, x: 0, y: 0, layer: 0 }]));
  const known = edges.filter((edge) => places.has(edge.from) && places.has(edge.to));
  for (const node of nodes) {
    const before = known.filter((edge) => edge.to === node.id).map((edge) => places.get(edge.from).layer);
    if (before.length) places.get(node.id).layer = 1 + Math.max(...before);
  }
  pullDown(nodes, known, places);
  const layers = [];
  for (const place of places.values()) (layers[place.layer] ??= []).push(place);
  const dense = layers.filter(Boolean);
  order(dense, known, places);
  return { places, ...position(dense) };
}

/** Move what nothing leads to next to what needs it: parameters stand beside their op. */
function pullDown(nodes, edges, places) {
  for (const node of [...nodes].reverse()) {
    if (edges.some((edge) => edge.to === node.id)) continue;
    const after = edges.filter((edge) => edge.from === node.id).map((edge) => places.get(edge.to).layer);
    if (after.length) places.get(node.id).layer = Math.min(...after) - 1;
  }
}

/** Reduce crossings: each node goes to the middle of its neighbours in the layer before, then in the layer after. */
function order(layers, edges, places) {
  for (const layer of layers) layer.forEach((place, index) => (place.x = index - layer.length / 2));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const place of layer) {
        const near = edges
          .filter((edge) => (down ? edge.to : edge.from) === place.id)
          .map((edge) => places.get(down ? edge.from : edge.to).x);
        if (near.length) place.x = near.reduce((sum, x) => sum + x, 0) / near.length;
      }
      layer.sort((one, other) => one.x - other.x);
      layer.forEach((place, index) => (place.x = index - layer.length / 2));
    }
  }
}

function position(layers) {
  const widths = layers.map((layer) => layer.reduce((sum, place) => sum + place.width + GAP_X, -GAP_X));
  const width = Math.max(0, ...widths);
  let y = 0;
  layers.forEach((layer, index) => {
    let x = (width - widths[index]) / 2;
    const height = Math.max(...layer.map((place) => place.height));
    for (const place of layer) {
      place.x = x;
      place.y = y + (height - place.height) / 2;
      x += place.width + GAP_X;
    }
    y += height + GAP_Y;
  });
  return { width, height: y - GAP_Y };
}
