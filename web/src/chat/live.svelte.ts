// Answers while they are written: the tasks of running turns from their events, a few at a time, shown once for each frame of the screen.
import { after, type Stored } from "../logic/events";
import { followed } from "../logic/patience";
import type { Task } from "../logic/turn";
import { follow } from "./follow";

export class Live {
  tasks = $state.raw<Record<string, Task>>({});
  #folded = new Map<string, Task>();
  #streams = new Map<string, () => void>();
  #running: string[] = [];
  #settled: (id: string) => void;
  #frame = 0;

  constructor(settled: (id: string) => void) {
    this.#settled = settled;
  }

  /** These turns run; as many as there are streams for are followed. */
  want(running: string[]) {
    this.#running = running;
    const wanted = followed(running, [...this.#streams.keys()]);
    for (const [id, stop] of this.#streams) {
      if (wanted.includes(id)) continue;
      stop();
      this.#streams.delete(id);
      // It ended while its stream was cut: the site has all of it, this has only its beginning.
      if (!running.includes(id) && this.#folded.delete(id)) this.#paint();
    }
    for (const id of wanted) if (!this.#streams.has(id)) this.#streams.set(id, this.#follow(id));
  }

  /** The turn is shown as the site tells it from now on. */
  forget(id: string) {
    if (this.#running.includes(id) && this.#streams.has(id)) return;
    this.#folded.delete(id);
    this.#paint();
  }

  close() {
    for (const stop of this.#streams.values()) stop();
    this.#streams.clear();
    cancelAnimationFrame(this.#frame);
  }

  #follow(id: string): () => void {
    let seq = 0;
    const stop = follow(`/api/tasks/${encodeURIComponent(id)}/events`, {
      frame: (frame) => {
        if (frame.event === "settled") return this.#end(id);
        const event = JSON.parse(frame.data) as Stored;
        if (event.seq <= seq) return;
        seq = event.seq;
        const task = after(event.seq === 1 ? undefined : this.#folded.get(id), event, id);
        if (!task) return;
        this.#folded.set(id, task);
        this.#paint();
      },
      refused: () => this.#end(id),
    });
    return stop;
  }

  #end(id: string) {
    this.#streams.get(id)?.();
    this.#streams.delete(id);
    this.#running = this.#running.filter((one) => one !== id);
    this.want(this.#running);
    this.#settled(id);
  }

  #paint() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.tasks = Object.fromEntries(this.#folded);
    });
  }
}
