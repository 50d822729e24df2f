/** A text field in which places are marked; the marks lie behind the text, so that it stays a field of the browser. */

import { html, useRef } from "../lib/ui.js";

/** @typedef {{from: number, to: number, detail: string}} Mark */

/**
 * @param {{label: string, text: string, marks: Mark[], onInput: (text: string) => void, onRun: () => void, rows: number, describedBy: string}} props
 */
export function MarkedEditor({ label, text, marks, onInput, onRun, rows, describedBy }) {
  const behind = useRef(null);
  const follow = (event) => {
    behind.current.scrollTop = event.target.scrollTop;
    behind.current.scrollLeft = event.target.scrollLeft;
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun();
    }
  };
  return html`<div class="editor">
    <pre class="editor-marks" aria-hidden="true" ref=${behind}>${pieces(text, marks)}${"\n"}</pre>
    <textarea id="editor" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off" rows=${rows} value=${text} aria-label=${label}
      aria-invalid=${marks.length > 0} aria-describedby=${describedBy} onInput=${(event) => onInput(event.target.value)} onScroll=${follow} onKeyDown=${onKeyDown}></textarea>
  </div>`;
}

/**
 * Move the cursor of the editor to a place.
 * @param {Mark} mark
 */
export function showMark(mark) {
  const field = document.getElementById("editor");
  field.focus();
  field.setSelectionRange(mark.from, mark.to);
}

function pieces(text, marks) {
  const found = [];
  let last = 0;
  for (const { from, to } of [...marks].sort((one, other) => one.from - other.from)) {
    if (from < last) continue;
    const end = Math.max(to, from + 1);
    found.push(text.slice(last, from), html`<mark key=${from}>${text.slice(from, end).replace("\n", " \n") || " "}</mark>`);
    last = end;
  }
  return [...found, text.slice(last)];
}
