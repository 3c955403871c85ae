// The list of conversations: in groups by when they were last changed, kept in order as pages and news come. Pure.
import type { ConversationRow } from "./talk";

export type Shelf = "pinned" | "today" | "yesterday" | "week" | "earlier";

export interface Board {
  shelf: Shelf;
  rows: ConversationRow[];
}

/** Midnight before a moment, where the person is. */
function midnight(at: Date, back = 0): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() - back).getTime();
}

function shelfOf(row: ConversationRow, now: Date): Shelf {
  if (row.pinned) return "pinned";
  const at = new Date(row.updatedAt).getTime();
  if (at >= midnight(now)) return "today";
  if (at >= midnight(now, 1)) return "yesterday";
  return at >= midnight(now, 6) ? "week" : "earlier";
}

/** The rows in their groups, in the order in which they come. */
export function boards(rows: readonly ConversationRow[], now: Date): Board[] {
  const order: Shelf[] = ["pinned", "today", "yesterday", "week", "earlier"];
  const by = Map.groupBy(rows, (row) => shelfOf(row, now));
  return order.flatMap((shelf) => (by.has(shelf) ? [{ shelf, rows: by.get(shelf) ?? [] }] : []));
}

/** Pinned ones first, then the last changed first, as the site has them. */
function before(a: ConversationRow, b: ConversationRow): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return b.updatedAt.localeCompare(a.updatedAt) || b.id.localeCompare(a.id);
}

/** The rows with one as it is now; an older reading changes nothing. */
export function renewed(rows: readonly ConversationRow[], row: ConversationRow): ConversationRow[] {
  const known = rows.find((one) => one.id === row.id);
  if (known && known.revision > row.revision) return [...rows];
  return [...rows.filter((one) => one.id !== row.id), row].sort(before);
}

export function without(rows: readonly ConversationRow[], id: string): ConversationRow[] {
  return rows.filter((one) => one.id !== id);
}

/** The rows with a further page; a row that moved between the pages is there once. */
export function joined(rows: readonly ConversationRow[], page: readonly ConversationRow[]): ConversationRow[] {
  const known = new Set(rows.map((one) => one.id));
  return [...rows, ...page.filter((one) => !known.has(one.id))];
}

export interface Piece {
  text: string;
  hit: boolean;
}

/** A passage in pieces, those that were searched for marked; each word of the search may be the beginning of a word. */
export function marked(text: string, wanted: string): Piece[] {
  const words = wanted.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  if (words.length === 0) return [{ text, hit: false }];
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length);
  const pieces = text.split(new RegExp(`(${escaped.join("|")})`, "giu"));
  return pieces.map((piece, at) => ({ text: piece, hit: at % 2 === 1 })).filter((piece) => piece.text);
}
