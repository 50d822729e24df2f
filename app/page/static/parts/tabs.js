/** Links to the parts of a view; the one that is shown is scrolled into sight where there is no room for all. */

import { html, useEffect, useRef } from "../lib/ui.js";

/** @param {{label: string, tabs: {path: string, label: string, href: string}[], shown: string}} props */
export function Tabs({ label, tabs, shown }) {
  const bar = useRef(null);
  useEffect(() => {
    const link = bar.current.querySelector("[aria-current]");
    if (link) bar.current.scrollLeft = link.offsetLeft - (bar.current.clientWidth - link.offsetWidth) / 2;
  }, [shown]);
  return html`<nav class="tabs" aria-label=${label} ref=${bar}>
    ${tabs.map((each) => html`<a key=${each.path} href=${each.href} aria-current=${each.path === shown ? "page" : undefined}>${each.label}</a>`)}
  </nav>`;
}
