// The logic behind the pages, without a browser.
import { describe, expect, it } from "vitest";
import en from "../words/en";
import zh from "../words/zh";
import { addressOf } from "../api/client";
import { fieldsOf, valuesOf } from "./form";
import { Frames } from "./frames";
import { pageOf, paths, twinOf } from "./route";
import { shellQuoted, snippets } from "./snippets";
import { answerOf, apply, merged, stateWord, took, view, type Message, type Part, type Streamed, type Task } from "./turn";

const none = new URLSearchParams();

describe("words", () => {
  it("has the same keys in both languages, none empty, with the same places for values", () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((one) => one[1]).sort();
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      expect(en[key] && zh[key], key).toBeTruthy();
      expect(places(zh[key]), key).toEqual(places(en[key]));
    }
  });
});

describe("addresses", () => {
  it("lead to a page and back", () => {
    expect(pageOf("/", none)).toEqual({ name: "hub" });
    const id = "urn:air:example.org:agents:a b";
    expect(pageOf(new URL(paths.agent(id), "http://x").pathname, none)).toEqual({ name: "agent", id, tab: "overview" });
    expect(pageOf(paths.network, none)).toEqual({ name: "network" });
    expect(pageOf(paths.ops("keys"), none)).toEqual({ name: "ops", tab: "keys" });
    expect(pageOf("/chat", new URLSearchParams("agent=calc"))).toEqual({ name: "chat", id: "", turn: "", context: "", agent: "calc" });
    expect(pageOf(paths.chat("c 1"), none)).toEqual({ name: "chat", id: "c 1", turn: "", context: "", agent: "" });
    const turn = new URL(paths.turn("c", "t/1"), "http://x");
    expect(pageOf(turn.pathname, turn.searchParams)).toEqual({ name: "chat", id: "c", turn: "t/1", context: "", agent: "" });
    expect(pageOf("/chat", new URL(paths.talk("x/y"), "http://x").searchParams)).toEqual({ name: "chat", id: "", turn: "", context: "x/y", agent: "" });
  });

  it("that are none are missing, whatever is written in them", () => {
    for (const path of ["/nothing", "/hub/a/b", "/register/x", "/network/x", "/%E0%A4%A"]) expect(pageOf(path, none).name).toBe("missing");
  });

  it("have a twin in Markdown", () => {
    expect([twinOf("/"), twinOf("/hub/calc"), twinOf("/tasks/")]).toEqual(["/index.md", "/hub/calc.md", "/tasks.md"]);
  });

  it("of operations are filled and never leave their place", () => {
    expect(addressOf("/api/hub/{id}/verify", { path: { id: "urn:a/../b" } })).toBe("/api/hub/urn%3Aa%2F..%2Fb/verify");
    expect(addressOf("/api/tasks", { query: { agent: "", limit: 3, state: undefined } })).toBe("/api/tasks?limit=3");
  });
});

describe("a stream", () => {
  it("is read however it is cut", () => {
    const text = 'id: 1\ndata: {"a":1}\n\n: keep-alive\n\nevent: settled\ndata: {}\n\n';
    for (let size = 1; size < text.length; size += 3) {
      const frames = new Frames();
      const read = [];
      for (let at = 0; at < text.length; at += size) read.push(...frames.feed(text.slice(at, at + size)));
      expect(read).toEqual([{ id: "1", event: "", data: '{"a":1}' }, { id: "", event: "settled", data: "{}" }]);
    }
  });
});

const said = (role: Message["role"], text: string): Message => ({ messageId: text, role, parts: [{ text }] });
const begun: Task = { id: "t", contextId: "c", status: { state: "TASK_STATE_SUBMITTED" }, history: [said("ROLE_USER", "what is 2+2?")] };

function folded(events: Streamed[]): Task {
  const task = events.reduce<Task | undefined>(apply, begun);
  if (!task) throw new Error("no task");
  return task;
}

const status = (state: string, message?: Message): Streamed => ({ statusUpdate: { taskId: "t", contextId: "c", status: { state, message } } });
const chunk = (text: string, append: boolean): Streamed => ({ artifactUpdate: { taskId: "t", contextId: "c", append, artifact: { artifactId: "answer", parts: [{ text }] } } });

