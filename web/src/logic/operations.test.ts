// Every form stands for an operation that programs have too: it names it, and the description of the interfaces knows it.
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const SOURCES = new URL("../", import.meta.url);
const OPENAPI = new URL("../../../crates/gateway/tests/golden/openapi.json", import.meta.url);

/** What a form may stand for beside the REST interface; A2A has a specification of its own. */
const A2A = ["A2A SendMessage", "A2A SendStreamingMessage"];

function known(): Set<string> {
  const { paths } = JSON.parse(readFileSync(OPENAPI, "utf8")) as { paths: Record<string, Record<string, unknown>> };
  const rest = Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`));
  return new Set([...rest, ...A2A]);
}

interface Form {
  file: string;
  operations: string[];
}

function forms(): Form[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".svelte"));
  return files.flatMap((file) => {
    const text = readFileSync(new URL(file, SOURCES), "utf8");
    return [...text.matchAll(/<form\b/g)].map((found) => {
      const said = /^<form\b[^>]*?\bdata-operation=(?:"((?:[^"{]|\{'[^']*'\})*)"|\{(\w+)\})/.exec(text.slice(found.index));
      const literal = said?.[1]?.replace(/\{'([^']*)'\}/g, "$1");
      // A form whose operation changes with what is chosen names all of them where it chooses.
      const chosen = said?.[2] && new RegExp(`const ${said[2]} = .*`).exec(text)?.[0].match(/"[A-Z0-9]+ [^"]+"/g)?.map((one) => one.slice(1, -1));
      return { file, operations: literal ? [literal] : chosen || [] };
    });
  });
}

it("every form names an operation that exists", () => {
  const all = forms();
  expect(all.length).toBeGreaterThan(8);
  const operations = known();
  for (const form of all) {
    expect(form.operations, `${form.file}: a form without data-operation="METHOD /path"`).not.toEqual([]);
    for (const operation of form.operations) expect(operations.has(operation), `${form.file}: ${operation}`).toBe(true);
  }
});
