// What the chat decides, without a browser: the tree and its ways, names, the list, forms, files, and when to try again.
import { describe, expect, it } from "vitest";
import { askedOf } from "./asks";
import { after, type Stored } from "./events";
import { addressed, completed, offered, typing } from "./mentions";
import { followed, STREAMS, verdict, waitOf } from "./patience";
import { bytesOf, hrefOf, lookOf, neat, sizeOf, textOf } from "./preview";
import { boards, joined, marked, renewed, without } from "./shelf";
import { added, answers, exchanges, hasMore, isRunning, replaced, spliced, taskOf, waiting, ways, type ConversationRow, type TurnRow } from "./talk";
import { view, type Message, type Task } from "./turn";

function turn(id: string, more: Partial<TurnRow> = {}): TurnRow {
  return { id, agent: "echo", contextId: "c", messageId: `m-${id}`, at: "2026-01-01T00:00:00Z", question: [{ text: id }] as never, state: "completed", answer: id, artifacts: [{ artifactId: "answer", mediaTypes: ["text/plain"], bytes: 1 }], siblings: [id], ...more };
}

describe("a conversation", () => {
  it("shows the turns of one message together, wherever a page was cut", () => {
    const turns = [turn("a"), turn("b", { messageId: "m", parent: "a" }), turn("c", { messageId: "m", parent: "b", agent: "calc" }), turn("d", { parent: "c" })];
    expect(exchanges(turns).map((one) => [one.key, one.turns.length])).toEqual([["a", 1], ["b", 2], ["d", 1]]);
    expect(exchanges(turns.slice(2)).map((one) => one.key)).toEqual(["c", "d"]);
  });

  it("tells which of its ways is shown", () => {
    const [one] = exchanges([turn("b", { siblings: ["a", "b", "c"] })]);
    expect(one && ways(one)).toEqual({ at: 1, of: ["a", "b", "c"] });
    const [alone] = exchanges([turn("a")]);
    expect(alone && ways(alone)).toBeUndefined();
  });

  it("keeps older turns when its end is read anew, and drops a branch that was left", () => {
    const loaded = [turn("a"), turn("b", { parent: "a" }), turn("c", { parent: "b" })];
    const end = [turn("x", { parent: "a" }), turn("y", { parent: "x" })];
    expect(spliced(loaded, end, "x", "older")).toEqual({ turns: [loaded[0], ...end], before: "older" });
    const far = [turn("z", { parent: "unknown" })];
    expect(spliced(loaded, far, "z", "older")).toEqual({ turns: far, before: "z" });
    expect(spliced(loaded, [turn("n")], undefined, "older").turns.map((one) => one.id)).toEqual(["n"]);
  });

  it("takes a new turn at its place, once", () => {
    const turns = [turn("a"), turn("b", { parent: "a" })];
    expect(added(turns, turn("c", { parent: "b" })).map((one) => one.id)).toEqual(["a", "b", "c"]);
    expect(added(turns, turn("x", { parent: "a" })).map((one) => one.id)).toEqual(["a", "x"]);
    expect(added(turns, turn("n")).map((one) => one.id)).toEqual(["n"]);
    expect(added(turns, turn("c", { parent: "far" })).map((one) => one.id)).toEqual(["a", "b"]);
    expect(added(turns, turn("b", { parent: "a", answer: "new" }))[1]?.answer).toBe("new");
    expect(replaced(turns, turn("q"))).toEqual(turns);
  });

  it("knows what runs, what waits and what has more than its row tells", () => {
    expect([turn("a", { state: "working" }), turn("a"), turn("a", { state: "input-required" }), turn("a", { state: "gone" })].map(isRunning)).toEqual([true, false, false, false]);
    expect(waiting([turn("a"), turn("b", { state: "input-required", parent: "a" })])?.id).toBe("b");
    expect(waiting([turn("b", { state: "input-required" }), turn("c", { parent: "b" })])).toBeUndefined();
    expect(waiting([turn("a", { messageId: "m", state: "input-required" }), turn("b", { messageId: "m", state: "input-required" })])).toBeUndefined();
    expect(hasMore(turn("a"))).toBe(false);
    expect(hasMore(turn("a", { question: [{ filename: "a.png", bytes: 3 }] as never }))).toBe(true);
    expect(hasMore(turn("a", { artifacts: [{ artifactId: "r", name: "report.md", mediaTypes: ["text/markdown"], bytes: 1 }] }))).toBe(true);
    expect(hasMore(turn("a", { cut: true }))).toBe(true);
  });

  it("names the agent that the concierge found", () => {
    const started = [{ id: "1", agent: "shop", state: "rejected", at: "" }, { id: "2", agent: "calc", state: "completed", at: "" }];
    expect(answers(turn("a", { agent: "concierge", started }), "concierge")).toBe("calc");
    expect(answers(turn("a", { agent: "concierge" }), "concierge")).toBe("concierge");
    expect(answers(turn("a", { started }), "concierge")).toBe("echo");
  });

  it("is shown from a row as from the task", () => {
    const kinds = (row: TurnRow) => view(taskOf(row)).map((item) => item.kind);
    expect(kinds(turn("a"))).toEqual(["user", "made"]);
    expect(kinds(turn("a", { said: [{ role: "agent", parts: [{ text: "I ask calc." }] as never }], words: "I asked calc." }))).toEqual(["user", "steps", "made"]);
    expect(kinds(turn("a", { artifacts: [], answer: "hi", words: "hi" }))).toEqual(["user", "says"]);
    expect(kinds(turn("a", { state: "input-required", artifacts: [], asks: { parts: [{ text: "Which?" }] as never } }))).toEqual(["user", "says"]);
    expect(view(taskOf(turn("a", { state: "gone", artifacts: [], answer: "" }))).at(-1)).toEqual({ kind: "failed", text: "" });
  });
});

