// A task from its stored events, as the site streams them: a pure fold with the result of reading the task, except that one which was answered no longer waits.
import { type Artifact, type Message, type Task, continues } from "./turn";

export interface Stored {
  seq: number;
  at: string;
  kind: string;
  state?: string;
  message?: Message;
  agent?: string;
  context?: string;
  artifact?: Artifact;
  append?: boolean;
  usage?: Task["usage"];
}

/** The task after one more event; undefined as long as it was not opened. */
export function after(task: Task | undefined, event: Stored, id: string): Task | undefined {
  if (event.kind === "opened") {
    return { id, contextId: event.context ?? "", agent: event.agent, status: { state: "TASK_STATE_SUBMITTED" }, history: event.message ? [event.message] : [], createdAt: event.at, updatedAt: event.at };
  }
  if (!task) return undefined;
  const now = { ...task, updatedAt: event.at };
  switch (event.kind) {
    case "said":
      return { ...now, history: [...settled(task), ...(event.message ? [event.message] : [])], status: { state: "TASK_STATE_SUBMITTED" } };
    case "started":
      return { ...now, history: settled(task), status: { state: "TASK_STATE_WORKING" } };
    case "status":
      return { ...now, history: settled(task), status: { state: event.state ?? task.status.state, message: event.message, timestamp: event.at } };
    case "artifact":
      return event.artifact ? { ...now, artifacts: with_(task.artifacts ?? [], event.artifact, event.append ?? false) } : now;
    case "used":
      return { ...now, usage: sum(task.usage, event.usage) };
    default:
      return now;
  }
}

/** The history with the agent's latest words, which are about to be replaced. */
function settled(task: Task): Message[] {
  return [...(task.history ?? []), ...(task.status.message ? [task.status.message] : [])];
}

function with_(artifacts: Artifact[], made: Artifact, append: boolean): Artifact[] {
  const at = artifacts.findIndex((one) => one.artifactId === made.artifactId);
  const known = artifacts[at];
  if (!known) return [...artifacts, made];
  return artifacts.with(at, append ? { ...known, parts: joined(known.parts, made.parts) } : made);
}

/** Pieces of text are one text at once: an answer of ten thousand pieces stays one part. */
function joined(before: Artifact["parts"], more: Artifact["parts"]): Artifact["parts"] {
  const [first, ...rest] = more;
  const last = before.at(-1);
  if (!first || !last || !continues(last, first)) return [...before, ...more];
  return [...before.slice(0, -1), { ...last, text: `${last.text}${first.text}` }, ...rest];
}

type Usage = NonNullable<Task["usage"]>;

function sum(before: Usage = {}, more: Usage = {}): Usage {
  const add = (name: keyof Usage) => (before[name] ?? 0) + (more[name] ?? 0);
  return { inputTokens: add("inputTokens"), outputTokens: add("outputTokens"), turns: add("turns"), calls: add("calls") };
}
