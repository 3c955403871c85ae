"""A tool server on the official Python package, as the site hosts it.

Usage: mcp_server.py [one | many | http]
`one` offers a single tool, `many` fifty more; `http` listens on a free port,
prints it, and ends when stdin closes. Otherwise it speaks through its pipes.
The description of `echo` is the text of the file `echo.txt` in the folder in
which it runs, where there is one. `change` changes its tools under way, `die`
ends the process, `flood` never stops telling. It keeps nothing.
"""

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Annotated

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve, Sample
from mcp_types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("counterpart", version="2.1.0", instructions="Echo, add and wait.")


class Who(BaseModel):
    name: str


class Sum(BaseModel):
    total: int


def echo(text: str) -> str:
    return text.upper()


def described() -> str:
    file = Path("echo.txt")
    return file.read_text().strip() if file.exists() else "Says it loudly."


server.add_tool(echo, description=described())

if "one" not in sys.argv:

    @server.tool()
    def add(a: int, b: int) -> Sum:
        """Adds two numbers."""
        return Sum(total=a + b)

    @server.tool()
    async def slow(steps: int, ctx: Context) -> str:
        """Tells how far it is."""
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1} of {steps}")
            await asyncio.sleep(0.3)
        return "done"

    def who() -> Elicit[Who]:
        return Elicit("Who are you?", Who)

    @server.tool()
    async def ask(answer: Annotated[ElicitationResult[Who], Resolve(who)]) -> str:
        """Asks who is there."""
        return f"Hello {answer.data.name}" if answer.action == "accept" else "Hello nobody"

    def opinion() -> Sample:
        question = TextContent(type="text", text="What do you think?")
        return Sample([SamplingMessage(role="user", content=question)], max_tokens=50)

    @server.tool()
    async def think(thought: Annotated[CreateMessageResult, Resolve(opinion)]) -> str:
        """Asks a model."""
        return f"The model thinks: {thought.content.text}"

    @server.tool()
    async def wait(ctx: Context) -> str:
        """Waits until it is stopped; leaves a file while it does."""
        mark = Path("waiting")
        await ctx.report_progress(0, 1, "waiting")
        mark.touch()
        try:
            await asyncio.sleep(3600)
        finally:
            mark.unlink()
        return "never"

    @server.tool()
    async def flood(ctx: Context) -> str:
        """Never stops telling."""
        while True:
            await ctx.report_progress(1, 2, "x" * 1000)

    @server.tool()
    def big(size: int) -> str:
        """Gives so many letters."""
        return "x" * size

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError("I was told to fail.")

    @server.tool()
    def die() -> str:
        """Ends the process."""
        print("told to die", file=sys.stderr, flush=True)
        os._exit(3)

    @server.tool()
    async def change(ctx: Context) -> str:
        """Changes its tools under way."""
        server.remove_tool("echo")
        server.add_tool(echo, description="Says it loudly, and tells everybody.")
        server.add_tool(echo, name="shout", description="Says it too.")
        await ctx.session.send_tool_list_changed()
        await ctx.notify_tools_changed()
        return "changed"


if "many" in sys.argv:
    for number in range(50):
        server.add_tool(echo, name=f"echo-{number}", description=f"Echo number {number}.")

if "http" in sys.argv:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("MCP_PORT", "0"))))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run(sockets=[listener])
else:
    server.run()
