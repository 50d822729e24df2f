/** What can be done with a fit, in which states, and the requests for it. */

import { Problem, request } from "./api.js";
import { dropFit, nameOf, putFit } from "./fits.js";
import { formatCount, shortId } from "./format.js";
import { ask, notify } from "../parts/dialog.js";

/** @typedef {{name: string, label: string, danger?: boolean, question?: string, fits: (fit: any) => boolean}} Action */

const ENDING = ["cancelling", "pausing"];

/** @type {Action[]} */
export const ACTIONS = [
  { name: "pause", label: "Pause", fits: (fit) => !fit.terminal && !ENDING.includes(fit.state) && fit.state !== "paused" },
  { name: "resume", label: "Resume", fits: (fit) => ["paused", "cancelled", "failed"].includes(fit.state) },
  { name: "cancel", label: "Cancel", fits: (fit) => !fit.terminal && fit.state !== "cancelling" },
  {
    name: "kill",
    label: "Kill",
    danger: true,
    question: "The process ends at once and writes no last checkpoint. Steps after the last checkpoint are lost.",
    fits: (fit) => !fit.terminal,
  },
  { name: "rename", label: "Rename", fits: (fit) => fit.parent === null },
  { name: "extend", label: "Extend", fits: (fit) => fit.state === "succeeded" },
  { name: "fork", label: "Fork", fits: (fit) => fit.step > 0 && !fit.sweep },
  {
    name: "delete",
    label: "Delete",
    danger: true,
    question: "Its metric rows, events, checkpoints and gradients are deleted. This cannot be undone.",
    fits: (fit) => fit.terminal,
  },
];

/**
 * Do something with fits, after a question where it cannot be undone; problems are shown.
 * @param {Action} action
 * @param {any[]} chosen
 * @returns {Promise<boolean>} whether it was done for all of them
 */
export async function act(action, chosen) {
  const possible = chosen.filter(action.fits);
  if (action.name === "fork") return forkEach(possible);
  if (action.name === "rename") return renameEach(possible);
  const body = await confirmed(action, possible);
  if (body === null) return false;
  const results = await Promise.all(possible.map((fit) => actOn(action, fit, body)));
  const failed = results.filter((problem) => problem !== null);
  for (const problem of failed.slice(0, 3)) notify(problem);
  if (failed.length === 0) notify(`${action.label}: ${countOf(possible)}`);
  return failed.length === 0;
}

/**
 * Ask for the epochs, and start a fit from a checkpoint.
 * @param {any} fit
 * @param {any} checkpoint
 * @returns {Promise<any>} the new fit, or null if there is none
 */
export async function forkFit(fit, checkpoint) {
  const answer = await ask({
    title: `Start a fit from step ${checkpoint.step} of ${nameOf(fit)}?`,
    text: "A new fit begins with the parameters and the optimizer state of this checkpoint.",
    action: "Start fit",
    fields: [{ name: "epochs", label: "Epochs in all", type: "number", value: String(checkpoint.epoch + (fit.request.epochs ?? 10)), min: "1" }],
  });
  if (answer === null) return null;
  try {
    const json = { from_checkpoint: checkpoint.id, epochs: Number(answer.epochs) };
    const forked = await request("v1/fits", { method: "POST", json });
    putFit(forked);
    return forked;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    notify(error);
    return null;
  }
}

/** Ask for a name of each, one question after the other; an empty one takes it away. */
async function renameEach(chosen) {
  for (const fit of chosen) {
    const answer = await ask({
      title: `Rename ${nameOf(fit)} ${shortId(fit.id)}`,
      text: "Lists show the name, and fits are found by it.",
      action: "Rename",
      fields: [{ name: "name", label: "Name", value: fit.name ?? "" }],
    });
    if (answer === null) return false;
    try {
      putFit(await request(`v1/fits/${fit.id}`, { method: "PATCH", json: { name: answer.name.trim() || null } }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify(error);
      return false;
    }
  }
  return true;
}

/** Start a fit from the latest checkpoint of each, one question after the other. */
async function forkEach(chosen) {
  let made = 0;
  for (const fit of chosen) {
    try {
      if (await forkFit(fit, await request(`v1/fits/${fit.id}/checkpoints/latest`))) made += 1;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      notify(error);
    }
  }
  if (made) notify(`Fork: ${formatCount(made, "fit")} started`);
  return made === chosen.length;
}

/** Return the body of the request; undefined for none, null if the reader says no. */
async function confirmed(action, possible) {
  const title = `${action.label} ${possible.length === 1 ? nameOf(possible[0]) : countOf(possible)}?`;
  if (action.name === "extend") {
    const answer = await ask({
      title,
      text: "The fit continues from its last step.",
      action: "Extend",
      fields: [{ name: "epochs", label: "Further epochs", type: "number", value: "10", min: "1" }],
    });
    return answer && { epochs: Number(answer.epochs) };
  }
  if (!action.question) return undefined;
  const names = possible.slice(0, 5).map((fit) => `${nameOf(fit)} ${shortId(fit.id)}`);
  const rest = possible.length > 5 ? ` and ${possible.length - 5} more` : "";
  const answer = await ask({
    title,
    text: action.question,
    detail: names.join(", ") + rest,
    action: action.label,
    danger: action.danger,
  });
  return answer ? undefined : null;
}

async function actOn(action, fit, body) {
  try {
    if (action.name === "delete") {
      await request(`v1/fits/${fit.id}`, { method: "DELETE" });
      dropFit(fit.id);
    } else {
      putFit(await request(`v1/fits/${fit.id}:${action.name}`, { method: "POST", json: body }));
    }
    return null;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function countOf(possible) {
  return formatCount(possible.length, "fit");
}
