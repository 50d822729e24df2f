/** A small curve of a value in a row of the table, read when the row is shown. */

import { html, signal, useEffect } from "../lib/ui.js";
import { Problem, request } from "../lib/api.js";
import { thin } from "../lib/curves.js";
import { visible } from "../lib/poll.js";
import { formatKey, formatNumber } from "../lib/format.js";

const POINTS = 60;
const WIDTH = 112;
const HEIGHT = 28;
const KEPT_MAX = 2000;
const EVERY = 4000;

/** @type {Map<string, {curve: import("../vendor/signals-core.js").Signal<number[]>, last: number, step: number, at: number}>} */
const known = new Map();

/** @param {{fit: any, metric?: string}} props - `metric` as in the last row: `loss`, `val_loss` */
export function Sparkline({ fit, metric = "loss" }) {
  const entry = entryOf(`${fit.id} ${metric}`);
  useEffect(() => {
    if (visible.value && metric in fit.latest && entry.step !== fit.step && Date.now() - entry.at > EVERY) read(entry, fit, metric);
  }, [fit.id, metric, fit.step, visible.value, Math.floor(Date.now() / EVERY)]);
  const values = entry.curve.value;
  if (values.length < 2) return html`<span class="spark muted">–</span>`;
  const label = `${formatKey(metric)} from ${formatNumber(values[0])} to ${formatNumber(values.at(-1))}`;
  return html`<svg class="spark" width=${WIDTH} height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    <polyline points=${pointsOf(values)} />
  </svg>`;
}

function entryOf(id) {
  let entry = known.get(id);
  if (entry === undefined) {
    entry = { curve: signal([]), last: 0, step: 0, at: 0 };
    known.set(id, entry);
    if (known.size > KEPT_MAX) known.delete(known.keys().next().value);
  }
  return entry;
}

async function read(entry, fit, metric) {
  const key = metric.replace(/^val_/, "");
  const split = key === metric ? "train" : "validation";
  entry.at = Date.now();
  // The first time the server thins the curve, then the new rows are enough.
  const part = entry.last === 0 ? `downsample=${POINTS}` : `after=${entry.last}&limit=2000`;
  try {
    const page = await request(`v1/fits/${fit.id}/metrics?keys=${encodeURIComponent(key)}&split=${split}&${part}`);
    const values = page.data.map((row) => row.values[key]).filter((value) => value !== null && value !== undefined);
    entry.last = page.next_after;
    entry.step = fit.step;
    if (values.length) entry.curve.value = thin([...entry.curve.peek(), ...values], 2 * POINTS);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    entry.step = fit.step;
  }
}

function pointsOf(values) {
  const low = Math.min(...values);
  const spread = Math.max(...values) - low || 1;
  const across = (WIDTH - 4) / (values.length - 1);
  return values
    .map((value, index) => `${(2 + index * across).toFixed(1)},${(HEIGHT - 3 - ((value - low) / spread) * (HEIGHT - 6)).toFixed(1)}`)
    .join(" ");
}
