// What every story needs: the real binary in a folder of its own on a free port, and Debian's browser. Nothing waits for time.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** How long any single thing is awaited, in milliseconds. Only a defect reaches it: what takes longest on a busy machine, starting the site or a browser, takes a few seconds. */
export const LIMIT = 60_000;

/** What was promised, or an error that says what was awaited in vain. */
export async function within<T>(what: string, promised: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`Waited ${LIMIT / 1000} s in vain for ${what}`)), LIMIT);
  });
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks again until what is asked for is so; the page itself brings the news. */
export async function until(what: string, holds: () => Promise<boolean>) {
  const end = Date.now() + LIMIT;
  while (!(await within(what, holds()))) assert(Date.now() < end, `Waited ${LIMIT / 1000} s in vain for ${what}`);
}

/** A request; head and body of its answer come within the limit. */
export function request(url: string, options: RequestInit = {}): Promise<Response> {
  return within(`the answer to ${options.method ?? "GET"} ${url}`, fetch(url, { ...options, signal: AbortSignal.timeout(LIMIT) }));
}

const BINARY = wanted("AGENTSITE_TEST_BINARY");
const CHROMIUM = wanted("AGENTSITE_TEST_CHROMIUM");

function wanted(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run \`cargo xtask test\``);
  return value;
}

/** The database that every site of a run shares; with it a site is three processes behind one address, and everything else is as always. */
const STORE = process.env.AGENTSITE_TEST_STORE;
const KEY = "00112233445566778899aabbccddeeff".repeat(2);

/** Gives each connection to the next process, as the simplest balancer does. */
function balance(urls: () => string[]): Promise<Server> {
  let next = 0;
  const server = createServer((client) => {
    const all = urls();
    const { hostname, port } = new URL(all[next++ % all.length]!);
    const process = connect(Number(port), hostname);
    for (const [from, to] of [[client, process], [process, client]] as const) {
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

export class Site {
  url = "";
  signIn = "";
  #processes: ChildProcess[] = [];
  #urls: string[] = [];
  #balancer?: Server;

  readonly folder: string;
  readonly settings: Record<string, string>;

  private constructor(folder: string, settings: Record<string, string>) {
    this.folder = folder;
    this.settings = settings;
  }

  /** A running site; `agents` are files below `agents/`, by path, `settings` variables of its environment, and `config` is its configuration file. */
  static async start(agents: Record<string, string> = {}, settings: Record<string, string> = {}, config = ""): Promise<Site> {
    const site = new Site(mkdtempSync(join(tmpdir(), "pages-")), settings);
    if (config) writeFileSync(join(site.folder, "agentsite.toml"), config);
    for (const [name, text] of Object.entries(agents)) site.write(name, text);
    await site.begin();
    return site;
  }

  write(name: string, text: string) {
    const path = join(this.folder, "agents", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o755 });
  }

  /** Starts the site, on the address that it had before if it had one. */
  async begin() {
    if (!STORE) {
      const banner = await this.#start(this.folder, this.url, {});
      this.url = banner.url;
      this.signIn = banner.signIn ?? this.signIn;
      return;
    }
    const schema = `pages_${process.pid}_${this.folder.replace(/[^a-z0-9]/gi, "").toLowerCase().slice(-8)}`;
    const shared = { AGENTSITE_STORE: `${STORE}&search_path=${schema}`, AGENTSITE_DATA_KEY: KEY, AGENTSITE_CLUSTER_LEASE: "10s" };
    for (const name of ["one", "two", "three"]) {
      const at = this.#urls.length;
      // Each has a data folder of its own and the same agents.
      const data = { AGENTSITE_DATA: join(this.folder, name), AGENTSITE_CLUSTER_NAME: name };
      const banner = await this.#start(this.folder, "", { ...shared, ...data });
      this.#urls[at] = banner.url;
      this.signIn ||= banner.signIn ?? "";
    }
    this.#balancer = await balance(() => this.#urls);
    const { port } = this.#balancer.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
    if (this.signIn) this.signIn = this.url + new URL(this.signIn).pathname + new URL(this.signIn).search + new URL(this.signIn).hash;
  }

  async #start(folder: string, at: string, more: Record<string, string>): Promise<{ url: string; signIn?: string }> {
    const listen = at ? new URL(at).host : "127.0.0.1:0";
    // The stories come without signing in, as admins of their own machine; a story of visitors says so by the mark of a proxy or by a setting.
    const env = { PATH: process.env.PATH ?? "", AGENTSITE_ANONYMOUS: "admin", ...more, ...this.settings };
    const child = spawn(BINARY, ["serve", "--json", "--listen", listen], { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
    this.#processes.push(child);
    const lines = createInterface({ input: child.stdout });
    const line = await within("the first line of the site", firstLine(lines));
    return JSON.parse(line) as { url: string; signIn?: string };
  }

  async kill() {
    for (const child of this.#processes.splice(0)) {
      const gone = new Promise((done) => child.once("exit", done));
      child.kill("SIGKILL");
      await within("the end of the site's process", gone);
    }
    this.#urls = [];
    this.#balancer?.close();
  }

  async end() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async ask(path: string, body?: unknown): Promise<unknown> {
    const response = await request(this.url + path, body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json", "a2a-version": "1.0" }, body: JSON.stringify(body) });
    assert(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  }
}

async function firstLine(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) return line;
  throw new Error("the site ended before it said where it listens");
}

const FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

/** A browser; each has a profile of its own, which goes with it. */
export function browse(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(" "), timeout: LIMIT });
}

export interface Visit {
  context: BrowserContext;
  page: Page;
  /** What the page complained of; a story ends with none. */
  complaints: string[];
}

export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US", ...options });
  // Playwright's own errors name what was awaited.
  context.setDefaultTimeout(LIMIT);
  const page = await context.newPage();
  limitEvaluate(page);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  return { context, page, complaints };
}

/** Gives `evaluate` the limit, too: Playwright waits for a promise of the page without one. */
function limitEvaluate(page: Page) {
  const evaluate = page.evaluate.bind(page) as (work: unknown, given?: unknown) => Promise<unknown>;
  const limited = (work: unknown, given?: unknown) => within(`${page.url()} to evaluate ${String(work).slice(0, 200)}`, evaluate(work, given));
  page.evaluate = limited as Page["evaluate"];
}

/** An agent that is a shell script. */
export function script(name: string, description: string, more = ""): string {
  return `name = ${JSON.stringify(name)}\ndescription = ${JSON.stringify(description)}\nvisibility = "public"\n${more}\n[runtime]\nkind = "exec"\ncommand = ["./run.sh"]\n`;
}
