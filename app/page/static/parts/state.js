/** The state of a fit as a chip: a sign and a word, so that it does not depend on colour. */

import { html } from "../lib/ui.js";
import { formatNumber, formatSeconds } from "../lib/format.js";

/** A sign for each state, beside its word or its colour. */
export const SIGNS = {
  queued: "◷", starting: "◌", running: "▶", pausing: "◫", paused: "❚❚", cancelling: "◍", cancelled: "■",
  interrupted: "↻", succeeded: "✓", failed: "✕",
};

/** All states, in the order of a fit's life. */
export const STATES = Object.keys(SIGNS);

/** @param {{state: string, phase?: string}} props */
export function StateChip({ state, phase }) {
  const detail = phase && phase !== state ? phase.replaceAll("_", " ") : "";
  return html`<span class="chip state-${state}" title=${detail}>
    <span aria-hidden="true">${SIGNS[state] ?? "•"}</span> ${state}</span>`;
}

/** How far a fit is, as a bar with numbers. */
export function Progress({ fit }) {
  const percent = Math.round(fit.progress * 100);
  return html`<span class="progress">
    <progress max="1" value=${fit.progress} aria-label="progress"></progress>
    <span class="num">${percent} %</span>
    <small class="num muted">${formatNumber(fit.step)} / ${formatNumber(fit.total_steps)}</small>
  </span>`;
}

/**
 * Return the time that is left, or that it took.
 * @param {any} fit
 * @returns {string}
 */
export function timeText(fit) {
  if (!fit.terminal && fit.eta_seconds !== null) return `${formatSeconds(fit.eta_seconds)} left`;
  return fit.running_seconds ? formatSeconds(fit.running_seconds) : "–";
}
