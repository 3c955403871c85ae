// The logic of the network page, without a browser.
import { describe, expect, it } from "vitest";
import type { ConfigValue } from "../api/client";
import type { MeshView, Peer } from "../api/mesh";
import { exposingOf, exposureOf, freshness, joiningBy, latencyText, mapOf, MOST_NODES, otherSites, peerState, scoreText, shortDid, siteName, siteOf, siteOfId, sortedPeers, withMesh, type FarAgent } from "./network";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const KEY = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
const SELF = `did:key:${KEY}`;
const did = (letter: string) => `did:key:z6Mk${letter.repeat(44)}`;

function peer(site: string, more: Partial<Peer> = {}): Peer {
  return { site, connected: true, relayed: false, score: 0, agents: 0, bytesIn: 0, bytesOut: 0, added: false, ...more };
}

function view(peers: Peer[] = []): MeshView {
  return { enabled: true, running: true, site: SELF, private: false, addresses: [], published: 0, listed: 0, records: 0, peers };
}

function agents(site: string, count: number): FarAgent[] {
  return Array.from({ length: count }, (_, index) => ({ id: `urn:air:${site.slice(8)}:agents:a${index}`, name: `a${index}`, site }));
}

function value(key: string, text: string, more: Partial<ConfigValue> = {}): ConfigValue {
  return { key, value: text, origin: "", source: "default", meaning: "", kind: "", variable: `AGENTSITE_${key.toUpperCase().replace(".", "_")}`, restart: true, ...more };
}

describe("a site", () => {
  it("is named by the owner of an entry and by the name of the entry, and nobody else is", () => {
    expect(siteOf(`site:${SELF}`)).toBe(SELF);
    for (const owner of ["site", "key:site:did:x", "admin", "", "site:example.org"]) expect(siteOf(owner), owner).toBeUndefined();
    expect(siteOfId(`urn:air:${KEY}:agents:baker`)).toBe(SELF);
    for (const id of [`urn:air:${KEY.toLowerCase()}:agents:baker`, "urn:air:example.org:agents:baker", `urn:air:${KEY}:tools:baker`, "baker"]) expect(siteOfId(id), id).toBeUndefined();
  });

  it("is shown by its title, else by both ends of its key", () => {
    expect(siteName(SELF, " Bakery ")).toBe("Bakery");
    expect(siteName(SELF, "  ")).toBe("z6MkhaXg…ta2doK");
    expect(shortDid("did:key:short")).toBe("short");
  });
});

describe("a peer", () => {
  it("is banned as long as its ban holds, whatever its connection", () => {
    expect(peerState(peer(SELF, { bannedUntil: "2026-11-18T12:00:01Z" }), NOW)).toBe("banned");
    expect(peerState(peer(SELF, { bannedUntil: "2026-11-18T12:00:00Z" }), NOW)).toBe("direct");
    expect(peerState(peer(SELF, { connected: false }), NOW)).toBe("gone");
    expect(peerState(peer(SELF, { relayed: true }), NOW)).toBe("relayed");
  });

  it("has a place that does not depend on the order of the answer or on figures", () => {
    const some = [peer(did("b"), { title: "Bakery", connected: false }), peer(did("c"), { title: "Mill", latencyMs: 3 }), peer(did("a"), { title: "Farm", latencyMs: 900 }), peer(did("d"), { bannedUntil: "2999-01-01T00:00:00Z" })];
    const order = ["Farm", "Mill", "Bakery", undefined];
    expect(sortedPeers(some, NOW).map((one) => one.title)).toEqual(order);
    expect(sortedPeers([...some].reverse(), NOW).map((one) => one.title)).toEqual(order);
  });

  it("has figures that can be read", () => {
    expect([latencyText(undefined), latencyText(0.42), latencyText(123.4)]).toEqual(["–", "0.4 ms", "123 ms"]);
    expect([scoreText(3), scoreText(-1.25)]).toEqual(["3", "-1.3"]);
  });
});

describe("other sites", () => {
  it("are those that announced something and are neither peers nor this site", () => {
    const known = [{ site: did("a"), title: "Farm", issuedAt: "2026-11-18T11:00:00Z" }, { site: did("b"), title: "Bakery", issuedAt: "2026-11-18T11:00:00Z" }, { site: SELF, title: "me", issuedAt: "2026-11-18T11:00:00Z" }];
    const far = [...agents(did("a"), 1), ...agents(did("c"), 2)].map((one) => ({ ...one, seenAt: "2026-11-18T11:30:00Z" }));
    const others = otherSites(view([peer(did("b"))]), known, far);
    expect(others.map(({ site, agents: count }) => [site, count])).toEqual([[did("c"), 2], [did("a"), 1]]);
    expect(others[1]).toMatchObject({ title: "Farm", seenAt: "2026-11-18T11:30:00Z" });
  });
});

