"""An agent written with the official Python a2a-sdk, as its tutorial shows.

It stands for any third-party agent that a site hosts unchanged: it listens on
127.0.0.1 at the port in the environment variable PORT, serves its card at
/.well-known/agent-card.json and JSON-RPC at /. The first word of a message
picks what happens: "reply" answers with a bare message instead of a task,
"ask" asks back, "slow" works until it is cancelled, "fail" fails, "die" ends
the process; all other text is upper-cased and streamed word by word.
It deliberately knows nothing about agentsite.
"""

import asyncio
import os

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
)
from starlette.applications import Starlette

DIE_EXIT_CODE = 3


class TroupeExecutor(AgentExecutor):
    """Plays each of the parts named in the module text."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        word = text.split(maxsplit=1)[0].lower() if text.strip() else ""
        task = context.current_task
        is_answer = task is not None
        if word == "reply" and not is_answer:
            await event_queue.enqueue_event(new_text_message(text.upper()))
            return
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if is_answer:
            await self.shout(updater, text)
        elif word == "ask":
            question = updater.new_agent_message([new_text_part("What shall I shout?")])
            await updater.requires_input(question)
        elif word == "slow":
            await asyncio.Event().wait()
        elif word == "fail":
            reason = updater.new_agent_message([new_text_part("I was told to fail.")])
            await updater.failed(reason)
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
                [new_text_part(word if last else word + " ")],
                artifact_id="shout",
                name="shout",
                append=index > 0,
                last_chunk=last,
            )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


def card(port: int) -> AgentCard:
    """The card, with this process's own address in it."""
    return AgentCard(
        name="Troupe",
        description="Shouts text back; can ask, dawdle, fail and die on request",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(
                url=f"http://127.0.0.1:{port}/",
                protocol_binding="JSONRPC",
                protocol_version="1.0",
            )
        ],
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
    port = int(os.environ["PORT"])
    agent_card = card(port)
    handler = DefaultRequestHandler(
        agent_executor=TroupeExecutor(),
        task_store=InMemoryTaskStore(),
        agent_card=agent_card,
    )
    app = Starlette(
        routes=[
            *create_agent_card_routes(agent_card),
            *create_jsonrpc_routes(handler, rpc_url="/"),
        ]
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
