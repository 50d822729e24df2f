/**
 * Event streams (https://html.spec.whatwg.org/#server-sent-events) read with `fetch`, as `EventSource` cannot send a key.
 * A connection that breaks is opened again after the last event that was received, so no event is lost or seen twice.
 */

import { Problem, send } from "./api.js";

/** @typedef {{id: number, event: string, data: any}} ServerEvent */

/** Seconds between two deliveries: curves are not drawn more often, and the server reads its rows together. */
const INTERVAL = 1;
const RETRY_FIRST = 500;
const RETRY_MAX = 5000;
/** Longest time that the server reads older events; a stream of a fit that goes on has no end of its own. */
const HISTORY_SECONDS = 1;
/** Longest silence of a connection before it counts as broken; heartbeats come more often. */
const SILENCE_MAX = 45_000;

/**
 * Read a stream to its `end` event.
 * @param {string} path
 * @param {{after: number, signal: AbortSignal, onEvents: (events: ServerEvent[]) => void, onState?: (live: boolean) => void}} options
 * @returns {Promise<number>} the id of the last event
 */
export async function follow(path, { after, signal, onEvents, onState = () => undefined }) {
  let last = after;
  let wait = RETRY_FIRST;
  while (!signal.aborted) {
    try {
      for await (const events of connect(path, last, signal, () => onState(true))) {
        wait = RETRY_FIRST;
        const fresh = events.filter((event) => event.id > last || event.event === "end");
        if (fresh.length === 0) continue;
        last = Math.max(last, fresh.at(-1).id);
        onEvents(fresh);
        if (fresh.at(-1).event === "end") return last;
      }
    } catch (error) {
      if (signal.aborted) return last;
      if (error instanceof Problem && [401, 403, 404].includes(error.status)) throw error;
    }
    onState(false);
    await pause(wait, signal);
    wait = Math.min(RETRY_MAX, wait * 2);
  }
  return last;
}

/**
 * Read the events that have happened so far, except metric rows.
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<ServerEvent[]>} oldest first
 */
export async function readHistory(path, signal) {
  const response = await send(`${path}?metrics=false&timestamps=true&timeout=${HISTORY_SECONDS}`, { signal });
  const entries = (await response.text()).split("\n\n");
  return entries.map(parseEvent).filter((event) => event !== null);
}

async function* connect(path, after, signal, onOpen) {
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  let timer = setTimeout(() => silence.abort(), SILENCE_MAX);
  try {
    const response = await send(`${path}?after=${after}&interval=${INTERVAL}&timestamps=true`, { signal: either, headers: { Accept: "text/event-stream" } });
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MAX);
      const entries = (rest + value).split("\n\n");
      rest = entries.pop();
      yield entries.map(parseEvent).filter((event) => event !== null);
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/**
 * Read one entry of a stream; null for a comment.
 * @param {string} entry
 * @returns {ServerEvent | null}
 */
export function parseEvent(entry) {
  const fields = { id: "", event: "message", data: "" };
  for (const line of entry.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return fields.id === "" ? null : { id: Number(fields.id), event: fields.event, data: JSON.parse(fields.data) };
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
