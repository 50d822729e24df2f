/** Light and dark: the system's choice, or the reader's. */

import { computed, effect, signal } from "./ui.js";

const STORED = "adjoint-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", (event) => {
  systemDark.value = event.matches;
});

/** "light", "dark", or "" for the system's choice. */
export const theme = signal(localStorage.getItem(STORED) ?? "");

/** Whether the page is dark. */
export const dark = computed(() => (theme.value ? theme.value === "dark" : systemDark.value));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  localStorage.setItem(STORED, theme.value);
});

/** Change between light and dark. */
export function toggleTheme() {
  theme.value = dark.value ? "light" : "dark";
}

// Okabe and Ito (2008): eight colours that people with any colour vision tell apart; the order keeps contrast with the background.
const ON_LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#56b4e9", "#6b5fc7", "#000000"];
const ON_DARK = ["#56b4e9", "#e69f00", "#2cc295", "#cc79a7", "#f0e442", "#4a9fe0", "#a79bff", "#ffffff"];

/**
 * Return the colour of a curve.
 * @param {number} index
 * @returns {string}
 */
export function seriesColor(index) {
  const colors = dark.value ? ON_DARK : ON_LIGHT;
  return colors[index % colors.length];
}

/**
 * Return a colour of the style sheet.
 * @param {string} name
 * @returns {string}
 */
export function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
