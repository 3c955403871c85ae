// The tools of an agent that is a set of tools, with the schemas of what they take (MCP, stateless).
import type { Schema } from "../logic/form";
import { Refused } from "./client";

const VERSION = "2026-07-28";

export interface OfferedTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: Schema;
}

export async function tools(agent: string): Promise<OfferedTool[]> {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "agentsite-pages", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(`/mcp/${encodeURIComponent(agent)}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/list",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: meta } }),
  });
  const reply = (await response.json()) as { result?: { tools?: OfferedTool[] }; error?: { message: string } };
  if (reply.error) throw new Refused(response.status, "", reply.error.message);
  return reply.result?.tools ?? [];
}
