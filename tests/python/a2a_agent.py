"""An agent written with the official Python a2a-sdk, as its tutorial shows.

It stands for any third-party agent that a site hosts unchanged: it listens on
127.0.0.1 at the port in the environment variable PORT, serves its card at
/.well-known/agent-card.json, JSON-RPC at / and HTTP+JSON below /rest. The
first word of a message picks what happens: "reply" answers with a bare message
instead of a task, "ask" asks back, "auth" asks for a permission, "slow" works
until it is cancelled, "fail" fails, "die" ends the process, "trace" tells the
trace headers that came with the message; all other text is upper-cased and
streamed word by word.

INTERFACES lists what the card offers, in order, as BINDING or BINDING@URL; a
URL replaces the agent's own, so that a card can name an address where nobody
listens. With GRPC in it, gRPC is served on a free port of its own.
It deliberately knows nothing about agentsite.
"""

import asyncio
import os

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
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
        elif word == "auth":
            wish = updater.new_agent_message([new_text_part("May I?")])
            await updater.requires_auth(wish)
        elif word == "trace":
            await self.tell(updater, trace_of(context))
        elif word == "slow":
            await asyncio.Event().wait()
        elif word == "fail":
            reason = updater.new_agent_message([new_text_part("I was told to fail.")])
            await updater.failed(reason)
        elif word == "die":
            os._exit(DIE_EXIT_CODE)
        else:
            await self.shout(updater, text)

    async def tell(self, updater: TaskUpdater, text: str) -> None:
        """Answers with the text as it is."""
        await updater.add_artifact([new_text_part(text)], artifact_id="told", name="told")
        await updater.complete()

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


def trace_of(context: RequestContext) -> str:
    """The trace headers of the request, whatever binding brought it."""
    state = context.call_context.state
    headers = state.get("headers") or dict(state["grpc_context"].invocation_metadata())
    return f"{headers.get('traceparent')} {headers.get('tracestate')}"


def interfaces(port: int, grpc_port: int) -> list[AgentInterface]:
    """The interfaces that INTERFACES names, JSON-RPC alone when it names none."""
    own = {
        "JSONRPC": f"http://127.0.0.1:{port}/",
        "HTTP+JSON": f"http://127.0.0.1:{port}/rest",
        "GRPC": f"127.0.0.1:{grpc_port}",
    }
    offers = []
    for entry in os.environ.get("INTERFACES", "JSONRPC").split(","):
        binding, _, url = entry.partition("@")
        offers.append(
            AgentInterface(
                url=url or own[binding],
                protocol_binding=binding,
                protocol_version="1.0",
            )
        )
    return offers


def card(port: int, grpc_port: int) -> AgentCard:
    """The card, with this process's own addresses in it."""
    return AgentCard(
        name="Troupe",
        description="Shouts text back; can ask, dawdle, fail and die on request",
        version="1.0.0",
        supported_interfaces=interfaces(port, grpc_port),
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


async def serve() -> None:
    port = int(os.environ["PORT"])
    grpc_server, grpc_port = None, 0
    if "GRPC" in os.environ.get("INTERFACES", ""):
        # Imported only here: the agent works without gRPC where it is not installed.
        import grpc

        grpc_server = grpc.aio.server()
        grpc_port = grpc_server.add_insecure_port("127.0.0.1:0")
    agent_card = card(port, grpc_port)
    handler = DefaultRequestHandler(
        agent_executor=TroupeExecutor(),
        task_store=InMemoryTaskStore(),
        agent_card=agent_card,
    )
    if grpc_server is not None:
        from a2a.server.request_handlers import GrpcHandler
        from a2a.types import a2a_pb2_grpc

        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
        await grpc_server.start()
    app = Starlette(
        routes=[
            *create_agent_card_routes(agent_card),
            *create_jsonrpc_routes(handler, rpc_url="/"),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
    await uvicorn.Server(config).serve()
    if grpc_server is not None:
        await grpc_server.stop(None)


if __name__ == "__main__":
    asyncio.run(serve())
