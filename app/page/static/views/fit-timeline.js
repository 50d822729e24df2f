/** The attempts, checkpoints and events of a fit over time. */

import { html, useEffect, useState } from "../lib/ui.js";
import { list } from "../lib/api.js";
import { formatNumber, formatSeconds, formatTime } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { SIGNS } from "../parts/state.js";

const EVERY = 5;
const WIDTH = 1000;
const ROW = 30;
const TOP = 26;
const GOOD = ["succeeded", "cancelled", "drained"];

/** @param {{watch: import("../lib/watch.js").FitWatch, fit: any}} props */
export function TimelineTab({ watch, fit }) {
  const [checkpoints, setCheckpoints] = useState([]);
  usePolling(async () => setCheckpoints(await list(`v1/fits/${fit.id}/checkpoints`)), EVERY, [fit.id, watch.checkpoints.value]);
  useEffect(() => void watch.readEvents(), [watch]);
  const events = watch.events.value;
  return html`
    <section class="card">
      <h2>Attempts and checkpoints</h2>
      <p class="muted">Each attempt is one process. A fit whose process ends early continues from its last checkpoint in the next attempt.</p>
      ${fit.attempts.length === 0 ? html`<p class="empty">No attempt yet: the fit is ${fit.phase.replaceAll("_", " ")}.</p>` : html`<${Lanes} fit=${fit} checkpoints=${checkpoints} events=${events} />`}
      <div class="scroll" tabindex="0" role="region" aria-label="Attempts"><table>
        <thead><tr><th class="number">Attempt</th><th>Started</th><th>Ended</th><th class="number">Duration</th><th>Outcome</th></tr></thead>
        <tbody>${fit.attempts.map(
          (each) => html`<tr key=${each.number}>
            <td class="number num">${each.number}</td>
            <td class="nowrap">${formatTime(each.started_at)}</td>
            <td class="nowrap">${formatTime(each.ended_at)}</td>
            <td class="number num">${formatSeconds(durationOf(each))}</td>
            <td><span class="chip ${toneOf(each)}">${(each.outcome ?? "running").replaceAll("_", " ")}</span></td>
          </tr>`,
        )}</tbody>
      </table></div>
    </section>
    <section class="card">
      <h2>Events</h2>
      ${events.length === 0
        ? html`<p class="empty">No events yet.</p>`
        : html`<div class="scroll events" tabindex="0" role="region" aria-label="Events"><table>
          <thead><tr><th class="number">No.</th><th>Time</th><th>Event</th><th>What happened</th></tr></thead>
          <tbody>${events.slice(-200).reverse().map(
            (each) => html`<tr key=${each.id}><td class="number num">${each.id}</td><td class="nowrap">${formatTime(each.data.at)}</td><td>${each.event}</td><td class="wrap">${textOf(each)}</td></tr>`,
          )}</tbody></table></div>`}
    </section>`;
}

/** What marks of a state or of a log entry look like on the time line; other events are rows of the table only. */
function markOf({ event, data }) {
  if (event === "log") return { sign: data.level === "info" ? "i" : "!", tone: data.level === "info" ? "info" : "warning" };
  if (event !== "state") return null;
  const tone = { failed: "failed", interrupted: "failed", succeeded: "good" }[data.state] ?? "info";
  return { sign: SIGNS[data.state] ?? "•", tone };
}

function Lanes({ fit, checkpoints, events }) {
  const marks = events.flatMap((each) => (markOf(each) ? [{ ...each, ...markOf(each), at: Date.parse(each.data.at) }] : []));
  const first = Math.min(Date.parse(fit.attempts[0].started_at), ...marks.map((each) => each.at));
  const ends = [...fit.attempts.map((each) => (each.ended_at ? Date.parse(each.ended_at) : Date.now())), ...checkpoints.map((each) => Date.parse(each.created_at)), ...marks.map((each) => each.at)];
  const last = Math.max(first + 1, ...ends);
  const place = (moment) => ((moment - first) / (last - first)) * (WIDTH - 20) + 10;
  const height = TOP + ROW * (fit.attempts.length + 2);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Attempts and checkpoints over time"><svg class="lanes" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label=${`${fit.attempts.length} attempts and ${checkpoints.length} checkpoints over ${formatSeconds((last - first) / 1000)}`}>
    ${[0, 0.25, 0.5, 0.75, 1].map((part) => {
      const x = 10 + part * (WIDTH - 20);
      const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
      return html`<line class="rule" x1=${x} x2=${x} y1=${TOP - 6} y2=${height} /><text x=${x} y="14" text-anchor=${anchor}>${formatSeconds(((last - first) / 1000) * part)}</text>`;
    })}
    ${fit.attempts.map((each, index) => {
      const x = place(Date.parse(each.started_at));
      const width = Math.max(3, place(each.ended_at ? Date.parse(each.ended_at) : last) - x);
      return html`<rect class="bar-${toneOf(each)}" x=${x} y=${TOP + ROW * index + 4} width=${width} height=${ROW - 10} rx="3" /><text class="on-bar" x=${x + 6} y=${TOP + ROW * index + 18}>${width > 90 ? `attempt ${each.number}` : ""}</text>`;
    })}
    ${checkpoints.map((each) => {
      const x = place(Date.parse(each.created_at));
      const y = TOP + ROW * fit.attempts.length + 14;
      return html`<path class=${each.is_best ? "mark best" : "mark"} d="M${x} ${y - 7}l6 7l-6 7l-6-7z"><title>checkpoint of step ${each.step}${each.is_best ? ", the best" : ""}</title></path>`;
    })}
    ${marks.map((each) => html`<text class=${`sign ${each.tone}`} key=${each.id} x=${place(each.at)} y=${TOP + ROW * (fit.attempts.length + 1) + 18} text-anchor="middle">${each.sign}<title>${`${formatTime(each.data.at)}: ${textOf(each)}`}</title></text>`)}
  </svg></div>
  <p class="muted count">Bars are attempts, diamonds checkpoints${checkpoints.some((each) => each.is_best) ? " (the best in another colour)" : ""}; signs below are changes of state and log entries. Point at one to read it.</p>`;
}

function durationOf(attempt) {
  return ((attempt.ended_at ? Date.parse(attempt.ended_at) : Date.now()) - Date.parse(attempt.started_at)) / 1000;
}

function toneOf(attempt) {
  if (attempt.outcome === null) return "state-running";
  return GOOD.includes(attempt.outcome) ? "state-succeeded" : "state-failed";
}

function textOf({ event, data }) {
  if (event === "state") return `${data.state}${data.phase && data.phase !== data.state ? ` (${data.phase.replaceAll("_", " ")})` : ""}, step ${formatNumber(data.step)}, attempt ${data.attempt}${data.error ? `: ${data.error.detail}` : ""}`;
  if (event === "checkpoint") return `step ${formatNumber(data.step)}, epoch ${data.epoch}${data.is_best ? ", the best so far" : ""}`;
  if (event === "log") return `${data.level}: ${data.text}`;
  if (event === "end") return `the fit has ${data.state}`;
  return JSON.stringify(data);
}
