// What people come for: a first answer by clicking, finding, an agent from elsewhere, signing in, coming as a guest. Talking has stories of its own.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { browse, script, Site, visit } from "./kit.ts";

let browser: Browser;
let site: Site;
let other: Site;

before(async () => {
  browser = await browse();
  other = await Site.start({ "greeter/agent.toml": script("greeter", "Greets whoever comes by"), "greeter/run.sh": "#!/bin/sh\necho hello\n" });
  site = await Site.start({}, { AGENTSITE_EGRESS_ALLOW: "127.0.0.0/8" });
});

after(async () => {
  await browser.close();
  await site.end();
  await other.end();
});

test("from the first page to the first answer by clicking", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(site.url);
  await page.getByRole("link", { name: "calc", exact: true }).click();
  await page.getByRole("link", { name: "what is 2 + 2?" }).click();
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("4", { exact: true }).waitFor();
  await page.getByRole("tab", { name: "Use from code" }).click();
  await page.getByText("agentsite call calc").first().waitFor();
  await page.getByRole("tab", { name: "Tasks" }).click();
  await page.getByRole("cell", { name: "Done" }).first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("search as you type shows why an agent fits", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/hub`);
  await page.getByRole("searchbox").pressSequentially("what time is it in tokyo");
  const first = page.getByRole("article").first();
  await first.getByText("time in Tokyo").waitFor();
  await first.getByText(/% fit/).waitFor();
  assert.match(page.url(), /\?q=/);
  await page.reload();
  await page.getByRole("article").first().getByText(/% fit/).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an agent of another site is registered by its address, found, suspended and removed", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${site.url}/register`);
  await page.getByLabel("Address of the agent").fill(`${other.url}/a2a/greeter`);
  await page.getByRole("button", { name: "Register", exact: true }).click();
  const entry = page.getByRole("region", { name: "Registration" });
  await entry.getByText("urn:air:").waitFor();
  await page.getByRole("link", { name: "greeter" }).click();
  await page.getByRole("heading", { level: 1, name: /greeter/ }).waitFor();
  await page.getByRole("button", { name: "Suspend" }).click();
  await page.getByText("Suspended").first().waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Suspend" }).waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await page.waitForURL(/\/hub$/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a key made in the pages signs another browser in, and nobody else's tasks are there", async () => {
  const operator = await visit(browser);
  await operator.page.goto(`${site.url}/ops/keys`);
  await operator.page.getByLabel("For whom").fill("a friend");
  await operator.page.getByRole("button", { name: "Make a key" }).click();
  const secret = (await operator.page.getByRole("status").locator("code").textContent()) ?? "";
  assert.match(secret, /^ask_/);
  // The mark of a proxy makes a stranger of a browser at this machine.
  const friend = await visit(browser, { extraHTTPHeaders: { via: "1.1 proxy" } });
  await friend.page.goto(`${site.url}/signin`);
  await friend.page.getByLabel("Key").fill(secret);
  await friend.page.getByRole("button", { name: "Sign in" }).click();
  await friend.page.getByRole("link", { name: "Tasks" }).click();
  await friend.page.getByText("No tasks here").waitFor();
  assert.equal(await friend.page.getByRole("link", { name: "Operations" }).count(), 0);
  assert.equal(await friend.page.evaluate(() => document.cookie), "");
  await friend.page.getByRole("button", { name: "Account and settings" }).click();
  await friend.page.getByRole("menuitem", { name: "Sign out" }).click();
  await friend.page.getByRole("link", { name: "Tasks" }).waitFor({ state: "detached" });
  assert.deepEqual([...operator.complaints, ...friend.complaints], []);
  await operator.context.close();
  await friend.context.close();
});

test("a browser at the site's own machine is a guest until it opens the link of the banner", async () => {
  const own = await Site.start({}, { AGENTSITE_ANONYMOUS: "public" });
  const { context, page, complaints } = await visit(browser);
  await page.goto(own.url);
  await page.getByText("You are not signed in").waitFor();
  await page.getByText("agentsite open").first().waitFor();
  await page.getByRole("link", { name: "calc", exact: true }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Operations" }).count(), 0);
  await page.goto(own.signIn);
  await page.getByRole("link", { name: "Operations" }).waitFor();
  assert.equal(await page.getByText("You are not signed in").count(), 0);
  await page.reload();
  await page.getByRole("link", { name: "Operations" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await own.end();
});

test("a guest sees the public agents and talks with them", async () => {
  const { context, page, complaints } = await visit(browser, { extraHTTPHeaders: { via: "1.1 proxy" } });
  await page.goto(site.url);
  await page.getByRole("link", { name: "calc", exact: true }).click();
  await page.getByRole("link", { name: "Chat", exact: true }).last().click();
  await page.getByLabel("Write a message").fill("1 + 1");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("2", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
