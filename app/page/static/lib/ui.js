/** The rendering library under one name: components import from here and from nowhere else. */

import htm from "../vendor/htm.js";
import { Fragment, h, render } from "../vendor/preact.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
import { batch, computed, effect, signal, useComputed, useSignal } from "../vendor/signals.js";

export const html = htm.bind(h);

export {
  batch, computed, effect, Fragment, h, render, signal, useComputed, useEffect, useMemo, useRef, useSignal, useState,
};

/**
 * Join the class names that are not empty.
 * @param {...(string | false | null | undefined)} names
 * @returns {string}
 */
export function classes(...names) {
  return names.filter(Boolean).join(" ");
}

/**
 * Start a download of bytes that are in memory.
 * @param {Blob} blob
 * @param {string} name
 */
export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
