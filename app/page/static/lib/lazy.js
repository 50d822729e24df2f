/** Views that are loaded when they are shown first. */

import { html, useEffect, useState } from "./ui.js";

/**
 * Return a component that loads another from its module.
 * @param {() => Promise<any>} load
 * @param {string} name - what the module exports
 * @returns {(props: any) => any}
 */
export function lazy(load, name) {
  let loaded = null;
  return function Lazy(props) {
    const [View, setView] = useState(() => loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (module) => {
          loaded = module[name];
          setView(() => loaded);
        },
        () => setFailed(true),
      );
    }, []);
    if (failed) return html`<p class="problem" role="alert">A part of the page could not be loaded. Reload the page.</p>`;
    return View ? html`<${View} ...${props} />` : html`<p class="loading" role="status">Loading …</p>`;
  };
}
