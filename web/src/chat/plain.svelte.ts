// A talk by A2A that is no kept conversation: of guests, whose words nobody keeps, and of whoever comes from a task that was asked outside of one. It goes on in its
// context, does not branch, and asks one agent.
import { cancel, messageOf, permit, send } from "../api/a2a";
import { api } from "../api/client";
import type { ConversationRow, TurnRow } from "../logic/talk";
import { apply, isEnded, stateWord, waits, type Message, type Part, type Task } from "../logic/turn";
import { who } from "../session.svelte";
import type { Sending, Speaker } from "./speaker";

/** Tasks of a context that are read. */
const READ = 200;

export class Plain implements Speaker {
  id = $state("");
  agent = $state("");
  tasks = $state.raw<Task[]>([]);
  opening = $state(false);
  busy = $state(false);
  gone = $state(false);
  error = $state<unknown>();
  readonly kept = false;
  readonly more = false;
  readonly conversation: ConversationRow | undefined = undefined;
  readonly sending: Sending | undefined = undefined;
  #following?: EventSource;
  #closed = false;

  readonly turns: TurnRow[] = $derived(this.tasks.map((task, at) => rowOf(task, at, this.agent || this.#concierge)));
  readonly live: Record<string, Task> = $derived(Object.fromEntries(this.tasks.map((task, at) => [task.id || `new-${at}`, task])));
  readonly running = $derived(this.busy);
  readonly waiting: TurnRow | undefined = $derived.by(() => {
    const last = this.turns.at(-1);
    return last && waits(last.state) ? last : undefined;
  });

  /** A talk in this context, or a new one with this agent or with anyone who can. */
  constructor(context: string, agent: string) {
    this.id = context;
    this.agent = agent;
    if (context && who.known) void this.#open(context);
  }

  get #concierge(): string {
    return who.session?.site.concierge ?? "";
  }

  close() {
    this.#closed = true;
    this.#following?.close();
  }

  async #open(context: string) {
    this.opening = true;
    try {
      const { tasks } = await api.get("/api/tasks", { query: { context, limit: READ } });
      const rows = tasks.filter((row) => !row.parent).sort((a, b) => a.createdAt.localeCompare(b.createdAt));
      this.tasks = await Promise.all(rows.map((row) => taskOf(row.id)));
      const agent = rows.at(-1)?.agent ?? "";
      this.agent = agent === this.#concierge ? "" : agent;
      this.gone = rows.length === 0;
      const last = this.tasks.at(-1);
      if (last && !isEnded(last.status.state) && !waits(last.status.state)) this.#follow(last.id);
    } catch (caught) {
      this.error = caught;
    }
    this.opening = false;
  }

  async say(parts: Part[], _agents: string[] = [], _instead?: TurnRow) {
    await this.#send(messageOf(parts, this.id), this.tasks, undefined);
  }

  async answer(turn: TurnRow, parts: Part[]) {
    const waiting = this.tasks.find((task) => task.id === turn.id);
    if (!waiting) return;
    const message = messageOf(parts, this.id, waiting.id);
    const before = this.tasks.filter((task) => task !== waiting);
    const said = [...(waiting.history ?? []), ...(waiting.status.message ? [waiting.status.message] : []), message];
    await this.#send(message, before, { ...waiting, history: said, status: { state: "TASK_STATE_WORKING" } });
  }

  async again(turns: TurnRow[]) {
    const parts = turns[0]?.question as Part[] | undefined;
    if (parts) await this.say(parts);
  }

  /** Sends a message and shows the answer as it comes. */
  async #send(message: Message, before: Task[], begun: Task | undefined) {
    let live: Task | undefined = begun ?? { id: "", contextId: this.id, status: { state: "TASK_STATE_SUBMITTED" }, history: [message] };
    this.tasks = [...before, live];
    this.busy = true;
    this.error = undefined;
    try {
      await send(this.agent, message, (event) => {
        live = apply(live, event);
        if (!live || this.#closed) return;
        this.id ||= live.contextId;
        this.tasks = [...before, live];
      });
    } catch (caught) {
      if (live?.id && !isEnded(live.status.state) && caught instanceof TypeError && who.known) return this.#follow(live.id);
      this.error = caught;
      if (!live?.id) this.tasks = before;
      this.busy = false;
      throw caught;
    }
    this.busy = false;
    if (live?.id && who.known) await this.#settle(live.id).catch(() => undefined);
  }

  /** Reads the task once more: what it took is known only to the site. */
  async #settle(id: string) {
    const now = await taskOf(id);
    this.tasks = this.tasks.map((one) => (one.id === id ? now : one));
  }

  /** Goes on after a reload or a cut: the site tells that something happened, and the task is read again. */
  #follow(id: string) {
    this.#following?.close();
    this.busy = true;
    const source = (this.#following = new EventSource(`/api/tasks/${encodeURIComponent(id)}/events`));
    const read = async () => {
      await this.#settle(id);
      const now = this.tasks.find((one) => one.id === id);
      if (!now || (!isEnded(now.status.state) && !waits(now.status.state))) return;
      source.close();
      this.busy = false;
    };
    source.onmessage = () => void read().catch(() => undefined);
    source.addEventListener("settled", () => void read().catch(() => undefined));
  }

  async permit(turn: TurnRow, credential: string) {
    try {
      await permit(turn.agent, turn.id, credential);
      if (who.known) this.#follow(turn.id);
    } catch (caught) {
      this.error = caught;
    }
  }

  async stop() {
    const last = this.tasks.at(-1);
    if (!last?.id) return;
    try {
      await cancel(last.agent ?? this.agent, last.id);
    } catch (caught) {
      // It may have ended meanwhile, which is what was wanted.
      if (stateWord(last.status.state) === "working") this.error = caught;
    }
  }

  async show() {
    // It does not branch.
  }

  async older() {
    // All of it is there.
  }

  async whole(turn: TurnRow): Promise<Task> {
    const task = this.live[turn.id];
    if (!task) throw new Error(turn.id);
    return task;
  }
}

/** A task as a row, so that kept and plain talks are shown by the same parts. */
function rowOf(task: Task, at: number, agent: string): TurnRow {
  const id = task.id || `new-${at}`;
  const asked = task.history?.find((message) => message.role === "ROLE_USER");
  const took = task.createdAt && task.updatedAt && isEnded(task.status.state) ? new Date(task.updatedAt).getTime() - new Date(task.createdAt).getTime() : undefined;
  return {
    id, agent: task.agent ?? agent, contextId: task.contextId, messageId: asked?.messageId ?? id, at: task.createdAt ?? "", question: (asked?.parts ?? []) as TurnRow["question"],
    state: stateWord(task.status.state), answer: "", artifacts: [], siblings: [id], usage: task.usage as TurnRow["usage"], durationMs: took,
  };
}

async function taskOf(id: string): Promise<Task> {
  return (await api.get("/api/tasks/{id}", { path: { id } })) as unknown as Task;
}
