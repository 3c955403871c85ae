// The states that a task went through, from its events. Pure.
import { stateWord, type Message } from "./turn";

export interface TaskEvent {
  seq: number;
  at: string;
  kind: string;
  state?: string;
  message?: Message;
  artifact?: { artifactId: string; parts: Message["parts"] };
}

export interface Stage {
  state: string;
  at: string;
  /** Milliseconds until the next one; the last has none. */
  lasted?: number;
}

/** A state that is told again, with other words, is still the same one. */
export function stages(events: readonly TaskEvent[]): Stage[] {
  const passed: Stage[] = [];
  for (const event of events) {
    const state = event.kind === "opened" ? "submitted" : event.kind === "started" ? "working" : event.kind === "status" && event.state ? stateWord(event.state) : undefined;
    const last = passed.at(-1);
    if (!state || last?.state === state) continue;
    if (last) last.lasted = new Date(event.at).getTime() - new Date(last.at).getTime();
    passed.push({ state, at: event.at });
  }
  return passed;
}
