// What the hub shows: the agents of the site and those from elsewhere in one shape, all of them or those that fit a need.
import { api, Refused, type Agent, type CellCoverage, type Listing, type Match, type Skill } from "./api/client";
import { asked, shownPrice, type Filters, type Narrowed } from "./logic/filters";
import { siteOf, siteOfId } from "./logic/network";
import { waitOf } from "./logic/patience";
import { reachability } from "./logic/reachability";
import { who } from "./session.svelte";
import { sites } from "./sites.svelte";

export interface Shown extends Narrowed {
  key: string;
  id: string;
  name: string;
  description: string;
  version: string;
  skills: Skill[];
  /** The health of an agent of this site; for one from elsewhere whether it answered when it was last checked. Empty while nothing is known. */
  health: string;
  /** When an agent from elsewhere was last checked. */
  checkedAt?: string;
  /** The DID of the site that announced it through the mesh. */
  site?: string;
  /** When that site signed the record, and until when the record holds. */
  signedAt?: string;
  leaseUntil?: string;
  visibility: "private" | "peers" | "public";
  proof: "none" | "site" | "domain" | "signature";
  standing: string;
  warnings: string[];
  match?: Match;
}

/** Entries from elsewhere that are read for one page of the hub; beyond that people search. */
const MOST = 10_000;
const PAGE = 500;
/** The most that one answer of the public registry has. */
const PUBLIC_PAGE = 100;
/** Entries that a visitor gets at once, and milliseconds between the pages after them: a visitor may ask five times a second, and wants to search meanwhile. */
const PUBLIC_AT_ONCE = 500;
const PUBLIC_PAUSE = 500;
/** How often a page is asked for again when the site is asked too often. */
const TRIES = 6;

/** What every agent of a site takes and gives beside what its skills say. */
const TEXT = "text/plain";

function modes(skills: Skill[], of: "inputModes" | "outputModes"): string[] {
  return [...new Set([TEXT, ...skills.flatMap((skill) => skill[of] ?? [])])];
}

export function ofAgent(agent: Agent): Shown {
  return {
    protocols: ["a2a", "mcp"], inputModes: modes(agent.skills, "inputModes"), outputModes: modes(agent.skills, "outputModes"), trust: 0.5,
    key: agent.name, id: agent.name, name: agent.name, description: agent.description, version: agent.version, skills: agent.skills,
    tags: [...new Set(agent.skills.flatMap((skill) => skill.tags))], local: true, live: agent.health === "ready", health: agent.health,
    visibility: agent.visibility, owner: who.siteName, proof: "site", standing: "active", warnings: agent.reason ? [agent.reason] : [],
  };
}

export function ofListing(entry: Listing): Shown {
  const skills = entry.skills ?? [];
  const site = siteOf(entry.owner);
  return {
    ...(site && { site, signedAt: entry.seenAt, leaseUntil: entry.leaseUntil }),
    key: entry.id, id: entry.id, name: entry.name, description: entry.description, version: entry.version ?? "", skills,
    tags: [...new Set([...(entry.tags ?? []), ...skills.flatMap((skill) => skill.tags ?? [])])], local: false, live: entry.live,
    health: reachability(entry.live, entry.checkedAt), checkedAt: entry.checkedAt, visibility: entry.visibility, owner: entry.owner, proof: entry.proof, standing: entry.standing,
    price: shownPrice(entry.price), warnings: entry.warnings ?? [],
    protocols: entry.protocols ?? [], inputModes: entry.inputModes ?? [], outputModes: entry.outputModes ?? [], region: entry.region, trust: entry.trust,
  };
}

/** An agent of this site that was taken out for a while. */
export function ofSuspended(agent: { name: string; description: string }): Shown {
  return { ...unknown, key: agent.name, id: agent.name, name: agent.name, description: agent.description, local: true, live: false, owner: who.siteName, proof: "site", standing: "suspended" };
}

/** What is not known of an agent. */
const unknown: Shown = {
  key: "", id: "", name: "", description: "", version: "", skills: [], tags: [], protocols: [], inputModes: [], outputModes: [], local: false, live: false, trust: 0.5,
  health: "", visibility: "public", owner: "", proof: "none", standing: "active", warnings: [],
};

/** An agent that was found and has not been read yet. */
function ofMatch(match: Match): Shown {
  return { ...unknown, key: match.id, id: match.local ? match.name : match.id, name: match.name, description: match.description, local: match.local, site: match.local ? undefined : siteOfId(match.id) };
}

/** An agent with its match, which knows best whether it answers: the agent may have been read long before. */
function found(agent: Shown, match: Match): Shown {
  if (match.local || match.live === undefined) return { ...agent, match };
  return { ...agent, live: match.live, health: match.live ? "answers" : "no-answer", signedAt: match.seenAt ?? agent.signedAt, match };
}

/** What a stranger sees of an agent: the entry of the public registry. */
interface PublicEntry {
  identifier: string;
  displayName: string;
  description?: string;
  version?: string;
  tags?: string[];
  type?: string;
  url?: string;
  capabilities?: string[];
  metadata?: { local?: boolean; live?: boolean; proof?: Shown["proof"]; protocols?: string; checkedAt?: string; region?: string; price?: number | string; interfaceOf?: string };
}

/** The name of an agent of this site, from the address of its card. */
function nameOf(entry: PublicEntry): string | undefined {
  const url = entry.url ?? "";
  return url.startsWith(location.origin) ? /\/a2a\/([^/]+)\/\.well-known\/agent-card\.json$/.exec(url)?.[1] : undefined;
}

