// What a person narrows the hub by: read from the address, written into it, held against agents, and told to the search. Pure.

export interface Filters {
  where: "" | "here" | "elsewhere";
  tags: string[];
  protocol: string;
  takes: string;
  gives: string;
  live: boolean;
  price: string;
  region: string;
  trust: string;
  owner: string;
  visibility: string;
}

/** What is narrowed; the card of the hub has all of it. */
export interface Narrowed {
  local: boolean;
  tags: string[];
  protocols: string[];
  inputModes: string[];
  outputModes: string[];
  live: boolean;
  /** A number of credits, or the text of an amount of another asset. */
  price?: number | string;
  region?: string;
  trust: number;
  owner: string;
  visibility: string;
}

/** The filters that are one word each, in the order in which they are shown. */
export const WORDS = ["protocol", "takes", "gives", "region", "owner", "visibility", "price", "trust"] as const;
export type WordFilter = (typeof WORDS)[number];

/** Most tags at once; the search takes no more values of one filter either. */
const MOST_TAGS = 10;

export function filtersOf(query: URLSearchParams): Filters {
  const one = (name: string) => (query.get(name) ?? "").slice(0, 200);
  const where = one("where");
  return {
    where: where === "here" || where === "elsewhere" ? where : "",
    tags: [...new Set(query.getAll("tag").filter(Boolean))].slice(0, MOST_TAGS),
    protocol: one("protocol"), takes: one("takes"), gives: one("gives"), live: query.get("live") === "yes", price: number(one("price")),
    region: one("region"), trust: number(one("trust")), owner: one("owner"), visibility: one("visibility"),
  };
}

function number(text: string): string {
  return text !== "" && Number.isFinite(Number(text)) && Number(text) >= 0 ? text : "";
}

/** The address of the hub with a need and filters; what is not chosen is not in it. */
export function addressWith(need: string, filters: Filters): string {
  const query = new URLSearchParams();
  if (need) query.set("q", need);
  if (filters.where) query.set("where", filters.where);
  for (const tag of filters.tags) query.append("tag", tag);
  if (filters.live) query.set("live", "yes");
  for (const word of WORDS) if (filters[word]) query.set(word, filters[word]);
  return query.size ? `?${query}` : "";
}

/** A price as it is shown: a number of credits as it is, another asset as `0.50 USD`. */
export function shownPrice(price?: number | { amount: string; asset: string }): number | string | undefined {
  return typeof price === "object" ? `${price.amount} ${price.asset}` : price;
}

export function fits(one: Narrowed, filters: Filters): boolean {
  return (
    (!filters.where || (filters.where === "here") === one.local) &&
    filters.tags.every((tag) => one.tags.includes(tag)) &&
    (!filters.protocol || one.protocols.includes(filters.protocol)) &&
    (!filters.takes || one.inputModes.includes(filters.takes)) &&
    (!filters.gives || one.outputModes.includes(filters.gives)) &&
    (!filters.live || one.live) &&
    (!filters.price || (typeof one.price !== "string" && (one.price ?? 0) <= Number(filters.price))) &&
    (!filters.region || one.region === filters.region) &&
    (!filters.trust || one.trust >= Number(filters.trust)) &&
    (!filters.owner || one.owner === filters.owner) &&
    (!filters.visibility || one.visibility === filters.visibility)
  );
}

/** The same for `POST /api/find`, which knows all but where, who sees it, and that every tag is wanted: those are looked at here. */
export function asked(filters: Filters): Record<string, unknown> | undefined {
  const filter: Record<string, unknown> = {};
  if (filters.tags.length > 0) filter.tags = filters.tags;
  if (filters.protocol) filter.protocols = [filters.protocol];
  if (filters.takes) filter.inputModes = [filters.takes];
  if (filters.gives) filter.outputModes = [filters.gives];
  if (filters.region) filter.regions = [filters.region];
  if (filters.owner) filter.owners = [filters.owner];
  if (filters.live) filter.live = true;
  if (filters.price) filter.maxPrice = Number(filters.price);
  if (filters.trust) filter.minTrust = Number(filters.trust);
  return Object.keys(filter).length > 0 ? filter : undefined;
}

export interface Choice {
  value: string;
  count: number;
}

export type Facets = Record<"tags" | "protocol" | "takes" | "gives" | "region" | "owner" | "visibility", Choice[]>;

/** Most values of a facet that are offered; the rarest are left to the search. */
const MOST_CHOICES = 100;

/** Which values there are, the most frequent first. */
export function facetsOf(all: readonly Narrowed[]): Facets {
  const count = (values: (one: Narrowed) => readonly string[]): Choice[] => {
    const counted = new Map<string, number>();
    for (const one of all) for (const value of values(one)) if (value) counted.set(value, (counted.get(value) ?? 0) + 1);
    const choices = [...counted].map(([value, count]) => ({ value, count }));
    return choices.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, MOST_CHOICES);
  };
  return {
    tags: count((one) => one.tags), protocol: count((one) => one.protocols), takes: count((one) => one.inputModes), gives: count((one) => one.outputModes),
    region: count((one) => (one.region ? [one.region] : [])), owner: count((one) => [one.owner]), visibility: count((one) => [one.visibility]),
  };
}

/** What stands in a row of a grid. */
export function rowsOf<T>(all: readonly T[], columns: number): T[][] {
  const rows: T[][] = [];
  for (let at = 0; at < all.length; at += columns) rows.push(all.slice(at, at + columns));
  return rows;
}