describe("a turn", () => {
  it("shows the choice of the concierge as steps and the answer after them", () => {
    const task = folded([
      status("TASK_STATE_WORKING", said("ROLE_AGENT", "I ask calc.")),
      chunk("4", false),
      status("TASK_STATE_COMPLETED", said("ROLE_AGENT", "I asked calc.")),
    ]);
    expect(view(task).map((item) => item.kind)).toEqual(["user", "steps", "made"]);
    expect(view(task)[1]).toEqual({ kind: "steps", steps: ["I ask calc.", "I asked calc."] });
  });

  it("grows with each piece of a streamed answer", () => {
    const task = folded([status("TASK_STATE_WORKING"), chunk("Hel", false), chunk("lo", true)]);
    expect(view(task).at(-1)).toEqual({ kind: "made", artifact: { artifactId: "answer", parts: [{ text: "Hello" }] } });
  });

  it("joins pieces with a media type as they are, and leaves text of another kind apart", () => {
    const piece = (part: Part, append: boolean): Streamed => ({ artifactUpdate: { taskId: "t", contextId: "c", append, artifact: { artifactId: "answer", parts: [part] } } });
    const plain = { mediaType: "text/plain" };
    const task = folded([piece({ text: "Hel", ...plain }, false), piece({ text: "lo ", ...plain, filename: "", metadata: {} }, true), piece({ text: "you" }, true), piece({ text: "a,b", mediaType: "text/csv" }, true)]);
    const item = view(task).at(-1);
    expect(item?.kind === "made" && item.artifact.parts.map((part) => part.text)).toEqual(["Hello you", "a,b"]);
  });

  it("says a question, and it stays in its place when it was answered", () => {
    const asked = folded([status("TASK_STATE_INPUT_REQUIRED", said("ROLE_AGENT", "Which city?"))]);
    expect(view(asked).map((item) => item.kind)).toEqual(["user", "says"]);
    const answered = { ...asked, history: [...(asked.history ?? []), said("ROLE_AGENT", "Which city?"), said("ROLE_USER", "Rome")], status: { state: "TASK_STATE_WORKING" } };
    expect(view(answered).map((item) => item.kind)).toEqual(["user", "says", "user"]);
  });

  it("that failed says why", () => {
    expect(view(folded([status("TASK_STATE_FAILED", said("ROLE_AGENT", "no model"))])).at(-1)).toEqual({ kind: "failed", text: "no model" });
  });

  it("of an agent that answers with a message has no task", () => {
    const task = apply(undefined, { message: said("ROLE_AGENT", "hi") });
    expect(task && view(task)).toEqual([{ kind: "says", message: said("ROLE_AGENT", "hi") }]);
  });

  it("keeps files apart from words", () => {
    expect(merged([{ text: "a" }, { text: "b" }, { raw: "eA==" }, { text: "c" }])).toEqual([{ text: "ab" }, { raw: "eA==" }, { text: "c" }]);
  });

  it("tells what it took and what to copy of it", () => {
    expect(took({ createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:01.250Z" })).toBe("1.3 s");
    expect(took({})).toBe("");
    expect(answerOf(folded([chunk("4", false), status("TASK_STATE_COMPLETED", said("ROLE_AGENT", "I asked calc."))]))).toBe("4");
  });

  it("has a word for its state", () => {
    expect(stateWord("TASK_STATE_INPUT_REQUIRED")).toBe("input-required");
  });
});

describe("a form", () => {
  const fields = fieldsOf({
    required: ["city", "days"],
    properties: { city: { type: "string" }, days: { type: "integer", default: 3 }, unit: { enum: ["c", "f"] }, at: { type: "object" }, sure: { type: ["boolean", "null"] } },
  });

  it("has a field for each property", () => {
    expect(fields.map((field) => field.kind)).toEqual(["text", "number", "choice", "json", "yes-no"]);
    expect(fields[1]?.start).toBe("3");
  });

  it("gives values of the right type, or names what is wrong", () => {
    expect(valuesOf(fields, { city: "Rome", days: "2", at: '{"x":1}', sure: "true" })).toEqual({ values: { city: "Rome", days: 2, at: { x: 1 }, sure: true } });
    expect(valuesOf(fields, { days: "2" })).toEqual({ bad: "city" });
    expect(valuesOf(fields, { city: "Rome", days: "2.5" })).toEqual({ bad: "days" });
    expect(valuesOf(fields, { city: "Rome", days: "2", at: "{" })).toEqual({ bad: "at" });
  });
});

describe("snippets", () => {
  it("can be pasted whatever the example says", () => {
    expect(shellQuoted("it's\n; rm -rf /")).toBe(`'it'\\''s ; rm -rf /'`);
    const made = snippets({ name: "calc", url: "http://x/a2a/calc", mcp: "http://x/mcp/calc", example: `"'$(id)`, local: true });
    expect(made.map((one) => one.id)).toEqual(["call", "curl", "python", "mcp"]);
    expect(made[0]?.code).toBe(`agentsite call calc '"'\\''$(id)'`);
  });

  it("of an agent elsewhere name its card, and only what is known of it", () => {
    const far = { name: "far", url: "", example: "hi", local: false };
    const made = snippets({ ...far, card: "https://x.example/a2a/far/.well-known/agent-card.json" });
    expect(made.map((one) => one.id)).toEqual(["call", "python"]);
    expect(made[0]?.code).toBe("agentsite call 'https://x.example/a2a/far/.well-known/agent-card.json' 'hi'");
    expect(made[1]?.code).toContain('A2ACardResolver(http, "https://x.example/a2a/far")');
    expect(snippets({ ...far, card: "https://x.example/card?v=1" })[1]?.code).toContain('"https://x.example", agent_card_path="/card?v=1")');
    expect(snippets({ ...far, mcp: "https://x.example/mcp" }).map((one) => one.id)).toEqual(["mcp"]);
  });
});
