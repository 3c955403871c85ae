// A task as a conversation shows it: a pure fold over what A2A streams, and a view of the result.

export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
  metadata?: Record<string, unknown>;
}

export interface Message {
  messageId: string;
  role: "ROLE_USER" | "ROLE_AGENT";
  parts: Part[];
  contextId?: string;
  taskId?: string;
  metadata?: Record<string, unknown>;
}

export interface Artifact {
  artifactId: string;
  name?: string;
  description?: string;
  parts: Part[];
}

export interface Task {
  id: string;
  contextId: string;
  status: { state: string; message?: Message; timestamp?: string };
  artifacts?: Artifact[];
  history?: Message[];
  agent?: string;
  createdAt?: string;
  updatedAt?: string;
  parent?: string;
  /** The kept conversation of which it is a turn. */
  conversation?: string;
  usage?: { inputTokens?: number; outputTokens?: number; turns?: number; calls?: number };
}

export interface Streamed {
  task?: Task;
  message?: Message;
  statusUpdate?: { taskId: string; contextId: string; status: Task["status"] };
  artifactUpdate?: { taskId: string; contextId: string; artifact: Artifact; append?: boolean; lastChunk?: boolean };
}

export type State = "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected";

/** `TASK_STATE_INPUT_REQUIRED` as people and the REST face write it. */
export function stateWord(state: string): State {
  return state.replace(/^TASK_STATE_/, "").toLowerCase().replaceAll("_", "-") as State;
}

const ENDED: State[] = ["completed", "failed", "canceled", "rejected"];
const WAITING: State[] = ["input-required", "auth-required"];

export function isEnded(state: string): boolean {
  return ENDED.includes(stateWord(state));
}

export function waits(state: string): boolean {
  return WAITING.includes(stateWord(state));
}

/** The task after one more event; undefined as long as none has come. */
export function apply(task: Task | undefined, event: Streamed): Task | undefined {
  if (event.task) return event.task;
  if (event.message) return answered(task, event.message);
  if (!task) return undefined;
  if (event.statusUpdate) {
    const before = task.status.message;
    const history = before ? [...(task.history ?? []), before] : task.history;
    return { ...task, history, status: event.statusUpdate.status };
  }
  if (event.artifactUpdate) return { ...task, artifacts: joined(task.artifacts ?? [], event.artifactUpdate) };
  return task;
}

/** An agent that answers at once, without a task. */
function answered(task: Task | undefined, message: Message): Task {
  const status = { state: "TASK_STATE_COMPLETED", message };
  return { id: task?.id ?? "", contextId: message.contextId ?? task?.contextId ?? "", history: task?.history, status };
}

function joined(artifacts: Artifact[], update: NonNullable<Streamed["artifactUpdate"]>): Artifact[] {
  const at = artifacts.findIndex((one) => one.artifactId === update.artifact.artifactId);
  const known = artifacts[at];
  if (!known) return [...artifacts, update.artifact];
  const next = update.append ? { ...known, parts: [...known.parts, ...update.artifact.parts] } : update.artifact;
  return artifacts.with(at, next);
}

export type Item =
  | { kind: "user"; message: Message }
  | { kind: "says"; message: Message }
  | { kind: "steps"; steps: string[] }
  | { kind: "made"; artifact: Artifact }
  | { kind: "failed"; text: string };

/** What is shown of a task, in order. */
export function view(task: Task): Item[] {
  const items: Item[] = [];
  const state = stateWord(task.status.state);
  const history = task.history ?? [];
  const step = (message: Message) => {
    const last = items.at(-1);
    const text = plain(message.parts);
    if (last?.kind === "steps") last.steps.push(text);
    else items.push({ kind: "steps", steps: [text] });
  };
  history.forEach((message, index) => {
    if (message.role === "ROLE_USER") items.push({ kind: "user", message });
    else if (history[index + 1]?.role === "ROLE_USER") items.push({ kind: "says", message });
    else step(message);
  });
  const last = task.status.message;
  // A question that was also printed is told once.
  const asked = new Set([...items.flatMap((item) => (item.kind === "says" ? [plain(item.message.parts).trim()] : [])), ...(last && waits(state) ? [plain(last.parts).trim()] : [])]);
  const made = (task.artifacts ?? []).filter((artifact) => !asked.has(plain(merged(artifact.parts)).trim()));
  if (last && state === "completed" && made.length > 0) step(last);
  else if (last && !isEnded(state) && !waits(state)) step(last);
  for (const artifact of made) items.push({ kind: "made", artifact: { ...artifact, parts: merged(artifact.parts) } });
  if (last && waits(state)) items.push({ kind: "says", message: last });
  else if (last && state === "completed" && made.length === 0) items.push({ kind: "says", message: last });
  else if (isEnded(state) && state !== "completed") items.push({ kind: "failed", text: last ? plain(last.parts) : "" });
  return items;
}

/** Whether a piece of text goes on where another ends: plain text is the same with and without its media type. */
export function continues(last: Part | undefined, next: Part | undefined): boolean {
  const kind = (part: Part) => [part.mediaType === "text/plain" ? "" : (part.mediaType ?? ""), part.filename ?? "", JSON.stringify(part.metadata ?? {})].join("\n");
  return last?.text !== undefined && next?.text !== undefined && kind(last) === kind(next);
}

/** Pieces of text that came one after the other are one text. */
export function merged(parts: Part[]): Part[] {
  const out: Part[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    if (last && continues(last, part)) {
      out[out.length - 1] = { ...last, text: `${last.text}${part.text}` };
    } else out.push(part);
  }
  return out;
}

export function plain(parts: Part[]): string {
  return parts.map((part) => part.text ?? part.filename ?? "").filter(Boolean).join("\n");
}

/** How long a task took, in words; nothing as long as it is not known. */
export function took(task: { createdAt?: string; updatedAt?: string }): string {
  if (!task.createdAt || !task.updatedAt) return "";
  const millis = new Date(task.updatedAt).getTime() - new Date(task.createdAt).getTime();
  return millis < 1000 ? `${millis} ms` : `${(millis / 1000).toFixed(1)} s`;
}

/** What was answered, as text to take along. */
export function answerOf(task: Task): string {
  const texts = view(task).map((item) => (item.kind === "made" ? plain(item.artifact.parts) : item.kind === "says" ? plain(item.message.parts) : ""));
  return texts.filter(Boolean).join("\n\n");
}
