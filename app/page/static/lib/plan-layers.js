/** The layers that the steps of a plan come from. */

/** @typedef {{layer: string, kind: string, first: number, last: number}} Run */

/**
 * Return the layer of each step, "" for a step of none, and the runs of steps of one layer and pass.
 * @param {{definition_node: string | null, kind: string}[]} steps
 * @param {Map<string, string>} layers - by the names of nodes
 * @returns {{byStep: string[], runs: Run[]}}
 */
export function runsOf(steps, layers) {
  const byStep = steps.map((step) => layers.get(step.definition_node ?? "") ?? step.definition_node ?? "");
  /** @type {Run[]} */
  const runs = [];
  byStep.forEach((layer, index) => {
    const { kind } = steps[index];
    const last = runs.at(-1);
    if (last?.layer === layer && last.kind === kind) last.last = index;
    else runs.push({ layer, kind, first: index, last: index });
  });
  return { byStep, runs };
}
