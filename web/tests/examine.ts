// Examining a page for everybody: no violation of WCAG AA, nothing wider than the window.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

/** The script that examines; a page runs it before it is examined. */
export const EXAMINER = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Each language with two looks: together the pages are seen in both themes on phones and on desks, and no look is examined twice. */
export const LOOKS = {
  en: [["light", 1280], ["dark", 390]],
  zh: [["dark", 1280], ["light", 390]],
} as const;

/** Examines a page that ran the examiner, in a theme and at a width. */
export async function examine(page: Page, what: string, theme: "light" | "dark", width: number) {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
  // Colours go over into each other, however briefly; they are judged when they have.
  await page.waitForFunction((wanted) => document.documentElement.dataset.theme === wanted && document.getAnimations().every((one) => one.playState !== "running"), theme);
  const found = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (options: unknown) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } };
    const run = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return run.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`).join(" | ")}`);
  });
  assert.deepEqual(found, [], what);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert(wider <= 0, `${what} is ${wider} px wider than the window`);
}
