"""An agent that connects to its site by WebSocket, with the plain websockets package.

Usage: connected_agent.py URL_FILE NAME [--retry N]
URL_FILE holds the address of the site and is read before each attempt, because a
site in a test has another port after each start. Connects again until stdin is
closed. Answers in capitals; "count" streams three lines, "wait" works until it is
canceled, "ask" asks back. Prints one line for each thing that happens: listening
URL (the first time), connected NAME, lost REASON, canceled TASK.
It deliberately knows the protocol only as docs/connect-agents.md tells it.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

import websockets

# The site takes frames of this size; the default of the package is smaller.
MAX_FRAME = 4 << 20

# Between two attempts; a site in a test is back within a second.
PAUSE_SECONDS = 0.2


def say(*words: str) -> None:
    print(*words, flush=True)


class Agent:
    """What outlives a connection: the token, and the tasks under way."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.resume: str | None = None
        self.tasks: dict[str, asyncio.Task] = {}
        self.begun = False

    async def connect(self) -> None:
        url = Path(self.arguments.url_file).read_text(encoding="utf-8").strip()
        address = url.replace("http", "ws", 1) + "/ws/agent"
        async with websockets.connect(address, max_size=MAX_FRAME) as socket:
            introduction = {
                "name": self.arguments.name,
                "description": "Says everything in capital letters, as loud as a foghorn.",
                "visibility": "public",
                "retry": self.arguments.retry,
                "skills": [
                    {
                        "id": "shout",
                        "name": "Shout",
                        "description": "Turns a text into capital letters.",
                        "tags": ["text"],
                        "examples": ["shout this for me"],
                    }
                ],
            }
            if self.resume:
                introduction["resume"] = self.resume
            await self.send(socket, {"id": 1, "method": "agent/register", "params": introduction})
            answer = json.loads(await socket.recv())
            if "error" in answer:
                raise SystemExit(f"refused: {answer['error']['message']}")
            self.resume = answer["result"]["resume"]
            if not self.begun:
                self.begun = True
                say("listening", url)
            say("connected", answer["result"]["name"])
            async for frame in socket:
                await self.take(socket, json.loads(frame))

    async def take(self, socket: websockets.ClientConnection, frame: dict) -> None:
        params = frame.get("params", {})
        if frame.get("method") == "task/run":
            self.tasks[params["task"]] = asyncio.create_task(self.work(socket, params))
        elif frame.get("method") == "task/cancel":
            task = self.tasks.pop(params["task"], None)
            if task and task.cancel():
                say("canceled", params["task"])

    async def work(self, socket: websockets.ClientConnection, given: dict) -> None:
        task, text = given["task"], given["text"]
        if text == "wait":
            await self.step(socket, task, {"status": "waiting"})
            await asyncio.Event().wait()
        elif text == "ask":
            await self.end(socket, task, "input-required", "Which text?")
        elif text == "count":
            for word in ("one\n", "two\n", "three\n"):
                await self.step(socket, task, {"text": word})
            await self.end(socket, task, "completed")
        else:
            artifact = {"artifactId": "answer", "parts": [{"text": text.upper()}]}
            await self.step(socket, task, {"artifact": artifact, "lastChunk": True})
            await self.end(socket, task, "completed")
        self.tasks.pop(task, None)

    async def step(self, socket: websockets.ClientConnection, task: str, what: dict) -> None:
        await self.send(socket, {"method": "task/step", "params": {"task": task, **what}})

    async def end(self, socket: websockets.ClientConnection, task: str, outcome: str, text: str = "") -> None:
        params = {"task": task, "outcome": outcome, "text": text}
        await self.send(socket, {"method": "task/end", "params": params})

    @staticmethod
    async def send(socket: websockets.ClientConnection, frame: dict) -> None:
        await socket.send(json.dumps({"jsonrpc": "2.0", **frame}))


async def serve(agent: Agent) -> None:
    while True:
        try:
            await agent.connect()
            say("lost", "the site closed it")
        except (OSError, websockets.WebSocketException) as error:
            say("lost", str(error).replace("\n", " "))
        for task in agent.tasks.values():
            task.cancel()
        agent.tasks.clear()
        await asyncio.sleep(PAUSE_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url_file")
    parser.add_argument("name")
    parser.add_argument("--retry", type=int, default=0)
    agent = Agent(parser.parse_args())

    async def until_stdin_closes() -> None:
        serving = asyncio.create_task(serve(agent))
        loop = asyncio.get_running_loop()
        closed = loop.run_in_executor(None, sys.stdin.read)
        await asyncio.wait({serving, asyncio.ensure_future(closed)}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()

    asyncio.run(until_stdin_closes())
    # The thread that reads stdin would keep the process until stdin is closed.
    os._exit(0)


if __name__ == "__main__":
    main()
