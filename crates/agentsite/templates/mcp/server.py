"""An MCP server on standard input and output, with only Python itself.

One message a line, JSON-RPC. With the official package (`pip install mcp`) the same is a function and a decorator.
"""

import json
import sys

TOOL = {
    "name": "count",
    "description": "Counts the letters and words of a text.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
    },
}


def count(text: str) -> str:
    return f"{len(text)} letters, {len(text.split())} words"


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-11-25"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "NAME", "version": "0.1.0"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and params.get("name") == "count":
        words = count(params.get("arguments", {}).get("text", ""))
        return {"content": [{"type": "text", "text": words}]}
    if method == "ping":
        return {}
    raise LookupError(f"there is no {method} here")


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        try:
            reply["result"] = answer(request["method"], request.get("params") or {})
        except LookupError as error:
            reply["error"] = {"code": -32601, "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
