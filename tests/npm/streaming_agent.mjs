// An agent on the official JavaScript SDK that streams its answer in chunks: each has a media type, all but the first are appended.
//
// Usage: PORT=... node streaming_agent.mjs NODE_MODULES
//
// The answer is the text of the message, one chunk for each word, with the space that follows it. The parts are written as the samples of the SDK
// write them. The first word `files` makes a second artifact of another media type after the first.
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.argv[2], "/"));
const express = require("express");
const { TaskState } = require("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = require("@a2a-js/sdk/server");
const { agentCardHandler, jsonRpcHandler, UserBuilder } = require("@a2a-js/sdk/server/express");

const port = Number(process.env.PORT);
const url = `http://127.0.0.1:${port}/`;

const card = {
  name: "Streamer",
  description: "Repeats a message word by word",
  supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" }],
  provider: undefined,
  version: "1.0.0",
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "repeat", name: "Repeat", description: "Repeats a message", tags: ["repeat"], examples: ["hello there"], inputModes: [], outputModes: [], securityRequirements: [] }],
  signatures: [],
};

const part = (value, mediaType) => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType });

class Streamer {
  async execute(context, bus) {
    const { taskId, contextId } = context;
    const status = (state) => ({ state, timestamp: new Date().toISOString(), message: undefined });
    bus.publish(AgentEvent.task({ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [], history: [context.userMessage], metadata: {} }));
    const text = context.userMessage.parts.map((one) => (one.content?.$case === "text" ? one.content.value : "")).join("");
    const words = text.match(/\S+\s*/g) ?? [];
    const send = (artifactId, value, mediaType, append, lastChunk) =>
      bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, append, lastChunk, metadata: undefined, artifact: { artifactId, name: "Answer", description: "", parts: [part(value, mediaType)], metadata: undefined, extensions: [] } }));
    words.forEach((word, index) => send("answer", word, "text/plain", index > 0, index === words.length - 1));
    if (words[0]?.trim() === "files") send("table", "a,b\n", "text/csv", false, true);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(TaskState.TASK_STATE_COMPLETED), metadata: undefined }));
    bus.finished();
  }

  async cancelTask() {}
}

const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Streamer());
const app = express();
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
app.use("/", jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
app.listen(port, "127.0.0.1", () => console.log(`listening ${url}`));
