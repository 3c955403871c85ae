"""Implements the Agent Client Protocol: one JSON message a line on stdin and stdout.

Needs only Python. For more than this, the package agent-client-protocol has all messages as types.
"""

import json
import sys
import uuid


def send(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def answer(text: str) -> str:
    return text[::-1]


def handle(method: str, params: dict) -> dict | None:
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        case "session/new":
            return {"sessionId": str(uuid.uuid4())}
        case "session/prompt":
            texts = [block["text"] for block in params["prompt"] if block["type"] == "text"]
            say(params["sessionId"], answer(texts[-1] if texts else ""))
            return {"stopReason": "end_turn"}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = handle(message["method"], message.get("params", {}))
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
