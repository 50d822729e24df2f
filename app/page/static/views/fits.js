/** The table of all fits: filter, search, sort, choose several. */

import { html, useEffect, useMemo, useState } from "../lib/ui.js";
import { ACTIONS, act } from "../lib/actions.js";
import { findOlder, fits, nameOf, names, refreshFits, refreshNames } from "../lib/fits.js";
import { formatAge, formatCount, formatKey, formatNumber, formatTime, shortId } from "../lib/format.js";
import { usePolling } from "../lib/poll.js";
import { hashOf, navigate, route, setQuery } from "../lib/route.js";
import { Sparkline } from "../parts/sparkline.js";
import { Progress, StateChip, STATES, timeText } from "../parts/state.js";
import { Rows } from "../parts/rows.js";
import { Welcome } from "./welcome.js";

const EVERY = 2;
const NAMES_EVERY = 30;

/** Columns with what they sort by. */
const COLUMNS = [
  { key: "name", label: "Fit", value: (fit) => nameOf(fit).toLowerCase() },
  { key: "state", label: "State", value: (fit) => STATES.indexOf(fit.state) },
  { key: "progress", label: "Progress", value: (fit) => fit.progress, wide: true },
  { key: "time", label: "Time", value: (fit) => fit.eta_seconds ?? fit.running_seconds },
  { key: "owner", label: "Owner", value: ownerOf, wide: true, optional: true },
  { key: "loss", label: "Loss", value: (fit) => fit.latest.loss, number: true },
  { key: "val_loss", label: "Val. loss", value: (fit) => fit.latest.val_loss, number: true, wide: true },
  { key: "metric", label: "Metric", value: metricValue, number: true, wide: true },
  { key: "created", label: "Created", value: (fit) => fit.id, wide: true },
];

function headOf(key) {
  const text = formatKey(key).replace("validation", "val.");
  return text[0].toUpperCase() + text.slice(1);
}

/** The columns of the chosen curves come before that of the loss. */
function columnsOf(curves, owned) {
  const at = COLUMNS.findIndex((column) => column.key === "loss");
  const drawn = curves.map((key) => ({ key: `curve ${key}`, label: headOf(key), wide: true }));
  return [...COLUMNS.slice(0, at), ...drawn, ...COLUMNS.slice(at)].filter((column) => owned || !column.optional);
}

export function FitsView() {
  const [chosen, setChosen] = useState(() => new Set());
  usePolling(refreshFits, EVERY);
  usePolling(refreshNames, NAMES_EVERY);
  const all = fits.value;
  const { query } = route.value;
  useEffect(() => void findOlder(query).catch(() => undefined), [query.q, query.state]);
  const shown = useMemo(
    () => (all === null ? [] : sorted(filtered([...all.values()], query), query.sort ?? "-created")),
    [all, query, names.value],
  );
  if (all === null) return html`<p class="loading" role="status">Reading fits …</p>`;
  if (all.size === 0 && !query.q && !query.state) return html`<${Welcome} />`;
  const owned = [...all.values()].some(ownerOf);
  const curves = (query.curve ?? "loss").split(",").filter(Boolean);
  const selected = shown.filter((fit) => chosen.has(fit.id));
  const toggle = (id) => setChosen((before) => flip(before, id));
  const toggleAll = () => setChosen(selected.length === shown.length ? new Set() : new Set(shown.map((fit) => fit.id)));
  return html`
    <div class="bar">
      <h1>Fits</h1>
      <${Search} value=${query.q ?? ""} />
      <${CurveChoice} all=${[...all.values()]} chosen=${curves} />
      <${States} all=${[...all.values()]} chosen=${query.state ?? ""} />
    </div>
    <${Selection} selected=${selected} clear=${() => setChosen(new Set())} />
    <${Rows} items=${shown} label="Fits" empty="No fit matches the filter."
      head=${html`<${Head} sort=${query.sort ?? "-created"} all=${shown.length > 0 && selected.length === shown.length} some=${selected.length > 0} toggleAll=${toggleAll} columns=${columnsOf(curves, owned)} />`}
      row=${(fit) => html`<${Row} key=${fit.id} fit=${fit} chosen=${chosen.has(fit.id)} toggle=${toggle} owned=${owned} curves=${curves} />`} />
    <p class="muted count" role="status">${shown.length === all.size ? formatCount(all.size, "fit") : `${shown.length} of ${formatCount(all.size, "fit")}`}</p>`;
}

