// What the charts show, made from the site's figures. Pure; `Charts.svelte` draws.
import type { Charts } from "../api/client";
import type { Word } from "../taste.svelte";

export interface Line {
  /** A word of the pages, or the name of a face, which is the same in every language. */
  word?: Word;
  name?: string;
  values: (number | null)[];
}

export interface Chart {
  id: "requests" | "errors" | "latency" | "tokens" | "tasks" | "memory" | "cpu";
  unit: "rate" | "ms" | "count" | "bytes" | "share";
  lines: Line[];
}

/** The faces that people know by name; what the site asks of itself comes last. */
const FACES = ["a2a", "mcp", "openai", "api", "hub", "socket", "pages", "operations"];

/** Lines of a chart at most: as many as there are colours that tell apart. */
const MOST_LINES = 8;

export function chartsOf(drawn: Charts): Chart[] {
  const busy = FACES.filter((face) => drawn.requests[face]?.some((rate) => rate > 0));
  const faces = (busy.length > 0 ? busy : FACES.slice(0, 1)).slice(0, MOST_LINES);
  return [
    { id: "requests", unit: "rate", lines: faces.map((face) => ({ name: face, values: drawn.requests[face] ?? [] })) },
    { id: "errors", unit: "rate", lines: [{ word: "charts.failed", values: drawn.failed }, { word: "charts.refused", values: drawn.refused }] },
    { id: "latency", unit: "ms", lines: [{ name: "p50", values: drawn.p50 }, { name: "p99", values: drawn.p99 }] },
    { id: "tasks", unit: "count", lines: [{ word: "charts.started", values: drawn.tasksStarted }, { word: "charts.failed", values: drawn.tasksFailed }] },
    { id: "tokens", unit: "count", lines: [{ word: "charts.in", values: drawn.tokensIn }, { word: "charts.out", values: drawn.tokensOut }] },
    { id: "memory", unit: "bytes", lines: [{ word: "charts.memory", values: drawn.memory }] },
    { id: "cpu", unit: "share", lines: [{ word: "charts.cpu", values: drawn.cpu }] },
  ];
}

/** A value with its unit, short enough for the edge of a chart. */
export function written(value: number | null | undefined, unit: Chart["unit"]): string {
  if (value === null || value === undefined) return "–";
  switch (unit) {
    case "rate":
      return `${short(value)}/s`;
    case "ms":
      return value >= 1000 ? `${short(value / 1000)} s` : `${short(value)} ms`;
    case "bytes":
      return bytes(value);
    case "share":
      return `${short(value * 100)} %`;
    case "count":
      return short(value);
  }
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let rest = value;
  while (rest >= 1024 && at < units.length - 1) {
    rest /= 1024;
    at += 1;
  }
  return `${at === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[at]}`;
}

function short(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)}k`;
  if (value === 0 || value >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return value >= 1 ? value.toFixed(1) : value.toFixed(2);
}

/** How long a site runs, as `3d 4h`, `5h 2m` or `40s`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}
