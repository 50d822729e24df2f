/** A colour scale that grows evenly in lightness and is read alike by people with any colour vision (cividis). */

import { dark } from "./theme.js";

// Points of the cividis map (Nuñez, Anderton and Renslow 2018), from low to high.
const POINTS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [166, 157, 117], [196, 181, 108], [228, 207, 91], [254, 232, 56],
];

/**
 * Return the colour of a line at a share of the scale, which stands out from the background.
 * @param {number} share - from 0 to 1
 * @returns {string}
 */
export function lineColor(share) {
  return heatColor(dark.value ? 0.4 + 0.6 * share : 0.88 * share);
}

/**
 * Return the colour at a share of the scale.
 * @param {number} share - from 0 to 1
 * @returns {string}
 */
export function heatColor(share) {
  const place = Math.min(1, Math.max(0, share)) * (POINTS.length - 1);
  const low = Math.min(POINTS.length - 2, Math.floor(place));
  const part = place - low;
  const mixed = POINTS[low].map((value, index) => Math.round(value + (POINTS[low + 1][index] - value) * part));
  return `rgb(${mixed.join(",")})`;
}
