"""The official MCP clients against a site: does what its arguments say and prints one JSON line for each step.

    mcp_client.py [--sdk mcp|fastmcp] [--mode auto|legacy|2026-07-28] [--answer TEXT] TARGET STEP...

TARGET is a URL, or a command line as a JSON list for a server on stdio. A STEP is a JSON object:

    {"do": "about"}  {"do": "tools"}  {"do": "resources"}  {"do": "templates"}  {"do": "prompts"}
    {"do": "call", "tool": …, "arguments": {…}}
    {"do": "read", "uri": …}
    {"do": "prompt", "name": …, "arguments": {…}}
    {"do": "cancel", "tool": …, "arguments": {…}}      stops waiting at the first progress

Questions of the server are answered with TEXT in every field of the form; without --answer the client declares that
it fills no forms.
"""

import argparse
import asyncio
import json
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--sdk", default="mcp")
parser.add_argument("--mode", default="auto")
parser.add_argument("--answer")
parser.add_argument("target")
parser.add_argument("steps", nargs="+")
args = parser.parse_args()


def show(value):
    print(json.dumps(value), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


asked = []


def fill(message, schema):
    asked.append(message)
    fields = (schema or {}).get("properties") or {}
    return {name: args.answer for name in fields}


async def steps(client, call):
    for text in args.steps:
        step = json.loads(text)
        kind = step["do"]
        if kind == "about":
            show({"name": client.server_info.name, "version": client.protocol_version})
        elif kind in ("tools", "resources", "prompts", "templates"):
            method = "list_resource_templates" if kind == "templates" else f"list_{kind}"
            found = await getattr(client, method)()
            listed = found if isinstance(found, list) else getattr(found, "resource_templates" if kind == "templates" else kind)
            show({kind: [plain(one) for one in listed]})
        elif kind == "call":
            progress = []

            async def note(done, total, message):
                progress.append(message)

            try:
                result = await call(step["tool"], step.get("arguments") or {}, note)
                show({"result": result, "progress": progress, "asked": list(asked)})
            except Exception as error:  # the steps go on, as a person would
                show({"error": str(error), "kind": type(error).__name__})
        elif kind == "cancel":
            begun = asyncio.Event()

            async def begin(done, total, message):
                begun.set()

            work = asyncio.ensure_future(call(step["tool"], step.get("arguments") or {}, begin))
            await begun.wait()
            work.cancel()
            try:
                await work
            except asyncio.CancelledError:
                show({"cancelled": True})
        elif kind == "read":
            found = await client.read_resource(step["uri"])
            contents = found if isinstance(found, list) else found.contents
            show({"contents": [plain(one) for one in contents]})
        elif kind == "prompt":
            found = await client.get_prompt(step["name"], step.get("arguments") or {})
            show({"messages": [plain(one) for one in found.messages]})


async def official():
    from mcp import Client, StdioServerParameters, types

    async def elicit(context, params):
        content = fill(params.message, getattr(params, "requested_schema", None))
        return types.ElicitResult(action="accept", content=content)

    target = args.target
    if target.startswith("["):
        command = json.loads(target)
        target = StdioServerParameters(command=command[0], args=command[1:])
    callback = elicit if args.answer is not None else None
    async with Client(target, mode=args.mode, elicitation_callback=callback) as client:

        async def call(tool, arguments, note):
            return plain(await client.call_tool(tool, arguments, progress_callback=note))

        await steps(client, call)


async def fast():
    from fastmcp import Client

    async def elicit(message, response_type, params, context):
        from fastmcp.client.elicitation import ElicitResult

        return ElicitResult(action="accept", content=fill(message, getattr(params, "requested_schema", None)))

    handlers = {"elicitation_handler": elicit} if args.answer is not None else {}
    async with Client(args.target, **handlers) as client:

        async def call(tool, arguments, note):
            result = await client.call_tool(tool, arguments, progress_handler=note, raise_on_error=False)
            content = [plain(piece) for piece in result.content]
            return {"content": content, "structuredContent": result.structured_content, "isError": result.is_error}

        await steps(client, call)


asyncio.run(official() if args.sdk == "mcp" else fast())
sys.exit(0)