describe("a record", () => {
  it("is current within its lease, late before its end, and expired after it", () => {
    const [signed, until] = ["2026-11-18T11:00:00Z", "2026-11-18T13:00:00Z"];
    expect(freshness(signed, until, NOW)).toBe("fresh");
    expect(freshness(signed, until, NOW + 31 * 60_000)).toBe("aging");
    expect(freshness(signed, until, NOW + 60 * 60_000)).toBe("expired");
    expect(freshness(undefined, until, NOW)).toBe("unknown");
  });
  it("does not make up for a site that does not answer", () => {
    expect(freshness("2026-11-18T11:00:00Z", "2026-11-18T13:00:00Z", NOW, "no-answer")).toBe("lost");
    const known = [{ site: did("a"), title: "Farm", issuedAt: "2026-11-18T11:00:00Z", live: false, seenAt: "2026-11-18T11:20:00Z" }];
    const others = otherSites(view([]), known, agents(did("a"), 1));
    expect(others[0]).toMatchObject({ live: false, seenAt: "2026-11-18T11:20:00Z" });
    expect(mapOf(view([]), "Mill", [], agents(did("a"), 1), others, NOW).nodes.find((node) => node.kind === "other")?.state).toBe("gone");
  });
});

describe("what other sites learn of an agent", () => {
  const all = { enabled: true, expose: "public", agents: [] };
  it("follows its visibility and the keys of the mesh", () => {
    const exposures = (visibility: string) => [all, { ...all, enabled: false }, { ...all, expose: "none" }, { ...all, agents: ["other"] }, { ...all, agents: ["calc"] }].map((exposing) => exposureOf({ name: "calc", visibility }, exposing));
    expect(exposures("public")).toEqual(["announced", "ready", "withheld", "withheld", "announced"]);
    expect(new Set(exposures("peers"))).toEqual(new Set(["peers"]));
    expect(new Set(exposures("private"))).toEqual(new Set(["private"]));
  });

  it("is read from the configuration in whichever form a list is written", () => {
    for (const text of ['["calc", "time"]', "calc, time", "calc,time"]) expect(exposingOf([value("mesh.agents", text)], true).agents).toEqual(["calc", "time"]);
    expect(exposingOf([value("mesh.agents", "[]"), value("mesh.expose", "none")], true)).toEqual({ enabled: true, expose: "none", agents: [] });
  });
});

describe("joining", () => {
  it("happens where the key is decided", () => {
    expect(joiningBy([])).toEqual({ by: "nothing" });
    expect(joiningBy([value("mesh.enabled", "false")])).toEqual({ by: "file" });
    expect(joiningBy([value("mesh.enabled", "false", { source: "environment" })])).toEqual({ by: "variable", name: "AGENTSITE_MESH_ENABLED" });
    expect(joiningBy([value("mesh.enabled", "false", { source: "flag", flag: "--mesh" })])).toEqual({ by: "flag", name: "--mesh" });
  });

  it("changes one key of the file and nothing else", () => {
    expect(withMesh("")).toBe("[mesh]\nenabled = true\n");
    expect(withMesh('[site]\nname = "a"\n')).toBe('[site]\nname = "a"\n\n[mesh]\nenabled = true\n');
    expect(withMesh('[mesh] # ours\nrelay = true\n[site]\nenabled = "x"\n')).toBe('[mesh] # ours\nenabled = true\nrelay = true\n[site]\nenabled = "x"\n');
    expect(withMesh("[mesh]\nrelay = true\nenabled=false # not yet\n")).toBe("[mesh]\nrelay = true\nenabled=true # not yet\n");
    expect(withMesh("[site]\r\nx = 1\r\n")).toBe("[site]\r\nx = 1\r\n\r\n[mesh]\r\nenabled = true\r\n");
    for (const text of ["mesh = { enabled = false }\n", "mesh.enabled = false\n"]) expect(withMesh(text), text).toBeUndefined();
  });
});

describe("the map", () => {
  it("has this site in the middle, its peers around it, and agents around their sites, each at a place of its own", () => {
    const far = [...agents(did("a"), 3), ...agents(did("c"), 40)];
    const told = view([peer(did("a"), { title: "Farm", relayed: true }), peer(did("b"), { connected: false })]);
    const map = mapOf(told, "Mine", [{ name: "calc" }], far, otherSites(told, [], far), NOW);
    expect(map.left).toBe(0);
    expect(map.nodes).toHaveLength(4 + 1 + 43);
    expect(map.nodes[0]).toMatchObject({ kind: "self", label: "Mine", x: 0, y: 0 });
    expect(map.edges.filter((edge) => edge.kind !== "own").map((edge) => edge.kind).sort()).toEqual(["gone", "relayed"]);
    expect(new Set(map.nodes.map((node) => node.id)).size).toBe(map.nodes.length);
    for (const [index, one] of map.nodes.entries()) {
      for (const two of map.nodes.slice(index + 1)) expect(Math.hypot(one.x - two.x, one.y - two.y), `${one.id} and ${two.id}`).toBeGreaterThan(14);
    }
    expect(mapOf(told, "Mine", [{ name: "calc" }], far, otherSites(told, [], far), NOW)).toEqual(map);
  });

  it("is bounded, names what is left out, and lets no site take all of the room", () => {
    const far = [...agents(did("a"), 5_000), ...agents(did("b"), 3)];
    const map = mapOf(view([peer(did("a")), peer(did("b"))]), "Mine", [], far, [], NOW);
    expect(map.nodes).toHaveLength(MOST_NODES);
    expect(map.left).toBe(5_006 - MOST_NODES);
    expect(map.nodes.filter((node) => node.kind === "agent" && node.site === did("b"))).toHaveLength(3);
    const crowd = Array.from({ length: 500 }, (_, index) => peer(`did:key:z${index}`));
    expect(mapOf(view(crowd), "Mine", [{ name: "calc" }], [], [], NOW)).toMatchObject({ left: 502 - MOST_NODES });
  });
});
