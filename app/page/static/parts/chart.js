/** Curves over steps or epochs, drawn by uPlot; dragging over a range zooms into it. */

import { html, useEffect, useRef } from "../lib/ui.js";
import uPlot from "../vendor/uplot.js";
import { cssColor, dark } from "../lib/theme.js";
import { onOneAxis } from "../lib/curves.js";
import { formatNumber } from "../lib/format.js";

/** With more lines than this they are thin, and the one beside the pointer is named in place of a legend. */
const NAMED_MAX = 24;
/** Pixels from a line at which it is the one beside the pointer, and how much of the colour the others keep. */
const NEAR = 24;
const OTHERS = 0.2;
/** Places of the axis of many lines: that of all their points would be too long for each of them. */
const PLACES_MAX = 1000;

/** @typedef {{label: string, color: string, x: number[], y: (number | null | undefined)[], faint?: boolean, dash?: boolean, points?: boolean}} Line */

/**
 * @param {{title: string, lines: Line[], log?: boolean, xLabel: string, range?: [number, number] | null,
 *   xFormat?: (value: number) => string, onZoom?: (range: [number, number] | null) => void, group?: string, height?: number}} props
 */
export function Chart({ title, lines, log = false, xLabel, xFormat, range = null, onZoom, group, height = 260 }) {
  const place = useRef(null);
  const plot = useRef(/** @type {uPlot | null} */ (null));
  const near = useRef(null);
  const zoomed = useRef(onZoom);
  zoomed.current = onZoom;
  const form = JSON.stringify([lines.map(({ label, color, faint, dash, points }) => [label, color, faint, dash, points]), log, xLabel, group, height, dark.value]);
  useEffect(() => {
    const box = place.current;
    const options = optionsOf({ lines, log, xLabel, xFormat, group, height, width: box.clientWidth, onZoom: zoomed, near });
    const drawn = new uPlot(options, aligned(lines, log), box);
    plot.current = drawn;
    applyRange(drawn, range);
    const observer = new ResizeObserver(() => drawn.setSize({ width: box.clientWidth, height }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [form]);
  useEffect(() => {
    if (!plot.current) return;
    plot.current.setData(aligned(lines, log), range === null);
    applyRange(plot.current, range);
  });
  return html`<figure class="chart" aria-label=${summaryOf(title, lines)}>
    <figcaption>${title}<span class="muted" ref=${near}></span></figcaption>
    <div ref=${place}></div>
  </figure>`;
}

/**
 * Return the data of all lines over one axis.
 * @param {Line[]} lines
 * @param {boolean} log
 */
function aligned(lines, log) {
  if (lines.length > NAMED_MAX) {
    const [axis, ...values] = onOneAxis(lines, PLACES_MAX);
    return [axis, ...values.map((each) => (log ? each.map(positiveOrNull) : each))];
  }
  const tables = [];
  const byAxis = new Map();
  for (const line of lines) {
    let table = byAxis.get(line.x);
    if (table === undefined) {
      table = [line.x];
      byAxis.set(line.x, table);
      tables.push(table);
    }
    table.push(log ? line.y.map(positiveOrNull) : line.y);
  }
  if (tables.length === 0) return [[]];
  const drawn = tables.filter((table) => table[0].length > 0);
  if (drawn.length === 0) return [[], ...lines.map(() => [])];
  return tables.length === 1 ? tables[0] : uPlot.join(tables);
}

/** A logarithm has no place for zero and below. */
function positiveOrNull(value) {
  return value > 0 ? value : null;
}

function optionsOf({ lines, log, xLabel, xFormat = formatTick, group, height, width, onZoom, near }) {
  const many = lines.length > NAMED_MAX;
  const text = cssColor("muted");
  const grid = { stroke: cssColor("grid"), width: 1 };
  const axis = { stroke: text, grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  return {
    width: Math.max(width, 100),
    height,
    legend: { live: true, show: !many },
    focus: { alpha: many ? OTHERS : 1 },
    cursor: {
      sync: group ? { key: group, setSeries: false } : undefined,
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      focus: { prox: many ? NEAR : -1 },
    },
    scales: {
      x: { time: false },
      y: { distr: log ? 3 : 1, log: 10 },
    },
    axes: [
      { ...axis, size: 34, values: (_plot, splits) => splits.map(xFormat) },
      { ...axis, size: 58, values: (_plot, splits) => splits.map((value) => (value === null ? "" : formatTick(value))) },
    ],
    series: [
      { label: xLabel, value: (_plot, value) => (xFormat === formatTick ? formatNumber(value) : xFormat(value)) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: line.faint ? `${line.color}59` : line.color,
        width: line.faint || many ? 1 : 2,
        dash: line.dash ? [6, 4] : undefined,
        points: { show: Boolean(line.points), size: 5, fill: line.color },
        spanGaps: false,
        value: (_plot, value) => formatNumber(value),
      })),
    ],
    hooks: {
      setSeries: [
        (_plot, place) => {
          if (near.current) near.current.textContent = many && place ? `: ${lines[place - 1].label}` : "";
        },
      ],
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return;
          const from = plot.posToVal(plot.select.left, "x");
          const to = plot.posToVal(plot.select.left + plot.select.width, "x");
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom.current?.([from, to]);
        },
      ],
      ready: [(plot) => plot.over.addEventListener("dblclick", () => onZoom.current?.(null))],
    },
  };
}

function applyRange(plot, range) {
  if (range) plot.setScale("x", { min: range[0], max: range[1] });
}

function formatTick(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1e6) return `${value / 1e6}M`;
  if (size >= 1e4) return `${value / 1e3}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

function summaryOf(title, lines) {
  if (lines.length > NAMED_MAX) return `${title}: ${lines.length} curves`;
  const ends = lines
    .filter((line) => !line.faint)
    .map((line) => `${line.label} ${formatNumber(line.y.findLast((value) => value !== null && value !== undefined))}`);
  return `${title}: ${ends.join(", ")}`;
}
