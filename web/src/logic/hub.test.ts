// The logic of the hub and of tasks: filters in the address, rows of a grid, pieces of a file, stages and trees of tasks.
import { describe, expect, it } from "vitest";
import type { TaskRow } from "../api/client";
import { addressWith, asked, facetsOf, filtersOf, fits, rowsOf, shownPrice, type Narrowed } from "./filters";
import { edgesOf, treeOf } from "./lineage";
import { piecesOf } from "./lines";
import { reachability } from "./reachability";
import { stages } from "./stages";

const agent: Narrowed = {
  local: false, tags: ["travel", "train"], protocols: ["a2a"], inputModes: ["text/plain"], outputModes: ["text/plain", "image/png"], live: true, price: 2, region: "eu", trust: 0.6,
  owner: "key:1", visibility: "public",
};
const read = (query: string) => filtersOf(new URLSearchParams(query));

describe("filters", () => {
  it("are the same after a way through the address", () => {
    const query = "?q=a+need&where=here&tag=travel&tag=train&live=yes&protocol=a2a&takes=text%2Fplain&gives=image%2Fpng&region=eu&owner=key%3A1&visibility=public&price=2&trust=0.5";
    const filters = read(query);
    expect(addressWith("a need", filters)).toBe(query);
    expect(addressWith("", read(""))).toBe("");
  });

  it("take nothing from an address that they do not know", () => {
    expect(read("where=nowhere&price=cheap&trust=-1&live=1&tag=&tag=a&tag=a")).toEqual({ ...read(""), tags: ["a"] });
    expect(read(`owner=${"x".repeat(5_000)}`).owner.length).toBe(200);
  });

  it("let through what has all that is wanted", () => {
    for (const query of ["", "where=elsewhere", "tag=travel&tag=train", "protocol=a2a", "gives=image%2Fpng", "live=yes", "price=2", "region=eu", "trust=0.6", "owner=key%3A1", "visibility=public"]) {
      expect(fits(agent, read(query)), query).toBe(true);
    }
    for (const query of ["where=here", "tag=travel&tag=hotel", "protocol=mcp", "takes=image%2Fpng", "price=1.9", "region=us", "trust=0.61", "owner=key%3A2", "visibility=peers"]) {
      expect(fits(agent, read(query)), query).toBe(false);
    }
    expect(fits({ ...agent, price: undefined }, read("price=0")), "what names no price costs nothing").toBe(true);
    expect(shownPrice({ amount: "0.50", asset: "USD" })).toBe("0.50 USD");
    expect(shownPrice(2.5)).toBe(2.5);
    expect(fits({ ...agent, price: "0.50 USD" }, read("price=9")), "another asset is not compared with credits").toBe(false);
  });

  it("are told to the search in its words", () => {
    expect(asked(read(""))).toBeUndefined();
    expect(asked(read("tag=a&price=1&trust=0.5&live=yes&where=here&visibility=public&region=eu"))).toEqual({ tags: ["a"], maxPrice: 1, minTrust: 0.5, live: true, regions: ["eu"] });
  });

  it("offer what there is, the most frequent first", () => {
    const facets = facetsOf([agent, { ...agent, tags: ["train"], region: undefined }]);
    expect(facets.tags).toEqual([{ value: "train", count: 2 }, { value: "travel", count: 1 }]);
    expect(facets.region).toEqual([{ value: "eu", count: 1 }]);
  });
});

it("a grid has rows of so many columns, the last one shorter", () => {
  expect(rowsOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(rowsOf([], 3)).toEqual([]);
});

describe("a file of lines", () => {
  it("is cut into pieces that know where they began", () => {
    const pieces = piecesOf(Array.from({ length: 1_200 }, (_, at) => `{"n":${at}}`).join("\r\n"));
    expect(pieces.map((piece) => [piece.first, piece.lines])).toEqual([[1, 500], [501, 500], [1001, 200]]);
    expect(pieces[1]?.text.startsWith('{"n":500}\n')).toBe(true);
  });

  it("is cut by size too, and a line alone may be large", () => {
    const large = "é".repeat(400_000);
    expect(piecesOf([large, large, "x", "", ""].join("\n")).map((piece) => piece.first)).toEqual([1, 2]);
    expect(piecesOf("\n\n")).toEqual([]);
  });
});

const row = (id: string, parent?: string) => ({ id, parent, agent: id, state: "completed" }) as TaskRow;

describe("tasks that started others", () => {
  it("are a tree and a graph", () => {
    const tasks = [row("a"), row("b", "a"), row("c", "b"), row("d", "a")];
    const tree = treeOf(tasks);
    expect(tree?.started.map((one) => one.task.id)).toEqual(["b", "d"]);
    expect(tree?.started[0]?.started[0]?.task.id).toBe("c");
    expect(edgesOf(tasks)).toEqual([{ from: "a", to: "b" }, { from: "b", to: "c" }, { from: "a", to: "d" }]);
  });

  it("hang at the root when their parent is not told", () => {
    expect(treeOf([row("a", "above"), row("b", "gone")])?.started.map((one) => one.task.id)).toEqual(["b"]);
    expect(edgesOf([row("a", "above"), row("b", "gone")])).toEqual([{ from: "a", to: "b" }]);
    expect(treeOf([])).toBeUndefined();
  });
});

it("a task goes through stages, each with its time", () => {
  const at = (millis: number) => new Date(millis).toISOString();
  const passed = stages([
    { seq: 1, at: at(0), kind: "opened" }, { seq: 2, at: at(10), kind: "started" }, { seq: 3, at: at(20), kind: "status", state: "TASK_STATE_WORKING" },
    { seq: 4, at: at(30), kind: "artifact" }, { seq: 5, at: at(1_010), kind: "status", state: "TASK_STATE_COMPLETED" },
  ]);
  expect(passed.map((stage) => [stage.state, stage.lasted])).toEqual([["submitted", 10], ["working", 1_000], ["completed", undefined]]);
});

describe("the state of an agent from elsewhere", () => {
  it("is only claimed after a check", () => {
    expect(reachability(true, undefined)).toBe("not-checked");
    expect(reachability(true, "2026-01-01T00:00:00Z")).toBe("answers");
    expect(reachability(false, "2026-01-01T00:00:00Z")).toBe("no-answer");
  });
});
