// What the page needs of whatever holds a conversation: one that the site keeps, or a plain one that nobody keeps.
import type { ConversationRow, TurnRow } from "../logic/talk";
import type { Part, Task } from "../logic/turn";

/** A message that the site has not taken yet. */
export interface Sending {
  parts: Part[];
  agents: string[];
  /** Turns before it; the rest is left for the new branch. */
  after: number;
}

export interface Speaker {
  readonly id: string;
  readonly conversation: ConversationRow | undefined;
  /** To whom a message goes that names nobody; empty for anyone who can. */
  readonly agent: string;
  readonly turns: TurnRow[];
  /** Tasks as they are being written, by turn. */
  readonly live: Readonly<Record<string, Task>>;
  readonly sending: Sending | undefined;
  readonly more: boolean;
  readonly opening: boolean;
  readonly running: boolean;
  /** The turn whose question the next message answers. */
  readonly waiting: TurnRow | undefined;
  readonly gone: boolean;
  error: unknown;
  /** Whether it is kept, so that it can branch. */
  readonly kept: boolean;
  say(parts: Part[], agents: string[], instead?: TurnRow): Promise<void>;
  again(turns: TurnRow[]): Promise<void>;
  answer(turn: TurnRow, parts: Part[]): Promise<void>;
  permit(turn: TurnRow, credential: string): Promise<void>;
  show(turn: string): Promise<void>;
  stop(): Promise<void>;
  older(): Promise<void>;
  whole(turn: TurnRow): Promise<Task>;
}
