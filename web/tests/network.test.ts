// The network: a site joins the mesh by one click, another joins by an invite, its agents are found in the hub and called in the chat, and who dies is shown as gone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { examine, EXAMINER, LOOKS } from "./examine.ts";
import { browse, script, Site, until, visit } from "./kit.ts";

let browser: Browser;
let mill: Site;
let bakery: Site;

/** Sites in the mesh at free ports of loopback, in a network of their own. */
function inMesh(name: string): string {
  return `[site]\nname = ${JSON.stringify(name)}\n[mesh]\nenabled = true\nlisten = ["/ip4/127.0.0.1/tcp/0"]\nallow_private_addresses = true\n`;
}

before(async () => {
  browser = await browse();
  const diary = script("diary", "Nobody elsewhere learns of it").replace('"public"', '"private"');
  bakery = await Site.start(
    { "rolls/agent.toml": script("rolls", "Bakes fresh rolls and says when they are ready"), "rolls/run.sh": '#!/bin/sh\ncat > /dev/null\necho "rolls at seven"\n', "diary/agent.toml": diary, "diary/run.sh": "#!/bin/sh\ncat\n" },
    {},
    inMesh("Bakery"),
  );
  mill = await Site.start({}, {}, inMesh("Mill"));
});

after(async () => {
  await browser.close();
  await mill.end();
  await bakery.end();
});

const peers = (page: Page) => page.getByRole("region", { name: "Peers" });

/** The mesh starts a moment after the site; then it has an address. */
function running(page: Page): Promise<void> {
  return page.getByText("/ip4/127.0.0.1/tcp/").first().waitFor();
}

