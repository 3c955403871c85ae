// One stream for everything that happens to the conversations of a person: the list and the open conversation hear the same news.
import type { components } from "../api/schema";
import { follow } from "./follow";

export type News = components["schemas"]["ConversationEvent"];

interface Hearer {
  /** The stream is there: whatever was missed has to be read. */
  caughtUp: () => void;
  heard: (news: News) => void;
}

class Feed {
  /** Whether the stream was cut and is being taken up again. */
  lost = $state(false);
  #hearers = new Set<Hearer>();
  #stop?: () => void;

  /** Hears the news until the function that is given back is called. The stream lasts as long as anybody listens. */
  listen(hearer: Hearer): () => void {
    this.#hearers.add(hearer);
    this.#stop ??= this.#begin();
    return () => {
      this.#hearers.delete(hearer);
      if (this.#hearers.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.lost = false;
    };
  }

  #begin(): () => void {
    return follow("/api/conversations/events", {
      open: () => {
        this.lost = false;
        for (const one of this.#hearers) one.caughtUp();
      },
      frame: (frame) => {
        const news = JSON.parse(frame.data) as News;
        for (const one of this.#hearers) {
          if (news.id) one.heard(news);
          else one.caughtUp();
        }
      },
      lost: () => (this.lost = true),
    });
  }
}

export const feed = new Feed();
