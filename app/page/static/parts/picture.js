/** Columns whose rows are small images, and their drawing. */

import { html, useEffect, useRef } from "../lib/ui.js";

const SIDE_MIN = 4;
const SIDE_MAX = 256;

/**
 * Return channels (1 or 3), height and width of the images of a shape without rows; null for any other shape.
 * @param {(number | string)[]} shape
 * @returns {[number, number, number] | null}
 */
export function imageShape(shape) {
  const sizes = shape.length === 2 ? [1, ...shape] : shape;
  if (sizes.length !== 3 || ![1, 3].includes(sizes[0])) return null;
  const fits = sizes.slice(1).every((size) => typeof size === "number" && size >= SIDE_MIN && size <= SIDE_MAX);
  return fits ? /** @type {[number, number, number]} */ (sizes) : null;
}

/** @param {{value: any[], column: {shape: number[], minimum: number, maximum: number}, big?: boolean}} props */
export function Picture({ value, column, big = false }) {
  const canvas = useRef(null);
  const [channels, height, width] = imageShape(column.shape);
  useEffect(() => {
    const context = canvas.current.getContext("2d");
    const pixels = context.createImageData(width, height);
    const flat = value.flat(Infinity);
    const spread = column.maximum - column.minimum || 1;
    const shade = (index) => Math.round((255 * (flat[index] - column.minimum)) / spread);
    const plane = width * height;
    for (let index = 0; index < plane; index += 1) {
      const colors = [0, 1, 2].map((channel) => shade(index + (channels === 3 ? channel * plane : 0)));
      pixels.data.set([...colors, 255], index * 4);
    }
    context.putImageData(pixels, 0, 0);
  }, [value]);
  return html`<canvas ref=${canvas} class=${big ? "pixels big" : "pixels"} width=${width} height=${height} role="img" aria-label=${`image of ${width} by ${height}`}></canvas>`;
}

/**
 * Read an image file as the values of a row: scaled to the size of the shape, from the minimum to the maximum.
 * @param {Blob} file
 * @param {{shape: number[], minimum: number, maximum: number}} column
 * @returns {Promise<any[]>}
 */
export async function readPicture(file, column) {
  const [channels, height, width] = imageShape(column.shape);
  const bitmap = await createImageBitmap(file, { resizeWidth: width, resizeHeight: height, resizeQuality: "high" });
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const scaled = (share) => column.minimum + share * (column.maximum - column.minimum);
  const read = (channel) => (row) => (column_) => {
    const [red, green, blue] = data.slice((row * width + column_) * 4);
    const share = channels === 3 ? [red, green, blue][channel] : 0.299 * red + 0.587 * green + 0.114 * blue;
    return Number(scaled(share / 255).toPrecision(6));
  };
  const plane = (channel) => range(height).map((row) => range(width).map((place) => read(channel)(row)(place)));
  return column.shape.length === 2 ? plane(0) : range(channels).map(plane);
}

function range(count) {
  return Array.from({ length: count }, (_each, index) => index);
}
