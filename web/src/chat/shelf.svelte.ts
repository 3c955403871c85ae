// The conversations of a person: the list page by page, those in which words stand, and what is done to one. What is kept is on the site.
import { api } from "../api/client";
import { joined, renewed, without } from "../logic/shelf";
import type { ConversationRow } from "../logic/talk";
import { feed, type News } from "./feed.svelte";

/** Rows of a page. */
const PAGE = 40;

class Shelf {
  rows = $state.raw<ConversationRow[]>([]);
  /** What was searched for, and what was found; nothing while nobody searches. */
  found = $state.raw<{ text: string; rows: ConversationRow[] }>();
  more = $state(false);
  ready = $state(false);
  error = $state<unknown>();
  #next?: string;
  #asked?: AbortController;
  #loading = false;

  /** Keeps the list as it is on the site until the function that is given back is called. */
  keep(): () => void {
    void this.load();
    return feed.listen({ caughtUp: () => void this.load(), heard: (news) => this.#heard(news) });
  }

  #heard(news: News) {
    if (news.kind === "removed" && news.id) this.#drop(news.id);
    else if (news.conversation) this.put(news.conversation);
  }

  put(row: ConversationRow) {
    this.rows = renewed(this.rows, row);
    if (this.found) this.found = { ...this.found, rows: this.found.rows.map((one) => (one.id === row.id ? { ...row, passage: one.passage } : one)) };
  }

  #drop(id: string) {
    this.rows = without(this.rows, id);
    if (this.found) this.found = { ...this.found, rows: without(this.found.rows, id) };
  }

  /** Reads the beginning of the list anew; what was read further down stays. */
  async load() {
    try {
      const page = await api.get("/api/conversations", { query: { limit: PAGE } });
      const kept = this.ready ? joined(page.conversations, this.rows) : page.conversations;
      this.rows = page.next ? kept : page.conversations;
      if (!this.ready || !page.next) this.#goesOn(page.next);
      this.error = undefined;
    } catch (caught) {
      if (!this.ready) this.error = caught;
    }
    this.ready = true;
  }

  #goesOn(next: string | null | undefined) {
    this.#next = next ?? undefined;
    this.more = Boolean(next);
  }

  async loadMore() {
    if (!this.#next || this.#loading) return;
    this.#loading = true;
    try {
      const page = await api.get("/api/conversations", { query: { limit: PAGE, cursor: this.#next } });
      this.rows = joined(this.rows, page.conversations);
      this.#goesOn(page.next);
    } catch (caught) {
      this.error = caught;
    } finally {
      this.#loading = false;
    }
  }

  async search(text: string) {
    this.#asked?.abort();
    const wanted = text.trim();
    if (!wanted) {
      this.found = undefined;
      return;
    }
    const mine = (this.#asked = new AbortController());
    try {
      const page = await api.get("/api/conversations", { query: { text: wanted, limit: PAGE }, signal: mine.signal });
      this.found = { text: wanted, rows: page.conversations };
      this.error = undefined;
    } catch (caught) {
      if (!mine.signal.aborted) this.error = caught;
    }
  }

  async edit(id: string, change: { title?: string; pinned?: boolean }) {
    this.put(await api.patch("/api/conversations/{id}", { path: { id }, body: change }));
  }

  async remove(id: string) {
    await api.delete("/api/conversations/{id}", { path: { id } });
    this.#drop(id);
  }
}

export const shelf = new Shelf();
