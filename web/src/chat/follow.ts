// Follows a stream of server-sent events through cuts: taken up where it was, after a pause that grows, at once when the page is looked at or the network is back.
// A page that nobody looks at gives its connection up after a while; browsers have few of them.
import { Frames, type Frame } from "../logic/frames";
import { verdict, waitOf } from "../logic/patience";

export interface Listener {
  /** The stream is there, for the first time or again. */
  open?: () => void;
  frame: (frame: Frame) => void;
  /** It was cut; it is tried again. */
  lost?: () => void;
  /** The site will not give it. */
  refused?: (status: number) => void;
}

/** Milliseconds that a hidden page keeps its streams: longer than a look at another tab. */
const HIDDEN = 30_000;

/** Follows until the function that is given back is called. */
export function follow(path: string, listener: Listener): () => void {
  const stop = new AbortController();
  void run(path, listener, stop.signal);
  return () => stop.abort();
}

async function run(path: string, listener: Listener, stop: AbortSignal) {
  let last = "";
  let tries = 0;
  while (!stop.aborted) {
    await seen(stop);
    const cut = AbortSignal.any([stop, asleep(stop)]);
    let status = 0;
    try {
      const response = await fetch(path, { headers: { accept: "text/event-stream", ...(last && { "last-event-id": last }) }, signal: cut });
      status = response.status;
      if (response.ok && response.body) {
        tries = 0;
        listener.open?.();
        await read(response.body, (frame) => {
          if (frame.id) last = frame.id;
          if (!stop.aborted) listener.frame(frame);
        });
        status = 0;
      }
    } catch {
      // The connection was cut; what follows is decided below.
      status = 0;
    }
    if (stop.aborted) return;
    if (verdict(status) === "stop") return listener.refused?.(status);
    if (document.visibilityState !== "hidden") listener.lost?.();
    await pause(waitOf(tries), stop);
    tries += 1;
  }
}

async function read(body: ReadableStream<Uint8Array>, take: (frame: Frame) => void) {
  const frames = new Frames();
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const frame of frames.feed(value)) take(frame);
  }
}

/** Is aborted when the page has been hidden for a while. */
function asleep(stop: AbortSignal): AbortSignal {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(() => control.abort(), HIDDEN);
  };
  const end = AbortSignal.any([stop, control.signal]);
  document.addEventListener("visibilitychange", look, { signal: end });
  look();
  return control.signal;
}

/** Waits until somebody looks at the page. */
function seen(stop: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (document.visibilityState !== "hidden" || stop.aborted) return done();
    document.addEventListener("visibilitychange", () => done(), { once: true, signal: stop });
    stop.addEventListener("abort", () => done(), { once: true });
  });
}

/** Waits; shorter when the network is back or the page is looked at. */
export function pause(millis: number, stop?: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = new AbortController();
    const go = () => {
      end.abort();
      clearTimeout(timer);
      done();
    };
    const timer = setTimeout(go, millis);
    addEventListener("online", go, { signal: end.signal });
    document.addEventListener("visibilitychange", go, { signal: end.signal });
    stop?.addEventListener("abort", go, { signal: end.signal });
  });
}
