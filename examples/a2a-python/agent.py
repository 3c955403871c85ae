"""A whole agent with the official Python A2A SDK: it counts words.

The site starts this file with a free port in the environment variable PORT and
waits until the card answers. Nothing here is special to agentsite.
"""

import os

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from a2a.utils.errors import UnsupportedOperationError
from starlette.applications import Starlette

PORT = int(os.environ.get("PORT", "9999"))

CARD = AgentCard(
    name="Word count",
    description="Counts the words of a text",
    version="1.0.0",
    supported_interfaces=[
        AgentInterface(
            url=f"http://127.0.0.1:{PORT}/",
            protocol_binding="JSONRPC",
            protocol_version="1.0",
        )
    ],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[
        AgentSkill(
            id="count",
            name="Count words",
            description="Says how many words a text has",
            tags=["text"],
            examples=["To be, or not to be"],
        )
    ],
)


class WordCount(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        count = len(context.get_user_input().split())
        answer = f"{count} word" if count == 1 else f"{count} words"
        await event_queue.enqueue_event(new_text_message(answer))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise UnsupportedOperationError("Counting is over before it can be cancelled.")


if __name__ == "__main__":
    handler = DefaultRequestHandler(
        agent_executor=WordCount(), task_store=InMemoryTaskStore(), agent_card=CARD
    )
    routes = create_agent_card_routes(CARD) + create_jsonrpc_routes(handler, rpc_url="/")
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="warning")
