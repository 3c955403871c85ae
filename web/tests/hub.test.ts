// AgentHub and Tasks as people use them: narrow and share, make an agent by clicking and change it, call agents of another site, import a catalogue, follow
// work that led to other work, with a mouse, with the keyboard, and with ten times more agents than anybody looks at.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { browse, request, script, Site, visit } from "./kit.ts";

let browser: Browser;
let site: Site;
let other: Site;

function skilled(name: string, description: string, tags: string[], example: string): string {
  return script(name, description, `[[skills]]\nid = "main"\nname = "Skill of ${name}"\ndescription = ${JSON.stringify(description)}\ntags = ${JSON.stringify(tags)}\nexamples = [${JSON.stringify(example)}]\n`);
}

/** Works until somebody lets it go on, or stops it. */
const PATIENT = '#!/bin/sh\ncat > /dev/null\necho begun\nwhile [ ! -e go ]; do sleep 0.05; done\necho "went on"\n';

before(async () => {
  browser = await browse();
  other = await Site.start({ "greeter/agent.toml": skilled("greeter", "Greets whoever comes by", ["greeting"], "good morning"), "greeter/run.sh": '#!/bin/sh\necho "hello, $(cat)"\n' });
  site = await Site.start(
    {
      "trains/agent.toml": skilled("trains", "Finds train connections in Europe", ["travel", "train"], "trains from Berlin to Basel"),
      "trains/run.sh": "#!/bin/sh\ncat\n",
      "hotels/agent.toml": skilled("hotels", "Finds rooms in hotels", ["travel", "hotel"], "a room in Basel"),
      "hotels/run.sh": "#!/bin/sh\ncat\n",
      "patient/agent.toml": skilled("patient", "Works until it is let go", ["waiting"], "begin"),
      "patient/run.sh": PATIENT,
    },
    { AGENTSITE_EGRESS_ALLOW: "127.0.0.0/8" },
  );
});

after(async () => {
  await browser.close();
  await site.end();
  await other.end();
});

async function say(agent: string, text: string): Promise<{ id: string; contextId: string }> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const answer = (await site.ask(agent ? `/a2a/${agent}` : "/a2a", { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message, configuration: { returnImmediately: agent === "patient" } } })) as { result: { task: { id: string; contextId: string } } };
  return answer.result.task;
}

const cards = (page: Page) => page.getByRole("article");