test("a site that is not in the mesh says what joining means, and joins by one click and a restart", async () => {
  const alone = await Site.start({}, {}, '[site]\nname = "Alone"\n[mesh]\nlisten = ["/ip4/127.0.0.1/tcp/0"]\n');
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${alone.url}/network`);
  await page.getByText("Nothing has been sent to other sites").waitFor();
  await page.getByRole("region", { name: "What other sites learn" }).getByRole("row", { name: /calc Public Not announced now/ }).waitFor();
  await page.getByRole("button", { name: "Join the mesh" }).click();
  await page.getByText("Restart the site to join the mesh").waitFor();
  assert.equal(readFileSync(join(alone.folder, "agentsite.toml"), "utf8"), '[site]\nname = "Alone"\n[mesh]\nenabled = true\nlisten = ["/ip4/127.0.0.1/tcp/0"]\n');
  await alone.kill();
  await alone.begin();
  await page.reload();
  await page.getByText("No peers yet").waitFor();
  await page.getByRole("region", { name: "What other sites learn" }).getByRole("row", { name: /calc Public Announced to every site/ }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await alone.end();
});

test("a site joins another by its invite, finds an agent of it, and calls it in the chat", async () => {
  const host = await visit(browser);
  await host.page.goto(`${bakery.url}/network`);
  await host.page.getByRole("row", { name: /diary Private Not announced, and no other site can call it/ }).waitFor();
  await running(host.page);
  const create = host.page.getByRole("button", { name: "Create an invite" });
  const shown = host.page.getByRole("status").locator("code");
  await create.click();
  await shown.waitFor();
  const link = (await shown.textContent()) ?? "";
  assert.match(link, /^agentsite:\/\/join\//);
  await host.page.reload();
  await create.waitFor();
  assert.equal(await shown.count(), 0, "an invite is shown once");

  const { context, page, complaints } = await visit(browser);
  await page.goto(`${mill.url}/network`);
  await running(page);
  await page.getByText("No peers yet").waitFor();
  await page.getByLabel("Link of the invite").fill(link);
  await page.getByRole("button", { name: "Join", exact: true }).click();
  await page.getByText("was added as a peer").waitFor();
  const row = peers(page).getByRole("row", { name: /Bakery/ });
  await row.getByText("Direct").waitFor();
  await until("the agents of the peer on the map", async () => Number(await page.locator("[data-nodes]").getAttribute("data-nodes")) > 3);
  await peers(host.page).getByRole("row", { name: /Mill/ }).getByText("Direct").waitFor();

  await page.getByRole("link", { name: "Agents", exact: true }).click();
  await page.getByRole("searchbox").fill("fresh rolls from a baker");
  const card = page.getByRole("article").filter({ has: page.getByRole("link", { name: "rolls", exact: true }) });
  await card.getByText("From Bakery").waitFor();
  await card.getByText(/z6Mk\w+…\w+/).waitFor();
  await card.getByText(/current/).waitFor();
  assert.equal(await page.getByRole("article").filter({ hasText: "diary" }).count(), 0);
  await card.getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /rolls/ }).waitFor();
  await page.getByText("From Bakery").waitFor();
  await page.getByText("Record holds until").waitFor();
  await page.getByRole("button", { name: "Chat" }).click();
  await page.getByLabel("Write a message").fill("When are the rolls ready?");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("rolls at seven").waitFor();
  assert.deepEqual([...complaints, ...host.complaints], []);
  await context.close();
  await host.context.close();
});

test("the network has no violation in both languages and themes, on phones and on desks", async () => {
  for (const language of ["en", "zh"] as const) {
    const { context, page, complaints } = await visit(browser, { bypassCSP: true, reducedMotion: "reduce" });
    await context.addInitScript((chosen) => localStorage.setItem("language", chosen), language);
    await page.goto(`${mill.url}/network`);
    await page.getByRole("row", { name: /Bakery/ }).waitFor();
    await page.locator("[data-nodes]").waitFor({ state: "attached" });
    await page.evaluate(EXAMINER);
    for (const [theme, width] of LOOKS[language]) await examine(page, `/network in ${language}, ${theme}, ${width} px`, theme, width);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

test("a wrong link is refused with what to do, and a ban is asked for first and lifted again", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${mill.url}/network`);
  await page.getByLabel("Link of the invite").fill("https://example.org/join");
  await page.getByRole("button", { name: "Join", exact: true }).click();
  await page.getByRole("alert").getByText("this is not an invite").waitFor();
  assert.match(complaints.pop() ?? "", /400/);
  const row = peers(page).getByRole("row", { name: /Bakery/ });
  await row.getByRole("button", { name: "Ban Bakery" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  await row.getByRole("button", { name: "Ban Bakery" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Ban" }).click();
  await row.getByText("Banned").waitFor();
  await row.getByRole("button", { name: "Allow Bakery again" }).click();
  await row.getByText("Banned").waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a site that dies is shown as gone, and so is its agent", async () => {
  const { context, page, complaints } = await visit(browser);
  await page.goto(`${mill.url}/network`);
  // The ban took the peer away; it is added again, by the address of its pages.
  await page.getByLabel("Address of the site").fill(bakery.url);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText(/^Added /).waitFor();
  const row = peers(page).getByRole("row", { name: /Bakery/ });
  await row.getByText("Direct").waitFor();
  await bakery.kill();
  await row.getByText("Gone").waitFor();
  await row.getByText(/last seen/).waitFor();

  await page.getByRole("link", { name: "Agents", exact: true }).click();
  await page.getByRole("searchbox").fill("fresh rolls from a baker");
  const card = page.getByRole("article").filter({ has: page.getByRole("link", { name: "rolls", exact: true }) });
  await until("the agent of the dead site is shown as gone", async () => {
    await page.getByRole("searchbox").fill("rolls of a baker");
    await page.getByRole("searchbox").fill("fresh rolls from a baker");
    return card.getByText("not reachable").isVisible();
  });
  await card.getByText("From Bakery").waitFor();
  await card.getByText("No answer").waitFor();
  await card.getByRole("link").first().click();
  await page.getByRole("heading", { level: 1, name: /rolls/ }).waitFor();
  await page.getByText("not reachable").first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
