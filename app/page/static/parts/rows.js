/** A table of which only the rows in sight are part of the document: thousands of rows scroll like ten. */

import { html, useEffect, useRef, useState } from "../lib/ui.js";

const BEYOND = 8;
/** Up to this many rows are all part of the document. */
const ALL_MAX = 40;
const FIRST_HEIGHT = 56;

/**
 * @param {{items: any[], head: any, row: (item: any) => any, label: string, empty: string}} props
 */
export function Rows({ items, head, row, label, empty }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 800, row: FIRST_HEIGHT });
  useEffect(() => {
    const area = box.current;
    const measure = () => {
      const { scrollTop, clientHeight } = area;
      const first = area.querySelector("tbody tr:not(.space)");
      const height = first?.offsetHeight || FIRST_HEIGHT;
      setView((before) =>
        before.top === scrollTop && before.height === clientHeight && before.row === height
          ? before
          : { top: scrollTop, height: clientHeight, row: height },
      );
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(area);
    area.addEventListener("scroll", measure, { passive: true });
    return () => observer.disconnect();
  }, [items.length === 0]);
  const all = items.length <= ALL_MAX;
  const start = all ? 0 : Math.max(0, Math.floor(view.top / view.row) - BEYOND);
  const end = all ? items.length : Math.min(items.length, Math.ceil((view.top + view.height) / view.row) + BEYOND);
  return html`<div class="table-box" ref=${box} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${items.length + 1}>
      <thead>${head}</thead>
      <tbody>
        <${Space} height=${start * view.row} />
        ${items.slice(start, end).map(row)}
        <${Space} height=${(items.length - end) * view.row} />
      </tbody>
    </table>
    ${items.length === 0 && html`<p class="empty">${empty}</p>`}
  </div>`;
}

function Space({ height }) {
  return height > 0 ? html`<tr class="space" aria-hidden="true"><td style=${{ height: `${height}px` }}></td></tr>` : null;
}
