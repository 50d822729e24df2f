/** Repeated work that stops while the page is hidden. */

import { signal, useEffect, useRef, useState } from "./ui.js";
import { Problem, request } from "./api.js";

/** Whether the page is shown. */
export const visible = signal(document.visibilityState !== "hidden");

document.addEventListener("visibilitychange", () => {
  visible.value = document.visibilityState !== "hidden";
});

/**
 * Call `work` at once and then `seconds` after each end, while the page is shown and the component is there.
 * @param {() => Promise<unknown>} work
 * @param {number} seconds
 * @param {unknown[]} inputs - a change starts over
 */
export function usePolling(work, seconds, inputs = []) {
  const current = useRef(work);
  current.current = work;
  useEffect(() => {
    let timer = 0;
    let over = false;
    let busy = false;
    const run = async () => {
      if (busy || over || !visible.peek()) return;
      busy = true;
      try {
        await current.current();
      } catch (error) {
        if (!(error instanceof Problem)) console.error(error);
      }
      busy = false;
      clearTimeout(timer);
      if (!over) timer = setTimeout(run, seconds * 1000);
    };
    const stop = visible.subscribe((shown) => {
      clearTimeout(timer);
      if (shown) run();
    });
    return () => {
      over = true;
      clearTimeout(timer);
      stop();
    };
  }, inputs);
}

/**
 * Return what a GET request answers, and how it failed; null each until there is an answer.
 * @param {string | null} path
 * @param {number} [version] - another number asks again
 * @returns {{data: any, problem: Error | null}}
 */
export function useResource(path, version = 0) {
  const [answer, setAnswer] = useState({ path: null, data: null, problem: null });
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    request(path, { signal: controller.signal }).then(
      (data) => setAnswer({ path, data, problem: null }),
      (problem) => controller.signal.aborted || setAnswer({ path, data: null, problem }),
    );
    return () => controller.abort();
  }, [path, version]);
  return answer.path === path ? answer : { data: null, problem: null };
}
