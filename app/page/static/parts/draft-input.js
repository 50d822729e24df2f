/** A field whose value is taken when it is left or Enter is pressed; until then a new rendering keeps what is typed. */

import { html, useState } from "../lib/ui.js";

/** @param {{value: string | number, onCommit: (text: string) => void}} props - and those of the field */
export function DraftInput({ value, onCommit, ...props }) {
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const commit = (event) => {
    setDraft(null);
    onCommit(event.target.value);
  };
  return html`<input ...${props} value=${draft ?? value} onInput=${(event) => setDraft(event.target.value)} onChange=${commit} />`;
}
