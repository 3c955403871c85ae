// When a stream that was cut is taken up again, and when not. Pure: the driver is `chat/follow.ts`.

/** Milliseconds before the first try; a site that was restarted is back within a second. */
const FIRST = 400;
/** Milliseconds between tries at most. */
const LONGEST = 5_000;

/** Milliseconds to wait before the try of this number, counted from 0. */
export function waitOf(tries: number): number {
  return Math.min(LONGEST, FIRST * 2 ** Math.min(tries, 10));
}

export type Verdict = "again" | "stop";

/** What follows from an answer: the site may be busy, or starting behind a proxy; whoever is refused for good is not asked again. */
export function verdict(status: number): Verdict {
  return status === 0 || status === 408 || status === 429 || status >= 500 ? "again" : "stop";
}

/** Streams of running turns followed at once. A browser has six connections to a site without TLS, for all its tabs. */
export const STREAMS = 2;

/** The turns that are followed: those that run, the last ones first; what is followed already stays. */
export function followed(running: readonly string[], now: readonly string[]): string[] {
  const kept = now.filter((id) => running.includes(id)).slice(0, STREAMS);
  const more = running.toReversed().filter((id) => !kept.includes(id));
  return [...kept, ...more].slice(0, STREAMS);
}
