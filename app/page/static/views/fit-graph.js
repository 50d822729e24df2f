/** The graph of a fit, planned and measured as the fit trains it. */

import { html } from "../lib/ui.js";
import { lazy } from "../lib/lazy.js";
import { useResource } from "../lib/poll.js";
import { hashOf } from "../lib/route.js";
import { problemText } from "../parts/dialog.js";

const GraphPanel = lazy(() => import("./graph.js"), "GraphPanel");

/** @param {{fit: any}} props */
export function GraphTab({ fit }) {
  const { data: graph, problem } = useResource(`v1/graphs/${fit.graph}`);
  if (problem) return html`<section class="card"><p class="bad" role="alert">${problemText(problem)}</p></section>`;
  if (graph === null) return html`<p class="loading" role="status">Reading the graph …</p>`;
  const { optimizer, batch_size: batch } = fit.request;
  const kind = typeof optimizer === "string" ? optimizer : (optimizer?.kind ?? "adam");
  return html`<p class="muted">Graph <a href=${hashOf(["graphs", graph.id])}>${graph.name || graph.id}</a>, in steps of ${batch ?? 32} rows with ${kind}.</p>
    <${GraphPanel} graph=${graph} optimizer=${kind} batch=${batch ?? 32} />`;
}
