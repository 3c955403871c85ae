// What a person copies to call an agent from elsewhere. Text is quoted for the place where it is pasted.

export interface Snippet {
  id: "call" | "curl" | "python" | "mcp";
  code: string;
}

export function shellQuoted(text: string): string {
  return `'${text.replace(/[\u0000-\u001f\u007f]/g, " ").replaceAll("'", `'\\''`)}'`;
}

export interface Callee {
  name: string;
  /** Where it is called by A2A in JSON-RPC; empty when that is not known. */
  url: string;
  /** Where its card is, if it has one; found below `url` when left out. */
  card?: string;
  /** Where it is called by MCP, if it is. */
  mcp?: string;
  example: string;
  local: boolean;
}

export function snippets(callee: Callee): Snippet[] {
  const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message: { messageId: "MESSAGE-ID", role: "ROLE_USER", parts: [{ text: callee.example }] } } };
  const json = shellQuoted(JSON.stringify(body)).replace("MESSAGE-ID", `'$(date +%s%N)'`);
  const out: Snippet[] = [];
  const target = callee.local ? callee.name : callee.card || callee.url;
  if (target) out.push({ id: "call", code: `agentsite call ${callee.local ? target : shellQuoted(target)} ${shellQuoted(callee.example)}` });
  if (callee.url) {
    out.push({ id: "curl", code: `curl ${shellQuoted(callee.url)} \\\n  -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' \\\n  -d ${json}` });
  }
  if (target) out.push({ id: "python", code: python(callee) });
  if (callee.mcp) out.push({ id: "mcp", code: JSON.stringify({ mcpServers: { [callee.name]: { type: "http", url: callee.mcp } } }, null, 2) });
  return out;
}

/** Where the official client finds the card: below an address, or at a path of its own. */
function resolver(callee: Callee): string {
  const card = callee.card && URL.canParse(callee.card) ? new URL(callee.card) : undefined;
  if (!card) return JSON.stringify(callee.url);
  const usual = "/.well-known/agent-card.json";
  if (card.pathname.endsWith(usual) && !card.search) return JSON.stringify(card.href.slice(0, -usual.length));
  return `${JSON.stringify(card.origin)}, agent_card_path=${JSON.stringify(card.pathname + card.search)}`;
}

function python(callee: Callee): string {
  return `import asyncio, uuid
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, SendMessageRequest

async def main():
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, ${resolver(callee)}).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        message = Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=${JSON.stringify(callee.example)})])
        async for event in client.send_message(SendMessageRequest(message=message)):
            print(event)

asyncio.run(main())`;
}
