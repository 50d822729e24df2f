/** The fits that were read, kept up to date with few and cheap requests. */

import { signal } from "./ui.js";
import { list, Problem, request, send } from "./api.js";

/** Fits by id, newest first; null until they are read. */
export const fits = signal(/** @type {Map<string, any> | null} */ (null));

/** Names of graphs and datasets by id. */
export const names = signal(/** @type {Map<string, string>} */ (new Map()));

/** Fits that are read at most; older ones are asked for by state and name. */
const MOST = 5000;
const FULL_EVERY = 30_000;
const NEWEST = 20;
/** Fits that are asked for one by one between two readings of the whole list. */
const WATCHED_MAX = 24;
const tags = new Map();
let readAt = 0;

/**
 * Bring the fits up to date: all of them now and then, else the newest, and those that are not over.
 * @param {boolean} [full]
 */
export async function refreshFits(full = false) {
  if (full || fits.peek() === null || Date.now() - readAt > FULL_EVERY) {
    await readAll();
    return;
  }
  const known = new Map(fits.peek());
  const page = await request(`v1/fits?limit=${NEWEST}`);
  const fresh = page.data.filter((fit) => !known.has(fit.id));
  if (fresh.length === NEWEST) {
    await readAll();
    return;
  }
  for (const fit of page.data) known.set(fit.id, fit);
  const listed = new Set(page.data.map((fit) => fit.id));
  const active = [...known.values()].filter((fit) => isActive(fit) && !listed.has(fit.id)).slice(0, WATCHED_MAX);
  for (const fit of active) await refreshOne(known, fit.id);
  publish([...known.values()]);
}

/**
 * Forget a fit that was deleted, or show it as it is now.
 * @param {any} fit
 */
export function putFit(fit) {
  publish([...new Map(fits.peek() ?? []).set(fit.id, fit).values()]);
}

/** @param {string} id */
export function dropFit(id) {
  const left = new Map(fits.peek() ?? []);
  left.delete(id);
  publish([...left.values()]);
}

/**
 * Whether a worker has it, or is about to.
 * @param {any} fit
 */
export function isActive(fit) {
  return !fit.terminal && !["queued", "paused"].includes(fit.state);
}

/**
 * Read the names of graphs and datasets; fits refer to them by id.
 */
export async function refreshNames() {
  const [graphs, datasets] = await Promise.all([list("v1/graphs"), list("v1/datasets")]);
  names.value = new Map([...graphs, ...datasets].map((each) => [each.id, each.name ?? ""]));
}

/**
 * Return what a fit is called: its name, else its label `name`, else the name of its graph.
 * @param {any} fit
 * @returns {string}
 */
export function nameOf(fit) {
  return fit.name || fit.labels.name || names.value.get(fit.graph) || "fit";
}

/**
 * Read older fits than those that are known, by their state or the beginning of their name, where there are more.
 * @param {{q?: string, state?: string}} query
 */
export async function findOlder({ q = "", state = "" }) {
  if ((fits.peek()?.size ?? 0) < MOST || (!q && !state)) return;
  const filters = new URLSearchParams({ ...(state && { state }), ...(q && { name_prefix: q }) });
  const found = await list(`v1/fits?${filters}`, 200);
  publish([...new Map([...found.map((fit) => [fit.id, fit]), ...(fits.peek() ?? [])]).values()]);
}

async function readAll() {
  publish(await list("v1/fits", MOST));
  readAt = Date.now();
}

async function refreshOne(known, id) {
  try {
    const tag = tags.get(id);
    const response = await send(`v1/fits/${id}`, tag ? { headers: { "If-None-Match": tag } } : {});
    if (response.status === 304) return;
    tags.set(id, response.headers.get("ETag"));
    known.set(id, await response.json());
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    known.delete(id);
  }
}

function publish(all) {
  all.sort((one, other) => (one.id < other.id ? 1 : -1));
  fits.value = new Map(all.map((fit) => [fit.id, fit]));
}
