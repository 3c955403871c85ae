// Talking with an agent by A2A: a message out, events back as they happen.
import { Frames } from "../logic/frames";
import type { Message, Part, Streamed } from "../logic/turn";
import { freshId } from "../logic/id";
import { Refused } from "./client";

/** The address of an agent; of the concierge when none is named. */
export function addressOf(agent: string): string {
  return agent ? `/a2a/${encodeURIComponent(agent)}` : "/a2a";
}

export function messageOf(parts: Part[], contextId?: string, taskId?: string): Message {
  return { messageId: freshId(), role: "ROLE_USER", parts, ...(contextId && { contextId }), ...(taskId && { taskId }) };
}

function request(agent: string, method: string, params: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(addressOf(agent), {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0", accept: "text/event-stream, application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal,
  });
}

interface Reply {
  result?: unknown;
  error?: { code: number; message: string };
}

function resultOf(reply: Reply, status: number): unknown {
  if (reply.error) throw new Refused(status, String(reply.error.code), reply.error.message);
  return reply.result;
}

/** Sends a message and hands over each event; returns when the agent has nothing more to say. */
export async function send(agent: string, message: Message, onEvent: (event: Streamed) => void, signal?: AbortSignal): Promise<void> {
  const response = await request(agent, "SendStreamingMessage", { message }, signal);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) {
    const text = await response.text();
    let reply: Reply;
    try {
      reply = JSON.parse(text) as Reply;
    } catch {
      throw new Refused(response.status, "", `${response.status} ${response.statusText}`);
    }
    onEvent(resultOf(reply, response.status) as Streamed);
    return;
  }
  const frames = new Frames();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    for (const frame of frames.feed(value)) onEvent(resultOf(JSON.parse(frame.data) as Reply, response.status) as Streamed);
  }
}

export async function cancel(agent: string, id: string): Promise<void> {
  const response = await request(agent, "CancelTask", { id });
  resultOf((await response.json()) as Reply, response.status);
}

/** Where a credential stands, so that it reaches the agent for one run and is written down nowhere. */
const CREDENTIAL = "urn:agentsite:a2a:task-auth:v1/credential";

/** Gives a task that waits for a permission the credential that it needs. */
export async function permit(agent: string, id: string, credential: string): Promise<void> {
  const message = { ...messageOf([{ text: "…" }], undefined, id), metadata: { [CREDENTIAL]: credential } };
  const response = await request(agent, "SendMessage", { message, configuration: { returnImmediately: true } });
  resultOf((await response.json()) as Reply, response.status);
}

/** A file as a part of a message. */
export async function filePart(file: File): Promise<Part> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return { raw: btoa(binary), filename: file.name, mediaType: file.type || "application/octet-stream" };
}
