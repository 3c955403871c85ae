"""An agent written with the official Python a2a-sdk 0.3, as its tutorial shows.

It stands for any agent that has not moved to A2A 1.0 yet: it listens on
127.0.0.1 at the port in the environment variable PORT (0 picks a free one),
says `listening URL` when it does, serves a card of 0.3 at
/.well-known/agent-card.json and JSON-RPC at /. The first word of a message
picks what happens: "reply" answers with a bare message instead of a task,
"ask" asks back, "slow" works until it is cancelled, "fail" fails, "files" hands
over a file by content and one by address, "die" ends the process; all other
text is upper-cased and streamed word by word.
It deliberately knows nothing about agentsite.
"""

import asyncio
import os
import socket

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentSkill,
    DataPart,
    FilePart,
    FileWithBytes,
    FileWithUri,
    Part,
    TextPart,
)
from a2a.utils import new_agent_text_message, new_task

DIE_EXIT_CODE = 3


def text_part(text: str) -> Part:
    return Part(root=TextPart(text=text))


class TroupeExecutor(AgentExecutor):
    """Plays each of the parts named in the module text."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        word = text.split(maxsplit=1)[0].lower() if text.strip() else ""
        task = context.current_task
        is_answer = task is not None
        if word == "reply" and not is_answer:
            await event_queue.enqueue_event(new_agent_text_message(text.upper()))
            return
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if is_answer:
            await self.shout(updater, text)
        elif word == "ask":
            question = updater.new_agent_message([text_part("What shall I shout?")])
            await updater.requires_input(question, final=True)
        elif word == "slow":
            await asyncio.Event().wait()
        elif word == "fail":
            await updater.failed(updater.new_agent_message([text_part("I was told to fail.")]))
        elif word == "files":
            await self.hand_over(updater)
        elif word == "die":
            os._exit(DIE_EXIT_CODE)
        else:
            await self.shout(updater, text)

    async def shout(self, updater: TaskUpdater, text: str) -> None:
        """Streams the upper-cased text, one artifact chunk per word."""
        words = text.upper().split(" ")
        for index, word in enumerate(words):
            last = index == len(words) - 1
            await updater.add_artifact(
                [text_part(word if last else word + " ")],
                artifact_id="shout",
                name="shout",
                append=index > 0,
                last_chunk=last,
            )
        await updater.complete()

    async def hand_over(self, updater: TaskUpdater) -> None:
        """Every kind of part that is no text."""
        content = FileWithBytes(bytes="aGk=", mime_type="text/plain", name="hi.txt")
        address = FileWithUri(uri="https://files.example/hi.png", mime_type="image/png")
        parts = [FilePart(file=content), FilePart(file=address), DataPart(data={"n": 1})]
        await updater.add_artifact([Part(root=part) for part in parts], artifact_id="files")
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


def card(port: int) -> AgentCard:
    """The card, with this process's own address in it."""
    return AgentCard(
        name="Old troupe",
        description="Shouts text back; can ask, dawdle, fail and die on request",
        version="0.3.0",
        url=f"http://127.0.0.1:{port}/",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[
            AgentSkill(
                id="shout",
                name="Shout",
                description="Turns text into capital letters, word by word",
                tags=["text"],
                examples=["hello there"],
            )
        ],
    )


def main() -> None:
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    port = listener.getsockname()[1]
    handler = DefaultRequestHandler(agent_executor=TroupeExecutor(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card(port), http_handler=handler).build()
    print(f"listening http://127.0.0.1:{port}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
