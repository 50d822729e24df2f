/** Numbers for the inputs of a graph where the reader gives none. */

/** Rows of values that are made up. */
export const ROWS = 4;
const OTHER_EXTENT = 16;

/**
 * Return a tensor for every input: random numbers from 0 to 1 that are the same each time, zeros where integers are taken.
 * @param {any} definition
 * @param {number} batch
 * @returns {Record<string, {dtype: string, shape: number[], data: number[]}>}
 */
export function madeInputs(definition, batch) {
  const random = uniform(1);
  const leading = new Set(Object.values(definition.inputs ?? {}).map((spec) => shapeOf(spec)[0]));
  return Object.fromEntries(
    Object.entries(definition.inputs ?? {}).map(([name, spec]) => {
      const shape = shapeOf(spec).map((extent) => (typeof extent === "number" ? extent : leading.has(extent) ? batch : OTHER_EXTENT));
      const size = shape.reduce((product, extent) => product * extent, 1);
      const dtype = spec.dtype ?? "float32";
      const number = /^b?float/.test(dtype) ? () => Number(random().toPrecision(4)) : () => 0;
      return [name, { dtype, shape, data: Array.from({ length: size }, number) }];
    }),
  );
}

/** @param {any} spec */
export function shapeOf(spec) {
  return Array.isArray(spec) ? spec : (spec?.shape ?? []);
}

/** A small generator (xorshift, Marsaglia 2003): the same numbers on every visit. */
function uniform(seed) {
  let state = seed * 2654435761 >>> 0;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4294967296;
  };
}
