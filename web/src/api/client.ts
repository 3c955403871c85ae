// The REST face of the site, with the shapes of its OpenAPI document. Every refusal becomes a Refused with the site's own sentence.
import type { components, paths } from "./schema";

type Shapes = components["schemas"];
export type Agent = Shapes["Agent"];
export type Skill = Shapes["Skill"];
export type Listing = Shapes["Listing"];
export type HubEntry = Shapes["HubEntry"];
export type CellCoverage = Shapes["CellCoverage"];
export type Match = Shapes["Match"];
export type Matches = Shapes["Matches"];
export type TaskRow = Shapes["TaskRow"];
export type Key = Shapes["Key"];
export type Letter = Shapes["Letter"];
export type Session = Shapes["Session"];
export type Status = Shapes["Status"];
export type Charts = Shapes["Charts"];
export type SiteLogLine = Shapes["SiteLogLine"];
export type ConfigView = Shapes["ConfigView"];
export type ConfigValue = Shapes["ConfigValue"];
export type ConfigVerdict = Shapes["ConfigVerdict"];
export type Doctor = Shapes["Doctor"];
export type Identity = Shapes["Identity"];
export type JournalLine = Shapes["Journal"]["lines"][number];
export type Imported = Shapes["Imported"];
export type ManifestFile = Shapes["ManifestFile"];
export type Template = Shapes["Workshop"]["templates"][number];
export type Usage = Shapes["Usage"];
export type Tool = Shapes["Tools"]["tools"][number];

export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Method = "get" | "post" | "put" | "patch" | "delete";

/** Paths that have this method. */
type PathWith<M extends Method> = { [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never }[keyof paths] & string;

type Answer<P extends keyof paths, M extends Method> = paths[P][M] extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 | 202 ? (R[S] extends { content: { "application/json": infer B } } ? B : undefined) : never }[keyof R]
  : never;

export interface Asking {
  /** Values for the braces of the path. */
  path?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  lines?: string;
  signal?: AbortSignal;
}

export function addressOf(path: string, asking: Asking = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(asking.path?.[name] ?? ""));
  const query = Object.entries(asking.query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${filled}?${text}` : filled;
}

/** Sends a request and reads its answer; `api` is the same with the shapes of the OpenAPI document. */
export async function request(method: string, path: string, asking: Asking = {}): Promise<unknown> {
  const headers: Record<string, string> = { accept: "application/json" };
  let body: string | undefined;
  if (asking.lines !== undefined) {
    headers["content-type"] = "application/x-ndjson";
    body = asking.lines;
  } else if (asking.body !== undefined) {
    headers["content-type"] = "application/json";
    body = JSON.stringify(asking.body);
  }
  const response = await fetch(addressOf(path, asking), { method: method.toUpperCase(), headers, body, signal: asking.signal });
  const text = await response.text();
  const json: unknown = text ? parsed(text) : undefined;
  if (!response.ok) {
    const error = (json as { error?: { code?: string; message?: string } } | undefined)?.error;
    throw new Refused(response.status, error?.code ?? "", error?.message ?? `${response.status} ${response.statusText}`);
  }
  return json;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const api = {
  get: <P extends PathWith<"get">>(path: P, asking?: Asking) => request("get", path, asking) as Promise<Answer<P, "get">>,
  post: <P extends PathWith<"post">>(path: P, asking?: Asking) => request("post", path, { body: {}, ...asking }) as Promise<Answer<P, "post">>,
  put: <P extends PathWith<"put">>(path: P, asking?: Asking) => request("put", path, asking) as Promise<Answer<P, "put">>,
  patch: <P extends PathWith<"patch">>(path: P, asking?: Asking) => request("patch", path, asking) as Promise<Answer<P, "patch">>,
  delete: <P extends PathWith<"delete">>(path: P, asking?: Asking) => request("delete", path, asking) as Promise<undefined>,
};

/** A document that is no operation, such as an agent's card. */
export async function document_(url: string): Promise<unknown> {
  return request("get", url);
}
