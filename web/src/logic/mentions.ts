// `@name` in what a person writes: which agents are asked, and what is offered while a name is typed. Pure.

/** A name that is being typed: where its @ stands, and what of it is there. */
export interface Typing {
  from: number;
  to: number;
  begun: string;
}

const NAME = /[\p{L}\p{N}_.-]/u;

/** The name that is being typed at the caret; an @ within a word, as in an address of mail, begins none. */
export function typing(text: string, caret: number): Typing | undefined {
  let from = caret;
  while (from > 0 && NAME.test(text[from - 1] ?? "")) from -= 1;
  if (text[from - 1] !== "@") return undefined;
  const before = text[from - 2];
  if (before !== undefined && !/[\s,，、;；:：(（]/u.test(before)) return undefined;
  let to = caret;
  while (to < text.length && NAME.test(text[to] ?? "")) to += 1;
  return { from: from - 1, to, begun: text.slice(from, caret) };
}

/** Names offered at once; more nobody reads. */
const OFFERED = 8;

/** What is offered for a name that is begun: those that begin so, then those that hold it. */
export function offered<T extends { id: string; description: string }>(agents: readonly T[], begun: string): T[] {
  const wanted = begun.toLowerCase();
  const starts = agents.filter((one) => one.id.toLowerCase().startsWith(wanted));
  const holds = agents.filter((one) => !one.id.toLowerCase().startsWith(wanted) && `${one.id} ${one.description}`.toLowerCase().includes(wanted));
  return [...starts, ...holds].slice(0, OFFERED);
}

/** The text with the chosen name in the place of the one that was begun, and where the caret is then. */
export function completed(text: string, place: Typing, name: string): { text: string; caret: number } {
  const rest = text.slice(place.to);
  const put = `@${name}${/^\s/.test(rest) ? "" : " "}`;
  return { text: text.slice(0, place.from) + put + rest, caret: place.from + put.length + (/^\s/.test(rest) ? 1 : 0) };
}

/** Agents of one message; each costs a task. */
export const MOST_ASKED = 8;

const EDGE = /^(?:[\s,，、;；:：]|and\b|und\b|和|与)+/iu;

/** The agents that a text names, each once, in order; and the text without the names at its beginning and its end, which are the address and not the letter. */
export function addressed(text: string, known: ReadonlySet<string>): { agents: string[]; text: string } {
  const found = [...text.matchAll(/(?<![\p{L}\p{N}_.@-])@([\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*)/gu)].filter((one) => known.has(one[1] ?? ""));
  const agents = [...new Set(found.map((one) => one[1] ?? ""))].slice(0, MOST_ASKED);
  let rest = text;
  for (const one of found) {
    if (!rest.startsWith(one[0])) break;
    rest = rest.slice(one[0].length).replace(EDGE, "");
  }
  for (const one of found.toReversed()) {
    const trimmed = rest.trimEnd();
    if (!trimmed.endsWith(one[0])) break;
    rest = trimmed.slice(0, -one[0].length).replace(/[\s,，、;；:：]+$/u, "");
  }
  return { agents, text: rest.trim() };
}