function Search({ value }) {
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
      event.preventDefault();
      document.getElementById("search").focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return html`<input id="search" type="search" value=${value} placeholder="Search names, labels, ids   /" aria-label="Search fits"
    onInput=${(event) => setQuery({ q: event.target.value })} />`;
}

function States({ all, chosen }) {
  const counts = new Map();
  for (const fit of all) counts.set(fit.state, (counts.get(fit.state) ?? 0) + 1);
  const present = STATES.filter((state) => counts.has(state) || state === chosen);
  return html`<div class="filters" role="group" aria-label="Filter by state">
    ${present.map(
      (state) => html`<button key=${state} class="filter" aria-pressed=${state === chosen} onClick=${() => setQuery({ state: state === chosen ? "" : state })}>
        ${state} <span class="num">${counts.get(state) ?? 0}</span></button>`,
    )}
  </div>`;
}

function Selection({ selected, clear }) {
  if (selected.length === 0) return null;
  const compare = hashOf(["compare"], { fits: selected.map((fit) => fit.id).join(",") });
  return html`<div class="selection" role="toolbar" aria-label="Actions for the selected fits">
    <strong>${selected.length} selected</strong>
    <a class="button" href=${compare}>Compare</a>
    ${ACTIONS.map((action) => {
      const possible = selected.some(action.fits);
      return html`<button key=${action.name} class=${action.danger ? "danger" : ""} disabled=${!possible} onClick=${() => act(action, selected)}>${action.label}</button>`;
    })}
    <button class="quiet" onClick=${clear}>Clear</button>
  </div>`;
}

function Head({ sort, all, some, toggleAll, columns }) {
  const [key, down] = sort.startsWith("-") ? [sort.slice(1), true] : [sort, false];
  return html`<tr>
    <th class="check"><input type="checkbox" aria-label="Select all fits" checked=${all} ref=${(box) => box && (box.indeterminate = some && !all)} onChange=${toggleAll} /></th>
    ${columns.map((column) => {
      const active = column.key === key;
      return html`<th key=${column.key} class=${cellClass(column)} aria-sort=${active ? (down ? "descending" : "ascending") : undefined}>
        ${column.value
          ? html`<button class="sort" onClick=${() => setQuery({ sort: active && !down ? `-${column.key}` : column.key })}>${column.label}<span aria-hidden="true">${active ? (down ? " ↓" : " ↑") : ""}</span></button>`
          : column.label}
      </th>`;
    })}
  </tr>`;
}

function Row({ fit, chosen, toggle, owned, curves }) {
  const name = nameOf(fit);
  const open = (event) => {
    if (!event.target.closest("a, button, input")) navigate(["fits", fit.id]);
  };
  return html`<tr class=${chosen ? "chosen" : ""} onClick=${open}>
    <td class="check"><input type="checkbox" checked=${chosen} aria-label=${`Select ${name} ${shortId(fit.id)}`} onChange=${() => toggle(fit.id)} /></td>
    <td class="name"><a href=${hashOf(["fits", fit.id])}>${name} <small class="muted mono">${shortId(fit.id)}</small></a><${Labels} labels=${fit.labels} /></td>
    <td><${StateChip} state=${fit.state} phase=${fit.phase} />${fit.attempt > 1 && html`<small class="muted attempt">attempt ${fit.attempt}</small>`}</td>
    <td class="wide"><${Progress} fit=${fit} /></td>
    <td class="num nowrap">${timeText(fit)}</td>
    ${owned && html`<td class="wide">${ownerOf(fit) ?? "–"}</td>`}
    ${curves.map((curve) => html`<td key=${curve} class="wide"><${Sparkline} fit=${fit} metric=${curve} /></td>`)}
    <td class="number num">${formatNumber(fit.latest.loss)}</td>
    <td class="number num wide">${formatNumber(fit.latest.val_loss)}</td>
    <td class="number num wide" title=${formatKey(metricName(fit))}>${formatNumber(metricValue(fit))}</td>
    <td class="wide nowrap muted" title=${formatTime(fit.created_at)}>${formatAge(fit.created_at)}</td>
  </tr>`;
}

