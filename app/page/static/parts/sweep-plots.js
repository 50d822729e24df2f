/** Pictures of many fits by their options and results: parallel coordinates, and a scatter plot. */

import { html } from "../lib/ui.js";
import { formatNumber } from "../lib/format.js";
import { lineColor } from "../lib/heat.js";
import { hashOf } from "../lib/route.js";

/** @typedef {{key: string, label: string, log: boolean, texts: string[] | null, values: (number | null)[], shown: (index: number) => string}} Axis */
/** @typedef {{id: string, name: string}} Item */

const WIDTH = 1000;
const HEIGHT = 340;
const MARGIN = { left: 70, right: 70, top: 34, bottom: 24 };
/** Numbers over this ratio, all positive, are drawn on a logarithmic scale. */
const LOG_RATIO = 50;

/**
 * Make an axis of what the items have under a key; numbers stay numbers, anything else becomes places in order.
 * @param {string} key
 * @param {string} label
 * @param {unknown[]} values
 * @returns {Axis}
 */
export function axisOf(key, label, values) {
  const present = values.filter((value) => value !== undefined && value !== null);
  if (present.every((value) => typeof value === "number")) {
    const positive = present.every((value) => value > 0);
    const log = positive && present.length > 1 && Math.max(...present) / Math.min(...present) > LOG_RATIO;
    const numbers = values.map((value) => (typeof value === "number" && Number.isFinite(value) ? value : null));
    return { key, label, log, texts: null, values: numbers, shown: (index) => formatNumber(numbers[index]) };
  }
  const written = values.map((value) => (value === undefined || value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value)));
  const texts = [...new Set(written)].sort();
  return { key, label, log: false, texts, values: written.map((text) => texts.indexOf(text)), shown: (index) => written[index] };
}

/**
 * Return the place of a value on an axis, from 0 to 1.
 * @param {Axis} axis
 * @returns {(value: number) => number}
 */
function scaleOf(axis) {
  const change = axis.log ? Math.log10 : (value) => value;
  const numbers = axis.values.filter((value) => value !== null).map(change);
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  return (value) => (high > low ? (change(value) - low) / (high - low) : 0.5);
}

/** @param {{items: Item[], axes: Axis[], color: Axis, focus: string, onFocus: (id: string) => void}} props */
export function ParallelCoordinates({ items, axes, color, focus, onFocus }) {
  const step = (WIDTH - MARGIN.left - MARGIN.right) / Math.max(1, axes.length - 1);
  const x = (index) => MARGIN.left + index * step;
  const scales = axes.map(scaleOf);
  const shade = scaleOf(color);
  const y = (index, value) => HEIGHT - MARGIN.bottom - scales[index](value) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const label = `${items.length} fits over ${axes.map((axis) => axis.label).join(", ")}`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Parallel coordinates"><svg class="parallel" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    ${items.map((item, row) => {
      const places = axes.flatMap((axis, index) => (axis.values[row] === null ? [] : [`${x(index).toFixed(1)},${y(index, axis.values[row]).toFixed(1)}`]));
      const value = color.values[row];
      const title = `${item.name}: ${axes.map((axis) => `${axis.label} ${axis.shown(row)}`).join(", ")}`;
      return html`<polyline key=${item.id} class=${item.id === focus ? "focus" : focus ? "other" : ""} points=${places.join(" ")} stroke=${value === null ? "#999999" : lineColor(shade(value))}
        onMouseEnter=${() => onFocus(item.id)} onMouseLeave=${() => onFocus("")} onClick=${() => (location.hash = hashOf(["fits", item.id]))}><title>${title}</title></polyline>`;
    })}
    ${axes.map((axis, index) => html`<g key=${axis.key}><line class="axis" x1=${x(index)} x2=${x(index)} y1=${MARGIN.top} y2=${HEIGHT - MARGIN.bottom} />
      <text class="name" x=${x(index)} y="14" text-anchor=${anchorOf(index, axes.length)}>${axis.label}</text>
      ${ticksOf(axis).map(([value, text]) => html`<text key=${text} x=${x(index) + 6} y=${y(index, value) + 4}>${text}</text>`)}</g>`)}
  </svg></div>`;
}

/** @param {{items: Item[], across: Axis, up: Axis, color: Axis, focus: string, onFocus: (id: string) => void}} props */
export function Scatter({ items, across, up, color, focus, onFocus }) {
  const [scaleX, scaleY, shade] = [across, up, color].map(scaleOf);
  const x = (value) => MARGIN.left + scaleX(value) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - 18 - scaleY(value) * (HEIGHT - MARGIN.top - MARGIN.bottom - 18);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Scatter plot"><svg class="parallel" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label=${`${up.label} over ${across.label} of ${items.length} fits`}>
    <line class="axis" x1=${MARGIN.left - 12} x2=${MARGIN.left - 12} y1=${MARGIN.top} y2=${HEIGHT - MARGIN.bottom - 6} />
    <line class="axis" x1=${MARGIN.left - 12} x2=${WIDTH - MARGIN.right} y1=${HEIGHT - MARGIN.bottom - 6} y2=${HEIGHT - MARGIN.bottom - 6} />
    ${ticksOf(across).map(([value, text]) => html`<text key=${text} x=${x(value)} y=${HEIGHT - 8} text-anchor="middle">${text}</text>`)}
    ${ticksOf(up).map(([value, text]) => html`<text key=${text} x=${MARGIN.left - 18} y=${y(value) + 4} text-anchor="end">${text}</text>`)}
    <text class="name" x="4" y="14">↑ ${up.label}${up.log ? " (log)" : ""}</text>
    <text class="name" x=${WIDTH - 4} y="14" text-anchor="end">${across.label}${across.log ? " (log)" : ""} →</text>
    ${items.map((item, row) => {
      if (across.values[row] === null || up.values[row] === null) return null;
      const value = color.values[row];
      return html`<a key=${item.id} href=${hashOf(["fits", item.id])} aria-label=${`${item.name}: ${across.label} ${across.shown(row)}, ${up.label} ${up.shown(row)}`}><circle class=${item.id === focus ? "focus" : ""} cx=${x(across.values[row])} cy=${y(up.values[row])} r=${item.id === focus ? 9 : 6} fill=${value === null ? "#999999" : lineColor(shade(value))}
        onMouseEnter=${() => onFocus(item.id)} onMouseLeave=${() => onFocus("")}><title>${`${item.name}: ${across.label} ${across.shown(row)}, ${up.label} ${up.shown(row)}`}</title></circle></a>`;
    })}
  </svg></div>`;
}

/** Return some values of an axis with their texts. */
function ticksOf(axis) {
  if (axis.texts) {
    const stride = Math.ceil(axis.texts.length / 12);
    return axis.texts.flatMap((text, index) => (index % stride ? [] : [[index, text.length > 18 ? `${text.slice(0, 17)}…` : text]]));
  }
  const numbers = axis.values.filter((value) => value !== null);
  if (numbers.length === 0) return [];
  const low = Math.min(...numbers);
  const high = Math.max(...numbers);
  if (low === high) return [[low, formatNumber(low)]];
  const between = (part) => (axis.log ? low * (high / low) ** part : low + part * (high - low));
  return [0, 0.25, 0.5, 0.75, 1].map((part) => [between(part), formatTick(between(part))]);
}

function formatTick(value) {
  return formatNumber(Number(value.toPrecision(3)));
}

function anchorOf(index, count) {
  if (index === 0) return "start";
  return index === count - 1 ? "end" : "middle";
}
