// Talking: whom to ask, files, several agents, branches, questions back, what is kept and found, two browsers, a site that dies, ten thousand words, and nothing that runs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { HOSTILE } from "./hostile.ts";
import { browse, type Site, visit } from "./kit.ts";
import { answer, begin, log, opened, say, talk } from "./talkers.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser;
let site: Site;

before(async () => {
  browser = await browse();
  site = await begin();
});

after(async () => {
  await browser.close();
  await site.end();
});

test("anyone who can is found, and the page shows who was asked and why", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/chat`);
  await say(page, "what is 6 * 7?");
  await answer(page, "calc").getByText("42", { exact: true }).waitFor();
  const steps = answer(page, "calc").locator("details");
  await steps.getByText("Asked calc", { exact: true }).click();
  await steps.getByText(/I ask calc: /).waitFor();
  await steps.getByRole("listitem").filter({ hasText: "Done" }).getByRole("link", { name: "Task" }).click();
  await page.waitForURL(/\/tasks\/.+/);
  await page.goBack();
  await answer(page, "calc").getByText("42", { exact: true }).waitFor();
  await page.reload();
  await answer(page, "calc").getByText("42", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an answer streams, a file is taken along, and all of it is there after a reload in the middle", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/chat?agent=slow`);
  await page.locator("#files").setInputFiles({ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("a note for **you**") });
  await page.getByRole("button", { name: "Remove note.txt" }).waitFor();
  await say(page, "report");
  await log(page).locator("td", { hasText: "Rome" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await opened(page);
  await page.reload();
  await log(page).locator("td", { hasText: "Rome" }).waitFor();
  site.write("../signals/go", "");
  await log(page).getByText("That is all.").waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  await log(page).getByRole("link", { name: /note\.txt/ }).waitFor();
  await log(page).getByRole("button", { name: "Preview" }).click();
  await log(page).getByText("a note for **you**").waitFor();
  await answer(page, "slow").getByText(/^\d+(\.\d)? m?s$/).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("files are pasted and dropped, code is copied, things that were made are looked into", async () => {
  const { context, page, complaints } = await visit(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto(`${site.url}/chat?agent=echo`);
  for (const kind of ["paste", "drop"]) {
    await page.getByLabel("Write a message").evaluate((field, kind) => {
      const data = new DataTransfer();
      data.items.add(new File(["x"], `${kind}d.txt`, { type: "text/plain" }));
      field.dispatchEvent(kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, kind);
    await page.getByRole("button", { name: `Remove ${kind}d.txt` }).waitFor();
  }
  await page.goto(`${site.url}/chat?agent=coder`);
  await say(page, "hello");
  const code = answer(page, "coder").locator("figure", { hasText: "python" });
  await code.getByRole("button", { name: "Copy" }).click();
  await code.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'print("hello")');

  await page.goto(`${site.url}/chat?agent=maker`);
  await say(page, "make it");
  const made = answer(page, "maker");
  await made.locator("strong", { hasText: "well" }).waitFor();
  await made.getByText('"rows": [').waitFor();
  await made.getByRole("img", { name: "dot.png" }).waitFor();
  await made.getByRole("link", { name: "Download report.md" }).waitFor();
  await made.getByRole("button", { name: "Preview" }).click();
  await made.getByText("<h1>Hello page</h1>").waitFor();
  await made.getByText("2 steps").click();
  await made.getByText("I look at it.").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("names in a message ask several agents at once, chosen by keyboard", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/chat`);
  const field = page.getByLabel("Write a message");
  await field.focus();
  await page.keyboard.type("@ca");
  await page.getByRole("option", { name: /@calc/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("@ech");
  await page.getByRole("option", { name: /@echo/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type("2 + 3");
  assert.equal(await field.inputValue(), "@calc @echo 2 + 3");
  await page.keyboard.press("Enter");
  await answer(page, "calc").getByText("5", { exact: true }).waitFor();
  await answer(page, "echo").getByText("2 + 3").waitFor();
  assert.equal(await log(page).getByRole("article").count(), 1, "one question with two answers");
  await log(page).getByText("@calc @echo").waitFor();
  const id = await opened(page);
  const { turns } = (await site.ask(`/api/conversations/${id}/turns`)) as { turns: { messageId: string }[] };
  assert.equal(new Set(turns.map((turn) => turn.messageId)).size, 1);

  await page.getByRole("button", { name: "Ask again" }).click();
  await log(page).getByText("2/2").waitFor();
  await answer(page, "calc").getByText("5", { exact: true }).waitFor();
  await answer(page, "echo").getByText("2 + 3").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a question is edited and asked again, and every way stays", async () => {
  const { context, page, complaints } = await visit(browser);
  const id = await talk(site, "echo", "one", "two", "three");
  await page.goto(`${site.url}/chat/${id}`);
  await answer(page, "echo").getByText("three").waitFor();
  await log(page).getByRole("article", { name: "two" }).getByRole("button", { name: "Edit" }).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("TWO");
  await page.keyboard.press("Enter");
  await answer(page, "echo").getByText("TWO").waitFor();
  await log(page).getByRole("article", { name: "three" }).waitFor({ state: "detached" });
  await log(page).getByText("2/2").waitFor();
  await page.getByRole("button", { name: "Version before" }).click();
  await answer(page, "echo").getByText("three").waitFor();
  await log(page).getByText("1/2").waitFor();
  await log(page).getByRole("article", { name: "three" }).getByRole("button", { name: "Ask again" }).click();
  await log(page).getByRole("article", { name: "three" }).getByText("2/2").waitFor();
  await page.reload();
  await log(page).getByRole("article", { name: "three" }).getByText("2/2").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an agent that asks is answered: in words, by a form, with a credential that is written down nowhere", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/chat?agent=asker`);
  await say(page, "what is the weather?");
  await page.getByRole("group", { name: "The agent asks you" }).getByText("Which city?").waitFor();
  await page.getByPlaceholder("Answer the question").fill("Rome");
  await page.keyboard.press("Enter");
  await page.getByText("It is sunny in Rome.").waitFor();
  const { tasks } = (await site.ask("/api/tasks?agent=asker")) as { tasks: unknown[] };
  assert.equal(tasks.length, 1);

  await page.goto(`${site.url}/chat?agent=maker`);
  await say(page, "a form please");
  const form = page.getByRole("group", { name: "The agent asks you" });
  await form.getByLabel("City").fill("Oslo");
  await form.getByLabel("Days").fill("two");
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("Fill in Days as it is described.").waitFor();
  await form.getByLabel("Days").fill("2");
  await form.getByLabel("Unit").selectOption("c");
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText('Given: {"city":"Oslo","days":2,"unit":"c"}').waitFor();

  await page.goto(`${site.url}/chat?agent=safe`);
  await say(page, "open it");
  const asks = page.getByRole("group", { name: "The agent needs a permission" });
  await asks.getByText("The key of the safe is needed").waitFor();
  await asks.getByLabel("Credential").fill("open-sesame");
  await asks.getByRole("button", { name: "Give it" }).click();
  await page.getByText("The safe is open.").waitFor();
  const id = await opened(page);
  assert.doesNotMatch(JSON.stringify(await site.ask(`/api/conversations/${id}/turns`)), /sesame/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what runs is stopped, and the conversation goes on", async () => {
  const stopped = await begin();
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${stopped.url}/chat?agent=slow`);
  await say(page, "report");
  await log(page).locator("td", { hasText: "Rome" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await answer(page, "slow").getByText("Stopped").waitFor();
  await say(page, "@echo still here?");
  await answer(page, "echo").getByText("still here?").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await stopped.end();
});

test("a conversation is renamed, pinned, found by its words, exported and deleted", async () => {
  const { context, page, complaints } = await visit(browser);
  const id = await talk(site, "echo", "the marmot sleeps in winter");
  await talk(site, "echo", "something else");
  await page.goto(`${site.url}/chat/${id}`);
  await answer(page, "echo").getByText("marmot").waitFor();
  const list = page.getByRole("complementary", { name: "Conversations" });
  const menu = async (title: string, item: string) => {
    await page.getByRole("button", { name: `Options of ${title}` }).last().click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  await menu("the marmot sleeps in winter", "Rename");
  await page.getByLabel("Title").fill("Alpine animals");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { level: 1, name: "Alpine animals" }).waitFor();
  await list.getByRole("link", { name: /Alpine animals/ }).waitFor();
  await menu("Alpine animals", "Pin");
  await list.getByRole("list", { name: "Pinned" }).getByText("Alpine animals").waitFor();
  await list.getByRole("list", { name: "Today" }).getByText("something else").waitFor();

  await list.getByRole("searchbox").fill("marm");
  await list.locator("mark", { hasText: "marm" }).waitFor();
  assert.equal(await list.getByRole("listitem").count(), 1);
  await list.getByRole("searchbox").fill("no such words");
  await list.getByText("Nothing found").waitFor();
  await list.getByRole("searchbox").fill("");

  for (const [item, ending, holds] of [["Export as Markdown", "md", "# Alpine animals"], ["Export as JSON", "json", '"title":"Alpine animals"']] as const) {
    const download = page.waitForEvent("download");
    await menu("Alpine animals", item);
    const file = await download;
    assert.equal(file.suggestedFilename(), `conversation-${id}.${ending}`);
    assert.match(readFileSync(await file.path(), "utf8"), new RegExp(holds));
  }
  await menu("Alpine animals", "Delete");
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL(/\/chat$/);
  await list.getByText("Alpine animals").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await page.goto(`${site.url}/chat/${id}`);
  await page.getByText("This conversation is not here").waitFor();
  await context.close();
});

test("a long list of conversations is read page by page", async () => {
  const many = await begin();
  for (let at = 0; at < 90; at += 1) await many.ask("/api/conversations", { agent: "echo", title: `Number ${at}` });
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${many.url}/chat`);
  const list = page.getByRole("complementary", { name: "Conversations" });
  await list.getByText("Number 89", { exact: true }).waitFor();
  assert.equal(await list.getByText("Number 0", { exact: true }).count(), 0);
  await list.getByRole("region").focus();
  await page.keyboard.press("End");
  await list.getByText("Number 40", { exact: true }).waitFor();
  await page.keyboard.press("End");
  await list.getByText("Number 0", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await many.end();
});

test("two browsers on one conversation show the same, live", async () => {
  const shared = await begin();
  const one = await visit(browser);
  const two = await visit(browser);
  await one.page.goto(`${shared.url}/chat?agent=slow`);
  await say(one.page, "report");
  const id = await opened(one.page);
  await two.page.goto(`${shared.url}/chat/${id}`);
  for (const { page } of [one, two]) await log(page).locator("td", { hasText: "Rome" }).waitFor();
  shared.write("../signals/go", "");
  for (const { page } of [one, two]) await log(page).getByText("That is all.").waitFor();
  await say(two.page, "@echo from the other side");
  for (const { page } of [one, two]) await answer(page, "echo").getByText("from the other side").waitFor();
  await two.page.getByRole("article", { name: "report" }).getByRole("button", { name: "Edit" }).click();
  await two.page.keyboard.press("Control+A");
  await two.page.keyboard.type("another report");
  await two.page.keyboard.press("Enter");
  for (const { page } of [one, two]) await page.getByRole("article", { name: "another report" }).getByText("2/2").waitFor();
  assert.deepEqual([...one.complaints, ...two.complaints], []);
  await one.context.close();
  await two.context.close();
  await shared.end();
});

test("a site that is killed under an open page comes back to the same conversation, and what was written meanwhile is sent", async () => {
  const mortal = await begin();
  const { context, page } = await visit(browser);
  await page.goto(`${mortal.url}/chat?agent=slow`);
  await say(page, "report");
  await log(page).locator("td", { hasText: "Rome" }).waitFor();
  const id = await opened(page);
  await mortal.kill();
  await page.getByText("Reconnecting…").waitFor();
  await say(page, "@echo are you there?");
  await page.getByRole("article", { name: "Sending…" }).waitFor();
  mortal.write("../signals/go", "");
  await mortal.begin();
  await log(page).getByText("That is all.").waitFor();
  await answer(page, "echo").getByText("are you there?").waitFor();
  await page.getByText("Reconnecting…").waitFor({ state: "detached" });
  const { turns } = (await mortal.ask(`/api/conversations/${id}/turns`)) as { turns: { state: string }[] };
  assert.deepEqual(turns.map((turn) => turn.state), ["completed", "completed"]);
  await context.close();
  await mortal.end();
});

test("a guest talks with a public agent, is told that nothing is kept, and has no conversations", async () => {
  const { context, page, complaints } = await visit(browser, { extraHTTPHeaders: { via: "1.1 proxy" } });
  await page.goto(`${site.url}/chat?agent=calc`);
  await page.getByText("This conversation is not kept.").waitFor();
  await say(page, "1 + 1");
  await answer(page, "calc").getByText("2", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Edit" }).count(), 0);
  assert.equal(await page.getByRole("complementary", { name: "Conversations" }).count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a long conversation opens at its end, holds few elements, and is read back to its beginning", async () => {
  const { context, page, complaints } = await visit(browser);
  const id = await talk(site, "echo", ...Array.from({ length: 400 }, (_, at) => (at === 37 ? "the needle" : `message ${at} of many`)));
  await page.goto(`${site.url}/chat/${id}`);
  await answer(page, "echo").getByText("message 399 of many").waitFor();
  const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
  assert(await nodes() < 2500, `${await nodes()} elements at the end`);
  // Up to the beginning, a window at a time; the place that one looks at stays.
  await log(page).hover();
  const first = log(page).getByText("message 0 of many").first();
  for (let turns = 0; turns < 400 && !(await first.isVisible()); turns += 1) {
    await page.mouse.wheel(0, -3000);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert(await nodes() < 2500, `${await nodes()} elements on the way`);
  }
  await first.waitFor();
  // What is searched for is brought into sight from far back.
  await page.goto(`${site.url}/chat`);
  await page.getByRole("searchbox").fill("needl");
  await page.getByRole("complementary").locator("mark").first().waitFor();
  await page.getByRole("complementary").getByRole("link", { name: /message 0 of many/ }).click();
  await log(page).getByRole("article", { name: "the needle" }).waitFor();
  await page.getByRole("button", { name: "To the end" }).click();
  await log(page).getByText("message 399 of many").first().waitFor();
  await say(page, "one more");
  await answer(page, "echo").getByText("one more").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("back and forward lead through conversations, and an agent's page leads here", async () => {
  const { context, page, complaints } = await visit(browser);
  const id = await talk(site, "echo", "the first place");
  await page.goto(`${site.url}/hub/calc`);
  await page.getByRole("main").getByRole("link", { name: "Chat", exact: true }).click();
  await page.waitForURL(/\/chat\?agent=calc$/);
  await say(page, "3 * 3");
  await answer(page, "calc").getByText("9", { exact: true }).waitFor();
  await page.getByRole("complementary").getByRole("link", { name: /the first place/ }).click();
  await answer(page, "echo").getByText("the first place").waitFor();
  assert(page.url().endsWith(`/chat/${id}`));
  await page.goBack();
  await answer(page, "calc").getByText("9", { exact: true }).waitFor();
  await page.goForward();
  await answer(page, "echo").getByText("the first place").waitFor();
  await answer(page, "echo").getByRole("link", { name: "Task" }).click();
  await page.getByRole("heading", { level: 1, name: /Task/ }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the chat is used with the keyboard alone", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/chat?agent=echo`);
  await page.getByText("Talk with echo").waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "say");
  await page.keyboard.type("first line");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("second line");
  await page.keyboard.press("Enter");
  await answer(page, "echo").getByText("second line").waitFor();
  const edit = page.getByRole("button", { name: "Edit" });
  for (let steps = 0; steps < 40 && !(await edit.evaluate((button) => button === document.activeElement)); steps += 1) await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id.startsWith("edit-"));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Edit");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("changed");
  await page.keyboard.press("Enter");
  await answer(page, "echo").getByText("changed").waitFor();
  await page.getByRole("button", { name: "Version before" }).focus();
  await page.keyboard.press("Enter");
  await answer(page, "echo").getByText("second line").waitFor();
  await page.getByRole("main").getByRole("button", { name: /^Options of/ }).last().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Rename" }).waitFor();
  await page.keyboard.press("Escape");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("on a phone the conversations are in a drawer", async () => {
  const { context, page, complaints } = await visit(browser, { viewport: { width: 390, height: 800 } });
  const id = await talk(site, "echo", "words for the phone");
  await page.goto(`${site.url}/chat`);
  await page.getByRole("button", { name: "Conversations" }).click();
  const drawer = page.getByRole("dialog", { name: "Conversations" });
  await drawer.getByRole("link", { name: /words for the phone/ }).click();
  await drawer.waitFor({ state: "detached" });
  await answer(page, "echo").getByText("words for the phone").waitFor();
  assert(page.url().endsWith(id));
  await page.getByRole("button", { name: "Conversations" }).click();
  await drawer.waitFor();
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what agents and people write, name and send never runs", async () => {
  const { context, page, complaints } = await visit(browser);
  let ran = 0;
  await context.exposeFunction("pwned", () => void (ran += 1));
  page.on("dialog", (dialog) => void dialog.dismiss());
  for (const [at, hostile] of HOSTILE.entries()) {
    const file = { raw: Buffer.from(hostile).toString("base64"), filename: `${hostile}.${at % 2 ? "html" : "md"}`, mediaType: "text/plain" };
    const begun = (await site.ask("/api/conversations", { agent: "echo", title: hostile, message: [{ text: `${hostile} @calc` }, file] })) as { conversation: { id: string } };
    await site.ask(`/api/conversations/${begun.conversation.id}/turns`, { agent: "maker", message: `named ${hostile}` });
    await page.goto(`${site.url}/chat/${begun.conversation.id}`);
    await answer(page, "maker").getByRole("img").waitFor();
    const preview = log(page).getByRole("button", { name: "Preview" });
    // What is out of sight is not in the page, so that each is opened as it comes.
    for (let more = 0; more < 4 && (await preview.count()) > 0; more += 1) await preview.first().click();
    await page.getByLabel("Write a message").fill(`@${hostile}`);
    for (const link of await page.locator("a[href]").all()) assert.doesNotMatch((await link.getAttribute("href")) ?? "", /^\s*javascript:/i);
  }
  await page.getByRole("searchbox").fill("onerror");
  await page.locator("mark").first().waitFor();
  assert.equal(ran, 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

for (const [language, theme, width] of [["en", "light", 1280], ["en", "dark", 390], ["zh", "light", 390], ["zh", "dark", 1280]] as const) {
  test(`an open conversation in ${language}, ${theme}, ${width} px has no violation`, async () => {
    // Only here the content policy is set aside: the examiner is a script of its own.
    const { context, page, complaints } = await visit(browser, { viewport: { width, height: 900 }, colorScheme: theme, bypassCSP: true, reducedMotion: "reduce" });
    await context.addInitScript((chosen) => localStorage.setItem("language", chosen), language);
    const id = await talk(site, "maker", "make it");
    for (const [agent, message] of [["calc", "2+2"], ["coder", "code"], ["asker", "weather"], ["safe", "open"], ["maker", "a form"]]) await site.ask(`/api/conversations/${id}/turns`, { agent, message });
    const { turns } = (await site.ask(`/api/conversations/${id}/turns`)) as { turns: { id: string }[] };
    await site.ask(`/api/conversations/${id}/turns`, { instead: turns.at(-1)?.id, message: "the form" });
    await page.goto(`${site.url}/chat/${id}`);
    await log(page).getByText("2/2").waitFor();
    for (const part of ["end", "beginning"] as const) {
      if (part === "beginning") await log(page).evaluate((scroller) => (scroller.scrollTop = 0));
      await log(page).getByText(part === "end" ? "2/2" : "make it").first().waitFor();
      await page.evaluate(axe);
      const found = await page.evaluate(async () => {
        const { axe } = window as unknown as { axe: { run: (options: unknown) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } };
        const run = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
        return run.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 200)}`).join(" | ")}`);
      });
      assert.deepEqual(found, [], part);
    }
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert(wider <= 0, `${wider} px wider than the window`);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}
