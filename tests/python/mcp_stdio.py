"""The official MCP client, and fastmcp's, start `agentsite mcp` and talk to it over stdin and stdout.

Usage: mcp_stdio.py SCENARIO[,SCENARIO...] --mode legacy|auto -- COMMAND [ARGUMENT ...]

Plays the scenarios, prints what each saw as one JSON line, and exits 1 with the reason when the bridge behaved otherwise. It deliberately uses
nothing but the public interface of both packages.
"""

import argparse
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.types import CreateMessageResult, ElicitResult, TextContent

# Turns a hang into a failure, however busy the machine is.
TIMEOUT_SECONDS = 600.0

NEW = "2026-07-28"


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def text(result) -> str:
    return "".join(part.text for part in result.content if part.type == "text")


async def elicit(context, params) -> ElicitResult:
    return ElicitResult(action="accept", content={"response": "blue", "name": "blue", "username": "ada"})


async def sample(context, params) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="a sample"), model="none")


def connected(wanted, **more) -> Client:
    server = StdioServerParameters(command=wanted.command[0], args=wanted.command[1:])
    return Client(server, mode=wanted.mode, read_timeout_seconds=TIMEOUT_SECONDS, **more)


async def tools(wanted) -> dict:
    async with connected(wanted) as client:
        is_new = client.protocol_version == NEW
        check(is_new == (wanted.mode == "auto"), f"the era is the one that was asked for: {client.protocol_version}")
        names = [tool.name for tool in (await client.list_tools()).tools]
        check("test_simple_text" in names, f"the tools are listed: {names}")
        said = text(await client.call_tool("test_simple_text", {}))
        check(bool(said), "a tool answers")
        answers = await asyncio.gather(*(client.call_tool("test_simple_text", {}) for _ in range(20)))
        check(all(text(answer) == said for answer in answers), "many calls side by side have their own answers")
        return {"version": client.protocol_version, "tools": len(names), "said": said}


async def progress(wanted) -> dict:
    seen = []

    async def on_progress(done, total, message) -> None:
        seen.append(done)

    async with connected(wanted) as client:
        await client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
    check(len(seen) > 1 and seen == sorted(seen), f"progress comes before the answer: {seen}")
    return {"progress": seen}


async def questions(wanted) -> dict:
    async with connected(wanted, elicitation_callback=elicit, sampling_callback=sample) as client:
        name = "test_elicitation" if wanted.mode == "legacy" else "test_input_required_result_elicitation"
        arguments = {"message": "Which colour?"} if wanted.mode == "legacy" else {}
        asked = await client.call_tool(name, arguments)
        check(not asked.is_error, f"the question was answered: {asked}")
        return {"said": text(asked)}


async def headers(wanted) -> dict:
    """Arguments that a tool wants to see in headers; a site refuses the call without them."""
    async with connected(wanted) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        schema = tools["test_header_parameters"].input_schema
        values = {"string": "Hello, 世界", "integer": 42, "boolean": True, "number": 1.5, "object": {}, "array": []}
        arguments = {name: values[of["type"]] for name, of in schema["properties"].items()}
        answer = await client.call_tool("test_header_parameters", arguments)
        check(not answer.is_error, f"the headers are as the body says: {answer}")
        return {"said": text(answer)}


async def refusals(wanted) -> dict:
    async with connected(wanted) as client:
        try:
            answer = await client.call_tool("nobody", {})
        except Exception as error:  # noqa: BLE001: each era has its own kind
            return {"refused": str(error)}
        check(answer.is_error, "an unknown tool is refused")
        return {"refused": text(answer)}


async def listing(wanted) -> dict:
    """Any site: the connection comes about, and the list of tools with it."""
    async with connected(wanted) as client:
        return {"tools": [tool.name for tool in (await client.list_tools()).tools]}


async def fast(wanted) -> dict:
    from fastmcp import Client as FastClient
    from fastmcp.client.transports import StdioTransport

    transport = StdioTransport(command=wanted.command[0], args=wanted.command[1:], keep_alive=False)
    async with FastClient(transport) as client:
        names = [tool.name for tool in await client.list_tools()]
        check("test_simple_text" in names, f"the tools are listed: {names}")
        answer = await client.call_tool("test_simple_text", {})
        return {"said": text(answer)}


SCENARIOS = {
    function.__name__: function for function in (tools, progress, questions, headers, refusals, listing, fast)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios")
    parser.add_argument("--mode", default="auto", choices=["auto", "legacy"])
    parser.add_argument("command", nargs="+")
    wanted = parser.parse_args()
    seen, scenario = {}, None
    try:
        for scenario in wanted.scenarios.split(","):
            seen[scenario] = asyncio.run(asyncio.wait_for(SCENARIOS[scenario](wanted), TIMEOUT_SECONDS))
    except BaseException as error:  # noqa: BLE001: whatever it is, it is the reason
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        print(json.dumps({"failed": f"{scenario}: {type(error).__name__}: {error}"}))
        return 1
    print(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
