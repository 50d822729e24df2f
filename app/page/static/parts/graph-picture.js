/**
 * The picture of a graph: the forward pass from top to bottom and beside it the backward pass, each gradient beside the
 * layer that it belongs to. Boxes are buttons: arrow keys follow the edges, Enter shows what a box holds, + opens it.
 */

import { classes, html, useEffect, useMemo, useRef, useState } from "../lib/ui.js";
import { boxesOf, isLeaf } from "../lib/graph-model.js";
import { edgeName, groupBy, layered, ranksOf } from "../lib/layered.js";

const CHARACTER = 7.4;
const WIDTH_MAX = 260;
const COLUMN_GAP = 90;
const MARGIN = 12;
/** Edges from the forward to the backward pass beyond this number are drawn for the chosen box only. */
const SAVED_MAX = 120;
const ZOOMS = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.6, 2];

/**
 * @param {{nodes: import("../lib/graph-model.js").Node[], open: Set<string>, chosen: string, onChoose: (id: string) => void,
 *   onToggle: (group: string) => void, label: string}} props
 */
export function GraphPicture({ nodes, open, chosen, onChoose, onToggle, label }) {
  const picture = useMemo(() => draw(nodes, open), [nodes, [...open].sort().join("\n")]);
  const [zoom, setZoom] = useState(/** @type {number | null} */ (null));
  const frame = useRef(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const shown = frame.current;
    const observer = new ResizeObserver(() => setRoom(shown.clientWidth - 4));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  const { boxes, places, edges, width, height } = picture;
  const fitting = Math.min(1, Math.max(0.5, (room || width) / width));
  const scale = zoom ?? fitting;
  const current = boxes.some((box) => box.id === chosen) ? chosen : boxes[0]?.id;
  const onKeyDown = (event) => move(event, { picture, frame: frame.current, current, onToggle });
  return html`<div class="graph-picture">
    <div class="graph-tools" role="group" aria-label="Size of the picture">
      <button class="icon" aria-label="Smaller" onClick=${() => setZoom(ZOOMS.findLast((each) => each < scale - 0.01) ?? scale)}>−</button>
      <button class="quiet num" onClick=${() => setZoom(null)} title="Fit the picture into the page">${Math.round(scale * 100)} %</button>
      <button class="icon" aria-label="Larger" onClick=${() => setZoom(ZOOMS.find((each) => each > scale + 0.01) ?? scale)}>+</button>
    </div>
    <div class="scroll graph" ref=${frame} onKeyDown=${onKeyDown}>
      <svg width=${width * scale} height=${height * scale} viewBox="0 0 ${width} ${height}" role="group" aria-label=${label}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" class="arrow" /></marker></defs>
        <${Edges} edges=${edges} chosen=${chosen} />
        ${boxes.map((box) => html`<${BoxShape} key=${box.id} box=${box} place=${places.get(box.id)} chosen=${box.id === chosen} current=${box.id === current} onChoose=${onChoose} onToggle=${onToggle} />`)}
      </svg>
    </div></div>`;
}

function Edges({ edges, chosen }) {
  return edges.map((edge) => {
    const near = edge.from === chosen || edge.to === chosen;
    if (edge.quiet && !near) return null;
    return html`<path key=${edgeName(edge)} class=${classes("edge", edge.saved && "saved", near && "near")} d=${edge.path} marker-end="url(#arrow)" aria-hidden="true" />`;
  });
}

function BoxShape({ box, place, chosen, current, onChoose, onToggle }) {
  const rounded = box.kind === "input" || box.kind === "parameter" || box.kind === "buffer" || box.kind === "constant";
  const [title, note] = [shorten(box.title, place.width), shorten(box.note, place.width)];
  const spoken = `${box.title}, ${box.folded ? "layer" : box.kind}, ${box.note}`;
  return html`<g class=${classes("node", box.kind, box.folded && "folded", chosen && "chosen")} transform="translate(${place.x} ${place.y})" role="button"
    tabindex=${current ? 0 : -1} aria-pressed=${chosen} data-box=${box.id}
    onClick=${() => onChoose(box.id)} onDblClick=${() => box.group && onToggle(box.group)}>
    <title>${spoken}</title>
    ${box.folded && html`<rect x="4" y="4" width=${place.width} height=${place.height} rx="6" class="behind" />`}
    <rect width=${place.width} height=${place.height} rx=${rounded ? 22 : 6} />
    <text x=${place.width / 2} y="19" text-anchor="middle">${title}</text>
    <text class="sub" x=${place.width / 2} y="36" text-anchor="middle">${note}</text>
  </g>`;
}

function shorten(text, width) {
  const most = Math.floor((width - 16) / CHARACTER);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

/** Place the boxes of both passes and write the paths of the edges. */
function draw(nodes, open) {
  const { boxes, edges } = boxesOf(nodes, open);
  const sized = boxes.map((box) => ({
    ...box,
    width: Math.min(WIDTH_MAX, Math.max(72, Math.ceil(Math.max(box.title.length, box.note.length) * CHARACTER) + 24)),
    height: 46,
  }));
  const back = new Set(sized.filter((box) => box.kind === "backward").map((box) => box.id));
  const [forward, backward] = [sized.filter((box) => !back.has(box.id)), sized.filter((box) => back.has(box.id)).reverse()];
  const forwardEdges = edges.filter((edge) => !back.has(edge.from) && !back.has(edge.to));
  const upward = edges.filter((edge) => back.has(edge.from) && back.has(edge.to)).map(({ from, to }) => ({ from: to, to: from }));
  const ranks = ranksOf(forward.map((box) => box.id), forwardEdges);
  const beside = leastRanks(forward, backward, ranks);
  const backRanks = ranksOf(backward.map((box) => box.id), upward, beside);
  const left = layered(forward, forwardEdges, ranks);
  const right = layered(backward, upward, backRanks);
  const shift = backward.length ? left.width + COLUMN_GAP : 0;
  const places = new Map();
  for (const place of left.places.values()) places.set(place.id, { ...place, x: place.x + MARGIN, y: place.y + MARGIN });
  for (const place of right.places.values()) places.set(place.id, { ...place, x: place.x + MARGIN + shift, y: place.y + MARGIN });
  const bends = new Map();
  for (const [name, points] of left.bends) bends.set(name, points.map(([x, y]) => [x + MARGIN, y + MARGIN]));
  for (const [name, points] of right.bends) bends.set(name, points.map(([x, y]) => [x + MARGIN + shift, y + MARGIN]));
  const across = edges.filter((edge) => back.has(edge.from) !== back.has(edge.to));
  const drawn = [
    ...forwardEdges.map((edge) => ({ ...edge, path: downPath(places, bends.get(edgeName(edge)) ?? [], edge) })),
    ...upward.map((edge) => ({ from: edge.to, to: edge.from, path: upPath(places, bends.get(edgeName(edge)) ?? [], edge) })),
    ...across.map((edge) => ({ ...edge, path: sidePath(places.get(edge.from), places.get(edge.to)), saved: true, quiet: across.length > SAVED_MAX })),
  ];
  const width = (backward.length ? shift + right.width : left.width) + 2 * MARGIN + 4;
  return { boxes: sized, places, edges: drawn, width, height: Math.max(left.height, right.height) + 2 * MARGIN + 4 };
}

/** A gradient stands no higher than the layer that it belongs to. */
function leastRanks(forward, backward, ranks) {
  const first = new Map();
  for (const box of forward) {
    for (const { group } of box.members.filter((node) => !isLeaf(node))) first.set(group, Math.min(first.get(group) ?? Infinity, ranks.get(box.id)));
  }
  return new Map(backward.map((box) => [box.id, first.get(box.members[0].group.replace(/^∇ /, "")) ?? 0]));
}

function downPath(places, bends, { from, to }) {
  const [start, end] = [places.get(from), places.get(to)];
  return through([[start.x + start.width / 2, start.y + start.height], ...bends, [end.x + end.width / 2, end.y - 2]]);
}

/** The edge was turned round to place its boxes; it leads from the lower to the upper one. */
function upPath(places, bends, { from, to }) {
  const [end, start] = [places.get(from), places.get(to)];
  return through([[start.x + start.width / 2, start.y], ...[...bends].reverse(), [end.x + end.width / 2, end.y + end.height + 2]]);
}

function through(points) {
  let path = `M${point(points[0])}`;
  for (let index = 1; index < points.length; index += 1) {
    const [[x1, y1], [x2, y2]] = [points[index - 1], points[index]];
    const middle = (y1 + y2) / 2;
    path += `C${point([x1, middle])} ${point([x2, middle])} ${point([x2, y2])}`;
  }
  return path;
}

function sidePath(from, to) {
  const right = from.x < to.x;
  const [x1, y1] = [right ? from.x + from.width : from.x, from.y + from.height / 2];
  const [x2, y2] = [right ? to.x - 2 : to.x + to.width + 2, to.y + to.height / 2];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2) * (right ? 1 : -1);
  return `M${point([x1, y1])}C${point([x1 + bend, y1])} ${point([x2 - bend, y2])} ${point([x2, y2])}`;
}

function point([x, y]) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/** Follow the edges and rows by arrow keys; Enter and Space choose, + and - open and close. */
function move(event, { picture, frame, current, onToggle }) {
  const id = event.target.closest?.("[data-box]")?.dataset.box ?? current;
  const box = picture.boxes.find((each) => each.id === id);
  if (!box) return;
  const { key } = event;
  if (key === "Enter" || key === " ") event.target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  else if ((key === "+" || key === "-") && box.group) onToggle(box.group);
  else if (["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].includes(key)) focusBox(frame, neighbour(picture, box, key));
  else return;
  event.preventDefault();
}

function neighbour({ boxes, places, edges }, box, key) {
  if (key === "ArrowDown" || key === "ArrowUp") {
    const down = key === "ArrowDown";
    const level = places.get(box.id).y;
    const next = edges
      .flatMap((edge) => (edge.from === box.id ? [edge.to] : edge.to === box.id ? [edge.from] : []))
      .filter((id) => (down ? places.get(id).y > level : places.get(id).y < level));
    return next[0];
  }
  const rows = groupBy(boxes, (each) => String(places.get(each.id).rank));
  const row = rows.get(String(places.get(box.id).rank)).sort((one, other) => places.get(one.id).x - places.get(other.id).x);
  return row[row.findIndex((each) => each.id === box.id) + (key === "ArrowRight" ? 1 : -1)]?.id;
}

function focusBox(frame, id) {
  if (id === undefined) return;
  const found = [...frame.querySelectorAll("[data-box]")].find((each) => each.dataset.box === id);
  found?.focus();
}
