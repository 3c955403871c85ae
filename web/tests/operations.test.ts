// Running a site from its pages: how it fares, what happened, how it is set up, who may come in; and that nobody else does it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { browse, request, script, Site, until, visit, type Visit, within } from "./kit.ts";

let browser: Browser;
let site: Site;

before(async () => {
  browser = await browse();
  site = await Site.start({ "talker/agent.toml": script("talker", "Answers, and says so in its log"), "talker/run.sh": "#!/bin/sh\necho 'a note for the log' >&2\necho done\n" });
});

after(async () => {
  await browser.close();
  await site.end();
});

/** The mark of a proxy makes a stranger of a browser at this machine. */
const stranger = () => visit(browser, { extraHTTPHeaders: { via: "1.1 proxy" } });

let messages = 0;
function call(agent: string, words: string, key?: string): Promise<Response> {
  const message = { messageId: `ops-${(messages += 1)}`, role: "ROLE_USER", parts: [{ text: words }] };
  const headers: Record<string, string> = { "content-type": "application/json", "a2a-version": "1.0", ...(key && { authorization: `Bearer ${key}` }) };
  return request(`${site.url}/a2a/${agent}`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }) });
}

async function open(tab: string): Promise<Visit> {
  const seen = await visit(browser);
  await seen.page.goto(`${site.url}/ops${tab ? `/${tab}` : ""}`);
  return seen;
}

