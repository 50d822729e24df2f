/** The plan of a step as a time line: what runs when, which memory holds what, and what shards run side by side. */

import { html, useEffect, useMemo, useRef, useState } from "../lib/ui.js";
import { formatBytes, formatCount, formatNumber, formatShape } from "../lib/format.js";
import { layersOf } from "../lib/graph-model.js";
import { livesOf, liveBytes } from "../lib/plan-memory.js";
import { runsOf } from "../lib/plan-layers.js";
import { useResource } from "../lib/poll.js";
import { route, setQuery } from "../lib/route.js";
import { seriesColor } from "../lib/theme.js";
import { problemText } from "../parts/dialog.js";
import { Rows } from "../parts/rows.js";
import { formatFlops } from "./graph-structure.js";

const EXECUTORS = ["auto", "native", "numpy"];
const MEMORY_HEIGHT = 190;
const LIVE_HEIGHT = 74;
const LANE = 20;
const LEFT = 64;
/** Width of a letter, and the fewest letters that a name is shortened to. */
const LETTER = 6.4;
const LETTERS_MIN = 5;

/** @param {{graph: any, batch: number, optimizer: string}} props */
export function GraphPlan({ graph, batch, optimizer }) {
  const { query } = route.value;
  const executor = EXECUTORS.includes(query.executor) ? query.executor : "auto";
  const { data: plan, problem } = useResource(`v1/graphs/${graph.id}/plan?${stepQuery(batch, optimizer)}&executor=${executor}`);
  return html`
    <div class="controls" role="group" aria-label="Plan">
      <label>Executor <select value=${executor} onChange=${(event) => setQuery({ executor: event.target.value === "auto" ? "" : event.target.value })}>${EXECUTORS.map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
      <span class="segments" role="group" aria-label="Width of a step">${["steps", "FLOPs"].map((each) => html`<button key=${each} aria-pressed=${(query.by === "flops") === (each === "FLOPs")} onClick=${() => setQuery({ by: each === "FLOPs" ? "flops" : "" })}>by ${each}</button>`)}</span>
    </div>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}
    ${plan === null ? !problem && html`<p class="loading" role="status">Planning the step …</p>` : html`<${Plan} plan=${plan} graph=${graph} />`}`;
}

/**
 * The query that names a step: its rows, and its optimizer unless it is an evaluation.
 * @param {number} batch
 * @param {string} optimizer
 */
export function stepQuery(batch, optimizer) {
  return `batch=${batch}${optimizer && optimizer !== "none" ? `&optimizer=${encodeURIComponent(optimizer)}` : ""}`;
}

function Plan({ plan, graph }) {
  const { query } = route.value;
  const runs = useMemo(() => runsOf(plan.steps, layersOf(graph.definition)), [plan, graph]);
  const memory = useMemo(() => {
    const lives = livesOf(plan);
    return { lives, bytes: liveBytes(lives, plan.steps.length) };
  }, [plan]);
  const step = Math.min(plan.steps.length - 1, Math.max(0, Number(query.step ?? 0) || 0));
  const choose = (index) => setQuery({ step: index || "" });
  return html`
    <dl class="figures">
      <div><dt>Steps</dt><dd class="num">${formatNumber(plan.steps.length)}</dd></div>
      <div><dt>Executor</dt><dd>${plan.executor}</dd></div>
      <div><dt>Work</dt><dd class="num">${formatFlops(plan.flops)}</dd></div>
      <div><dt>Peak memory</dt><dd class="num">${formatBytes(plan.peak_bytes)}</dd></div>
      <div><dt>Shared arena</dt><dd class="num">${formatBytes(plan.arena_bytes)}</dd></div>
      <div><dt>Shards</dt><dd class="num">${plan.shards} <small class="muted">in ${formatCount(plan.phases.length, "phase")}</small></dd></div>
      <div><dt>Fused groups</dt><dd class="num">${formatNumber(plan.fused_groups.length)}</dd></div>
      ${plan.numpy_steps && html`<div><dt>Left to NumPy</dt><dd class="num">${formatNumber(plan.numpy_steps.length)}</dd></div>`}
    </dl>
    <${TimeLine} plan=${plan} runs=${runs} memory=${memory} step=${step} choose=${choose} byFlops=${query.by === "flops"} />
    ${plan.steps.length > 0 && html`<label class="field step-field">Step ${step} of ${plan.steps.length - 1}
      <input type="range" min="0" max=${plan.steps.length - 1} value=${step} onInput=${(event) => choose(Number(event.target.value))} aria-valuetext=${`step ${step}, ${plan.steps[step].op}`} /></label>
      <${StepDetails} plan=${plan} index=${step} bytes=${memory.bytes[step]} layer=${runs.byStep[step]} />`}
    <h2>Steps in order</h2>
    <${Steps} plan=${plan} bytes=${memory.bytes} layers=${runs.byStep} />`;
}

