/** A fit that is watched: its resource, its curves and its events, live while the page is shown. */

import { effect, signal } from "./ui.js";
import { connected, Problem, request } from "./api.js";
import { Curves, POINTS_MAX, ROWS_MAX } from "./curves.js";
import { follow, readHistory } from "./events.js";
import { putFit } from "./fits.js";
import { visible } from "./poll.js";

/** Time between two drawings of new rows, and between two readings of the fit while rows come. */
const DRAW_EVERY = 250;
const READ_EVERY = 4000;
/** Events after which the fit is read at once. */
const URGENT = ["state", "end"];
const EVENTS_KEPT = 2000;
/** Norms of single parameters are read for the heat map only: there may be thousands. */
const PARAMETER_NORM = "grad_norm/";

/** Watches one fit from `start` to `stop`. */
export class FitWatch {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.fit = signal(/** @type {any} */ (null));
    this.problem = signal(/** @type {Error | null} */ (null));
    this.curves = new Curves();
    /** Grows when there are new rows. */
    this.version = signal(0);
    /** The events that are not metric rows, oldest first. */
    this.events = signal(/** @type {import("./events.js").ServerEvent[]} */ ([]));
    /** Grows when there is a new checkpoint. */
    this.checkpoints = signal(0);
    this.live = signal(false);
    /** How many of how many kernels are compiled, while the fit waits for them. */
    this.compiling = signal(/** @type {{count: number, total: number} | null} */ (null));
    this.lastEvent = 0;
    this.readAt = 0;
    this.controller = null;
    this.timers = new Set();
    this.ready = false;
    this.eventsRead = false;
  }

  /** Read what there is, then follow what comes. */
  start() {
    this.stopVisible = effect(() => {
      if (visible.value) this.resume();
      else this.suspend();
    });
  }

  /** Read and follow no longer. */
  stop() {
    this.stopVisible?.();
    this.suspend();
    for (const timer of this.timers) clearTimeout(timer);
  }

  suspend() {
    this.controller?.abort();
    this.controller = null;
    this.live.value = false;
  }

  async resume() {
    if (this.controller) return;
    const controller = new AbortController();
    this.controller = controller;
    try {
      await this.refresh();
      if (!this.ready) await this.readRows(controller.signal);
      await this.follow(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      if (!(error instanceof Problem)) throw error;
      if (error.status === 0 && !this.ready) this.later(() => this.controller === null && this.resume(), READ_EVERY);
      else this.problem.value = error;
    } finally {
      if (this.controller === controller) this.controller = null;
    }
  }

  /** Read the fit again, and follow it if it goes on. */
  async refresh() {
    this.readAt = Date.now();
    const fit = await request(`v1/fits/${this.id}`);
    this.fit.value = fit;
    putFit(fit);
    if (!fit.terminal && this.ready && !this.controller && visible.peek()) this.resume();
  }

  async readRows(abort) {
    const keys = chartKeys(this.fit.value.latest);
    if (keys.length) {
      const query = `downsample=${POINTS_MAX}&timestamps=true&keys=${encodeURIComponent(keys.join(","))}`;
      const page = await request(`v1/fits/${this.id}/metrics?${query}`, { signal: abort });
      this.curves = new Curves();
      this.curves.append(page.data);
      this.curves.thinned = page.next_after > POINTS_MAX;
      this.curves.lastSeq = Math.max(this.curves.lastSeq, page.next_after);
      // Every row is an event too, so the event of the last row has its number or a higher one.
      this.lastEvent = Math.max(this.lastEvent, page.next_after);
    }
    this.ready = true;
    this.version.value += 1;
  }

  /** Read the events that came before the page was opened; the metric rows among them are in the curves. */
  async readEvents() {
    if (this.eventsRead) return;
    this.eventsRead = true;
    try {
      this.addEvents(await readHistory(`v1/fits/${this.id}/events`));
    } catch (error) {
      this.eventsRead = false;
      if (!(error instanceof Problem)) throw error;
    }
  }

  addEvents(events) {
    const known = new Map([...this.events.peek(), ...events].map((event) => [event.id, event]));
    const all = [...known.values()].sort((one, other) => one.id - other.id);
    this.events.value = all.slice(-EVENTS_KEPT);
  }

  async follow(abort) {
    await follow(`v1/fits/${this.id}/events`, {
      after: this.lastEvent,
      signal: abort,
      onEvents: (events) => this.receive(events),
      onState: (open) => {
        this.live.value = open;
        connected.value = open;
      },
    });
    this.live.value = false;
    if (!abort.aborted) await this.refresh();
  }

  receive(events) {
    const rows = events.filter((event) => event.event === "metric").map((event) => withoutParameters(event.data));
    this.lastEvent = Math.max(this.lastEvent, events.at(-1).id);
    if (this.curves.append(rows)) this.once("draw", () => (this.version.value += 1), DRAW_EVERY);
    this.compiling.value = events.reduce(compilation, this.compiling.peek());
    const others = events.filter((event) => event.event !== "metric");
    if (others.length) this.addEvents(others);
    if (others.some((event) => event.event === "checkpoint")) this.checkpoints.value += 1;
    if (this.curves.rows > ROWS_MAX) this.once("thin", () => this.readRows().catch(() => undefined), 0);
    const urgent = others.some((event) => URGENT.includes(event.event));
    const wait = urgent ? 0 : Math.max(0, READ_EVERY - (Date.now() - this.readAt));
    this.once("read", () => this.refresh().catch(() => undefined), wait);
  }

  /** Call something after a time, unless a call of that name is due already. */
  once(name, call, wait) {
    if (this[name]) return;
    this[name] = true;
    this.later(() => {
      this[name] = false;
      call();
    }, wait);
  }

  later(call, wait) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      call();
    }, wait);
    this.timers.add(timer);
  }
}

/** Return the values that are drawn, the loss first: it is the one whose extremes the server keeps. */
function chartKeys(latest) {
  const keys = [...new Set(Object.keys(latest).map((key) => key.replace(/^val_/, "")))];
  const plain = keys.filter((key) => !key.startsWith(PARAMETER_NORM));
  return plain.sort((one, other) => (other === "loss") - (one === "loss"));
}

/** Return how far the compilation of kernels is after an event; null while none is going on. */
function compilation(before, { event, data }) {
  if (event === "metric" || event === "state") return null;
  if (event !== "log" || data.code !== "compiling") return before;
  return data.count < data.total ? data : null;
}

function withoutParameters(row) {
  const values = Object.entries(row.values).filter(([key]) => !key.startsWith(PARAMETER_NORM));
  return { ...row, values: Object.fromEntries(values) };
}
