/** The memory of a plan over its steps, from the places of its buffers. */

const BYTES = { float64: 8, float32: 4, float16: 2, bfloat16: 2, int64: 8, int32: 4, int16: 2, int8: 1, uint8: 1, bool: 1 };

/**
 * @typedef {{name: string, kind: string, shape: number[], dtype: string, offset: number, strides: number[]}} Buffer
 * @typedef {{buffer: Buffer, first: number, last: number, from: number, to: number}} Life
 */

/**
 * Return from which step to which step each buffer of the shared memory holds a value that is still read, and which bytes.
 * @param {any} plan
 * @returns {Life[]}
 */
export function livesOf(plan) {
  const buffers = new Map(plan.buffers.map((buffer) => [buffer.name, buffer]));
  const lives = new Map();
  plan.steps.forEach((step, index) => {
    for (const name of step.outputs) {
      const buffer = buffers.get(name);
      if (buffer?.kind !== "arena") continue;
      lives.set(name, { buffer, first: index, last: index, from: buffer.offset, to: buffer.offset + extentOf(buffer) });
    }
    for (const name of step.inputs) {
      const life = lives.get(name) ?? owner(lives, buffers.get(name));
      if (life) life.last = index;
    }
  });
  return [...lives.values()];
}

/** A window on other memory has no step of its own: what was written there last lives on. */
function owner(lives, buffer) {
  if (buffer?.kind !== "arena") return undefined;
  const from = buffer.offset;
  return [...lives.values()].findLast((life) => life.from <= from && from < life.to);
}

/**
 * Return the bytes of the shared memory that hold values which are still read, after each step.
 * @param {Life[]} lives
 * @param {number} steps
 * @returns {number[]}
 */
export function liveBytes(lives, steps) {
  const starting = Array.from({ length: steps }, () => []);
  for (const life of lives) starting[life.first].push(life);
  let alive = [];
  return starting.map((fresh, index) => {
    alive = [...alive.filter((life) => life.last >= index), ...fresh];
    const ranges = alive.map((life) => [life.from, life.to]).sort((one, other) => one[0] - other[0]);
    let bytes = 0;
    let end = 0;
    for (const [from, to] of ranges) {
      bytes += Math.max(0, to - Math.max(from, end));
      end = Math.max(end, to);
    }
    return bytes;
  });
}

/**
 * Return the bytes between the first and the last element of a buffer.
 * @param {Buffer} buffer
 */
export function extentOf({ shape, dtype, strides }) {
  if (shape.some((extent) => extent === 0)) return 0;
  const last = shape.reduce((sum, extent, axis) => sum + (extent - 1) * Math.abs(strides[axis] ?? 0), 0);
  return last + (BYTES[dtype] ?? 4);
}
