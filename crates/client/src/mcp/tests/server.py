"""A tool server on the official Python package, for the tests: by pipes, or by HTTP with `http` as its argument."""

import asyncio
import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("py", version="1.2.3", instructions="Add and wait.")


class Who(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Tells its progress."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
async def greet(ctx: Context) -> str:
    """Asks for a name first."""
    answer = await ctx.elicit("Who are you?", Who)
    return f"Hello {answer.data.name}" if answer.action == "accept" else "Hello nobody"


@server.tool()
async def sleep() -> str:
    """Takes very long."""
    await asyncio.sleep(3600)
    return "slept"


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "the first note"


@server.prompt()
def review(code: str) -> str:
    """Asks for a review."""
    return f"Please review {code}"


if "http" in sys.argv:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
else:
    server.run()
