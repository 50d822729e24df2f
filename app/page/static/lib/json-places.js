/** JSON with the place of every value: errors of the API name values by JSON pointers, and editors need places. */

/** @typedef {{from: number, to: number}} Range */

/** A text that is not JSON, with the place of its fault. */
export class JsonFault extends Error {
  /** @param {string} message @param {number} at */
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;
const DEPTH_MAX = 200;

/**
 * Read a JSON text; throws JsonFault.
 * @param {string} text
 * @returns {{value: any, places: Map<string, Range>}} - the places by JSON pointer; those of a member include its name
 */
export function parseWithPlaces(text) {
  const reader = new Reader(text);
  reader.skip();
  const value = reader.value("", 0);
  reader.skip();
  if (reader.at < text.length) throw new JsonFault("nothing may follow the document", reader.at);
  return { value, places: reader.places };
}

/**
 * Return the place of a value, or of the nearest one around it that is in the text.
 * @param {Map<string, Range>} places
 * @param {string} pointer
 * @returns {Range | undefined}
 */
export function placeOf(places, pointer) {
  let path = pointer;
  while (!places.has(path) && path) path = path.slice(0, path.lastIndexOf("/"));
  return places.get(path);
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.places = new Map();
  }

  skip() {
    this.match(SPACE);
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  take(character) {
    this.skip();
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  value(pointer, depth, from = this.at) {
    if (depth > DEPTH_MAX) throw new JsonFault("the document is nested too deeply", this.at);
    const start = this.at;
    const read = this.content(pointer, depth);
    this.places.set(pointer, { from: from === start ? start : from, to: this.at });
    return read;
  }

  content(pointer, depth) {
    const first = this.text[this.at];
    if (first === "{") return this.object(pointer, depth);
    if (first === "[") return this.array(pointer, depth);
    const scalar = this.match(STRING) ?? this.match(NUMBER) ?? this.match(WORD);
    if (scalar === null) throw new JsonFault(first === undefined ? "the document ends too early" : `a value is expected here, not ${JSON.stringify(first)}`, this.at);
    return JSON.parse(scalar);
  }

  object(pointer, depth) {
    const entries = [];
    this.at += 1;
    if (this.take("}")) return {};
    do {
      this.skip();
      const from = this.at;
      const name = this.match(STRING);
      if (name === null) throw new JsonFault("a name in double quotes is expected here", this.at);
      if (!this.take(":")) throw new JsonFault("':' is expected after the name", this.at);
      this.skip();
      const key = JSON.parse(name);
      entries.push([key, this.value(`${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1, from)]);
    } while (this.take(","));
    if (!this.take("}")) throw new JsonFault("',' or '}' is expected here", this.at);
    return Object.fromEntries(entries);
  }

  array(pointer, depth) {
    const items = [];
    this.at += 1;
    if (this.take("]")) return items;
    do {
      this.skip();
      items.push(this.value(`${pointer}/${items.length}`, depth + 1));
    } while (this.take(","));
    if (!this.take("]")) throw new JsonFault("',' or ']' is expected here", this.at);
    return items;
  }
}
