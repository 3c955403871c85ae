"""An agent written with the published Python SDK of the Agent Client Protocol.

Speaks on stdin and stdout. The first word of a prompt picks its part: `ask` wants a permission,
`slow` works until it is cancelled, `die` ends the process in the middle of the turn, `count`
tells session and prompt, `read PATH` reads a file through the client, `work` shows thoughts, a
tool and a plan; anything else is said back in capital letters, a word at a time.
"""

import asyncio
import os
import sys
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    plan_entry,
    run_agent,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.schema import AgentCapabilities, PermissionOption, PromptCapabilities, ToolCallUpdate


class Actor(Agent):
    def __init__(self) -> None:
        self.client: Any = None
        self.prompts: dict[str, int] = {}
        self.stopped: dict[str, asyncio.Event] = {}

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        print(f"the client speaks version {protocol_version}", file=sys.stderr, flush=True)
        able = AgentCapabilities(prompt_capabilities=PromptCapabilities(embedded_context=True))
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_capabilities=able)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = f"session-{len(self.prompts) + 1}"
        self.prompts[session] = 0
        return NewSessionResponse(session_id=session)

    async def cancel(self, session_id: str, **_: Any) -> None:
        print(f"cancelled {session_id}", file=sys.stderr, flush=True)
        self.stopped[session_id].set()

    async def say(self, session: str, text: str) -> None:
        await self.client.session_update(session, update_agent_message_text(text))

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        self.prompts[session_id] += 1
        self.stopped[session_id] = asyncio.Event()
        texts = [getattr(block, "text", None) for block in prompt]
        text = [text for text in texts if text][-1]
        word, _, rest = text.partition(" ")
        part = getattr(self, f"play_{word}", None)
        if part:
            return PromptResponse(stop_reason=await part(session_id, rest) or "end_turn")
        words = text.upper().split(" ")
        for at, said in enumerate(words):
            await self.say(session_id, said if at == len(words) - 1 else f"{said} ")
        return PromptResponse(stop_reason="end_turn")

    async def play_ask(self, session: str, _: str) -> None:
        options = [
            PermissionOption(option_id="yes-once", name="Allow once", kind="allow_once"),
            PermissionOption(option_id="no-once", name="Reject", kind="reject_once"),
        ]
        call = ToolCallUpdate(tool_call_id="erase", title="Erase the disk", kind="delete")
        answer = await self.client.request_permission(options=options, session_id=session, tool_call=call)
        chosen = getattr(answer.outcome, "option_id", answer.outcome.outcome)
        await self.say(session, f"You chose {chosen}.")

    async def play_slow(self, session: str, _: str) -> str:
        await self.say(session, "begun")
        await self.stopped[session].wait()
        return "cancelled"

    async def play_die(self, _: str, __: str) -> None:
        os._exit(7)

    async def play_count(self, session: str, _: str) -> None:
        await self.say(session, f"{session} prompt {self.prompts[session]}")

    async def play_read(self, session: str, path: str) -> None:
        try:
            answer = await self.client.read_text_file(session_id=session, path=path)
            await self.say(session, answer.content)
        except RequestError as error:
            await self.say(session, f"refused: {error}")

    async def play_work(self, session: str, _: str) -> None:
        update = self.client.session_update
        await update(session, update_agent_thought_text("Where to "))
        await update(session, update_agent_thought_text("begin?"))
        await update(session, update_plan([plan_entry("look", status="completed"), plan_entry("leap")]))
        await update(session, start_tool_call("t1", "List files", kind="search", status="in_progress"))
        await update(session, update_tool_call("t1", status="completed"))
        await self.say(session, "Done.")


if __name__ == "__main__":
    asyncio.run(run_agent(Actor()))
