// A conversation as it is shown: turns in order, those of one message together, and how a page of turns joins what is there already. Pure.
import type { components } from "../api/schema";
import { isEnded, waits, type Message, type Part, type Task } from "./turn";

export type TurnRow = components["schemas"]["Turn"];
export type ConversationRow = components["schemas"]["Conversation"];

/** One message of a person and every answer to it: one turn for each agent that was asked at once. */
export interface Exchange {
  /** The first turn; it stays the same while others are asked. */
  key: string;
  messageId: string;
  turns: TurnRow[];
}

/** Turns in order as exchanges. Turns of one message stand next to each other on a path. */
export function exchanges(turns: readonly TurnRow[]): Exchange[] {
  const out: Exchange[] = [];
  for (const turn of turns) {
    const last = out.at(-1);
    if (last && last.messageId === turn.messageId) last.turns.push(turn);
    else out.push({ key: turn.id, messageId: turn.messageId, turns: [turn] });
  }
  return out;
}

/** The other ways that lead on from the same place, and which of them is shown; none when there is only one. */
export function ways(exchange: Exchange): { at: number; of: string[] } | undefined {
  const first = exchange.turns[0];
  if (!first || first.siblings.length < 2) return undefined;
  return { at: first.siblings.indexOf(first.id), of: first.siblings };
}

/** What is loaded after the end of the path was read anew: older turns stay where the new page hangs on to them. */
export function spliced(loaded: readonly TurnRow[], end: readonly TurnRow[], before: string | undefined, olderBefore: string | undefined): { turns: TurnRow[]; before: string | undefined } {
  const first = end[0];
  if (!first?.parent) return { turns: [...end], before };
  const at = loaded.findIndex((turn) => turn.id === first.parent);
  if (at < 0) return { turns: [...end], before };
  return { turns: [...loaded.slice(0, at + 1), ...end], before: olderBefore };
}

/** The turns with this one as it is now; one that is not there is not added. */
export function replaced(turns: readonly TurnRow[], turn: TurnRow): TurnRow[] {
  return turns.map((one) => (one.id === turn.id ? turn : one));
}

/** The turns with this one at its place: after its parent, instead of whatever came there. */
export function added(turns: readonly TurnRow[], turn: TurnRow): TurnRow[] {
  if (turns.some((one) => one.id === turn.id)) return replaced(turns, turn);
  const at = turn.parent ? turns.findIndex((one) => one.id === turn.parent) : -1;
  if (turn.parent && at < 0) return [...turns];
  return [...turns.slice(0, at + 1), turn];
}

export function isRunning(turn: { state: string }): boolean {
  return turn.state !== "gone" && !isEnded(turn.state) && !waits(turn.state);
}

const WORDS = new Set(["text/plain", "text/markdown"]);

/** Whether a turn has more than its row tells: files, things made with a name, a long answer. The task has them. */
export function hasMore(turn: TurnRow): boolean {
  const made = turn.artifacts;
  return Boolean(turn.cut) || made.length > 1 || made.some((one) => one.name || one.mediaTypes.some((type) => !WORDS.has(type))) || turn.question.some((part) => "bytes" in part);
}

/** A turn's row as a task, so that everything is shown by the same rules. */
export function taskOf(turn: TurnRow): Task {
  const message = (role: Message["role"], parts: unknown[], at: number): Message => ({ messageId: `${turn.id}-${at}`, role, parts: parts as Part[] });
  const said = (turn.said ?? []).map((one, at) => message(one.role === "user" ? "ROLE_USER" : "ROLE_AGENT", one.parts, at + 1));
  const words = turn.asks
    ? { ...message("ROLE_AGENT", turn.asks.parts, -1), metadata: turn.asks.metadata as Record<string, unknown> | undefined }
    : turn.words
      ? message("ROLE_AGENT", [{ text: turn.words }], -1)
      : undefined;
  const wordsAreAll = turn.artifacts.length === 0;
  return {
    id: turn.id,
    contextId: turn.contextId,
    agent: turn.agent,
    status: { state: turn.state === "gone" ? "failed" : turn.state, message: words },
    history: [message("ROLE_USER", turn.question, 0), ...said],
    artifacts: wordsAreAll || !turn.answer ? [] : [{ artifactId: "answer", parts: [{ text: turn.answer }] }],
  };
}

/** Who answers: the one that the concierge handed over to, where it did. */
export function answers(turn: TurnRow, concierge: string): string {
  if (turn.agent !== concierge) return turn.agent;
  const done = (turn.started ?? []).filter((one) => one.state === "completed");
  return (done.at(-1) ?? turn.started?.at(-1))?.agent ?? turn.agent;
}

/** The turn whose question the next message answers: the last one, when it waits and stands alone. */
export function waiting(turns: readonly TurnRow[]): TurnRow | undefined {
  const last = exchanges(turns).at(-1);
  const open = last?.turns.filter((turn) => waits(turn.state)) ?? [];
  return open.length === 1 ? open[0] : undefined;
}

/** What to keep for a request that is sent again: the parts as they were sent. */
export function questionText(parts: readonly Part[]): string {
  return parts.map((part) => part.text ?? "").filter(Boolean).join("\n");
}
