/** Requests to the public API, with the key of this tab, and its errors. */

import { signal } from "./ui.js";

const KEY = "adjoint-key";

/** Whether the server asks for a key; the page then shows the sign-in form. */
export const keyNeeded = signal(false);

/** Whether the last request reached the server. */
export const connected = signal(true);

/** An error of the API (RFC 9457), or the reason why there is no answer. */
export class Problem extends Error {
  /** @param {{status?: number, title?: string, detail?: string, code?: string, errors?: {pointer: string, detail: string}[], request_id?: string}} document */
  constructor(document) {
    super(document.detail || document.title || "The request failed.");
    this.status = document.status ?? 0;
    this.title = document.title ?? "";
    this.code = document.code ?? "";
    this.errors = document.errors ?? [];
    this.requestId = document.request_id ?? "";
  }
}

/** @returns {string | null} */
export function storedKey() {
  return sessionStorage.getItem(KEY);
}

/**
 * Keep a key until this tab is closed; null forgets it.
 * @param {string | null} key
 */
export function storeKey(key) {
  if (key === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
}

/**
 * Return the address of a path of the API, which is relative to the page: a reverse proxy may add a prefix.
 * @param {string} path
 * @returns {string}
 */
export function addressOf(path) {
  return new URL(path.replace(/^\//, ""), document.baseURI.replace(/#.*/, "")).href;
}

/**
 * Send a request and return the response if it is a success or 304; throws Problem for any other.
 * @param {string} path
 * @param {RequestInit & {json?: unknown}} [options]
 * @returns {Promise<Response>}
 */
export async function send(path, { json, headers, ...options } = {}) {
  const key = storedKey();
  /** @type {Record<string, string>} */
  const sent = { ...(headers ?? {}) };
  if (key) sent.Authorization = `Bearer ${key}`;
  if (json !== undefined) {
    sent["Content-Type"] ??= "application/json";
    options.body = JSON.stringify(json);
  }
  const response = await reach(path, { ...options, headers: sent });
  connected.value = true;
  if (response.ok || response.status === 304) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) keyNeeded.value = true;
  throw problem;
}

/**
 * Send a request and return the document of its answer; null if it has none.
 * @param {string} path
 * @param {RequestInit & {json?: unknown}} [options]
 * @returns {Promise<any>}
 */
export async function request(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

/**
 * Read all pages of a list, at most `most` things.
 * @param {string} path
 * @param {number} [most]
 * @returns {Promise<any[]>}
 */
export async function list(path, most = 5000) {
  const found = [];
  const separator = path.includes("?") ? "&" : "?";
  let cursor = null;
  do {
    const page = await request(`${path}${separator}limit=200${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    found.push(...page.data);
    cursor = page.has_more ? page.next_cursor : null;
  } while (cursor && found.length < most);
  return found;
}

async function reach(path, options) {
  try {
    return await fetch(addressOf(path), { ...options, cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    connected.value = false;
    throw new Problem({ title: "No connection", detail: "The server does not answer. The page tries again." });
  }
}

async function problemOf(response) {
  try {
    return new Problem({ ...(await response.json()), status: response.status });
  } catch {
    return new Problem({ status: response.status, title: response.statusText, detail: `HTTP ${response.status}` });
  }
}
