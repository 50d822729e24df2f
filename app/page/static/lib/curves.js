/** The metric rows of a fit as columns of numbers, per split, and what is derived from them for drawing. */

/** Rows that are asked for at once; a longer curve is thinned by the server, which keeps its extremes. */
export const POINTS_MAX = 10_000;
/** With more rows than this, which came one by one, the curves are read again, thinned. */
export const ROWS_MAX = 100_000;
/** Longest time, in seconds, over which a worker gathers rows before they are stored together. */
const TOGETHER_MAX = 1;

/** Points of each curve of few in one picture, and of all curves of many together. */
const POINTS_EACH = 2000;
const POINTS_TOGETHER = 48_000;
const POINTS_LEAST = 100;

/** @typedef {{step: number[], epoch: number[], time: number[], values: Map<string, (number | null)[]>}} Split */

/** Columns of metric rows. Rows have numbers without gaps, so a row that is there already is recognised and left out. */
export class Curves {
  constructor() {
    /** @type {{train: Split, validation: Split}} */
    this.splits = { train: emptySplit(), validation: emptySplit() };
    this.lastSeq = 0;
    this.nonfinite = 0;
    this.rows = 0;
    /** Whether the server left rows out. */
    this.thinned = false;
  }

  /**
   * Append rows in their order; the ones with known numbers are left out.
   * @param {{seq: number, step: number, epoch: number, at: string, split: string, values: Record<string, number | null>}[]} rows
   * @returns {boolean} whether there was a new one
   */
  append(rows) {
    let added = false;
    for (const row of rows) {
      if (row.seq <= this.lastSeq) continue;
      this.lastSeq = row.seq;
      this.rows += 1;
      added = true;
      appendRow(this.splits[row.split], row);
      if (Object.values(row.values).includes(null)) this.nonfinite += 1;
    }
    return added;
  }

  /**
   * Return the times of the rows of each split, in seconds since the first row.
   * @returns {{train: number[], validation: number[]}}
   */
  times() {
    const begin = Math.min(...Object.values(this.splits).map((split) => split.time[0] ?? Infinity));
    const spread = (split) => spreadTimes(split.time).map((time) => time - begin);
    return { train: spread(this.splits.train), validation: spread(this.splits.validation) };
  }

  /**
   * Return the names of the values, those of the train split first.
   * @returns {string[]}
   */
  keys() {
    return [...new Set([...this.splits.train.values.keys(), ...this.splits.validation.values.keys()])];
  }

  /**
   * Return the steps of an epoch, as far as the rows tell; null before the second epoch.
   * @returns {number | null}
   */
  stepsPerEpoch() {
    for (const split of [this.splits.validation, this.splits.train]) {
      const first = split.epoch.findIndex((epoch) => epoch > 1);
      if (first > 0) return split.step[first - 1] / split.epoch[first - 1];
    }
    return null;
  }
}

/**
 * Spread rows that were stored together over the time since the ones before, in which they were computed.
 * @param {number[]} times - ascending, in seconds
 * @returns {number[]}
 */
export function spreadTimes(times) {
  const spread = [];
  for (let start = 0; start < times.length; ) {
    let end = start;
    while (end < times.length && times[end] === times[start]) end += 1;
    const before = start === 0 ? times[0] : times[start - 1];
    const length = Math.min(TOGETHER_MAX, times[start] - before);
    for (let index = start; index < end; index += 1) {
      spread.push(times[start] - (length * (end - 1 - index)) / (end - start));
    }
    start = end;
  }
  return spread;
}

/** @returns {Split} */
function emptySplit() {
  return { step: [], epoch: [], time: [], values: new Map() };
}

function appendRow(split, row) {
  const count = split.step.length;
  split.step.push(row.step);
  split.epoch.push(row.epoch);
  split.time.push(Date.parse(row.at) / 1000);
  for (const [key, value] of Object.entries(row.values)) {
    let column = split.values.get(key);
    if (column === undefined) {
      column = new Array(count).fill(undefined);
      split.values.set(key, column);
    }
    column.push(value);
  }
  for (const column of split.values.values()) {
    if (column.length === count) column.push(undefined);
  }
}

/**
 * Smooth values by an exponential moving average that is corrected for its start.
 * @param {(number | null | undefined)[]} values
 * @param {number} weight - from 0, which changes nothing, to less than 1
 * @returns {(number | null | undefined)[]}
 */
export function smooth(values, weight) {
  let average = 0;
  let total = 0;
  return values.map((value) => {
    if (value === null || value === undefined) return value;
    average = average * weight + (1 - weight) * value;
    total = total * weight + (1 - weight);
    return average / total;
  });
}

/**
 * Thin a curve to at most `most` points; of each stretch the lowest and the highest are kept.
 * @param {number[]} values
 * @param {number} most
 * @returns {number[]}
 */
export function thin(values, most) {
  if (values.length <= most) return values;
  const buckets = Math.floor(most / 2);
  const kept = [];
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const start = Math.floor((bucket * values.length) / buckets);
    const end = Math.floor(((bucket + 1) * values.length) / buckets);
    let low = start;
    let high = start;
    for (let index = start; index < end; index += 1) {
      if (values[index] < values[low]) low = index;
      if (values[index] > values[high]) high = index;
    }
    kept.push(...[Math.min(low, high), Math.max(low, high)].map((index) => values[index]));
  }
  return kept;
}

/** Return how many points to ask for of each of `count` curves in one picture. */
export function pointsEach(count) {
  return Math.round(Math.min(POINTS_EACH, Math.max(POINTS_LEAST, POINTS_TOGETHER / count)));
}

/**
 * Return the curves over one axis: of all their places if these are at most `most`, else of so many, evenly spaced. At
 * each is the last value up to there, and null before the first and after the last point of a curve.
 * @param {{x: number[], y: (number | null | undefined)[]}[]} curves - each with ascending x
 * @param {number} most - at least 2
 * @returns {(number | null | undefined)[][]} the axis, then the values of each curve
 */
export function onOneAxis(curves, most) {
  const places = [...new Set(curves.flatMap(({ x }) => x))].sort((one, other) => one - other);
  const axis = places.length <= most ? places : evenly(places[0], places.at(-1), most);
  return [axis, ...curves.map(({ x, y }) => valuesAt(axis, x, y))];
}

function evenly(from, to, count) {
  return Array.from({ length: count }, (_, place) => (place === count - 1 ? to : from + ((to - from) * place) / (count - 1)));
}

function valuesAt(axis, x, y) {
  let next = 0;
  return axis.map((place) => {
    while (next < x.length && x[next] <= place) next += 1;
    const ended = next === x.length && place > x[next - 1];
    return next === 0 || ended ? null : y[next - 1];
  });
}
