// Which page an address stands for, and its address back. Pure; `place.svelte.ts` listens to the browser.

export type Page =
  | { name: "hub" }
  | { name: "agent"; id: string; tab: string }
  | { name: "register" }
  | { name: "new" }
  | { name: "chat"; id: string; turn: string; context: string; agent: string }
  | { name: "tasks" }
  | { name: "task"; id: string }
  | { name: "network" }
  | { name: "ops"; tab: string }
  | { name: "signin" }
  | { name: "missing" };

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function pageOf(path: string, query: URLSearchParams): Page {
  const [first = "", second = "", ...more] = path.split("/").filter(Boolean).map(decoded);
  if (more.length > 0) return { name: "missing" };
  switch (first) {
    case "":
      return { name: "hub" };
    case "hub":
      return second ? { name: "agent", id: second, tab: query.get("tab") ?? "overview" } : { name: "hub" };
    case "register":
      return second ? { name: "missing" } : { name: "register" };
    case "new":
      return second ? { name: "missing" } : { name: "new" };
    case "chat":
      return { name: "chat", id: second, turn: second ? (query.get("turn") ?? "") : "", context: second ? "" : (query.get("context") ?? ""), agent: query.get("agent") ?? "" };
    case "tasks":
      return second ? { name: "task", id: second } : { name: "tasks" };
    case "network":
      return second ? { name: "missing" } : { name: "network" };
    case "ops":
      return { name: "ops", tab: second || "status" };
    case "signin":
      return { name: "signin" };
    default:
      return { name: "missing" };
  }
}

export const paths = {
  hub: "/hub",
  agent: (id: string, tab?: string) => `/hub/${encodeURIComponent(id)}${tab ? `?tab=${tab}` : ""}`,
  register: "/register",
  create: "/new",
  chat: (id = "", agent = "") => `/chat${id ? `/${encodeURIComponent(id)}` : ""}${agent ? `?agent=${encodeURIComponent(agent)}` : ""}`,
  /** One turn of a conversation. */
  turn: (id: string, turn: string) => `/chat/${encodeURIComponent(id)}?turn=${encodeURIComponent(turn)}`,
  /** A talk by A2A that is no kept conversation. */
  talk: (context: string) => `/chat?context=${encodeURIComponent(context)}`,
  tasks: "/tasks",
  task: (id: string, view = "") => `/tasks/${encodeURIComponent(id)}${view ? `?view=${view}` : ""}`,
  network: "/network",
  ops: (tab = "") => `/ops${tab ? `/${tab}` : ""}`,
  signin: "/signin",
};

/** The address of the page's twin in Markdown. */
export function twinOf(path: string): string {
  return ["", "/", "/signin"].includes(path) ? "/index.md" : `${path.replace(/\/$/, "")}.md`;
}
