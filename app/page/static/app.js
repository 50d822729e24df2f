/** The page: its frame, and the view that the address names. */

import { html, render, useEffect, useState } from "./lib/ui.js";
import { connected, keyNeeded, request, storedKey, storeKey } from "./lib/api.js";
import { visible, usePolling } from "./lib/poll.js";
import { lazy } from "./lib/lazy.js";
import { hashOf, route } from "./lib/route.js";
import { dark, toggleTheme } from "./lib/theme.js";
import { Dialogs } from "./parts/dialog.js";
import { SignIn } from "./views/sign-in.js";
import { FitsView } from "./views/fits.js";
import { FitView } from "./views/fit.js";
import { DatasetsView } from "./views/datasets.js";
import { DatasetView } from "./views/dataset.js";
import { CompareView } from "./views/compare.js";
import { SystemView } from "./views/system.js";

const GraphsView = lazy(() => import("./views/graphs.js"), "GraphsView");
const GraphView = lazy(() => import("./views/graph.js"), "GraphView");
const PlaygroundView = lazy(() => import("./views/playground.js"), "PlaygroundView");

const SYSTEM_EVERY = 10;
const SECTIONS = [
  { path: "fits", label: "Fits" },
  { path: "graphs", label: "Graphs" },
  { path: "playground", label: "Playground" },
  { path: "datasets", label: "Datasets" },
  { path: "system", label: "System" },
];

function App() {
  const { path } = route.value;
  const section = path[0] ?? "fits";
  useEffect(() => {
    document.title = `${SECTIONS.find((each) => each.path === section)?.label ?? "Adjoint"} · Adjoint`;
  }, [section]);
  if (keyNeeded.value) return html`<${SignIn} /><${Dialogs} />`;
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="top">
      <a class="brand" href=${hashOf(["fits"])}><img src="page/icon.svg" alt="" width="24" height="24" /> Adjoint</a>
      <nav aria-label="Sections">
        ${SECTIONS.map(
          (each) => html`<a href=${hashOf([each.path])} aria-current=${each.path === section ? "page" : undefined}>${each.label}</a>`,
        )}
        <a href="docs" target="_blank" rel="noopener">API</a>
      </nav>
      <${Queue} />
      <button class="icon" onClick=${toggleTheme} aria-label=${dark.value ? "Light colours" : "Dark colours"}>${dark.value ? "☀" : "☾"}</button>
      ${storedKey() && html`<button class="quiet" onClick=${signOut}>Sign out</button>`}
    </header>
    ${!connected.value && html`<p class="banner" role="alert">No connection to the server. The page tries again until it answers.</p>`}
    <main id="main" tabindex="-1"><${View} section=${section} path=${path} /></main>
    <${Dialogs} />`;
}

function View({ section, path }) {
  if (section === "fits" && path[1]) return html`<${FitView} id=${path[1]} tab=${path[2] ?? "curves"} key=${path[1]} />`;
  if (section === "fits") return html`<${FitsView} />`;
  if (section === "graphs" && path[1]) return html`<${GraphView} id=${path[1]} key=${path[1]} />`;
  if (section === "graphs") return html`<${GraphsView} />`;
  if (section === "playground") return html`<${PlaygroundView} />`;
  if (section === "datasets" && path[1]) return html`<${DatasetView} id=${path[1]} key=${path[1]} />`;
  if (section === "datasets") return html`<${DatasetsView} />`;
  if (section === "compare") return html`<${CompareView} />`;
  if (section === "system") return html`<${SystemView} tab=${path[1] ?? "server"} />`;
  return html`<section class="card"><h1>No such view</h1><p>Choose one of the sections above.</p></section>`;
}

function Queue() {
  const [queue, setQueue] = useState(null);
  usePolling(async () => setQueue((await request("v1/system")).queue), SYSTEM_EVERY);
  if (queue === null) return html`<span class="queue"></span>`;
  const live = connected.value && visible.value;
  return html`<span class="queue" title="Fits that are running and that wait for a worker">
    <span class=${live ? "dot live" : "dot"} aria-hidden="true"></span>
    <span class="num">${queue.running}</span> running · <span class="num">${queue.queued}</span> queued</span>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function signOut() {
  storeKey(null);
  location.reload();
}

render(html`<${App} />`, document.getElementById("app"));
