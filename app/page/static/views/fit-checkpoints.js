/** The checkpoints of a fit: download one, predict with it, evaluate it, or start another fit from it. */

import { html, saveBlob, useState } from "../lib/ui.js";
import { forkFit } from "../lib/actions.js";
import { addressOf, list, Problem, send, storedKey } from "../lib/api.js";
import { formatAge, formatBytes, formatKey, formatNumber, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { navigate, route, setQuery } from "../lib/route.js";
import { notify } from "../parts/dialog.js";
import { Evaluate } from "./fit-evaluate.js";
import { Predict } from "./fit-predict.js";

const EVERY = 10;
/** @param {{watch: import("../lib/watch.js").FitWatch, fit: any}} props */
export function CheckpointsTab({ watch, fit }) {
  const [found, setFound] = useState(null);
  usePolling(async () => setFound(await list(`v1/fits/${fit.id}/checkpoints`)), EVERY, [fit.id, watch.checkpoints.value]);
  if (found === null) return html`<p class="loading" role="status">Reading checkpoints …</p>`;
  if (found.length === 0) return html`<section class="card empty"><p>No checkpoints yet.</p></section>`;
  const metric = fit.best?.metric ?? "loss";
  const [chosen, evaluated] = ["predict", "evaluate"].map((name) => found.find((each) => each.id === route.value.query[name]));
  return html`${chosen && html`<${Predict} key=${chosen.id} fit=${fit} checkpoint=${chosen} />`}
  ${evaluated && html`<${Evaluate} key=${evaluated.id} fit=${fit} checkpoint=${evaluated} />`}
  <section class="card">
    <div class="scroll" tabindex="0" role="region" aria-label="Checkpoints">
    <table>
      <thead><tr><th>Checkpoint</th><th class="number">Step</th><th class="number">Epoch</th><th class="number">${formatKey(metric)}</th><th class="number">Size</th><th>Created</th><th>Actions</th></tr></thead>
      <tbody>${found.map(
        (each) => html`<tr key=${each.id}>
          <td class="mono">${shortId(each.id)} ${each.is_best && html`<span class="chip state-succeeded"><span aria-hidden="true">★</span> best</span>`}${each.corrupt && html`<span class="chip state-failed">damaged</span>`}</td>
          <td class="number num">${formatNumber(each.step)}</td>
          <td class="number num">${formatNumber(each.epoch)}</td>
          <td class="number num">${each.nonfinite[metric] ?? formatNumber(each.metrics[metric])}</td>
          <td class="number num">${formatBytes(each.size_bytes)}</td>
          <td class="muted nowrap" title=${formatTime(each.created_at)}>${formatAge(each.created_at)}</td>
          <td class="nowrap"><${Download} checkpoint=${each} /> <button aria-pressed=${each === chosen} onClick=${() => setQuery({ predict: each === chosen ? "" : each.id, evaluate: "" })}>Predict</button> <button aria-pressed=${each === evaluated} onClick=${() => setQuery({ evaluate: each === evaluated ? "" : each.id, predict: "" })}>Evaluate</button> <button onClick=${() => fork(fit, each)}>Fork</button></td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}

function Download({ checkpoint }) {
  const path = `v1/checkpoints/${checkpoint.id}/content`;
  const name = `${checkpoint.id}.safetensors`;
  // Without a key the browser can download by itself, without holding the file in memory.
  if (!storedKey()) return html`<a class="button" href=${addressOf(path)} download=${name}>Download</a>`;
  const download = async () => {
    try {
      saveBlob(await (await send(path)).blob(), name);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify(error);
    }
  };
  return html`<button onClick=${download}>Download</button>`;
}

async function fork(fit, checkpoint) {
  const forked = await forkFit(fit, checkpoint);
  if (forked) navigate(["fits", forked.id]);
}
