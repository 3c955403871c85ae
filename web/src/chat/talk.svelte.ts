// A conversation that the site keeps. The browser keeps nothing: what is shown was read from the site, and is read again after every cut. Answers that are being
// written are followed by their tasks; a message is sent until the site has it, and never twice.
import { permit } from "../api/a2a";
import { api, Refused } from "../api/client";
import { freshId } from "../logic/id";
import { added, isRunning, replaced, spliced, waiting, type ConversationRow, type TurnRow } from "../logic/talk";
import type { Part, Task } from "../logic/turn";
import { who } from "../session.svelte";
import { feed, type News } from "./feed.svelte";
import { Live } from "./live.svelte";
import { persist } from "./persist";
import { shelf } from "./shelf.svelte";
import type { Sending, Speaker } from "./speaker";

/** Turns of the first page and of those before it; and the end that is read again when something happened. */
const FIRST = 30;
const OLDER = 100;
const MOST = 200;
/** Whole tasks that are kept in memory, for turns with files. */
const WHOLES = 100;

export class Talk implements Speaker {
  id = $state("");
  conversation = $state.raw<ConversationRow>();
  turns = $state.raw<TurnRow[]>([]);
  sending = $state.raw<Sending>();
  opening = $state(true);
  gone = $state(false);
  error = $state<unknown>();
  readonly kept = true;
  #before = $state<string>();
  #live = new Live((id) => this.#settled(id));
  #wholes = new Map<string, Promise<Task>>();
  #reading?: Promise<void>;
  #readAgain = 0;
  #chosen: string;
  #landed: (id: string) => void;
  #silence: () => void;

  readonly more = $derived(this.#before !== undefined);
  readonly running = $derived(this.sending !== undefined || this.turns.some(isRunning));
  readonly waiting = $derived(waiting(this.turns));

  /** The conversation of this id; a new one, with this agent or with anyone who can, when there is none. */
  constructor(id: string, agent: string, landed: (id: string) => void) {
    this.id = id;
    this.#chosen = agent;
    this.#landed = landed;
    this.opening = id !== "";
    this.#silence = feed.listen({ caughtUp: () => void this.#read(), heard: (news) => this.#heard(news) });
    void this.#read();
  }

  get agent(): string {
    const agent = this.conversation?.agent ?? this.#chosen;
    return agent === who.session?.site.concierge ? "" : agent;
  }

  get live() {
    return this.#live.tasks;
  }

  close() {
    this.#silence();
    this.#live.close();
  }

  #heard(news: News) {
    if (news.id !== this.id || !this.id) return;
    if (news.kind === "removed") {
      this.gone = true;
      return;
    }
    if (news.conversation) this.#renew(news.conversation);
    const at = news.turn ? this.turns.findIndex((one) => one.id === news.turn) : -1;
    if (news.kind === "turn" || this.conversation?.head !== this.turns.at(-1)?.id) void this.#read(at < 0 ? FIRST : this.turns.length - at);
  }