function TimeLine({ plan, runs, memory, step, choose, byFlops }) {
  const frame = useRef(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const shown = frame.current;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, shown.clientWidth)));
    observer.observe(shown);
    return () => observer.disconnect();
  }, []);
  const across = useMemo(() => scaleOf(plan, width - LEFT - 4, byFlops), [plan, width, byFlops]);
  const picture = useMemo(() => html`<${Picture} plan=${plan} runs=${runs} memory=${memory} across=${across} width=${width} />`, [plan, runs, memory, across, width]);
  const height = 4 * LANE + LIVE_HEIGHT + MEMORY_HEIGHT + 40;
  const pick = (event) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    const index = across.findIndex((start, place) => x >= start && x < (across[place + 1] ?? Infinity));
    if (index >= 0 && index < plan.steps.length) choose(index);
  };
  return html`<div class="plan-frame" ref=${frame}>
    <svg class="plan" width=${width} height=${height} role="img" aria-label=${summaryOf(plan, memory)} onClick=${pick}>
      ${picture}
      ${plan.steps.length > 0 && html`<rect class="cursor" x=${LEFT + across[step]} y="0" width=${Math.max(1.5, across[step + 1] - across[step])} height=${height - 16} />`}
    </svg></div>`;
}

function Picture({ plan, runs, memory, across, width }) {
  const colors = colorsOf(plan);
  const top = Math.max(1, ...memory.bytes);
  const arena = Math.max(1, plan.arena_bytes, ...memory.lives.map((life) => life.to));
  const liveTop = 4 * LANE + 6;
  const memoryTop = liveTop + LIVE_HEIGHT + 18;
  const x = (index) => LEFT + across[index];
  const level = (bytes) => liveTop + LIVE_HEIGHT - (bytes / top) * (LIVE_HEIGHT - 4);
  const live = memory.bytes.map((bytes, index) => `L${x(index).toFixed(1)} ${level(bytes).toFixed(1)}L${x(index + 1).toFixed(1)} ${level(bytes).toFixed(1)}`).join("");
  const floor = liveTop + LIVE_HEIGHT;
  return html`
    <text x="0" y="14">layers</text>
    ${runs.runs.map((run) => html`<${Run} key=${run.first} run=${run} left=${x(run.first)} width=${Math.max(0.8, x(run.last + 1) - x(run.first) - 0.6)} />`)}
    <text x="0" y=${LANE + 14}>ops</text>
    ${plan.steps.map((each, index) => html`<rect key=${index} x=${x(index)} y=${LANE + 2} width=${Math.max(0.8, x(index + 1) - x(index) - 0.4)} height=${LANE - 5} fill=${colors.get(each.op)}><title>${index} ${each.op}</title></rect>`)}
    <text x="0" y=${2 * LANE + 14}>fused</text>
    ${plan.fused_groups.map((group) => html`<rect key=${group[0]} class="fused" x=${x(Math.min(...group))} y=${2 * LANE + 2} width=${Math.max(1, x(Math.max(...group) + 1) - x(Math.min(...group)))} height=${LANE - 5} rx="3"><title>steps ${group.join(", ")} run as one, block by block</title></rect>`)}
    <text x="0" y=${3 * LANE + 14}>phases</text>
    ${plan.phases.map((phase) => html`<rect key=${phase.steps[0]} class=${phase.sharded ? "phase sharded" : "phase"} x=${x(phase.steps[0])} y=${3 * LANE + 2} width=${Math.max(1, x(phase.steps.at(-1) + 1) - x(phase.steps[0]) - 1)} height=${LANE - 5} rx="3"><title>${phase.sharded ? `by each of ${plan.shards} shards` : "by one thread"}</title></rect>`)}
    <text x="0" y=${liveTop + 12}>live</text><text x="0" y=${liveTop + 26} class="small">${formatBytes(top)}</text>
    <path class="live" d="M${x(0)} ${floor}${live}L${x(plan.steps.length)} ${floor}Z" />
    <text x="0" y=${memoryTop + 12}>arena</text><text x="0" y=${memoryTop + 26} class="small">${formatBytes(arena)}</text>
    <rect class="arena" x=${LEFT} y=${memoryTop} width=${Math.max(0, width - LEFT - 4)} height=${MEMORY_HEIGHT} />
    ${memory.lives.map((life) => html`<rect key=${life.buffer.name} x=${x(life.first)} y=${memoryTop + (life.from / arena) * MEMORY_HEIGHT} width=${Math.max(0.8, x(life.last + 1) - x(life.first))} height=${Math.max(0.6, ((life.to - life.from) / arena) * MEMORY_HEIGHT)} fill=${colors.get(plan.steps[life.first].op)} class="buffer"><title>${life.buffer.name} ${formatShape(life.buffer.shape)} ${life.buffer.dtype}: steps ${life.first} to ${life.last}</title></rect>`)}`;
}