test("agents are narrowed by what is known of them, and the address says how", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/hub`);
  await page.getByRole("button", { name: "travel" }).click();
  await page.getByText("2 agents").waitFor();
  await page.getByRole("button", { name: "Filters", exact: true }).click();
  await page.getByLabel("Skill tag").selectOption("train");
  await page.getByText("1 agents").waitFor();
  await page.getByLabel("Protocol").selectOption("a2a");
  await page.getByLabel("Who sees it").selectOption("public");
  await page.getByLabel("Trust from").selectOption("0.5");
  await page.getByLabel("Price up to").fill("1");
  await page.getByLabel("Price up to").blur();
  await page.getByRole("button", { name: "This site" }).click();
  await cards(page).getByRole("link", { name: "trains" }).waitFor();
  const shared = page.url();
  assert.match(shared, /tag=travel&tag=train/);

  const friend = await visit(browser);
  await friend.page.goto(shared);
  await friend.page.getByText("1 agents").waitFor();
  assert.equal(await cards(friend.page).count(), 1);
  await friend.page.getByRole("searchbox").fill("a room to sleep in");
  await friend.page.getByText(/of \d+ considered/).waitFor();
  assert.equal(await cards(friend.page).getByRole("link", { name: "hotels" }).count(), 0, "the search keeps to the filters");
  await friend.page.getByRole("button", { name: "Remove filter train" }).click();
  await cards(friend.page).getByRole("link", { name: "hotels" }).waitFor();
  await friend.page.getByRole("button", { name: "Clear all" }).click();
  await friend.page.getByRole("button", { name: "Clear all" }).waitFor({ state: "detached" });
  assert.match(friend.page.url(), /\?q=a\+room\+to\+sleep\+in$/);
  await friend.page.goto(`${site.url}/hub?tag=nobody-has-this`);
  await friend.page.getByText("Nothing fits").waitFor();
  assert.deepEqual([...complaints, ...friend.complaints], []);
  await context.close();
  await friend.context.close();
});

test("an agent is made from a template, answers, is changed with a mistake that is told, suspended and removed", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/hub`);
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByRole("radio", { name: /^Python/ }).check();
  await page.getByRole("radio", { name: /Shell script/ }).check();
  await page.getByLabel("Name", { exact: true }).fill("word-counter");
  await page.getByLabel("What does it do?").fill('Counts "words" <b>well</b>');
  await page.getByRole("group", { name: "word-counter/agent.toml" }).getByText("Counts").waitFor();
  await page.getByRole("button", { name: "agent.sh" }).click();
  await page.getByRole("group", { name: "word-counter/agent.sh" }).waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name: /word-counter/ }).waitFor();
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("8", { exact: false }).first().waitFor();

  await page.getByRole("tab", { name: "Edit" }).click();
  const text = page.getByLabel("agents/word-counter/agent.toml");
  const sound = await text.inputValue();
  await text.fill(sound.replace("visibility", "visability"));
  await page.getByText(/Line \d+, column \d+/).waitFor();
  await page.getByText("visability").last().waitFor();
  assert.equal(await page.getByRole("button", { name: "Save" }).isDisabled(), true);
  await text.fill(sound.replace('command = ["sh", "agent.sh"]', 'command = ["echo", "all is new"]'));
  await page.getByText("Nothing is wrong with it.").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("tab", { name: "Try it" }).click();
  await page.getByLabel("What do you want to ask?").fill("anything");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("all is new").waitFor();

  // Somebody writes the file by hand meanwhile.
  await page.getByRole("tab", { name: "Edit" }).click();
  await text.fill((await text.inputValue()).replace("all is new", "mine"));
  const path = join(site.folder, "agents/word-counter/agent.toml");
  writeFileSync(path, readFileSync(path, "utf8").replace("all is new", "theirs"));
  await page.getByText("Nothing is wrong with it.").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("has changed since it was read").waitFor();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.waitForFunction(() => (document.getElementById("manifest") as HTMLTextAreaElement).value.includes("theirs"));

  await page.getByRole("button", { name: "Suspend" }).click();
  await page.getByText("It answers no calls").waitFor();
  assert(existsSync(join(site.folder, "agents/word-counter/.suspended")));
  const refused = await request(`${site.url}/api/agents/word-counter`);
  assert.equal(refused.status, 404);
  await page.goto(`${site.url}/hub?where=here`);
  await cards(page).filter({ hasText: "word-counter" }).getByText("Suspended").waitFor();
  await page.getByRole("link", { name: "word-counter" }).click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Suspend" }).waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await page.waitForURL(/\/hub$/);
  assert.equal(existsSync(join(site.folder, "agents/word-counter")), false);
  assert.equal(readdirSync(join(site.folder, "agentsite-data/trash")).length, 1);
  // A conflict and a suspended agent are answers that the browser writes down.
  assert.deepEqual(complaints.filter((one) => !/status of (404|409)/.test(one)), []);
  await context.close();
});

test("a name that is taken or none is refused with what to do", async () => {
  const { context, page } = await visit(browser);
  await page.goto(`${site.url}/new`);
  await page.getByLabel("Name", { exact: true }).fill("trains");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText("choose another name").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("../x");
  await page.getByRole("button", { name: "Create" }).click();
  assert.equal(await page.getByLabel("Name", { exact: true }).evaluate((field: HTMLInputElement) => field.validity.patternMismatch), true);
  await context.close();
});

