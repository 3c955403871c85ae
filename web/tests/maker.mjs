// An agent that speaks A2A, for the stories of the chat: asks with a form, makes things of every kind, and says whatever it is told to be called.
import { createServer } from "node:http";

const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const base64 = (text) => Buffer.from(text).toString("base64");
const says = (text, more = []) => ({ messageId: `m${Math.random()}`, role: "ROLE_AGENT", parts: [{ text }, ...more] });
const schema = { type: "object", required: ["city", "days"], properties: { city: { type: "string", title: "City" }, days: { type: "integer", title: "Days" }, unit: { type: "string", title: "Unit", enum: ["c", "f"] } } };

function made(text) {
  const name = text.startsWith("named ") ? text.slice(6) : "";
  const artifact = (artifactId, title, ...parts) => ({ artifactId, name: name || title, parts });
  return [
    artifact("report", "report.md", { text: `# Report\n\n${name || "All is **well**."}\n\n\`\`\`rust\nfn main() {}\n\`\`\``, mediaType: "text/markdown" }),
    artifact("data", "data.json", { text: '{"rows":[1,2]}', mediaType: "application/json" }),
    artifact("page", "page", { raw: base64(`<h1>Hello page</h1><p style="color:red" onclick="pwned()">x</p><script>parent.pwned()</script>${name}`), filename: `${name}page.html`, mediaType: "text/html" }),
    artifact("picture", "picture", { raw: PICTURE, filename: `${name}dot.png`, mediaType: "image/png" }),
  ];
}

/** What happens to a message, as events after the task. */
function events(message, id) {
  const status = (state, words) => ({ statusUpdate: { taskId: id, contextId: "c", status: { state: `TASK_STATE_${state}`, ...(words && { message: words }) } } });
  const answer = (artifact) => ({ artifactUpdate: { taskId: id, contextId: "c", artifact, lastChunk: true } });
  const text = message.parts.map((part) => part.text ?? "").join("");
  const given = message.parts.find((part) => part.data)?.data;
  if (given) return [answer({ artifactId: "answer", parts: [{ text: `Given: ${JSON.stringify(given)}` }] }), status("COMPLETED")];
  if (text.includes("form") && !text.startsWith("named ")) return [status("INPUT_REQUIRED", says("Which city, and for how long?", [{ data: schema }]))];
  return [status("WORKING", says("I look at it.")), status("WORKING", says("I write it down.")), ...made(text).map(answer), status("COMPLETED")];
}

const server = createServer((request, response) => {
  const url = `http://${request.headers.host}`;
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    const card = { name: "maker", description: "Makes things", version: "1", supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }], capabilities: { streaming: true }, defaultInputModes: ["text/plain", "application/json"], defaultOutputModes: ["text/plain"], skills: [] };
    response.end(JSON.stringify(card));
    return;
  }
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    const { id: call, params } = JSON.parse(body);
    const message = params.message ?? { parts: [] };
    const id = message.taskId ?? `t${Math.random()}`;
    const begun = { task: { id, contextId: "c", status: { state: "TASK_STATE_SUBMITTED" } } };
    response.setHeader("content-type", "text/event-stream");
    for (const result of [begun, ...events(message, id)]) response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: call, result })}\n\n`);
    response.end();
  });
});
server.listen(Number(process.env.PORT), "127.0.0.1");