export function ofEntry(entry: PublicEntry): Shown {
  const name = nameOf(entry);
  const local = name !== undefined;
  const { live = false, proof = "none", protocols = "", checkedAt, region, price } = entry.metadata ?? {};
  const skills = (entry.capabilities ?? []).map((id) => ({ id, name: id, description: "", tags: [] }));
  return {
    ...unknown, key: entry.identifier, id: local ? name : entry.identifier, name: entry.displayName, description: entry.description ?? "", version: entry.version ?? "",
    tags: entry.tags ?? [], skills, protocols: protocols.split(",").filter(Boolean), local, live, checkedAt, region, price,
    health: local ? (live ? "ready" : "down") : reachability(live, checkedAt), owner: local ? who.siteName : "", proof, site: local ? undefined : siteOfId(entry.identifier),
  };
}

/** What a stranger knows of an agent is its card. */
export function ofCard(id: string, card: { name?: string; description?: string; version?: string; skills?: Skill[] }): Shown {
  const skills = card.skills ?? [];
  return {
    ...unknown, key: id, id, name: card.name ?? id, description: card.description ?? "", version: card.version ?? "", skills, local: true, proof: "site",
    tags: [...new Set(skills.flatMap((skill) => skill.tags ?? []))],
  };
}

class Hub {
  all = $state.raw<Shown[]>([]);
  matches = $state.raw<Match[]>();
  considered = $state(0);
  /** Which cells of the mesh were searched, when there are several. */
  cells = $state.raw<CellCoverage>();
  asked = $state(false);
  ready = $state(false);
  error = $state<unknown>();
  #last?: AbortController;

  /** The agents on the page: all, or those that fit, the best first. */
  readonly agents: Shown[] = $derived.by(() => {
    if (!this.asked || !this.matches) return this.all;
    const byName = new Map(this.all.map((one) => [one.local ? one.name : one.id, one]));
    return this.matches.map((match) => found(byName.get(match.local ? match.name : match.id) ?? ofMatch(match), match));
  });

  async load() {
    try {
      const read = who.known ? everything() : publicOnes();
      let all: Shown[] = [];
      for await (const more of read) {
        all = [...all, ...more];
        this.all = all;
        this.ready = true;
        void sites.know(more.map((one) => one.site));
      }
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
    this.ready = true;
  }

  /** Asks for what fits; an empty need shows everything. */
  async find(text: string, filters?: Filters) {
    this.#last?.abort();
    if (!text) {
      this.asked = false;
      return;
    }
    const mine = (this.#last = new AbortController());
    try {
      if (who.known) {
        const found = await api.post("/api/find", { body: { text, limit: 50, filter: filters && asked(filters) }, signal: mine.signal });
        this.matches = fitting(found.matches);
        this.considered = found.considered;
        this.cells = found.cells;
        void sites.know(this.matches.map((match) => siteOfId(match.id)));
      } else {
        const found = await api.post("/search", { body: { query: { text }, pageSize: 50 }, signal: mine.signal });
        const trust = { meaning: 0, words: 0, trust: 0.5 };
        const scores = new Map(found.results.map((one) => [one.identifier, one.score / 100]));
        this.matches = eachOnce(found.results as PublicEntry[]).map((one) => ({
          id: one.id, name: one.local ? one.id : one.name, description: one.description, local: one.local, score: scores.get(one.key) ?? 0, reason: trust,
        }));
        this.considered = this.all.length;
        this.cells = undefined;
      }
      this.asked = true;
      this.error = undefined;
    } catch (error) {
      if (!mine.signal.aborted) this.error = error;
    }
  }
}

/** Weak matches are left out where a strong one is; alone they are better than nothing. */
function fitting(matches: Match[]): Match[] {
  const best = matches[0]?.score ?? 0;
  return matches.filter((match) => match.score >= Math.max(0.02, best * 0.3));
}

/** Page by page, so that the first agents are seen at once. */
async function* everything(): AsyncGenerator<Shown[]> {
  yield (await api.get("/api/agents")).agents.map(ofAgent);
  if (who.admin) yield (await api.get("/api/workshop").catch(() => ({ suspended: [] }))).suspended.map(ofSuspended);
  let read = 0;
  let after: string | undefined;
  do {
    const page = await api.get("/api/hub", { query: { after, limit: PAGE } });
    yield (page.items as unknown as Listing[]).map(ofListing);
    read += page.items.length;
    after = page.next;
  } while (after && read < MOST);
}

async function* publicOnes(): AsyncGenerator<Shown[]> {
  let read = 0;
  let pageToken: string | undefined;
  do {
    if (read >= PUBLIC_AT_ONCE) await pause(PUBLIC_PAUSE);
    const page = await patiently(() => api.get("/agents", { query: { pageSize: PUBLIC_PAGE, pageToken } }));
    yield eachOnce(page.items as PublicEntry[]);
    read += page.items.length;
    pageToken = page.pageToken;
  } while (pageToken && read < MOST);
}

function pause(millis: number): Promise<void> {
  return new Promise((done) => setTimeout(done, millis));
}

/** Asks again when the site says that it is asked too often. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 429 || tries >= TRIES) throw error;
      await pause(waitOf(tries));
    }
  }
}

/** The registry names an agent once for each of its interfaces; one card is enough. */
export function eachOnce(entries: PublicEntry[]): Shown[] {
  const first = (entry: PublicEntry) => entry.metadata?.interfaceOf === undefined && (!entry.metadata?.local || nameOf(entry) !== undefined);
  return entries.filter(first).map(ofEntry);
}

export const shown = new Hub();
