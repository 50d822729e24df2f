/** One fit: its head with figures and actions, and its tabs. */

import { html, useEffect, useMemo } from "../lib/ui.js";
import { ACTIONS, act } from "../lib/actions.js";
import { fits, nameOf, names, refreshNames } from "../lib/fits.js";
import { formatAge, formatCount, formatKey, formatNumber, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, navigate, route } from "../lib/route.js";
import { FitWatch } from "../lib/watch.js";
import { problemText } from "../parts/dialog.js";
import { Progress, StateChip, timeText } from "../parts/state.js";
import { Tabs } from "../parts/tabs.js";
import { Labels } from "./fits.js";
import { CurvesTab } from "./fit-curves.js";
import { GradientsTab } from "./fit-gradients.js";
import { TimelineTab } from "./fit-timeline.js";
import { CheckpointsTab } from "./fit-checkpoints.js";
import { RequestTab } from "./fit-request.js";
import { GraphTab } from "./fit-graph.js";

const REFRESH_EVERY = 10;
const TABS = [
  { path: "curves", label: "Curves", view: CurvesTab },
  { path: "gradients", label: "Gradients", view: GradientsTab },
  { path: "graph", label: "Graph", view: GraphTab },
  { path: "timeline", label: "Time line", view: TimelineTab },
  { path: "checkpoints", label: "Checkpoints", view: CheckpointsTab },
  { path: "request", label: "Request", view: RequestTab },
];

/** @param {{id: string, tab: string}} props */
export function FitView({ id, tab }) {
  const watch = useMemo(() => new FitWatch(id), [id]);
  useEffect(() => {
    watch.start();
    if (names.peek().size === 0) refreshNames().catch(() => undefined);
    return () => watch.stop();
  }, [watch]);
  usePolling(() => watch.refresh(), REFRESH_EVERY, [watch]);
  const fit = watch.fit.value;
  const problem = watch.problem.value;
  if (problem) return html`<section class="card"><h1>Fit ${shortId(id)}</h1><p class="bad" role="alert">${problemText(problem)}</p><a href=${hashOf(["fits"])}>All fits</a></section>`;
  if (fit === null) return html`<p class="loading" role="status">Reading the fit …</p>`;
  const shown = TABS.find((each) => each.path === tab) ?? TABS[0];
  return html`
    <${Header} fit=${fit} watch=${watch} />
    <${Figures} fit=${fit} compiling=${watch.compiling.value} />
    ${fit.error && html`<p class="problem" role="alert"><strong>${fit.error.code}</strong> ${fit.error.detail}</p>`}
    <${Tabs} label="Parts of the fit" shown=${shown.path}
      tabs=${TABS.map(({ path, label }) => ({ path, label, href: hashOf(["fits", id, path], path === "curves" ? curveQuery() : {}) }))} />
    <${shown.view} watch=${watch} fit=${fit} />`;
}

function Header({ fit, watch }) {
  const name = nameOf(fit);
  useEffect(() => {
    document.title = `${name} ${shortId(fit.id)} · Adjoint`;
  }, [name]);
  const run = async (action) => {
    await act(action, [fit]);
    if (fits.peek()?.has(fit.id)) await watch.refresh();
    else navigate(["fits"]);
  };
  return html`<div class="bar fit-head">
    <div>
      <p class="crumbs"><a href=${hashOf(["fits"])}>Fits</a> / <span class="mono">${fit.id}</span></p>
      <h1>${name} <${StateChip} state=${fit.state} phase=${fit.phase} /> ${watch.live.value && !fit.terminal && html`<span class="live-mark"><span class="dot live" aria-hidden="true"></span> live</span>`}</h1>
      <p class="muted">
        trained on <a href=${hashOf(["datasets", fit.dataset])}>${names.value.get(fit.dataset) || "a dataset"}</a>${" · created "}
        <span title=${formatTime(fit.created_at)}>${formatAge(fit.created_at)}</span>
        ${` · ${formatCount(fit.attempts.length, "attempt")}`}
        ${fit.phase !== fit.state && ` · ${fit.phase.replaceAll("_", " ")}`}
        ${!fit.bit_exact && " · not bit-exact: it went on under other numerics"}${" "}
        <${Labels} labels=${fit.labels} />
      </p>
    </div>
    <div class="actions" role="group" aria-label="Actions">
      ${fit.sweep && html`<a class="button" href=${hashOf(["compare"], { sweep: fit.id })}>Compare ${fit.sweep.variants} variants</a>`}
      ${ACTIONS.filter((action) => action.fits(fit)).map(
        (action) => html`<button key=${action.name} class=${action.danger ? "danger" : ""} onClick=${() => run(action)}>${action.label}</button>`,
      )}
    </div>
  </div>`;
}

function Figures({ fit, compiling }) {
  const keys = Object.keys(fit.latest).filter((key) => !key.startsWith("grad_norm/"));
  keys.sort((one, other) => rank(one) - rank(other));
  return html`<dl class="figures">
    <div class="wide-figure"><dt>Progress</dt><dd><${Progress} fit=${fit} /></dd></div>
    <div><dt>${fit.terminal ? "Training time" : "Time left"}</dt><dd class="num">${compiling ? `compiling ${compiling.count}/${compiling.total}` : timeText(fit)}</dd></div>
    ${keys.slice(0, 7).map(
      (key) => html`<div key=${key}><dt>${shortKey(key)}</dt>
        <dd class="num">${fit.nonfinite[key] ?? formatNumber(fit.latest[key])}</dd></div>`,
    )}
    ${fit.best && html`<div><dt>best ${shortKey(fit.best.metric)}</dt><dd class="num" title=${`at step ${fit.best.step}`}>${fit.best.nonfinite?.value ?? formatNumber(fit.best.value)}</dd></div>`}
  </dl>`;
}

function shortKey(key) {
  return formatKey(key).replace("validation", "val.");
}

/** The loss comes first, each value beside that of the validation rows, and what describes the step last. */
function rank(key) {
  const name = key.replace(/^val_/, "");
  const group = name === "loss" ? 0 : ["lr", "momentum", "grad_norm"].includes(name) ? 2 : 1;
  return group + (name === key ? 0 : 0.5);
}

/** The choices of the curves stay in the address when their tab is chosen again. */
function curveQuery() {
  return route.value.query;
}
