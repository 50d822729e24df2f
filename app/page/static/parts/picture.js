/** Columns whose rows are small images, and their drawing. */

import { html, useEffect, useRef } from "../lib/ui.js";

const SIDE_MIN = 4;
const SIDE_MAX = 256;

/** @typedef {{channels: number, height: number, width: number, last: boolean}} ImageForm - `last`: channels are the last axis */

/**
 * Return how the images of a shape without rows lie in it: one, three (RGB) or four channels (RGBA), first or last.
 * @param {(number | string)[]} shape
 * @returns {ImageForm | null} null for any other shape
 */
export function imageForm(shape) {
  if (shape.length === 2) return formOf(1, shape[0], shape[1], false);
  if (shape.length !== 3) return null;
  return formOf(shape[0], shape[1], shape[2], false) ?? formOf(shape[2], shape[0], shape[1], true);
}

function formOf(channels, height, width, last) {
  const sides = [height, width].every((size) => typeof size === "number" && size >= SIDE_MIN && size <= SIDE_MAX);
  return sides && [1, 3, 4].includes(channels) ? { channels, height, width, last } : null;
}

/** Return the place of a channel of a pixel among the values of an image in row-major order. */
function placeIn({ channels, height, width, last }, channel, pixel) {
  return last ? pixel * channels + channel : channel * height * width + pixel;
}

/** @param {{value: any[], column: {shape: number[], minimum: number, maximum: number}, big?: boolean}} props */
export function Picture({ value, column, big = false }) {
  const canvas = useRef(null);
  const form = imageForm(column.shape);
  const { channels, height, width } = form;
  useEffect(() => {
    const context = canvas.current.getContext("2d");
    const pixels = context.createImageData(width, height);
    const flat = value.flat(Infinity);
    const spread = column.maximum - column.minimum || 1;
    const shade = (channel, pixel) => Math.round((255 * (flat[placeIn(form, channel, pixel)] - column.minimum)) / spread);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      const colors = [0, 1, 2].map((channel) => shade(channels === 1 ? 0 : channel, pixel));
      pixels.data.set([...colors, channels === 4 ? shade(3, pixel) : 255], pixel * 4);
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
  const form = imageForm(column.shape);
  const { channels, height, width } = form;
  const bitmap = await createImageBitmap(file, { resizeWidth: width, resizeHeight: height, resizeQuality: "high" });
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const flat = new Array(channels * height * width);
  for (let pixel = 0; pixel < height * width; pixel += 1) {
    const [red, green, blue, alpha] = data.slice(pixel * 4, pixel * 4 + 4);
    const levels = channels === 1 ? [0.299 * red + 0.587 * green + 0.114 * blue] : [red, green, blue, alpha];
    for (let channel = 0; channel < channels; channel += 1) {
      const value = column.minimum + (levels[channel] / 255) * (column.maximum - column.minimum);
      flat[placeIn(form, channel, pixel)] = Number(value.toPrecision(6));
    }
  }
  return nested(flat, column.shape);
}

/** Return the values of a tensor in row-major order as nested lists. */
function nested(flat, shape) {
  if (shape.length === 1) return flat;
  const size = flat.length / shape[0];
  return Array.from({ length: shape[0] }, (_, index) => nested(flat.slice(index * size, (index + 1) * size), shape.slice(1)));
}