/** Steps of one layer that follow one another; the name is written where there is room for it or its beginning. */
function Run({ run, left, width }) {
  const name = run.layer || run.kind;
  const room = Math.floor((width - 5) / LETTER);
  return html`<g class="run ${run.kind}"><title>${`${describeOrigin(run)}: ${run.first === run.last ? `step ${run.first}` : `steps ${run.first} to ${run.last}`}`}</title>
    <rect x=${left} y="1" width=${width} height=${LANE - 3} rx="3" />
    ${room >= Math.min(name.length, LETTERS_MIN) && html`<text x=${left + width / 2} y="14" text-anchor="middle">${name.length > room ? `${name.slice(0, room - 1)}…` : name}</text>`}</g>`;
}

function StepDetails({ plan, index, bytes, layer }) {
  const step = plan.steps[index];
  const buffers = useMemo(() => new Map(plan.buffers.map((buffer) => [buffer.name, buffer])), [plan]);
  const phase = plan.phases.findIndex((each) => each.steps.includes(index));
  const group = plan.fused_groups.find((each) => each.includes(index));
  const text = (names) => names.map((name) => `${name} ${buffers.has(name) ? formatShape(buffers.get(name).shape) : ""}`).join(" · ");
  const facts = {
    Layer: layer || "–",
    Pass: step.kind,
    ...(step.definition_node && step.definition_node !== layer ? { Node: step.definition_node } : {}),
    Reads: text(step.inputs) || "–",
    Writes: text(step.outputs) + (step.inplace ? " (over an input)" : ""),
    Work: formatFlops(step.flops),
    "Live in the arena": formatBytes(bytes),
    "Runs in": phase < 0 ? "–" : `phase ${phase}, ${plan.phases[phase].sharded ? `by each of ${plan.shards} shards` : "by one thread"}`,
    ...(group ? { "Fused with": `steps ${group.filter((each) => each !== index).join(", ")}` } : {}),
    ...(Object.keys(step.attrs).length ? { Attributes: JSON.stringify(step.attrs) } : {}),
  };
  return html`<div class="step-details"><h2>Step ${index}: <span class="mono">${step.op}</span></h2>
    <dl class="facts">${Object.entries(facts).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="mono">${value}</dd></div>`)}</dl></div>`;
}

function Steps({ plan, bytes, layers }) {
  const fused = new Map(plan.fused_groups.flatMap((group, number) => group.map((index) => [index, number])));
  const shapes = new Map(plan.buffers.map((buffer) => [buffer.name, buffer.shape]));
  const items = useMemo(() => plan.steps.map((step, index) => ({ step, index })), [plan]);
  const row = ({ step, index }) => html`<tr key=${index} onClick=${() => setQuery({ step: index || "" })}>
    <td class="number num">${index}</td><th scope="row" class="mono">${step.op}</th>
    <td class="mono">${layers[index] || "–"}</td><td>${step.kind}</td>
    <td class="mono nowrap">${formatShape(shapes.get(step.outputs[0]) ?? [])}</td>
    <td class="number num">${formatFlops(step.flops)}</td><td class="number num">${formatBytes(bytes[index])}</td>
    <td>${step.inplace ? "in place" : ""}${fused.has(index) ? ` group ${fused.get(index)}` : ""}</td></tr>`;
  return html`<${Rows} items=${items} row=${row} label="Steps of the plan" empty="The plan has no steps."
    head=${html`<tr><th class="number">Step</th><th>Op</th><th>Layer</th><th>Pass</th><th>Writes</th><th class="number">Work</th><th class="number">Live</th><th>Memory, fusion</th></tr>`} />`;
}

/**
 * Write which layer and pass steps belong to.
 * @param {{layer: string, kind: string}} origin
 */
function describeOrigin({ layer, kind }) {
  return layer ? `${layer}, ${kind}` : kind;
}

/** Return where each step begins, in pixels; by their work none is narrower than a sixth of the mean. */
function scaleOf(plan, width, byFlops) {
  const mean = plan.flops / Math.max(1, plan.steps.length);
  const weights = plan.steps.map((step) => (byFlops ? Math.max(step.flops, mean / 6, 1) : 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const starts = [0];
  for (const weight of weights) starts.push(starts.at(-1) + (weight / total) * width);
  return starts;
}

function colorsOf(plan) {
  const ops = [...new Set(plan.steps.map((step) => step.op))];
  return new Map(ops.map((op, index) => [op, seriesColor(index)]));
}

function summaryOf(plan, { bytes }) {
  const top = bytes.indexOf(Math.max(...bytes));
  return `Time line of ${plan.steps.length} steps. Most memory is live at step ${top}, ${plan.steps[top]?.op ?? ""}: ${formatBytes(bytes[top] ?? 0)} of the arena.`;
}
