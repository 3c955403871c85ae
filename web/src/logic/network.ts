// What the network page shows: peers in words, who learns of which agent, the map with its places, and the change of the configuration that lets a site join. Pure.
import type { ConfigValue } from "../api/client";
import type { KnownSite, MeshView, Peer } from "../api/mesh";

/** How entries of the hub name the site that published them. */
const OWNER = "site:did:";

/** The DID of the site that published an entry through the mesh; none for every other owner. */
export function siteOf(owner: string): string | undefined {
  return owner.startsWith(OWNER) ? owner.slice("site:".length) : undefined;
}

/** The same from the name of the entry, whose publisher is the key of the site; names of domains have no capital letters. */
export function siteOfId(id: string): string | undefined {
  const key = /^urn:air:(z[1-9A-HJ-NP-Za-km-z]{30,}):agents:/.exec(id)?.[1];
  return key && /[A-Z]/.test(key) ? `did:key:${key}` : undefined;
}

/** A DID short enough for a table: method left out, both ends of the key. */
export function shortDid(did: string): string {
  const key = did.replace(/^did:key:/, "");
  return key.length <= 16 ? key : `${key.slice(0, 8)}…${key.slice(-6)}`;
}

/** A site for people: its title, or its DID as long as it has none. */
export function siteName(did: string, title?: string): string {
  return title?.trim() || shortDid(did);
}

/** What an admin does with a site. */
export type Verb = "ban" | "allow" | "remove";

export type PeerState = "direct" | "relayed" | "gone" | "banned";

/** A ban counts more than a connection: the connection is about to end. */
export function peerState(peer: Peer, now: number): PeerState {
  if (peer.bannedUntil && Date.parse(peer.bannedUntil) > now) return "banned";
  if (!peer.connected) return "gone";
  return peer.relayed ? "relayed" : "direct";
}

const ORDER: PeerState[] = ["direct", "relayed", "gone", "banned"];

/** Connected ones first, then by name; the order does not jump with latency or traffic. */
export function sortedPeers(peers: readonly Peer[], now: number): Peer[] {
  const rank = (peer: Peer) => ORDER.indexOf(peerState(peer, now));
  return [...peers].sort((a, b) => rank(a) - rank(b) || siteName(a.site, a.title).localeCompare(siteName(b.site, b.title)) || (a.site < b.site ? -1 : 1));
}

