/**
 * Addresses: the part after `#` is a path with a query, so that every view has an address that can be shared and the
 * page works behind any prefix of a reverse proxy.
 */

import { signal } from "./ui.js";

/** @typedef {{path: string[], query: Record<string, string>}} Route */

/**
 * Read an address.
 * @param {string} hash
 * @returns {Route}
 */
export function parseHash(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { path: parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

/**
 * Write an address; values of the query that are empty are left out.
 * @param {string[]} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 * @returns {string}
 */
export function hashOf(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) search.set(name, String(value));
  }
  const text = search.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** The address that is shown. */
export const route = signal(parseHash(location.hash));

addEventListener("hashchange", () => {
  route.value = parseHash(location.hash);
});

/**
 * Show another address. A change of the query replaces the entry of the history, so that the back button leaves a view.
 * @param {string[]} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 * @param {{replace?: boolean}} [options]
 */
export function navigate(path, query = {}, { replace = false } = {}) {
  const hash = hashOf(path, query);
  if (hash === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
  route.value = parseHash(hash);
}

/**
 * Change some values of the query of the address that is shown.
 * @param {Record<string, string | number | boolean | null | undefined>} changes
 */
export function setQuery(changes) {
  const { path, query } = route.value;
  navigate(path, { ...query, ...changes }, { replace: true });
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