test("an agent of another site is registered, tried through this one, edited and told of in words", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/register`);
  await page.getByLabel("Address of the agent").fill(`${other.url}/a2a/greeter`);
  await page.getByRole("button", { name: "Register", exact: true }).click();
  const entry = page.getByRole("region", { name: "Registration" });
  await entry.getByText("urn:air:").waitFor();
  await entry.getByText("Card read").waitFor();
  await entry.getByRole("button", { name: "Edit" }).click();
  await entry.getByLabel("Region").fill("eu");
  await entry.getByLabel("Price per call").fill("0.5");
  await entry.getByRole("button", { name: "Save" }).click();
  await entry.getByText("0.5").waitFor();
  await page.getByRole("link", { name: "greeter" }).click();
  await page.getByRole("link", { name: "good morning" }).click();
  await page.getByRole("button", { name: "Ask" }).click();
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText("hello, good morning").waitFor();
  await answer.getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /Task/ }).waitFor();
  await page.getByText("hello, good morning").first().waitFor();
  await page.goto(`${site.url}/hub?where=elsewhere&region=eu`);
  await cards(page).getByRole("link", { name: "greeter" }).click();
  await page.getByRole("tab", { name: "Trust" }).click();
  await page.getByText("It last answered").waitFor();
  await page.getByText("The entry counts").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a tool server elsewhere is tried by the form that its tool declares", async () => {
  const { context, page, complaints } = await visit(browser);
  const entry = (await site.ask("/api/hub", { url: `${other.url}/mcp/greeter` })) as { id: string; protocols: string[] };
  assert.deepEqual(entry.protocols, ["mcp"]);
  await page.goto(`${site.url}/hub/${encodeURIComponent(entry.id)}?tab=try`);
  await page.getByLabel("Tool").selectOption({ index: 0 });
  await page.getByLabel(/^message/).fill("dear tools");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("hello, dear tools").first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("whoever has only a key proves that an agent is theirs by the challenge, step by step", async () => {
  const { secret } = (await site.ask("/api/keys", { label: "owner", scopes: ["call"] })) as { secret: string };
  const { context, page, complaints } = await visit(browser, { extraHTTPHeaders: { via: "1.1 proxy" } });
  await page.goto(`${site.url}/signin`);
  await page.getByLabel("Key").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Tasks" }).waitFor();
  await page.goto(`${site.url}/register?tab=card`);
  await page.getByLabel("Card as JSON").fill("{");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByRole("alert").getByText("This is not JSON").waitFor();
  const mine = { ...card("my own", ["mine"]), supportedInterfaces: [{ url: `${other.url}/a2a/greeter`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }] };
  await page.getByLabel("Card as a file").setInputFiles({ name: "card.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(mine)) });
  await page.waitForFunction(() => (document.getElementById("card") as HTMLTextAreaElement).value.includes("my own"));
  await page.getByRole("button", { name: "Register", exact: true }).click();
  const entry = page.getByRole("region", { name: "Registration" });
  await entry.getByText("To prove that the agent is yours").waitFor();
  await entry.getByRole("listitem").filter({ hasText: "Owner proven" }).getByText("not yet").waitFor({ state: "attached" });
  const word = (await entry.locator("code").first().textContent()) ?? "";
  await other.ask("/api/identity/challenges", { word });
  await entry.getByRole("button", { name: "Verify" }).click();
  await entry.getByRole("listitem").filter({ hasText: "Owner proven" }).getByText("yes").waitFor({ state: "attached" });
  await entry.getByRole("listitem").filter({ hasText: "Listed" }).getByText("yes").waitFor({ state: "attached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("lines to copy work when they are pasted", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/hub/trains?tab=code`);
  const line = async (name: string) => (await page.getByRole("group", { name, exact: true }).textContent()) ?? "";
  const env = { PATH: `${join(process.env.AGENTSITE_TEST_BINARY ?? "", "..")}:/usr/local/bin:/usr/bin:/bin`, AGENTSITE_EGRESS_ALLOW: "127.0.0.0/8" };
  const paste = (text: string) => execFileSync("/bin/sh", ["-c", text], { cwd: site.folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  assert.match(paste(await line("curl")), /trains from Berlin to Basel/);
  assert.match(paste(await line("Command line")), /trains from Berlin to Basel/);
  const mcp = JSON.parse(await line("MCP client")) as { mcpServers: Record<string, { url: string }> };
  const listed = await request(mcp.mcpServers.trains?.url ?? "", {
    method: "POST", headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "story", version: "1" } } }),
  });
  assert.equal(listed.status, 200);
  const python = process.env.AGENTSITE_TEST_PYTHON;
  if (python) assert.match(execFileSync(python, ["-c", await line("Python (a2a-sdk)")], { env, encoding: "utf8" }), /trains from Berlin to Basel/);

  const far = (await site.ask("/api/hub", { url: `${other.url}/a2a/greeter` })) as { id: string };
  await page.goto(`${site.url}/hub/${encodeURIComponent(far.id)}`);
  await page.getByRole("tab", { name: "Use from code" }).click();
  assert.match(paste(await line("Command line")), /hello, good morning/);
  if (python) assert.match(execFileSync(python, ["-c", await line("Python (a2a-sdk)")], { env, encoding: "utf8" }), /hello, good morning/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a catalogue is imported from an address and from lines with progress, and exported again", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/register?tab=import`);
  await page.getByLabel("Address to import from").fill(`${other.url}/.well-known/ai-catalog.json`);
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByText(/\d+ new, \d+ updated/).waitFor();
  const lines = Array.from({ length: 1_200 }, (_, at) => JSON.stringify(card(`imported ${at}`, ["imported"])));
  lines.splice(700, 0, "no json");
  await page.getByLabel("Or a file with one JSON document per line").setInputFiles({ name: "many.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(lines.join("\n")) });
  await page.getByText("1200 new, 0 updated").waitFor();
  await page.getByText(/^701: /).waitFor();
  await page.getByRole("link", { name: "See them in the hub" }).click();
  await page.getByText(/12\d\d agents/).waitFor();
  // Nobody has contacted them yet, and the page does not claim otherwise.
  await cards(page).filter({ hasText: "imported" }).getByText("Not checked").first().waitFor();
  await page.goto(`${site.url}/register?tab=export`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "As ai-catalog entries" }).click()]);
  const exported = readFileSync(await file.path(), "utf8").trim().split("\n");
  assert(exported.length > 1_200 && exported.every((line) => (JSON.parse(line) as { identifier: string }).identifier.startsWith("urn:")));
  assert.deepEqual(complaints, []);
  await context.close();
});