export function latencyText(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return "–";
  return milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds)} ms`;
}

export function scoreText(score: number): string {
  return Number.isInteger(score) ? String(score) : score.toFixed(1);
}

/** An agent of another site, as the hub lists it. */
export interface FarAgent {
  id: string;
  name: string;
  site: string;
  /** When its site signed the record. */
  seenAt?: string;
  /** Until when the record holds. */
  leaseUntil?: string;
}

/** A site that is known without being a peer. */
export interface OtherSite {
  site: string;
  title?: string;
  url?: string;
  agents: number;
  /** When it last announced something, or was last reached. */
  seenAt?: string;
  /** Whether it answers this site; absent while that is not known. */
  live?: boolean;
}

/** The sites that announced themselves or agents and are neither this one nor peers; those with most agents first. */
export function otherSites(view: MeshView, known: readonly KnownSite[], agents: readonly FarAgent[]): OtherSite[] {
  const peers = new Set([view.site, ...view.peers.map((peer) => peer.site)]);
  const others = new Map<string, OtherSite>();
  for (const { site, title, url, issuedAt, live, seenAt } of known) if (!peers.has(site)) others.set(site, { site, title, url, agents: 0, seenAt: later(seenAt, issuedAt), live });
  for (const agent of agents) {
    if (peers.has(agent.site)) continue;
    const other = others.get(agent.site) ?? { site: agent.site, agents: 0 };
    others.set(agent.site, { ...other, agents: other.agents + 1, seenAt: later(other.seenAt, agent.seenAt) });
  }
  return [...others.values()].sort((a, b) => b.agents - a.agents || siteName(a.site, a.title).localeCompare(siteName(b.site, b.title)));
}

function later(a: string | undefined, b: string | undefined): string | undefined {
  if (!a || !b) return a ?? b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

export type Freshness = "fresh" | "aging" | "expired" | "lost" | "unknown";

/** Share of a lease after which a record was not renewed when it should have been: sites renew at half. */
const AGING = 0.75;

/** How current what a site announced is: within its lease, close to its end, or past it. What this site found out itself counts more: a site that does not answer is lost, whatever it announced. */
export function freshness(seenAt: string | undefined, leaseUntil: string | undefined, now: number, health?: string): Freshness {
  if (health === "no-answer") return "lost";
  if (!seenAt || !leaseUntil) return "unknown";
  const [seen, until] = [Date.parse(seenAt), Date.parse(leaseUntil)];
  if (now >= until) return "expired";
  return now - seen > (until - seen) * AGING ? "aging" : "fresh";
}

/** The keys of `[mesh]` that decide who learns of which agent. */
export interface Exposing {
  enabled: boolean;
  expose: string;
  /** Only these; all when empty. */
  agents: string[];
}

function valueOf(values: readonly ConfigValue[], key: string): string | undefined {
  return values.find((one) => one.key === key)?.value;
}

export function exposingOf(values: readonly ConfigValue[], enabled: boolean): Exposing {
  return { enabled, expose: valueOf(values, "mesh.expose") ?? "public", agents: listOf(valueOf(values, "mesh.agents") ?? "") };
}

/** The texts of a list as the configuration shows it, in whichever form. */
function listOf(text: string): string[] {
  return text.replace(/^\[|\]$/g, "").split(",").map((one) => one.trim().replace(/^["']|["']$/g, "")).filter(Boolean);
}

export type Exposure = "announced" | "ready" | "withheld" | "peers" | "private";

/** Who on other sites learns of an agent, and may call it. */
export function exposureOf(agent: { name: string; visibility: string }, exposing: Exposing): Exposure {
  if (agent.visibility === "private") return "private";
  if (agent.visibility === "peers") return "peers";
  if (exposing.expose !== "public" || (exposing.agents.length > 0 && !exposing.agents.includes(agent.name))) return "withheld";
  return exposing.enabled ? "announced" : "ready";
}

export type Joining = { by: "file" } | { by: "variable" | "flag"; name: string } | { by: "nothing" };

/** The place that decides whether the site is in the mesh: what wins over the file has to be changed where it is. */
export function joiningBy(values: readonly ConfigValue[]): Joining {
  const key = values.find((one) => one.key === "mesh.enabled");
  if (!key) return { by: "nothing" };
  if (key.source === "environment") return { by: "variable", name: key.variable };
  if (key.source === "flag") return { by: "flag", name: key.flag ?? "" };
  return { by: "file" };
}

const SECTION = /^\s*\[+\s*([^\]#]+?)\s*\]+\s*(#.*)?$/;

/** The text of the configuration with `enabled = true` in `[mesh]`; none when it is written in a form that only a person should change. */
export function withMesh(text: string): string | undefined {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = text.split(/\r?\n/);
  let section = "";
  let header = -1;
  for (const [index, line] of lines.entries()) {
    const name = SECTION.exec(line)?.[1];
    if (name !== undefined) {
      section = name.replace(/["']/g, "");
      if (section === "mesh") header = index;
      continue;
    }
    if (section === "" && /^\s*mesh\s*[=.]/.test(line)) return undefined;
    if (section === "mesh" && /^\s*enabled\s*=/.test(line)) {
      lines[index] = line.replace(/^(\s*enabled\s*=\s*)[^#]*?(\s*(?:#.*)?)$/, "$1true$2");
      return lines.join(end);
    }
  }
  if (header >= 0) {
    lines.splice(header + 1, 0, "enabled = true");
    return lines.join(end);
  }
  const before = text.trimEnd();
  return `${before}${before ? end + end : ""}[mesh]${end}enabled = true${end}`;
}

/** Most nodes of the map; more could not be told apart, and the tables have all of them. */
export const MOST_NODES = 200;

export interface MapNode {
  id: string;
  kind: "self" | "peer" | "other" | "agent";
  label: string;
  /** The state of a peer; of another site only that it does not answer. */
  state?: PeerState;
  /** The site of an agent, or the site itself. */
  site: string;
  /** What the hub calls the agent. */
  agent?: string;
  x: number;
  y: number;
}

export interface MapEdge {
  id: string;
  from: string;
  to: string;
  kind: "direct" | "relayed" | "gone" | "banned" | "own";
}

export interface NetworkMap {
  nodes: MapNode[];
  edges: MapEdge[];
  /** Sites and agents that are not drawn. */
  left: number;
}

interface Cluster {
  node: Omit<MapNode, "x" | "y">;
  agents: { id: string; name: string }[];
  edge?: MapEdge["kind"];
}

/** Distance between neighbouring agents, and from a site to its first ring of them. */
const STEP = 30;
const FIRST = 66;
/** Left free below a site, for its name. */
const FREE = (150 * Math.PI) / 180;
const ARC = 2 * Math.PI - FREE;
/** Space between two clusters. */
const GAP = 70;

/** The map: this site in the middle, its peers around it, other sites outside, each with its agents around it. Same input, same picture. `stretch` widens the rings of sites for wide windows. */
export function mapOf(view: MeshView, title: string, own: readonly { name: string }[], far: readonly FarAgent[], others: readonly OtherSite[], now: number, stretch = 1): NetworkMap {
  const agentsOf = new Map<string, { id: string; name: string }[]>();
  for (const { id, name, site } of far) agentsOf.set(site, [...(agentsOf.get(site) ?? []), { id, name }]);
  const self: Cluster = { node: { id: view.site, kind: "self", label: title, site: view.site }, agents: own.map(({ name }) => ({ id: name, name })) };
  const peers = sortedPeers(view.peers, now).map((peer): Cluster => {
    const state = peerState(peer, now);
    return { node: { id: peer.site, kind: "peer", label: siteName(peer.site, peer.title), state, site: peer.site }, agents: agentsOf.get(peer.site) ?? [], edge: state };
  });
  const outer = others.map((other): Cluster => ({ node: { id: other.site, kind: "other", label: siteName(other.site, other.title), ...(other.live === false && { state: "gone" }), site: other.site }, agents: agentsOf.get(other.site) ?? [] }));
  const all = [self, ...peers, ...outer];
  const total = all.reduce((sum, cluster) => sum + 1 + cluster.agents.length, 0);
  const kept = bounded(all);
  const { nodes, edges } = placed(kept, view.site, stretch);
  return { nodes, edges, left: total - nodes.length };
}

/** Sites first, then agents of each site in turn, so that no site takes the room of all others. */
function bounded(all: Cluster[]): Cluster[] {
  const kept = all.slice(0, MOST_NODES).map((cluster) => ({ ...cluster, agents: [] as Cluster["agents"] }));
  let room = MOST_NODES - kept.length;
  for (let round = 0; room > 0; round++) {
    let took = false;
    for (const [index, cluster] of kept.entries()) {
      const agent = all[index]?.agents[round];
      if (!agent || room === 0) continue;
      cluster.agents.push(agent);
      room -= 1;
      took = true;
    }
    if (!took) break;
  }
  return kept;
}

/** How far the agents of a site reach. */
function reach(count: number): number {
  if (count === 0) return 26;
  let rings = 0;
  for (let left = count; left > 0; rings++) left -= capacity(rings);
  return FIRST + (rings - 1) * STEP + 18;
}

function capacity(ring: number): number {
  return Math.max(1, Math.floor((ARC * (FIRST + ring * STEP)) / STEP));
}

function placed(clusters: Cluster[], self: string, stretch: number): { nodes: MapNode[]; edges: MapEdge[] } {
  const nodes: MapNode[] = [];
  const edges: MapEdge[] = [];
  const put = (cluster: Cluster, x: number, y: number) => {
    nodes.push({ ...cluster.node, x, y });
    if (cluster.edge) edges.push({ id: `${self} ${cluster.node.id}`, from: self, to: cluster.node.id, kind: cluster.edge });
    let [ring, place] = [0, 0];
    let inRing = Math.min(capacity(0), cluster.agents.length);
    for (const [index, agent] of cluster.agents.entries()) {
      if (place === inRing) {
        [ring, place] = [ring + 1, 0];
        inRing = Math.min(capacity(ring), cluster.agents.length - index);
      }
      const angle = (Math.PI + FREE) / 2 + (ARC * (place + 0.5)) / inRing;
      const distance = FIRST + ring * STEP;
      const id = `${cluster.node.id} ${agent.id}`;
      nodes.push({ id, kind: "agent", label: agent.name, site: cluster.node.site, agent: agent.id, x: x + distance * Math.cos(angle), y: y + distance * Math.sin(angle) });
      edges.push({ id: `${id} of`, from: cluster.node.id, to: id, kind: "own" });
      place += 1;
    }
  };
  const [center, ...rest] = clusters;
  if (!center) return { nodes, edges };
  put(center, 0, 0);
  let radius = reach(center.agents.length);
  for (const ring of [rest.filter((one) => one.node.kind === "peer"), rest.filter((one) => one.node.kind === "other")]) {
    radius = around(ring, radius, (cluster, x, y) => put(cluster, x * stretch, y));
  }
  return { nodes, edges };
}

/** Puts clusters on a ring outside of what is there, each with the room that it takes; gives how far the ring reaches. */
function around(ring: Cluster[], inside: number, put: (cluster: Cluster, x: number, y: number) => void): number {
  if (ring.length === 0) return inside;
  const sizes = ring.map((cluster) => 2 * reach(cluster.agents.length) + GAP);
  const largest = Math.max(...sizes) / 2;
  const needed = sizes.reduce((sum, size) => sum + size, 0);
  const radius = Math.max(inside + GAP / 2 + largest, needed / (2 * Math.PI));
  let passed = 0;
  for (const [index, cluster] of ring.entries()) {
    const size = sizes[index] ?? 0;
    // The first one is to the right of the middle when it is alone.
    const angle = (2 * Math.PI * (passed + size / 2)) / needed - Math.PI;
    passed += size;
    put(cluster, radius * Math.cos(angle), radius * Math.sin(angle));
  }
  return radius + largest;
}
