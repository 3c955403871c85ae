// What the hub shows: the agents of the site and those from elsewhere in one shape, all of them or those that fit a need.
import { api, type Agent, type Listing, type Match, type Skill } from "./api/client";
import { who } from "./session.svelte";

export interface Shown {
  key: string;
  id: string;
  name: string;
  description: string;
  version: string;
  skills: Skill[];
  tags: string[];
  local: boolean;
  live: boolean;
  /** Empty as long as nothing is known beside what was found. */
  health: string;
  visibility: "private" | "peers" | "public";
  owner: string;
  proof: "none" | "site" | "domain" | "signature";
  standing: string;
  price?: number;
  warnings: string[];
  match?: Match;
}

/** Entries from elsewhere that are read for one page of the hub; beyond that people search. */
const MOST = 10_000;
const PAGE = 500;

export function ofAgent(agent: Agent): Shown {
  return {
    key: agent.name, id: agent.name, name: agent.name, description: agent.description, version: agent.version, skills: agent.skills,
    tags: [...new Set(agent.skills.flatMap((skill) => skill.tags))], local: true, live: agent.health === "ready", health: agent.health,
    visibility: agent.visibility, owner: who.siteName, proof: "site", standing: "active", warnings: agent.reason ? [agent.reason] : [],
  };
}

export function ofListing(entry: Listing): Shown {
  const skills = entry.skills ?? [];
  return {
    key: entry.id, id: entry.id, name: entry.name, description: entry.description, version: entry.version ?? "", skills,
    tags: [...new Set([...(entry.tags ?? []), ...skills.flatMap((skill) => skill.tags ?? [])])], local: false, live: entry.live,
    health: entry.live ? "ready" : "down", visibility: entry.visibility, owner: entry.owner, proof: entry.proof, standing: entry.standing,
    price: entry.price, warnings: entry.warnings ?? [],
  };
}

/** An agent that was found and has not been read yet. */
function ofMatch(match: Match): Shown {
  return {
    key: match.id, id: match.local ? match.name : match.id, name: match.name, description: match.description, version: "", skills: [], tags: [], local: match.local, live: true,
    health: "", visibility: "public", owner: "", proof: "none", standing: "active", warnings: [],
  };
}

/** What a stranger sees of an agent: the entry of the public registry. */
interface PublicEntry {
  identifier: string;
  displayName: string;
  description?: string;
  version?: string;
  tags?: string[];
  url?: string;
  metadata?: { local?: boolean };
}

/** The name of an agent of this site, from the address of its card. */
function nameOf(entry: PublicEntry): string | undefined {
  const url = entry.url ?? "";
  return url.startsWith(location.origin) ? /\/a2a\/([^/]+)\/\.well-known\/agent-card\.json$/.exec(url)?.[1] : undefined;
}

function ofEntry(entry: PublicEntry): Shown {
  const name = nameOf(entry);
  const local = name !== undefined;
  return {
    key: entry.identifier, id: local ? name : entry.identifier, name: entry.displayName, description: entry.description ?? "", version: entry.version ?? "",
    skills: [], tags: entry.tags ?? [], local, live: true, health: "ready", visibility: "public", owner: local ? who.siteName : "", proof: local ? "site" : "none",
    standing: "active", warnings: [],
  };
}

class Hub {
  all = $state.raw<Shown[]>([]);
  matches = $state.raw<Match[]>();
  considered = $state(0);
  asked = $state(false);
  ready = $state(false);
  error = $state<unknown>();
  #last?: AbortController;

  /** The agents on the page: all, or those that fit, the best first. */
  readonly agents: Shown[] = $derived.by(() => {
    if (!this.asked || !this.matches) return this.all;
    const byName = new Map(this.all.map((one) => [one.local ? one.name : one.id, one]));
    return this.matches.map((match) => ({ ...(byName.get(match.local ? match.name : match.id) ?? ofMatch(match)), match }));
  });

  async load() {
    try {
      const read = who.known ? everything() : publicOnes();
      let all: Shown[] = [];
      for await (const more of read) {
        all = [...all, ...more];
        this.all = all;
        this.ready = true;
      }
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
    this.ready = true;
  }

  /** Asks for what fits; an empty need shows everything. */
  async find(text: string) {
    this.#last?.abort();
    if (!text) {
      this.asked = false;
      return;
    }
    const mine = (this.#last = new AbortController());
    try {
      if (who.known) {
        const found = await api.post("/api/find", { body: { text, limit: 50 }, signal: mine.signal });
        this.matches = fitting(found.matches);
        this.considered = found.considered;
      } else {
        const found = await api.post("/search", { body: { query: { text }, pageSize: 50 }, signal: mine.signal });
        const trust = { meaning: 0, words: 0, trust: 0.5 };
        const scores = new Map(found.results.map((one) => [one.identifier, one.score / 100]));
        this.matches = eachOnce(found.results as PublicEntry[]).map((one) => ({
          id: one.id, name: one.local ? one.id : one.name, description: one.description, local: one.local, score: scores.get(one.key) ?? 0, reason: trust,
        }));
        this.considered = this.all.length;
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
  const page = await api.get("/agents", { query: { pageSize: 100 } });
  yield eachOnce(page.items as PublicEntry[]);
}

/** The registry names an agent of the site also as a server of tools; one card is enough. */
function eachOnce(entries: PublicEntry[]): Shown[] {
  return entries.filter((entry) => !entry.metadata?.local || nameOf(entry) !== undefined).map(ofEntry);
}

export const shown = new Hub();
