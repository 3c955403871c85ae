// The operations of the mesh: how this site is connected with others, and what an admin does about it.
import { request } from "./client";

/** A site that is connected, was added or is banned. */
export interface Peer {
  /** Its DID. */
  site: string;
  title?: string;
  url?: string;
  connected: boolean;
  address?: string;
  relayed: boolean;
  latencyMs?: number;
  /** Behaviour in gossip; below zero is bad. */
  score: number;
  agents: number;
  bytesIn: number;
  bytesOut: number;
  /** Whether it answers this site in one way or another; absent while that is not known. */
  live?: boolean;
  /** When there was last contact, unless it is connected. */
  seenAt?: string;
  since?: string;
  added: boolean;
  bannedUntil?: string;
}

/** A site that announced itself, connected or not. */
export interface KnownSite {
  site: string;
  title: string;
  url?: string;
  issuedAt: string;
  /** Whether it answers this site; absent while that is not known. */
  live?: boolean;
  seenAt?: string;
}

export interface MeshView {
  enabled: boolean;
  running: boolean;
  site: string;
  network?: string;
  private: boolean;
  addresses: string[];
  published: number;
  listed: number;
  records: number;
  peers: Peer[];
  at?: string;
}

export interface Invitation {
  link: string;
  /** Whether the link contains the secret of a private network. */
  private: boolean;
}

export const mesh = {
  view: () => request("get", "/api/mesh") as Promise<MeshView>,
  sites: async () => ((await request("get", "/api/mesh/sites")) as { sites: KnownSite[] }).sites,
  add: (target: string) => request("post", "/api/mesh/peers", { body: { target } }) as Promise<{ site: string }>,
  ban: (site: string) => request("post", "/api/mesh/peers/{site}/ban", { path: { site }, body: {} }),
  allow: (site: string) => request("post", "/api/mesh/peers/{site}/allow", { path: { site }, body: {} }),
  remove: (site: string) => request("delete", "/api/mesh/peers/{site}", { path: { site } }),
  join: (link: string) => request("post", "/api/mesh/join", { body: { link } }) as Promise<{ site: string }>,
  invite: () => request("post", "/api/mesh/invite", { body: {} }) as Promise<Invitation>,
};
