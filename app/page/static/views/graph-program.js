/** The NumPy program of a step, and other forms of the graph to take away. */

import { html, saveBlob, useEffect, useState } from "../lib/ui.js";
import { Problem, send } from "../lib/api.js";
import { notify, problemText } from "../parts/dialog.js";
import { Copyable } from "../parts/copyable.js";
import { stepQuery } from "./graph-plan.js";

/** @param {{graph: any, batch: number, optimizer: string}} props */
export function GraphProgram({ graph, batch, optimizer }) {
  const [text, setText] = useState(null);
  const [problem, setProblem] = useState(null);
  const path = `v1/graphs/${graph.id}/program?${stepQuery(batch, optimizer)}`;
  useEffect(() => {
    let current = true;
    setText(null);
    setProblem(null);
    read(path).then(
      (found) => current && setText(found),
      (error) => current && setProblem(error),
    );
    return () => (current = false);
  }, [path]);
  const name = (graph.name || "graph").replace(/[^\w.-]+/g, "_");
  return html`
    <p class="muted">A script that needs NumPy only and runs the step on its own, with the same bits as the NumPy executor. <code>python ${name}.py --help</code> prints its options.</p>
    <div class="buttons left">
      <button onClick=${() => save(path, `${name}.py`)}>Download the script</button>
      <button onClick=${() => save(`v1/graphs/${graph.id}/text?backward=true`, `${name}.txt`)}>Graph as text</button>
      <button onClick=${() => save(`v1/graphs/${graph.id}/dot?backward=true`, `${name}.dot`)}>Graph for Graphviz</button>
      <button onClick=${() => save(`v1/graphs/${graph.id}/plan/dot?${stepQuery(batch, optimizer)}`, `${name}-plan.dot`)}>Plan for Graphviz</button>
    </div>
    ${problem && html`<p class="problem" role="alert">${problemText(problem)}</p>`}
    ${text === null ? !problem && html`<p class="loading" role="status">Writing the script …</p>` : html`<${Copyable} text=${text} label="NumPy program" />`}`;
}

async function read(path) {
  return (await send(path)).text();
}

async function save(path, name) {
  try {
    saveBlob(new Blob([await read(path)], { type: "text/plain" }), name);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
  }
}
