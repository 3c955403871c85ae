// Agents to talk with, and what one does in the chat, for its stories.
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { script, Site } from "./kit.ts";

/** Says the beginning of a report, and its end when the story lets it. */
const SLOW = `#!/bin/sh
cat > /dev/null
echo "# Report"
echo
echo "| town | degrees |"
echo "|---|---|"
echo "| Rome | 21 |"
while [ ! -e ../../signals/go ]; do sleep 0.05; done
echo
echo "That is all."
`;

const ASKER = `#!/bin/sh
case "$(cat)" in
  *Rome*) echo "It is sunny in Rome." ;;
  *) echo "Which city?"; exit 10 ;;
esac
`;

const SAFE = `#!/bin/sh
if [ -n "$AGENTSITE_CREDENTIAL" ]; then echo "The safe is open."; else echo "The key of the safe is needed"; exit 11; fi
`;

const CODE = `#!/bin/sh
cat > /dev/null
cat <<'END'
Run this:

\`\`\`python
print("hello")
\`\`\`
END
`;

const maker = `name = "maker"\ndescription = "Makes reports, pages and pictures"\nvisibility = "public"\n[runtime]\nkind = "a2a"\ncommand = [${JSON.stringify(process.execPath)}, "maker.mjs"]\n`;

/** A site with the agents of the stories; `go` lets the slow one end. */
export async function begin(): Promise<Site> {
  return Site.start({
    "asker/agent.toml": script("asker", "Asks for a city before it answers"),
    "asker/run.sh": ASKER,
    "safe/agent.toml": script("safe", "Opens the safe"),
    "safe/run.sh": SAFE,
    "coder/agent.toml": script("coder", "Writes programs"),
    "coder/run.sh": CODE,
    "../signals/README": "What the slow agent waits for.\n",
    "slow/run.sh": SLOW,
    "slow/agent.toml": script("slow", "Says its report slowly", "[limits]\nretry = 3\n[sandbox]\nread = [\"../../signals\"]\n"),
    "maker/agent.toml": maker,
    "maker/maker.mjs": readFileSync(new URL("maker.mjs", import.meta.url), "utf8"),
  });
}

export const log = (page: Page): Locator => page.getByRole("log");
export const answer = (page: Page, agent: string): Locator => log(page).getByRole("group", { name: `Answer of ${agent}` });

export async function say(page: Page, words: string) {
  await page.getByLabel("Write a message").fill(words);
  await page.keyboard.press("Enter");
}

/** The id of the conversation that is open. */
export async function opened(page: Page): Promise<string> {
  await page.waitForURL(/\/chat\/.+/);
  return new URL(page.url()).pathname.split("/")[2] ?? "";
}

export async function talk(of: Site, agent: string, ...messages: string[]): Promise<string> {
  const [first, ...rest] = messages;
  const begun = (await of.ask("/api/conversations", { agent, message: first })) as { conversation: { id: string } };
  for (const message of rest) await of.ask(`/api/conversations/${begun.conversation.id}/turns`, { message });
  return begun.conversation.id;
}
