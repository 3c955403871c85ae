// What other sites call themselves, read once when an agent of one is shown.
import { mesh, type KnownSite } from "./api/mesh";
import { siteName } from "./logic/network";
import { who } from "./session.svelte";

class Sites {
  #known = $state.raw(new Map<string, KnownSite>());
  #asked = new Set<string>();

  /** Reads the titles when one of these sites is new. A visitor without a key sees DIDs. */
  async know(dids: Iterable<string | undefined>) {
    const unknown = [...dids].filter((did): did is string => did !== undefined && !this.#asked.has(did));
    if (unknown.length === 0 || !who.known) return;
    for (const did of unknown) this.#asked.add(did);
    const read = await mesh.sites().catch(() => []);
    this.#known = new Map(read.map((one) => [one.site, one]));
  }

  /** The site for people: its title if it announced one, else its DID in short. */
  name(did: string): string {
    return siteName(did, this.#known.get(did)?.title);
  }

  has(did: string): boolean {
    return Boolean(this.#known.get(did)?.title);
  }
}

export const sites = new Sites();
