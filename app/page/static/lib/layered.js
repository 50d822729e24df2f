/**
 * Places boxes in rows from top to bottom: ranks by the longest path, dummy boxes where an edge crosses a row, few
 * crossings by barycentres (Sugiyama, Tagawa and Toda 1981), and then the places nearest to the neighbours that keep
 * the order, by isotonic regression. Every step takes time in proportion to the boxes and edges, without recursion:
 * a thousand boxes take some tens of milliseconds.
 */

/** @typedef {{id: string, width: number, height: number, x: number, y: number, rank: number}} Place */
/** @typedef {{from: string, to: string}} Edge */

const GAP_X = 26;
const GAP_Y = 40;
const SWEEPS = 8;
const ROUNDS = 8;
/** An edge over more rows is drawn as one curve: boxes of its own in every row would only push the others apart. */
const SPAN_MAX = 24;

/**
 * Return the rank of each box: below all that lead to it, and not above its least.
 * @param {string[]} ids - in an order in which edges lead forward; an edge that leads back has no influence
 * @param {Edge[]} edges
 * @param {Map<string, number>} [least]
 * @returns {Map<string, number>}
 */
export function ranksOf(ids, edges, least = new Map()) {
  const index = new Map(ids.map((id, place) => [id, place]));
  const forward = edges.filter((edge) => index.get(edge.from) < index.get(edge.to));
  const into = groupBy(forward, (edge) => edge.to);
  const out = groupBy(forward, (edge) => edge.from);
  const ranks = new Map();
  for (const id of ids) {
    const above = (into.get(id) ?? []).map((edge) => ranks.get(edge.from) + 1);
    ranks.set(id, Math.max(least.get(id) ?? 0, 0, ...above));
  }
  // What nothing leads to stands beside what needs it, such as a parameter above its op.
  for (const id of [...ids].reverse()) {
    const below = (out.get(id) ?? []).map((edge) => ranks.get(edge.to));
    if (!into.has(id) && !least.has(id) && below.length) ranks.set(id, Math.min(...below) - 1);
  }
  return ranks;
}

/**
 * Return the places of the boxes and the points of the edges between the boxes of one picture.
 * @param {{id: string, width: number, height: number}[]} boxes
 * @param {Edge[]} edges
 * @param {Map<string, number>} ranks
 * @returns {{places: Map<string, Place>, bends: Map<string, [number, number][]>, width: number, height: number}}
 */
export function layered(boxes, edges, ranks) {
  const all = new Map(boxes.map((box) => [box.id, { ...box, rank: ranks.get(box.id), x: 0, y: 0, near: [[], []], dummy: false }]));
  const chains = new Map();
  for (const edge of edges) connect(all, edge, chains);
  const rows = [];
  for (const place of all.values()) (rows[place.rank] ??= []).push(place);
  const dense = rows.filter(Boolean);
  order(dense);
  const width = spread(dense);
  const height = stack(rows);
  const bends = new Map([...chains].map(([name, dummies]) => [name, dummies.map((each) => [each.x + each.width / 2, each.y])]));
  const places = new Map(boxes.map((box) => [box.id, all.get(box.id)]));
  return { places, bends, width, height };
}

/** Name an edge. */
export function edgeName({ from, to }) {
  return `${from}\n${to}`;
}

function connect(all, edge, chains) {
  const [from, to] = [all.get(edge.from), all.get(edge.to)];
  const span = to.rank - from.rank;
  if (span <= 0 || span > SPAN_MAX) return;
  let last = from;
  const dummies = [];
  for (let rank = from.rank + 1; rank < to.rank; rank += 1) {
    const id = `\n${edgeName(edge)}\n${rank}`;
    const dummy = { id, width: 6, height: 0, rank, x: 0, y: 0, near: [[], []], dummy: true };
    all.set(id, dummy);
    dummies.push(dummy);
    join(last, dummy);
    last = dummy;
  }
  join(last, to);
  if (dummies.length) chains.set(edgeName(edge), dummies);
}

function join(above, below) {
  above.near[1].push(below);
  below.near[0].push(above);
}

/** Reduce crossings: each box goes to the middle of its neighbours in the row before, then in the row after. */
function order(rows) {
  for (const row of rows) renumber(row);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2;
    for (const row of side ? [...rows].reverse() : rows) {
      for (const place of row) if (place.near[side].length) place.x = mean(place.near[side].map((each) => each.x));
      row.sort((one, other) => one.x - other.x);
      renumber(row);
    }
  }
}

function renumber(row) {
  row.forEach((place, index) => (place.x = index - (row.length - 1) / 2));
}

/** Give every box the place nearest to the middle of its neighbours at which the row keeps its order and its gaps. */
function spread(rows) {
  for (const row of rows) settle(row, row.map(() => 0));
  for (let round = 0; round < ROUNDS; round += 1) {
    const side = round % 2;
    for (const row of side ? [...rows].reverse() : rows) settle(row, row.map((place) => wanted(place, round < ROUNDS - 2 ? side : null)));
  }
  const left = Math.min(...rows.flat().map((place) => place.x));
  for (const place of rows.flat()) place.x -= left;
  return Math.max(0, ...rows.flat().map((place) => place.x + place.width));
}

function wanted(place, side) {
  const near = side === null ? place.near.flat() : place.near[side];
  return near.length ? mean(near.map((each) => each.x + each.width / 2)) : place.x + place.width / 2;
}

/** Least squares under an order: pools of neighbours that would overlap share the mean of what they want. */
function settle(row, middles) {
  let offset = 0;
  const offsets = row.map((place, index) => {
    if (index) offset += (row[index - 1].width + place.width) / 2 + GAP_X;
    return offset;
  });
  const pools = [];
  row.forEach((place, index) => {
    let pool = { sum: middles[index] - offsets[index], count: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).count > pool.sum / pool.count) {
      const before = pools.pop();
      pool = { sum: pool.sum + before.sum, count: pool.count + before.count };
    }
    pools.push(pool);
  });
  let index = 0;
  for (const pool of pools) {
    for (let member = 0; member < pool.count; member += 1, index += 1) {
      row[index].x = pool.sum / pool.count + offsets[index] - row[index].width / 2;
    }
  }
}

/** Rows stand below one another, empty ones too: two pictures beside one another have the same rows. */
function stack(rows) {
  let y = 0;
  for (let rank = 0; rank < rows.length; rank += 1) {
    const row = rows[rank] ?? [];
    const height = Math.max(46, ...row.map((place) => place.height));
    for (const place of row) place.y = y + (height - place.height) / 2;
    y += height + GAP_Y;
  }
  return Math.max(0, y - GAP_Y);
}

function mean(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/**
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => string} key
 * @returns {Map<string, T[]>}
 */
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return groups;
}