/** The figure that stands under this name. */
function figure(page: Page, name: string): Locator {
  return page.locator("dl > div", { has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("dd").first();
}

async function done({ context, complaints }: Visit) {
  assert.deepEqual(complaints, []);
  await context.close();
}

test("the status shows live figures after a call, each explained", async () => {
  const seen = await open("");
  const { page } = seen;
  const kept = figure(page, "Tasks kept");
  await kept.waitFor();
  const before = Number(await kept.textContent());
  assert.equal((await call("calc", "2+2")).status, 200);
  await until("one task more", async () => Number(await kept.textContent()) === before + 1);
  for (const name of ["Running for", "Memory", "Processor", "On disk", "Commits", "Index", "Open streams"]) assert.notEqual(await figure(page, name).textContent(), "", name);
  await page.getByText("write-ahead log").waitFor();
  const workers = page.getByRole("region", { name: "Background work" });
  await workers.getByText("Removes finished tasks").waitFor();
  await page.getByRole("region", { name: "Agents" }).getByRole("link", { name: "talker" }).waitFor();
  await done(seen);
});

test("the status shows who stores how much, and the limits", async () => {
  const seen = await open("");
  const { page } = seen;
  assert.equal((await call("calc", "3+3")).status, 200);
  for (const name of ["Stored", "Without a key", "Journal size", "Free on the disk"]) assert.match((await figure(page, name).textContent()) ?? "", /^[\d.]+ (B|KiB|MiB|GiB|TiB)$/, name);
  await page.getByText("Limit: 32.0 GiB.").waitFor();
  const owners = page.getByRole("region", { name: "Storage by owner" });
  // Callers of these stories are admins, who have no limit by default.
  await owners.getByRole("row", { name: /^admin / }).getByText("none").waitFor();
  await page.getByText("for one address: 64.0 MiB").waitFor();
  await done(seen);
});

test("charts are drawn with what just happened, in both themes, and as tables", async () => {
  const seen = await open("charts");
  const { page } = seen;
  await call("calc", "1+1");
  const chart = page.getByRole("region", { name: "Requests", exact: true });
  await chart.locator("canvas").waitFor();
  await chart.getByText("As a table", { exact: true }).click();
  const table = chart.getByRole("table");
  await until("requests by A2A in the table", async () => /a2a/.test((await table.textContent()) ?? ""));
  assert.match((await chart.getByRole("img").getAttribute("aria-label")) ?? "", /Requests: .*\/s/);
  assert.equal(await page.locator("canvas").count(), 7);
  const width = async () => (await chart.locator("canvas").boundingBox())?.width ?? 0;
  const wide = await width();
  await page.setViewportSize({ width: 390, height: 800 });
  await until("a chart that fits the window", async () => (await width()) < Math.min(wide, 390));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByText("24 hours").click();
  await until("the charts of a day", async () => (await page.getByText("in each 2 min").count()) > 0);
  await done(seen);
});

test("the log shows what an action caused, by words, held still and by agent", async () => {
  const seen = await open("logs");
  const { page } = seen;
  const log = page.getByRole("list", { name: "Logs" });
  await log.waitFor();
  await request(`${site.url}/api/reload`, { method: "POST" });
  await log.getByText("reloaded").first().waitFor();
  await page.getByLabel("Search the log").fill("reloaded");
  await until("only what fits", async () => (await log.getByRole("listitem").allTextContents()).every((line) => line.includes("reloaded")));
  const before = await log.getByRole("listitem").count();
  await page.getByRole("button", { name: "Pause" }).click();
  await request(`${site.url}/api/reload`, { method: "POST" });
  await page.getByText(/Paused, [1-9]\d* new/).waitFor();
  assert.equal(await log.getByRole("listitem").count(), before);
  await page.getByRole("button", { name: "Go on" }).click();
  await until("the line that was held back", async () => (await log.getByRole("listitem").count()) > before);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  assert.match(readFileSync(await (await saved).path(), "utf8"), /INFO agentsite\S* reloaded/);
  await page.getByLabel("Level").selectOption("error");
  await page.getByText("No line fits").waitFor();

  await call("talker", "hello");
  await page.getByLabel("Search the log").fill("");
  await page.getByLabel("Level").selectOption("trace");
  await page.getByLabel("Log of").selectOption("talker");
  await log.getByText("a note for the log").first().waitFor();
  await done(seen);
});

test("a wrong configuration is refused with its place, a right one is saved and counts without a restart", async () => {
  const seen = await open("config");
  const { page } = seen;
  const text = page.getByLabel("Text of the configuration file");
  const save = page.getByRole("button", { name: "Save" });
  await text.fill('[telemetry]\nlog = "loud"\n[limits]\nbody = "1MB"\n');
  await page.getByRole("button", { name: "Line 4, column 8:" }).click();
  await page.getByText("invalid size").waitFor();
  assert.equal(await text.evaluate((field: HTMLTextAreaElement) => field.selectionStart), '[telemetry]\nlog = "loud"\n[limits]\n'.length + 7);
  assert(await save.isDisabled());

  const right = '[telemetry]\nlog = "info,agentsite_gateway=debug"\n[site]\ndescription = "later"\n';
  await text.fill(right);
  await page.getByText("After a restart: site.description").waitFor();
  await save.click();
  await page.getByText("Saved. Restart the site for: site.description").waitFor();
  assert.equal(readFileSync(join(site.folder, "agentsite.toml"), "utf8"), right);
  // The rule counts at once: what the gateway says for developers is in the log.
  await until("a line of the gateway", async () => {
    const { lines } = (await site.ask("/api/logs?level=debug&text=answered")) as { lines: unknown[] };
    return lines.length > 0;
  });
  await page.getByText("waiting for a restart: site.description").waitFor();
  const values = page.getByRole("region", { name: "telemetry" });
  await values.getByText("info,agentsite_gateway=debug").waitFor();
  await values.getByTitle("file, line 2").waitFor();

  // Somebody else changes the file: what is written here does not go over it.
  const theirs = '[telemetry]\nlog = "info"\n';
  await text.fill(`${right}# mine\n`);
  await until("a sound text", async () => save.isEnabled());
  writeFileSync(join(site.folder, "agentsite.toml"), theirs);
  await save.click();
  await page.getByRole("alert").getByText("has changed since you read it").waitFor();
  assert.equal(readFileSync(join(site.folder, "agentsite.toml"), "utf8"), theirs);
  await page.getByRole("button", { name: "Try again" }).click();
  await until("their text", async () => (await text.inputValue()) === theirs);
  await text.fill("");
  await until("a sound text", async () => save.isEnabled());
  await save.click();
  await page.getByText("Saved").waitFor();
  assert.equal(readFileSync(join(site.folder, "agentsite.toml.bak"), "utf8"), theirs);
  // A refusal is told by the browser as well; there is one, the one that was meant.
  assert.equal(seen.complaints.length, 1, seen.complaints.join("\n"));
  assert.match(seen.complaints.pop() ?? "", /409/);
  await done(seen);
});

test("the journal is searched by words, kind, agent and time, follows what happens, and is taken along", async () => {
  await call("talker", "for the journal");
  const seen = await open("journal");
  const { page } = seen;
  const journal = page.getByRole("list", { name: "Journal" });
  await journal.getByRole("link").first().waitFor();
  await page.getByLabel("Agent", { exact: true }).fill("talker");
  await until("lines of the agent", async () => (await journal.getByRole("listitem").allTextContents()).every((line) => line.includes("talker")));
  await page.getByLabel("About").selectOption("site");
  await until("the lines that are about the agent and not about its tasks", async () => (await journal.getByRole("link").count()) === 0 && (await journal.getByText("talker").count()) > 0);
  await page.getByLabel("Agent", { exact: true }).fill("no-such-agent");
  await page.getByText("No line fits").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).last().click();
  await page.getByLabel("About").selectOption("site");
  const label = "a key that the journal tells of";
  const made = await request(`${site.url}/api/keys`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ label, scopes: ["call"] }) });
  assert.equal(made.status, 201);
  await journal.getByText(label).waitFor();
  await page.getByLabel("Search the journal").fill("THE JOURNAL TELLS");
  await until("one line", async () => (await journal.getByRole("listitem").count()) === 1);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const line = JSON.parse(readFileSync(await (await saved).path(), "utf8")) as { text: string };
  assert.match(line.text, /the journal tells/);
  await page.getByLabel("From").fill("2999-01-01T00:00");
  await page.getByText("No line fits").waitFor();
  await done(seen);
});