describe("events of a task", () => {
  const message = (role: Message["role"], text: string): Message => ({ messageId: text, role, parts: [{ text }] });
  const fold = (events: Partial<Stored>[]) => events.reduce<Task | undefined>((task, event, at) => after(task, { seq: at + 1, at: `2026-01-01T00:00:0${at}Z`, kind: "", ...event }, "t"), undefined);
  const opened: Partial<Stored> = { kind: "opened", agent: "echo", context: "c", message: message("ROLE_USER", "hi") };
  const piece = (text: string, append: boolean): Partial<Stored> => ({ kind: "artifact", append, artifact: { artifactId: "answer", parts: [{ text }] } });

  it("give the task as it grows, with pieces joined", () => {
    const task = fold([opened, { kind: "started" }, piece("Hel", false), piece("lo", true), { kind: "used", usage: { inputTokens: 2, outputTokens: 3 } }, { kind: "used", usage: { outputTokens: 1 } }, { kind: "memo" }, { kind: "status", state: "TASK_STATE_COMPLETED" }]);
    expect(task?.artifacts).toEqual([{ artifactId: "answer", parts: [{ text: "Hello" }] }]);
    expect(task?.usage).toMatchObject({ inputTokens: 2, outputTokens: 4 });
    expect([task?.status.state, task?.agent, task?.updatedAt]).toEqual(["TASK_STATE_COMPLETED", "echo", "2026-01-01T00:00:07Z"]);
  });

  it("move what was said about the state into the history, and an answered question waits no more", () => {
    const asked = fold([opened, { kind: "status", state: "TASK_STATE_INPUT_REQUIRED", message: message("ROLE_AGENT", "Which?") }]);
    expect(asked?.status.message?.parts).toEqual([{ text: "Which?" }]);
    const task = fold([opened, { kind: "status", state: "TASK_STATE_INPUT_REQUIRED", message: message("ROLE_AGENT", "Which?") }, { kind: "said", message: message("ROLE_USER", "Rome") }]);
    expect(task?.history?.map((one) => one.messageId)).toEqual(["hi", "Which?", "Rome"]);
    expect(task && view(task).map((item) => item.kind)).toEqual(["user", "says", "user"]);
  });

  it("that begin anew replace what was made, and without a beginning are nothing", () => {
    expect(fold([opened, piece("old", false), { kind: "started" }, piece("new", false)])?.artifacts?.[0]?.parts).toEqual([{ text: "new" }]);
    expect(fold([{ kind: "started" }])).toBeUndefined();
  });
});

