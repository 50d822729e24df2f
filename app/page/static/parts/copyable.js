/** Text to copy. */

import { html, useState } from "../lib/ui.js";

/** @param {{text: string, label: string}} props */
export function Copyable({ text, label }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return html`<div class="copyable">
    <button class="copy" onClick=${copy} aria-label=${`Copy ${label}`}>${copied ? "Copied" : "Copy"}</button>
    <pre tabindex="0" aria-label=${label}>${text}</pre>
  </div>`;
}
