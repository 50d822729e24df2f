/** Numbers, times and sizes as text. */

/**
 * Write a number with four significant digits, five from 10,000 on.
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function formatNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e12) return value.toLocaleString("en");
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2);
  if (size >= 1e4) return Math.round(value).toLocaleString("en");
  return value.toPrecision(4).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/**
 * Return numbers that are of float32 with as few digits as give the same float32; others stay as they are.
 * @param {any} value - a number or nested lists of numbers
 * @returns {any}
 */
export function shortened(value) {
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "number" || Math.fround(value) !== value) return value;
  const digits = [6, 7, 8, 9].find((count) => Math.fround(Number(value.toPrecision(count))) === value);
  return digits === undefined ? value : Number(value.toPrecision(digits));
}

/**
 * Write a duration.
 * @param {number | null | undefined} seconds
 * @returns {string}
 */
export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * Write how long ago a time was.
 * @param {string | null} moment
 * @param {number} [now]
 * @returns {string}
 */
export function formatAge(moment, now = Date.now()) {
  if (!moment) return "–";
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/**
 * Write a time in the zone of the reader.
 * @param {string | null} moment
 * @returns {string}
 */
export function formatTime(moment) {
  return moment ? new Date(moment).toLocaleString() : "–";
}

const KEYS = { lr: "learning rate", grad_norm: "gradient norm" };

/**
 * Write the name of a value in metric rows.
 * @param {string} key
 * @returns {string}
 */
export function formatKey(key) {
  const name = key.replace(/^val_/, "");
  const text = KEYS[name] ?? name.replaceAll("_", " ");
  return name === key ? text : `validation ${text}`;
}

/**
 * Write a number with its noun.
 * @param {number} count
 * @param {string} noun
 * @returns {string}
 */
export function formatCount(count, noun) {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Write a number of bytes.
 * @param {number | null | undefined} bytes
 * @returns {string}
 */
export function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toPrecision(3)} ${units[unit]}`;
}

/**
 * Write the shape of a tensor.
 * @param {(number | string)[]} shape
 * @returns {string}
 */
export function formatShape(shape) {
  return shape.length ? `[${shape.join(", ")}]` : "scalar";
}

/**
 * Shorten an id to its kind and its last characters.
 * @param {string} id
 * @returns {string}
 */
export function shortId(id) {
  return id.length > 14 ? `…${id.slice(-6)}` : id;
}