/** Whose fit it is, as far as its labels say. */
function ownerOf(fit) {
  return fit.labels.owner ?? fit.labels.user;
}

/** The values whose curves are shown, of those that the fits have. */
function CurveChoice({ all, chosen }) {
  const keys = [...new Set([...all.flatMap((fit) => Object.keys(fit.latest)), ...chosen])].filter((key) => !key.includes("/"));
  const choose = (key) => {
    const curves = keys.filter((each) => (each === key ? !chosen.includes(key) : chosen.includes(each)));
    setQuery({ curve: curves.join() === "loss" ? "" : curves.join() || "," });
  };
  const leave = (event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.open = false;
  };
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    event.currentTarget.querySelector("summary").focus();
  };
  return html`<details class="menu" onFocusOut=${leave} onKeyDown=${escape}><summary>Curves <span class="num muted">${chosen.length}</span></summary>
    <div class="menu-items" tabindex="-1" role="group" aria-label="Values that are drawn">${keys.map((key) => html`<label key=${key}><input type="checkbox" checked=${chosen.includes(key)} onChange=${() => choose(key)} /> ${formatKey(key)}</label>`)}</div>
  </details>`;
}

/** The labels of a fit; a label is a filter. */
export function Labels({ labels }) {
  const shown = Object.entries(labels).filter(([key]) => key !== "name");
  if (shown.length === 0) return null;
  return html`<span class="labels">${shown.map(
    ([key, value]) => html`<a class="label" key=${key} href=${hashOf(["fits"], { q: `${key}:${value}` })}>${key}:${value}</a>`,
  )}</span>`;
}

function filtered(all, { q = "", state = "" }) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((fit) => {
    if (state && fit.state !== state) return false;
    if (words.length === 0) return true;
    const labels = Object.entries(fit.labels).map(([key, value]) => `${key}:${value}`);
    const text = [nameOf(fit), fit.id, fit.state, names.value.get(fit.dataset) ?? "", ...labels].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function sorted(all, sort) {
  const down = sort.startsWith("-");
  const column = COLUMNS.find((each) => each.key === sort.replace(/^-/, ""));
  if (!column?.value) return all;
  const missing = (value) => value === null || value === undefined;
  return all.sort((one, other) => {
    const [left, right] = [column.value(one), column.value(other)];
    if (missing(left) || missing(right)) return missing(left) - missing(right);
    const order = left < right ? -1 : left > right ? 1 : one.id < other.id ? 1 : -1;
    return down ? -order : order;
  });
}

/** Return the name of the first metric beside the loss, that of the validation rows if there are any. */
function metricName(fit) {
  const metric = fit.request.metrics?.[0];
  const name = typeof metric === "string" ? metric : (metric?.name ?? metric?.kind);
  if (!name) return "";
  return `val_${name}` in fit.latest ? `val_${name}` : name;
}

function metricValue(fit) {
  return fit.latest[metricName(fit)];
}

function cellClass(column) {
  return [column.key === "name" ? "name" : "", column.number ? "number" : "", column.wide ? "wide" : ""].join(" ").trim();
}

function flip(before, id) {
  const after = new Set(before);
  if (!after.delete(id)) after.add(id);
  return after;
}