describe("names in a message", () => {
  const known = new Set(["calc", "clock", "data-base", "v1.2"]);

  it("say whom to ask, and are the address and not the letter", () => {
    expect(addressed("@calc 2+2", known)).toEqual({ agents: ["calc"], text: "2+2" });
    expect(addressed("@calc, @clock: what is it?", known)).toEqual({ agents: ["calc", "clock"], text: "what is it?" });
    expect(addressed("@calc and @clock what is it", known)).toEqual({ agents: ["calc", "clock"], text: "what is it" });
    expect(addressed("what is 2+2 @calc", known)).toEqual({ agents: ["calc"], text: "what is 2+2" });
    expect(addressed("ask @data-base. Then @calc sums", known)).toEqual({ agents: ["data-base", "calc"], text: "ask @data-base. Then @calc sums" });
    expect(addressed("@v1.2 hi", known)).toEqual({ agents: ["v1.2"], text: "hi" });
    expect(addressed("@calc @calc twice", known)).toEqual({ agents: ["calc"], text: "twice" });
  });

  it("are none in an address of mail, or when nobody is called so", () => {
    expect(addressed("write to me@calc or @nobody", known)).toEqual({ agents: [], text: "write to me@calc or @nobody" });
    expect(addressed("<img src=x onerror=alert(1)>@calc", known).agents).toEqual(["calc"]);
  });

  it("are offered while one is typed, and put in the place of what was begun", () => {
    expect(typing("hi @ca", 6)).toEqual({ from: 3, to: 6, begun: "ca" });
    expect(typing("hi @ca now", 6)).toEqual({ from: 3, to: 6, begun: "ca" });
    expect(typing("@", 1)).toEqual({ from: 0, to: 1, begun: "" });
    expect([typing("me@ca", 5), typing("hi ca", 5), typing("", 0)]).toEqual([undefined, undefined, undefined]);
    const agents = [{ id: "calc", description: "sums" }, { id: "clock", description: "tells time" }, { id: "oracle", description: "" }];
    expect(offered(agents, "c").map((one) => one.id)).toEqual(["calc", "clock", "oracle"]);
    expect(offered(agents, "time").map((one) => one.id)).toEqual(["clock"]);
    expect(completed("hi @ca", { from: 3, to: 6, begun: "ca" }, "calc")).toEqual({ text: "hi @calc ", caret: 9 });
    expect(completed("@c what", { from: 0, to: 2, begun: "c" }, "calc")).toEqual({ text: "@calc what", caret: 6 });
  });
});

describe("the list of conversations", () => {
  const row = (id: string, updatedAt: string, more: Partial<ConversationRow> = {}): ConversationRow => ({ id, title: id, named: false, pinned: false, agent: "echo", createdAt: updatedAt, updatedAt, revision: 1, turns: 1, ...more });
  const now = new Date(2026, 5, 15, 12);
  const at = (day: number, hour = 10) => new Date(2026, 5, day, hour).toISOString();

  it("is in groups by day, pinned ones first", () => {
    const rows = [row("p", at(1), { pinned: true }), row("a", at(15)), row("b", at(14, 23)), row("c", at(10)), row("d", at(1))];
    expect(boards(rows, now).map((one) => [one.shelf, one.rows.map((row) => row.id)])).toEqual([["pinned", ["p"]], ["today", ["a"]], ["yesterday", ["b"]], ["week", ["c"]], ["earlier", ["d"]]]);
  });

  it("takes news in order, and nothing that is older than what it has", () => {
    const rows = [row("a", at(15)), row("b", at(14))];
    expect(renewed(rows, row("b", at(15, 11), { revision: 2 })).map((one) => one.id)).toEqual(["b", "a"]);
    expect(renewed(rows, row("b", at(14), { pinned: true, revision: 2 })).map((one) => one.id)).toEqual(["b", "a"]);
    expect(renewed([row("a", at(15), { revision: 5 })], row("a", at(15), { title: "old" }))[0]?.title).toBe("a");
    expect(without(rows, "a").map((one) => one.id)).toEqual(["b"]);
    expect(joined(rows, [row("b", at(14)), row("c", at(13))]).map((one) => one.id)).toEqual(["a", "b", "c"]);
  });

  it("marks what was searched for, whatever signs are in it", () => {
    expect(marked("The Weather in Rome", "weath rome")).toEqual([{ text: "The ", hit: false }, { text: "Weath", hit: true }, { text: "er in ", hit: false }, { text: "Rome", hit: true }]);
    expect(marked("a.b", ".*(")).toEqual([{ text: "a.b", hit: false }]);
    expect(marked("今天天气很好", "天气")).toEqual([{ text: "今天", hit: false }, { text: "天气", hit: true }, { text: "很好", hit: false }]);
  });
});