test("the doctor looks when it is told to", async () => {
  const seen = await open("doctor");
  const { page } = seen;
  await page.getByText("Not checked yet").waitFor();
  await page.getByRole("button", { name: "Run the checks" }).click();
  const checks = page.getByRole("list", { name: "Doctor" });
  await checks.getByText("agent talker").waitFor();
  await checks.getByText("in use by the running site; not opened").waitFor();
  await page.getByText(/^looked /).waitFor();
  await page.reload();
  await checks.getByText("free disk").waitFor();
  await done(seen);
});

test("a key for one agent works with the API and a browser, and dies with everything when it is revoked", async () => {
  const operator = await open("keys");
  const { page } = operator;
  await page.getByLabel("For whom").fill("a build server");
  await page.getByLabel("May").selectOption("some");
  assert(await page.getByRole("button", { name: "Make a key" }).isDisabled(), "no agent is chosen yet");
  await page.getByRole("checkbox", { name: "calc" }).check();
  await page.getByRole("button", { name: "Make a key" }).click();
  const secret = (await page.getByRole("status").locator("code").textContent()) ?? "";
  assert.equal((await call("calc", "3+4", secret)).status, 200);

  const other = await stranger();
  await other.page.goto(`${site.url}/signin`);
  await other.page.getByText("You are here as: Guest").waitFor();
  await other.page.getByLabel("Key").fill(secret);
  await other.page.getByRole("button", { name: "Sign in" }).click();
  // Browser and program are one: the task of the program is the browser's as well.
  await other.page.getByRole("link", { name: "Tasks" }).click();
  await other.page.getByRole("cell", { name: "calc" }).first().waitFor();
  await other.page.getByRole("button", { name: "Account and settings" }).click();
  await other.page.getByText("Signed in as a build server").waitFor();
  await other.page.keyboard.press("Escape");
  const [cookie] = await other.context.cookies();
  assert(cookie?.httpOnly && cookie.sameSite === "Strict" && cookie.value !== secret && !secret.includes(cookie.value), "the cookie is no key");
  await other.page.goto(`${site.url}/ops`);
  await other.page.getByText("Running the site needs a key with the scope admin").waitFor();

  await page.reload();
  const sessions = page.getByRole("region", { name: "Signed-in browsers" });
  await sessions.getByRole("cell", { name: "a build server" }).waitFor();
  await page.getByRole("button", { name: "Revoke a build server" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No browser is signed in").waitFor();
  assert.equal((await call("calc", "3+4", secret)).status, 401);
  await other.page.goto(`${site.url}/signin`);
  await other.page.getByText("You are here as: Guest").waitFor();
  await done(operator);
  await done(other);
});

test("a link signs an administrator in once, and the session outlasts a restart until it is ended from elsewhere", async () => {
  const operator = await open("keys");
  await operator.page.getByRole("button", { name: "Sign-in link" }).click();
  const link = (await operator.page.getByRole("status").locator("code").textContent()) ?? "";
  const far = await stranger();
  await far.page.goto(link);
  await far.page.goto(`${site.url}/ops/keys`);
  const sessions = far.page.getByRole("region", { name: "Signed-in browsers" });
  await sessions.getByText("this browser").waitFor();
  const again = await stranger();
  await again.page.goto(link);
  await again.page.getByText("used already or is too old").waitFor();
  await again.context.close();

  await site.kill();
  await site.begin();
  await far.page.goto(`${site.url}/ops/keys`);
  await sessions.getByText("this browser").waitFor();
  await operator.page.reload();
  await operator.page.getByRole("region", { name: "Signed-in browsers" }).getByRole("button", { name: /^End Chrome/ }).click();
  await operator.page.getByRole("alertdialog").getByRole("button", { name: "End" }).click();
  await operator.page.getByText("No browser is signed in").waitFor();
  await far.page.goto(`${site.url}/ops`);
  await far.page.getByText("Only admins of this site see this").waitFor();
  await far.context.close();
  await operator.context.close();
});

test("a guest is told what guests may do, and how to get more", async () => {
  const seen = await stranger();
  await seen.page.goto(`${site.url}/ops`);
  await seen.page.getByText("See public agents and call them").waitFor();
  await seen.page.getByText("ask an admin of the site for one").waitFor();
  await seen.page.getByRole("region", { name: "Only admins of this site" }).getByRole("link", { name: "Sign in" }).click();
  await seen.page.getByLabel("Key").fill("ask_no_such");
  await seen.page.getByRole("button", { name: "Sign in" }).click();
  await seen.page.getByRole("alert").getByText("this key is not known here").waitFor();
  assert.match(seen.complaints.pop() ?? "", /401/);
  await done(seen);
});

test("a form on a page of another site changes nothing, though the browser is signed in", async () => {
  const evil = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    const form = (path: string) => `<form method=post action="${site.url}${path}" enctype="text/plain" target=f><input name='{"label":"evil","scopes":["admin"],"x":"' value='"}'></form>`;
    answer.end(`<!doctype html><title>x</title><iframe name=f></iframe>${form("/api/keys")}${form("/api/identity/rotate")}${form("/api/reload")}${form("/api/doctor")}${form("/api/config")}<script>
      const send = (path, body) => fetch("${site.url}" + path, { method: "POST", credentials: "include", mode: "no-cors", headers: { "content-type": "text/plain" }, body }).catch(() => 0);
      (async () => { for (const form of document.forms) { form.submit(); await new Promise((on) => { document.querySelector("iframe").onload = on; }); }
        await send("/api/identity/rotate", ""); await send("/api/keys", '{"label":"evil","scopes":["admin"]}'); document.title = "tried"; })();
    </script>`);
  });
  await within("the other site to listen", new Promise<void>((on) => evil.listen(0, "127.0.0.1", on)));
  const told = async () => JSON.stringify([await site.ask("/api/identity"), await site.ask("/api/keys"), ((await site.ask("/api/journal?limit=1")) as { lines: { seq: number }[] }).lines[0]?.seq]);
  const before = await told();
  // At this machine a browser is an administrator without any cookie, which makes it the best of victims.
  const victim = await visit(browser);
  await victim.page.goto(`${site.url}/ops`);
  await victim.page.goto(`http://localhost:${(evil.address() as AddressInfo).port}/`);
  await until("every attempt", async () => (await victim.page.title()) === "tried");
  assert.equal(await told(), before);
  await victim.context.close();
  evil.close();
});