  #renew(now: ConversationRow) {
    if (!this.conversation || now.revision >= this.conversation.revision) this.conversation = now;
  }

  /** Reads the end of the path; asked again meanwhile, it reads once more. */
  async #read(turns = FIRST): Promise<void> {
    if (!this.id || this.gone) return;
    if (this.#reading) {
      this.#readAgain = Math.max(this.#readAgain, turns);
      return this.#reading;
    }
    this.#reading = this.#readEnd(Math.min(MOST, Math.max(FIRST, turns)));
    await this.#reading;
    this.#reading = undefined;
    const again = this.#readAgain;
    this.#readAgain = 0;
    if (again > 0) await this.#read(again);
  }

  async #readEnd(limit: number) {
    const path = { id: this.id };
    try {
      const now = await api.get("/api/conversations/{id}", { path });
      const page = await api.get("/api/conversations/{id}/turns", { path, query: { limit } });
      if (path.id !== this.id) return;
      this.#renew(now);
      const joined = spliced(this.turns, page.turns, page.before, this.#before);
      this.#before = joined.before;
      this.#show(joined.turns);
      if (this.opening) this.error = undefined;
      this.opening = false;
    } catch (caught) {
      if (caught instanceof Refused && caught.status === 404) this.gone = true;
      else if (caught instanceof Refused) this.error = caught;
      // A site that cannot be reached is told beside the conversation; the stream comes back and reads again.
    }
  }

  #show(turns: TurnRow[]) {
    this.turns = turns;
    this.#live.want(turns.filter(isRunning).map((turn) => turn.id));
  }

  /** A task that was followed has come to rest: what it used and started is known only to the site. */
  #settled(id: string) {
    const at = this.turns.findIndex((one) => one.id === id);
    void this.#read(at < 0 ? FIRST : this.turns.length - at).then(() => this.#live.forget(id));
  }

  async older() {
    const before = this.#before;
    if (!before) return;
    const page = await api.get("/api/conversations/{id}/turns", { path: { id: this.id }, query: { before, limit: OLDER } });
    if (before !== this.#before) return;
    this.#before = page.before;
    this.turns = [...page.turns, ...this.turns];
  }

  async say(parts: Part[], agents: string[], instead?: TurnRow) {
    const at = instead ? this.turns.findIndex((one) => one.id === instead.id) : -1;
    const asked = agents.length > 0 ? agents : [undefined];
    await this.#send({ parts, agents: agents.length > 0 ? agents : [instead?.agent ?? this.agent], after: at < 0 ? this.turns.length : at }, asked, { message: parts }, instead);
  }

  async again(turns: TurnRow[]) {
    const first = turns[0];
    if (!first) return;
    const parts = (turns.length > 1 ? (await this.whole(first)).history?.[0]?.parts : undefined) ?? (first.question as Part[]);
    const at = this.turns.findIndex((one) => one.id === first.id);
    await this.#send({ parts, agents: turns.map((turn) => turn.agent), after: at }, turns.map((turn) => turn.agent), {}, first, parts);
  }

  /** Asks each agent in turn, with one id for the message; each hangs on the one before, so that all stand on one path. */
  async #send(sending: Sending, agents: (string | undefined)[], first: { message?: Part[] }, instead?: TurnRow, later = sending.parts) {
    const messageId = freshId();
    this.error = undefined;
    this.sending = sending;
    try {
      let parent: string | undefined;
      for (const agent of agents) {
        const place = parent ? { parent, message: later } : { ...first, ...(instead && { instead: instead.id }) };
        const turn = await this.#ask({ agent, messageId, ...place });
        parent = turn.id;
        this.#show(added(this.turns.slice(0, Math.max(sending.after, this.turns.findIndex((one) => one.id === turn.parent) + 1)), turn));
        this.sending = { ...sending, agents: sending.agents.slice(1), after: this.turns.length };
        sending = this.sending;
      }
    } catch (caught) {
      this.error = caught;
      throw caught;
    } finally {
      this.sending = undefined;
    }
    void this.#read();
  }

  async #ask(body: { agent?: string; messageId: string; message?: Part[]; parent?: string; instead?: string }): Promise<TurnRow> {
    if (this.id) return persist(() => api.post("/api/conversations/{id}/turns", { path: { id: this.id }, body }));
    const agent = body.agent ?? (this.#chosen || undefined);
    const begun = await persist(() => api.post("/api/conversations", { body: { agent, message: body.message, messageId: body.messageId } }));
    this.id = begun.conversation.id;
    this.#renew(begun.conversation);
    shelf.put(begun.conversation);
    this.#landed(this.id);
    if (!begun.turn) throw new Error("the site has begun the conversation without its first turn");
    return begun.turn;
  }

  async answer(turn: TurnRow, parts: Part[]) {
    const messageId = freshId();
    await this.#goOn(turn, async () => {
      const now = await persist(() => api.post("/api/conversations/{id}/turns", { path: { id: this.id }, body: { answers: turn.id, message: parts, messageId } }));
      this.#wholes.delete(turn.id);
      this.#live.forget(turn.id);
      this.#show(replaced(this.turns, now));
    });
  }

  async permit(turn: TurnRow, credential: string) {
    await this.#goOn(turn, async () => {
      await permit(turn.agent, turn.id, credential);
      this.#live.forget(turn.id);
    });
  }

  async #goOn(turn: TurnRow, act: () => Promise<void>) {
    this.error = undefined;
    try {
      await act();
    } catch (caught) {
      this.error = caught;
      throw caught;
    } finally {
      void this.#read(this.turns.length - this.turns.findIndex((one) => one.id === turn.id));
    }
  }

  async show(turn: string) {
    try {
      this.#renew(await api.patch("/api/conversations/{id}", { path: { id: this.id }, body: { head: turn } }));
      await this.#read(MOST);
    } catch (caught) {
      this.error = caught;
    }
  }

  async stop() {
    const running = this.turns.filter(isRunning);
    const ended = await Promise.allSettled(running.map((turn) => api.post("/api/tasks/{id}/cancel", { path: { id: turn.id } })));
    await this.#read();
    // One that ended by itself meanwhile is what was wanted.
    const failed = ended.find((one, at) => one.status === "rejected" && this.turns.some((turn) => turn.id === running[at]?.id && isRunning(turn)));
    if (failed?.status === "rejected") this.error = failed.reason;
  }

  /** The task of a turn, with its files. */
  whole(turn: TurnRow): Promise<Task> {
    const known = this.#wholes.get(turn.id);
    if (known) return known;
    const read = api.get("/api/tasks/{id}", { path: { id: turn.id } }) as unknown as Promise<Task>;
    this.#wholes.set(turn.id, read);
    read.catch(() => this.#wholes.delete(turn.id));
    const oldest = this.#wholes.keys().next().value;
    if (this.#wholes.size > WHOLES && oldest) this.#wholes.delete(oldest);
    return read;
  }
}
