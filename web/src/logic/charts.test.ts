// What the charts show, and how values are written.
import { expect, test } from "vitest";
import type { Charts } from "../api/client";
import { bytes, chartsOf, duration, written } from "./charts";

const drawn: Charts = {
  step: 10, at: [10, 20], requests: { a2a: [0, 0], api: [0, 1.5], mcp: [0, 0] }, refused: [0, 0], failed: [0, 0.1], p50: [null, 1.25], p99: [null, 1500],
  tokensIn: [0, 0], tokensOut: [0, 12_345], tasksStarted: [1, 0], tasksFailed: [0, 0], memory: [1048576, 2097152], cpu: [0.5, 1.25],
};

test("only the faces that were spoken to have a line", () => {
  const charts = chartsOf(drawn);
  expect(charts.map((chart) => chart.id)).toEqual(["requests", "errors", "latency", "tasks", "tokens", "memory", "cpu"]);
  expect(charts[0]!.lines.map((line) => line.name)).toEqual(["api"]);
  expect(chartsOf({ ...drawn, requests: { a2a: [0, 0] } })[0]!.lines).toHaveLength(1);
  for (const chart of charts) for (const line of chart.lines) expect(line.values).toHaveLength(2);
});

test("values are written short, with their unit", () => {
  expect([written(null, "ms"), written(1.25, "ms"), written(1500, "ms"), written(0.1, "rate"), written(12_345, "count"), written(1.25, "share"), written(0, "count")])
    .toEqual(["–", "1.3 ms", "1.5 s", "0.10/s", "12.3k", "125 %", "0"]);
  expect([bytes(0), bytes(1023), bytes(1536), bytes(200 * 1024 ** 2)]).toEqual(["0 B", "1023 B", "1.5 KiB", "200 MiB"]);
});

test("how long something lasts is told in its two largest units", () => {
  expect([0, 40_000, 62_000, 3 * 86_400_000 + 4 * 3_600_000 + 59_000, 86_400_000].map(duration)).toEqual(["0s", "40s", "1m 2s", "3d 4h", "1d"]);
});
