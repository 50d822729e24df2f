/** Questions in a modal dialog, and short messages at the edge of the page. */

import { html, signal, useEffect, useRef } from "../lib/ui.js";
import { Problem } from "../lib/api.js";

/** @typedef {{name: string, label: string, type?: string, value?: string, min?: string, help?: string}} Field */
/** @typedef {{title: string, text: string, detail?: string, action: string, danger?: boolean, fields?: Field[]}} Question */

const question = signal(/** @type {(Question & {resolve: (answer: any) => void}) | null} */ (null));
const messages = signal(/** @type {{id: number, text: string, bad: boolean}[]} */ ([]));
const SHOWN_FOR = 6000;
let count = 0;

/**
 * Ask a question; returns the values of its fields, or null if the reader cancels.
 * @param {Question} asked
 * @returns {Promise<Record<string, string> | null>}
 */
export function ask(asked) {
  return new Promise((resolve) => {
    question.value = { ...asked, resolve };
  });
}

/**
 * Show a message for some seconds; a problem until it is closed.
 * @param {string | Error} message
 */
export function notify(message) {
  count += 1;
  const id = count;
  const bad = message instanceof Error;
  const text = bad ? problemText(message) : message;
  messages.value = [...messages.value.slice(-3), { id, text, bad }];
  if (!bad) setTimeout(() => dismiss(id), SHOWN_FOR);
}

/**
 * Write a problem with the places that it names.
 * @param {Error} problem
 * @returns {string}
 */
export function problemText(problem) {
  const errors = problem instanceof Problem ? problem.errors : [];
  const places = errors.filter((each) => each.pointer && !problem.message.includes(each.detail));
  return [problem.message, ...places.slice(0, 5).map((each) => `${each.pointer}: ${each.detail}`)].join(" · ");
}

function dismiss(id) {
  messages.value = messages.value.filter((each) => each.id !== id);
}

/** The dialog and the messages; once on the page. */
export function Dialogs() {
  return html`
    ${question.value && html`<${QuestionDialog} key=${question.value.title} asked=${question.value} />`}
    <div class="messages" role="status">
      ${messages.value.map(
        (each) => html`<div class=${each.bad ? "message bad" : "message"} key=${each.id}>
          <span>${each.text}</span>
          <button class="icon" aria-label="Close message" onClick=${() => dismiss(each.id)}>✕</button>
        </div>`,
      )}
    </div>`;
}

function QuestionDialog({ asked }) {
  const dialog = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown.showModal();
    // What is behind an open modal dialog cannot take the focus: it is closed first.
    return () => {
      shown.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const close = (answer) => {
    question.value = null;
    asked.resolve(answer);
  };
  const submit = (event) => {
    event.preventDefault();
    close(Object.fromEntries(new FormData(event.target)));
  };
  return html`<dialog ref=${dialog} aria-labelledby="question-title" onCancel=${() => close(null)}>
    <form onSubmit=${submit}>
      <h2 id="question-title">${asked.title}</h2>
      <p>${asked.text}</p>
      ${asked.detail && html`<p class="muted">${asked.detail}</p>`}
      ${(asked.fields ?? []).map(
        (field) => html`<label class="field" key=${field.name}>${field.label}
          <input name=${field.name} type=${field.type ?? "text"} defaultValue=${field.value ?? ""} min=${field.min} required />
          ${field.help && html`<small>${field.help}</small>`}
        </label>`,
      )}
      <div class="buttons">
        <button type="button" onClick=${() => close(null)}>Keep as it is</button>
        <button class=${asked.danger ? "danger" : "primary"}>${asked.action}</button>
      </div>
    </form>
  </dialog>`;
}