function card(name: string, tags: string[]) {
  return {
    name, description: `Does ${name}`, version: "1", capabilities: {}, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    supportedInterfaces: [{ url: `https://${name.replaceAll(" ", "-")}.example.org/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    skills: [{ id: "s", name: `Skill of ${name}`, description: `Does ${name} well`, tags, examples: [`do ${name}`] }],
  };
}

test("thousands of agents are scrolled with a bounded number of elements", async () => {
  const many = await Site.start();
  const all = Array.from({ length: 2_500 }, (_, at) => JSON.stringify(card(`agent ${at}`, [`tag ${at % 7}`])));
  for (let at = 0; at < all.length; at += 500) {
    const taken = await request(`${many.url}/api/hub/import`, { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: all.slice(at, at + 500).join("\n") });
    assert(taken.ok);
  }
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${many.url}/hub`);
  await page.getByText(/^2,?50\d agents$/).waitFor();
  const drawn = () => page.evaluate(() => ({ cards: document.querySelectorAll("article").length, nodes: document.querySelectorAll("*").length }));
  const first = await drawn();
  assert(first.cards > 6 && first.cards < 60, JSON.stringify(first));
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  await page.waitForFunction(() => [...document.querySelectorAll("article")].some((one) => one.getBoundingClientRect().top > 0 && one.getBoundingClientRect().top < innerHeight));
  await page.keyboard.press("End");
  await page.waitForFunction(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 2);
  const last = await drawn();
  assert(last.cards < 60 && last.nodes < first.nodes + 600, JSON.stringify({ first, last }));
  await page.goto(`${many.url}/hub?tag=tag+3`);
  await page.getByText(/^35\d agents$/).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await many.end();
});

test("a task shows whom it asked as a graph and as a tree, and is asked again", async () => {
  const { context, page, complaints } = await visit(browser);
  const task = await say("", "what is 6 * 7?");
  await page.goto(`${site.url}/tasks/${task.id}`);
  await page.getByRole("region", { name: "Timeline" }).getByText("Done").waitFor();
  await page.getByRole("tab", { name: "Graph (1)" }).click();
  const tree = page.getByRole("region", { name: "Who asked whom" });
  await tree.getByRole("link", { name: "calc" }).waitFor();
  await page.locator(".svelte-flow__node", { hasText: "calc" }).waitFor();
  await page.locator(".svelte-flow__edge").first().waitFor({ state: "attached" });
  assert.equal(await page.locator(".svelte-flow__edge").count(), 1);
  assert.match(page.url(), /view=graph/);
  await page.locator(".svelte-flow__node", { hasText: "calc" }).getByRole("link", { includeHidden: true }).click();
  await page.getByText("This task started no others.").waitFor();
  await page.goBack();
  await tree.getByRole("link", { name: "calc" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("This task started no others.").waitFor();

  await page.goto(`${site.url}/tasks/${task.id}`);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(task.id));
  await page.getByText("42", { exact: true }).first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a task that is at work is followed as it happens, and stopped", async () => {
  const { context, page, complaints } = await visit(browser);
  const first = await say("patient", "the first one");
  await page.goto(`${site.url}/tasks/${first.id}`);
  await page.getByRole("region", { name: "Events" }).getByText("begun").waitFor();
  site.write("patient/go", "");
  await page.getByRole("region", { name: "Conversation" }).getByText("went on").waitFor();
  await page.getByRole("region", { name: "Timeline" }).getByText("Done").waitFor();

  execFileSync("rm", [join(site.folder, "agents/patient/go")]);
  const second = await say("patient", "the second one");
  await page.goto(`${site.url}/tasks/${second.id}`);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("heading", { level: 1, name: /Stopped/ }).waitFor();
  await page.getByRole("button", { name: "Ask again" }).waitFor();

  await page.goto(`${site.url}/tasks`);
  await page.getByLabel("Search").fill("second one");
  await page.getByRole("link", { name: "the second one" }).waitFor();
  await page.getByRole("link", { name: "the first one" }).waitFor({ state: "detached" });
  await page.getByLabel("Agent").selectOption("patient");
  await page.getByLabel("State").selectOption("canceled");
  await page.getByLabel("Changed within").selectOption("hour");
  await page.getByRole("cell", { name: "Stopped" }).waitFor();
  assert.match(page.url(), /text=second\+one&agent=patient&state=canceled&time=hour/);
  await page.reload();
  await page.getByRole("link", { name: "the second one" }).waitFor();
  await page.getByLabel("State").selectOption("failed");
  await page.getByText("No task fits").waitFor();
  await page.goto(`${site.url}/hub/patient?tab=usage`);
  await page.getByRole("region", { name: "Day by day" }).getByRole("cell", { name: "2", exact: true }).first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

const HOSTILE = ["<img src=x onerror=pwned()>", "<script>pwned()</script>", "[x](javascript:pwned())", "{@html '<svg onload=pwned()>'}", '"><iframe srcdoc="<script>parent.pwned()</script>">'];

test("foreign names, tags, examples and texts are shown and never run", async () => {
  const bad = await Site.start({ "evil/agent.toml": skilled("evil", HOSTILE.join(" "), HOSTILE, HOSTILE.join(" ")), "evil/run.sh": "#!/bin/sh\ncat\n" });
  const lines = HOSTILE.map((text, at) => JSON.stringify({ ...card(`x${at}`, [text]), name: text, description: text, skills: [{ id: text, name: text, description: text, tags: [text, text], examples: [text, text] }] }));
  await request(`${bad.url}/api/hub/import`, { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: lines.join("\n") });
  const { context, page, complaints } = await visit(browser);
  let ran = 0;
  await context.exposeFunction("pwned", () => void (ran += 1));
  page.on("dialog", (dialog) => void dialog.dismiss());
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: HOSTILE.join("\n") }] };
  const answer = (await bad.ask("/a2a/evil", { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } })) as { result: { task: { id: string } } };
  const entries = ((await bad.ask("/api/hub")) as { items: { id: string }[] }).items;
  assert(entries.length > 0);
  const task = answer.result.task.id;
  for (const path of [
    "/hub", `/hub?tag=${encodeURIComponent(HOSTILE[0] ?? "")}&owner=${encodeURIComponent(HOSTILE[1] ?? "")}`, "/hub?q=script+onerror", "/hub/evil", "/hub/evil?tab=edit", "/hub/evil?tab=usage", "/hub/evil?tab=trust",
    ...entries.flatMap(({ id }) => [`/hub/${encodeURIComponent(id)}`, `/hub/${encodeURIComponent(id)}?tab=trust`, `/hub/${encodeURIComponent(id)}?tab=code`]),
    "/tasks", `/tasks?text=${encodeURIComponent(HOSTILE[0] ?? "")}&agent=${encodeURIComponent(HOSTILE[1] ?? "")}`, `/tasks/${task}`, `/tasks/${task}?view=graph`,
  ]) {
    await page.goto(bad.url + path);
    await page.getByRole("heading", { level: 1 }).first().waitFor({ state: "attached" });
    await page.waitForLoadState("networkidle");
    const filters = page.getByRole("button", { name: "Filters", exact: true });
    if (await filters.count()) await filters.click();
    for (const link of await page.locator("a[href]").all()) assert.doesNotMatch((await link.getAttribute("href")) ?? "", /^\s*javascript:/i, path);
  }
  assert.equal(ran, 0);
  assert.deepEqual(complaints.filter((one) => !/status of 400/.test(one)), []);
  await context.close();
  await bad.end();
});

test("the hub, a new agent and its first answer with the keyboard alone", async () => {
  const { context, page } = await visit(browser);
  await page.goto(`${site.url}/hub`);
  await cards(page).first().waitFor();
  await page.getByRole("button", { name: "Filters", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Protocol").focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("button", { name: /Remove filter Protocol/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /Remove filter Protocol/ }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "New agent" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("radio", { name: /Shell script/ }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Tab");
  await page.keyboard.type("by-keyboard");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: /by-keyboard/ }).waitFor();
  await page.getByLabel("What do you want to ask?").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Answer" }).getByText("Done").or(page.getByText("Done")).first().waitFor();
  await page.getByRole("tab", { name: "Try it" }).focus();
  await page.keyboard.press("End");
  await page.getByRole("tab", { name: "Edit", selected: true }).waitFor();
  await context.close();
});
