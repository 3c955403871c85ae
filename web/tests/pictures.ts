// Takes the pictures of docs/screenshots: `node tests/pictures.ts`, with the variables that the stories want.
import { mkdirSync } from "node:fs";
import { browse, script, Site, until, visit } from "./kit.ts";

const FOLDER = new URL("../../docs/screenshots/", import.meta.url).pathname;

function agent(name: string, description: string, skill: string, about: string, tags: string[], examples: string[]): string {
  return script(name, description, `[[skills]]\nid = "main"\nname = ${JSON.stringify(skill)}\ndescription = ${JSON.stringify(about)}\ntags = ${JSON.stringify(tags)}\nexamples = ${JSON.stringify(examples)}\n`);
}

const REPORT = `#!/bin/sh
cat > /dev/null
cat <<'END'
Three trains fit. The 9:05 is the quickest:

| train | leaves | arrives | changes |
|---|---|---|---|
| ICE 371 | 9:05 | 13:02 | 0 |
| EC 7 | 9:41 | 14:20 | 1 |
| IC 2022 | 10:12 | 15:31 | 1 |

To book it from a program:

\`\`\`sh
agentsite call trains "book ICE 371 for two"
\`\`\`
END
`;

const site = await Site.start({
  "trains/agent.toml": agent("trains", "Finds train connections in Europe and books them", "Connections", "Finds the trains between two towns at a given time", ["travel", "train", "timetable"], ["trains from Berlin to Basel tomorrow morning"]),
  "trains/run.sh": REPORT,
  "translate/agent.toml": agent("translate", "Translates letters and contracts between twelve languages and keeps their form", "Translate", "Translates a text into another language", ["language", "translation", "contract"], ["translate this contract into French"]),
  "translate/run.sh": "#!/bin/sh\ncat\n",
  "invoices/agent.toml": agent("invoices", "Reads invoices and receipts and writes them into the ledger", "Read an invoice", "Takes the amounts, dates and names out of an invoice", ["accounting", "invoice", "ledger"], ["enter this invoice from March"]),
  "invoices/run.sh": "#!/bin/sh\ncat\n",
});
mkdirSync(FOLDER, { recursive: true });
const browser = await browse();

async function picture(name: string, path: string, options: { from?: Site; width?: number; height?: number; theme?: "light" | "dark"; language?: string; act?: (page: import("playwright-core").Page) => Promise<void> } = {}) {
  const { from = site, width = 1280, height = width < 500 ? 800 : 780, theme = "light", language = "en" } = options;
  const { context, page } = await visit(browser, { viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
  await context.addInitScript((chosen) => localStorage.setItem("language", chosen), language);
  await page.goto(from.url + path);
  await page.getByRole("heading", { level: 1 }).first().waitFor({ state: "attached" });
  await options.act?.(page);
  await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
  await page.screenshot({ path: `${FOLDER}${name}.png` });
  await context.close();
}

await picture("hub", "/hub", { act: (page) => page.getByRole("article").nth(5).waitFor() });
await picture("search", "/hub?q=I+need+this+letter+in+French", { theme: "dark", act: (page) => page.getByText(/% fit/).first().waitFor() });
await picture("agent", "/hub/calc?tab=try&say=15%25%20of%2080", {
  act: async (page) => {
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByText("12", { exact: true }).waitFor();
  },
});
await picture("chat", "/chat", {
  act: async (page) => {
    await page.getByLabel("Write a message").fill("trains from Berlin to Basel tomorrow morning");
    await page.keyboard.press("Enter");
    await page.getByRole("log").locator("td", { hasText: "ICE 371" }).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
  },
});
const { tasks } = (await site.ask("/api/tasks?agent=concierge")) as { tasks: { id: string }[] };
const { conversations } = (await site.ask("/api/conversations")) as { conversations: { id: string }[] };
await picture("task", `/tasks/${tasks[0]?.id}`, { theme: "dark", act: (page) => page.getByText("ICE 371").first().waitFor() });
await picture("graph", `/tasks/${tasks[0]?.id}?view=graph`, { act: (page) => page.locator(".svelte-flow__node").nth(1).waitFor() });
await picture("new", "/new", { act: async (page) => { await page.getByLabel("Name", { exact: true }).fill("word-counter"); await page.getByRole("group", { name: "word-counter/agent.toml" }).waitFor(); } });
await picture("operations", "/ops", { act: (page) => page.getByText("agents-folder").first().waitFor() });
await picture("phone-hub", "/hub", { width: 390, theme: "dark", act: (page) => page.getByRole("article").first().waitFor() });
await picture("phone-chat", `/chat/${conversations[0]?.id}`, { width: 390, language: "zh", act: (page) => page.getByRole("log").locator("td", { hasText: "ICE 371" }).waitFor() });

// Three sites in the mesh, for the picture of the network.
const mesh = (name: string) => `[site]\nname = ${JSON.stringify(name)}\n[mesh]\nenabled = true\nlisten = ["/ip4/127.0.0.1/tcp/0"]\nallow_private_addresses = true\n`;
const rolls = { "rolls/agent.toml": agent("rolls", "Bakes fresh rolls and says when they are ready", "Rolls", "Says when fresh rolls are ready", ["bakery"], ["when are the rolls ready?"]), "rolls/run.sh": "#!/bin/sh\ncat\n" };
const bakery = await Site.start(rolls, {}, mesh("Bakery"));
const library = await Site.start({}, {}, mesh("Library"));
const mill = await Site.start({}, {}, mesh("Mill"));
for (const other of [bakery, library]) {
  let invited: { link: string } | undefined;
  await until("an invite", async () => (invited = (await other.ask("/api/mesh/invite", {}).catch(() => undefined)) as typeof invited) !== undefined);
  await mill.ask("/api/mesh/join", invited);
}
await picture("network", "/network", {
  from: mill, height: 1100,
  act: async (page) => {
    for (const name of ["Bakery", "Library"]) await page.getByRole("row", { name: new RegExp(name) }).getByText("Direct").waitFor();
    await until("agents on the map", async () => Number(await page.locator("[data-nodes]").getAttribute("data-nodes")) > 12);
  },
});
await browser.close();
for (const one of [site, mill, library, bakery]) await one.end();