test("what could not leave is sent again, or dropped with a question before", async () => {
  const pushing = await Site.start({}, { AGENTSITE_EGRESS_ALLOW: "127.0.0.0/8" });
  let gone = true;
  let told = 0;
  const receiver = createServer((received, answer) => {
    received.resume();
    answer.statusCode = gone ? 410 : 204;
    if (!gone) told += 1;
    answer.end();
  });
  await within("the receiver to listen", new Promise<void>((on) => receiver.listen(0, "127.0.0.1", on)));
  const hook = { id: "c", url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`, token: "t0ken" };
  const message = { messageId: "pushed", role: "ROLE_USER", parts: [{ text: "hi" }] };
  await pushing.ask("/a2a/echo", { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message, configuration: { taskPushNotificationConfig: hook } } });
  const seen = await visit(browser);
  const { page } = seen;
  await page.goto(`${pushing.url}/ops/outbox`);
  await page.getByRole("main").getByText("Given up", { exact: true }).first().click();
  const letters = page.getByRole("list", { name: "Outbox" }).getByRole("listitem");
  await until("dead letters", async () => (await letters.count()) === 4);
  await letters.first().getByText("410").waitFor();
  assert.doesNotMatch((await page.getByRole("main").textContent()) ?? "", /t0ken/);
  await letters.last().getByRole("button", { name: "Drop" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await letters.count(), 4);
  await letters.last().getByRole("button", { name: "Drop" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Drop" }).click();
  await until("one letter less", async () => (await letters.count()) === 3);
  gone = false;
  await letters.first().getByRole("button", { name: "Try again" }).click();
  await until("a letter that left", async () => (await letters.count()) === 2 && told > 0);
  await done(seen);
  receiver.close();
  await pushing.end();
});

test("the keys of the site are changed with a question before, and the signed record is shown", async () => {
  const seen = await open("identity");
  const { page } = seen;
  const name = page.locator("code", { hasText: /^did:key:/ }).first();
  const before = await name.textContent();
  await page.locator("code", { hasText: /^did:web:/ }).waitFor();
  await page.getByRole("button", { name: "Take new keys" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  assert.equal(await name.textContent(), before);
  await page.getByRole("button", { name: "Take new keys" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Take new keys" }).click();
  await until("another name", async () => (await name.textContent()) !== before);
  await page.getByRole("group", { name: "Rotation records" }).waitFor();
  await page.getByText("former", { exact: true }).first().waitFor();
  await done(seen);
});

test("the operations are used with the keyboard alone", async () => {
  const seen = await open("");
  const { page } = seen;
  await page.getByRole("tab", { name: "Status" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Charts", selected: true }).waitFor();
  await page.getByRole("radio", { name: "15 min" }).focus();
  await page.keyboard.press("ArrowRight");
  assert(await page.getByRole("radio", { name: "1 hour" }).isChecked());
  await page.getByRole("tab", { name: "Charts" }).focus();
  await page.keyboard.press("End");
  await page.getByRole("tab", { name: "Identity", selected: true }).waitFor();
  await page.getByRole("button", { name: "Take new keys" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("alertdialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), "Take new keys");
  await done(seen);
});
