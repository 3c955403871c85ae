// Every page for everybody: both languages, both themes, phone and desktop, without a violation of WCAG AA; and foreign text never runs.
import assert from "node:assert/strict";
import { after, before, describe, it, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { examine, EXAMINER, LOOKS } from "./examine.ts";
import { HOSTILE } from "./hostile.ts";
import { browse, script, Site, visit } from "./kit.ts";

let browser: Browser;
let site: Site;
let task = "";
let context = "";
let talk = "";

before(async () => {
  browser = await browse();
  const evil = HOSTILE.join(" ");
  const skill = `[[skills]]\nid = "evil"\nname = ${JSON.stringify(HOSTILE[1])}\ndescription = ${JSON.stringify(evil)}\ntags = [${JSON.stringify(HOSTILE[0])}]\nexamples = [${JSON.stringify(HOSTILE[2])}]\n`;
  site = await Site.start({
    "evil/agent.toml": script("evil", evil, skill),
    "evil/run.sh": `#!/bin/sh\ncat <<'END'\n${HOSTILE.join("\n\n")}\nEND\n`,
  });
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: HOSTILE.join("\n") }, { raw: "PHNjcmlwdD4=", filename: "<img src=x onerror=pwned()>.html", mediaType: "text/plain" }] };
  const answer = (await site.ask("/a2a/evil", { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } })) as { result: { task: { id: string; contextId: string } } };
  task = answer.result.task.id;
  context = answer.result.task.contextId;
  const begun = (await site.ask("/api/conversations", { agent: "evil", title: HOSTILE[1], message: message.parts })) as { conversation: { id: string } };
  talk = begun.conversation.id;
});

after(async () => {
  await browser.close();
  await site.end();
});

function pages(): string[] {
  return [
    "/hub", "/hub?q=time", "/hub/calc", "/hub/calc?tab=try", "/hub/calc?tab=code", "/hub/calc?tab=card", "/hub/calc?tab=tasks", "/hub/calc?tab=log", "/register", "/chat",
    "/hub?tag=none&live=yes&protocol=a2a", "/hub/evil?tab=usage", "/hub/evil?tab=trust", "/hub/evil?tab=edit", "/new", "/register?tab=card", "/register?tab=import", "/register?tab=export",
    "/tasks?state=failed&text=nothing", `/tasks/${task}?view=graph`,
    `/chat?context=${context}`, `/chat/${talk}`, "/tasks", `/tasks/${task}`, "/signin", "/network",
    "/ops", "/ops/charts", "/ops/logs", "/ops/journal", "/ops/config", "/ops/doctor", "/ops/keys", "/ops/outbox", "/ops/identity",
  ];
}

async function settled(page: Page) {
  await page.getByRole("heading", { level: 1 }).first().waitFor({ state: "attached" });
  // The chat goes on listening for news, so its network is never idle; of other pages that follow something, what they show at first is there long before.
  if (new URL(page.url()).pathname.startsWith("/chat")) await page.locator(page.url().includes("/chat/") ? "[role=log] article" : "#say").first().waitFor();
  else await page.waitForLoadState("networkidle", { timeout: 4_000 }).catch(() => undefined);
}

describe("every page", { concurrency: true }, () => {
  for (const language of ["en", "zh"] as const) {
    it(`in ${language} has no violation, in both themes, on phones and on desks`, async () => {
      // Only here the content policy is set aside: the examiner is a script of its own.
      const { context, page, complaints } = await visit(browser, { bypassCSP: true, reducedMotion: "reduce" });
      await context.addInitScript((chosen) => localStorage.setItem("language", chosen), language);
      for (const path of pages()) {
        await page.goto(site.url + path);
        await settled(page);
        await page.evaluate(EXAMINER);
        // The page is loaded once; theme and width change under it, as they do under people.
        for (const [theme, width] of LOOKS[language]) await examine(page, `${path} in ${language}, ${theme}, ${width} px`, theme, width);
      }
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
});

test("foreign text is shown and never runs", async () => {
  const { context: tab, page, complaints } = await visit(browser);
  let ran = 0;
  await tab.exposeFunction("pwned", () => void (ran += 1));
  page.on("dialog", (dialog) => void dialog.dismiss());
  for (const path of ["/hub", "/hub?q=script+onerror", "/hub/evil", "/hub/evil?tab=try", "/hub/evil?tab=code", "/hub/evil?tab=card", "/hub/evil?tab=log", `/chat?context=${context}`, `/chat/${talk}`, `/tasks/${task}`, "/ops/journal", "/chat?agent=%3Cimg%20src%3Dx%20onerror%3Dpwned()%3E"]) {
    await page.goto(site.url + path);
    await settled(page);
    for (const link of await page.locator("a[href]").all()) assert.doesNotMatch((await link.getAttribute("href")) ?? "", /^\s*javascript:/i, path);
  }
  await page.goto(`${site.url}/chat?agent=evil`);
  await page.getByLabel("Write a message").fill(HOSTILE.join("\n\n"));
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("onerror").first().waitFor();
  await settled(page);
  assert.equal(ran, 0);
  assert.deepEqual(complaints, []);
  await tab.close();
});

test("the pages are used with the keyboard alone", async () => {
  const { context, page } = await visit(browser);
  await page.goto(`${site.url}/hub`);
  await settled(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Go to the content");
  await page.getByRole("button", { name: "Account and settings" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitemradio", { name: "Dark" }).focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").focus();
  await page.keyboard.type("arithmetic");
  await page.getByText(/% fit/).first().waitFor();
  await page.getByRole("article").first().getByRole("link").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("tab", { name: "Overview" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Try it", selected: true }).waitFor();
  await context.close();
});
