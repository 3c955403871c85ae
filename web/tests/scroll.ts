// Measures the hub with many agents: `node tests/scroll.ts [10000]`, with the variables that the stories want. Prints what docs/benchmarks.md tells.
import { browse, request, Site, visit } from "./kit.ts";

const COUNT = Number(process.argv[2] ?? 10_000);
/** Lines of one request; the site takes a thousand. */
const PIECE = 500;
/** How far is scrolled in each frame: a fast hand. */
const STEP = 120;
const FRAMES = 600;

function card(at: number) {
  const name = `agent ${at}`;
  return {
    name, description: `Does what agent number ${at} is known for, with care and within limits`, version: "1", capabilities: {}, defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    supportedInterfaces: [{ url: `https://agent-${at}.example.org/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    skills: [{ id: "s", name: `Skill ${at % 40}`, description: `Does number ${at} well`, tags: [`tag ${at % 23}`, `kind ${at % 5}`], examples: [`do number ${at}`] }],
  };
}

const site = await Site.start();
for (let at = 0; at < COUNT; at += PIECE) {
  const lines = Array.from({ length: Math.min(PIECE, COUNT - at) }, (_, one) => JSON.stringify(card(at + one))).join("\n");
  const taken = await request(`${site.url}/api/hub/import`, { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: lines });
  if (!taken.ok) throw new Error(await taken.text());
}
const browser = await browse();
const { page } = await visit(browser);
const begun = performance.now();
await page.goto(`${site.url}/hub`);
await page.getByRole("article").first().waitFor();
const first = performance.now() - begun;
await page.getByText(`${COUNT + 4} agents`).waitFor();
const all = performance.now() - begun;
const scrolled = await page.evaluate(
  ([step, frames]) =>
    new Promise<{ times: number[]; nodes: number; cards: number; blank: number }>((done) => {
      const times: number[] = [];
      let [nodes, cards, blank, last] = [0, 0, 0, performance.now()];
      const frame = (now: number) => {
        times.push(now - last);
        last = now;
        nodes = Math.max(nodes, document.querySelectorAll("*").length);
        cards = Math.max(cards, document.querySelectorAll("article").length);
        const seen = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("article, section");
        if (!seen) blank += 1;
        if (times.length >= frames) return done({ times, nodes, cards, blank });
        scrollBy(0, step);
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }),
  [STEP, FRAMES] as const,
);
const sorted = scrolled.times.slice(1).sort((a, b) => a - b);
const rank = (percent: number) => (sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0).toFixed(1);
const typed = performance.now();
await page.evaluate(() => scrollTo(0, 0));
await page.getByRole("searchbox").fill("who does number 4711 well");
await page.getByText(/% fit/).first().waitFor();
console.log(`${COUNT} agents: first cards ${first.toFixed(0)} ms, all read ${all.toFixed(0)} ms, frames p50 ${rank(50)} ms, p99 ${rank(99)} ms, most elements ${scrolled.nodes}, most cards ${scrolled.cards}, blank frames ${scrolled.blank}, a search ${(performance.now() - typed).toFixed(0)} ms`);
await browser.close();
await site.end();
