// Conversations: the tasks of one context, in order. What is kept is on the site; the browser keeps nothing but the page.
import { cancel, messageOf, send } from "./api/a2a";
import { api, type TaskRow } from "./api/client";
import { apply, isEnded, stateWord, titleOf, waits, type Part, type Task } from "./logic/turn";
import { who } from "./session.svelte";

export interface Conversation {
  context: string;
  agent: string;
  at: string;
  title: string;
}

/** Tasks from which the list of conversations is made, and tasks of one conversation that are read. */
const RECENT = 200;
/** Conversations whose first words are fetched for the list. */
const TITLED = 30;

class Chat {
  context = $state("");
  agent = $state("");
  tasks = $state.raw<Task[]>([]);
  conversations = $state.raw<Conversation[]>([]);
  busy = $state(false);
  error = $state<unknown>();
  #titles = new Map<string, string>();
  #following?: EventSource;

  /** The task that goes on with the next message. */
  get waiting(): Task | undefined {
    const last = this.tasks.at(-1);
    return last && waits(last.status.state) ? last : undefined;
  }

  async list() {
    if (!who.known) return;
    const { tasks } = await api.get("/api/tasks", { query: { limit: RECENT } });
    const byContext = Map.groupBy(tasks.filter((row) => !row.parent), (row) => row.contextId);
    const rows = [...byContext.values()].map((of) => ({ last: of[0] as TaskRow, first: of.at(-1) as TaskRow }));
    await Promise.all(rows.slice(0, TITLED).map(({ first }) => this.#title(first)));
    this.conversations = rows.map(({ last }) => ({
      context: last.contextId,
      agent: last.agent,
      at: last.updatedAt,
      title: this.#titles.get(last.contextId) || last.agent,
    }));
  }

  async #title(row: TaskRow) {
    if (this.#titles.has(row.contextId)) return;
    try {
      this.#titles.set(row.contextId, titleOf(await task(row.id)));
    } catch {
      this.#titles.set(row.contextId, "");
    }
  }

  /** Begins anew, with this agent or with anyone who can. */
  begin(agent: string) {
    this.#following?.close();
    this.context = "";
    this.agent = agent;
    this.tasks = [];
    this.busy = false;
    this.error = undefined;
  }

  async open(context: string) {
    if (context === this.context) return;
    this.begin("");
    this.context = context;
    if (!who.known) return;
    try {
      const { tasks } = await api.get("/api/tasks", { query: { context, limit: RECENT } });
      const rows = tasks.filter((row) => !row.parent).sort((a, b) => a.createdAt.localeCompare(b.createdAt));
      const read = await Promise.all(rows.map((row) => task(row.id)));
      if (this.context !== context) return;
      this.tasks = read;
      const agent = rows.at(-1)?.agent ?? "";
      this.agent = agent === who.session?.site.concierge ? "" : agent;
      const last = read.at(-1);
      if (last && !isEnded(last.status.state) && !waits(last.status.state)) this.#follow(last.id);
    } catch (caught) {
      this.error = caught;
    }
  }

  /** Sends what a person wrote and shows the answer as it comes. */
  async say(parts: Part[], landed: (context: string) => void) {
    const before = this.tasks;
    const waiting = this.waiting;
    const message = messageOf(parts, this.context, waiting?.id);
    const earlier = waiting ? before.slice(0, -1) : before;
    let live: Task | undefined = waiting
      ? { ...waiting, history: [...(waiting.history ?? []), ...(waiting.status.message ? [waiting.status.message] : []), message], status: { state: "TASK_STATE_WORKING" } }
      : { id: "", contextId: this.context, status: { state: "TASK_STATE_SUBMITTED" }, history: [message] };
    this.tasks = [...earlier, live];
    this.busy = true;
    this.error = undefined;
    const begun = this.context;
    try {
      await send(this.agent, message, (event) => {
        live = apply(live, event);
        if (!live) return;
        if (this.context === "" && live.contextId) {
          this.context = live.contextId;
          landed(live.contextId);
        }
        if (this.context === (begun || live.contextId)) this.tasks = [...earlier, live];
      });
    } catch (caught) {
      if (live?.id && !isEnded(live.status.state) && caught instanceof TypeError && who.known) this.#follow(live.id);
      else {
        this.error = caught;
        if (!live?.id) this.tasks = before;
      }
    } finally {
      if (!this.#following || this.#following.readyState === EventSource.CLOSED) this.busy = false;
      void this.list().catch(() => undefined);
    }
    if (live?.id && who.known) await this.#settle(live.id).catch(() => undefined);
  }

  /** Reads the task once more: what it took is known only to the site. */
  async #settle(id: string) {
    const now = await task(id);
    this.tasks = this.tasks.map((one) => (one.id === id ? now : one));
  }

  /** Goes on after a reload or a cut: the site tells that something happened, and the task is read again. */
  #follow(id: string) {
    this.#following?.close();
    this.busy = true;
    const source = (this.#following = new EventSource(`/api/tasks/${encodeURIComponent(id)}/events`));
    const read = async () => {
      const now = await task(id);
      if (this.tasks.at(-1)?.id === id) this.tasks = [...this.tasks.slice(0, -1), now];
      if (isEnded(now.status.state) || waits(now.status.state)) {
        source.close();
        this.busy = false;
      }
    };
    source.onmessage = () => void read().catch(() => undefined);
    source.addEventListener("settled", () => void read().catch(() => undefined));
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
}

async function task(id: string): Promise<Task> {
  return (await api.get("/api/tasks/{id}", { path: { id } })) as unknown as Task;
}

export const chat = new Chat();