describe("a question back", () => {
  const asks = (parts: Message["parts"], metadata?: Record<string, unknown>) => askedOf({ messageId: "m", role: "ROLE_AGENT", parts, metadata });
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

  it("of a tool is its form, answered in the tool's own way", () => {
    const asked = asks([{ text: "Which city?" }], { "urn:agentsite:a2a:mcp:v1": { requests: { k: { method: "elicitation/create", params: { message: "Which?", requestedSchema: schema } } } } });
    if (asked.kind !== "form") throw new Error(asked.kind);
    expect([asked.about, asked.fields.map((field) => field.name)]).toEqual(["Which?", ["city"]]);
    expect(asked.answer({ city: "Rome" })).toEqual([{ data: { answers: { k: { action: "accept", content: { city: "Rome" } } } } }]);
    expect(asked.refuse?.()).toEqual([{ data: { answers: { k: { action: "decline" } } } }]);
  });

  it("with a schema as data is a form, with options a choice", () => {
    for (const data of [schema, { schema }, { requestedSchema: schema }]) {
      const asked = asks([{ text: "?" }, { data }]);
      expect(asked.kind === "form" && asked.answer({ city: "Rome" })).toEqual([{ data: { city: "Rome" } }]);
    }
    const asked = asks([{ data: { permission: { options: [{ optionId: "yes", name: "Allow" }, { optionId: "no" }] } } }]);
    expect(asked.kind === "choice" && [asked.options, asked.answer("yes")]).toEqual([[{ id: "yes", name: "Allow" }, { id: "no", name: "no" }], [{ data: { optionId: "yes" } }]]);
  });

  it("otherwise is answered in words, also when what came with it is strange", () => {
    for (const data of [null, 3, "x", [], { properties: null }, { schema: { properties: {} } }, { permission: { options: [{}] } }, { permission: null }]) expect(asks([{ text: "?" }, { data }]).kind).toBe("words");
    expect(asks([{ text: "?" }], { "urn:agentsite:a2a:mcp:v1": { requests: { a: { method: "roots/list" } } } }).kind).toBe("words");
  });
});

describe("a file", () => {
  it("is looked at by its kind, and kept when it is none that is surely harmless", () => {
    expect(lookOf("image/png", "a.png")).toBe("picture");
    expect(lookOf("image/svg+xml", "a.svg")).toBe("file");
    expect([lookOf("audio/ogg", ""), lookOf("video/mp4", ""), lookOf("text/html; charset=utf-8", ""), lookOf("application/ld+json", "")]).toEqual(["sound", "film", "html", "json"]);
    expect([lookOf("text/plain", "a.md"), lookOf(undefined, "a.JSON"), lookOf("application/octet-stream", "a.exe"), lookOf("text/x-rust", "a.rs")]).toEqual(["markdown", "json", "file", "text"]);
  });

  it("is handed over as bytes of a type that is well-formed", () => {
    expect(hrefOf({ raw: "eA==", mediaType: "text/html,<script>" })).toBe("data:application/octet-stream;base64,eA==");
    expect([textOf({ raw: "w6Q=" }), textOf({ raw: "%" }), textOf({ text: "x" })]).toEqual(["ä", "", "x"]);
    expect([neat('{"a":1}'), neat("{")]).toEqual(['{\n  "a": 1\n}', "{"]);
    expect([sizeOf(10), sizeOf(2048), sizeOf(3 * 1048576), bytesOf({ raw: "eHl6" }), bytesOf({ bytes: 7 })]).toEqual(["10 B", "2.0 kB", "3.0 MB", 3, 7]);
  });
});

describe("a stream that was cut", () => {
  it("is tried again after pauses that grow to a bound", () => {
    expect([0, 1, 2, 3, 50].map(waitOf)).toEqual([400, 800, 1600, 3200, 5000]);
  });

  it("is left alone where the site refuses it for good", () => {
    expect([0, 429, 500, 502, 503].map(verdict)).toEqual(Array(5).fill("again"));
    expect([400, 401, 403, 404, 410].map(verdict)).toEqual(Array(5).fill("stop"));
  });

  it("is one of a few: the last that run, and those that are followed already", () => {
    expect(followed(["a", "b", "c"], [])).toEqual(["c", "b"].slice(0, STREAMS));
    expect(followed(["a", "b", "c"], ["a"])).toEqual(["a", "c"].slice(0, STREAMS));
    expect(followed([], ["a"])).toEqual([]);
  });
});
