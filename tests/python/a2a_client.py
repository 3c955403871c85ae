"""Drives an agent with the client of the official Python a2a-sdk.

Usage: a2a_client.py BASE_URL SCENARIO [--binding jsonrpc|rest|grpc] [--text TEXT]
       [--data JSON] [--answer TEXT] [--task TASK] [--token TOKEN]
The card is read from BASE_URL/.well-known/agent-card.json, the calls go over
the binding to the address that the card names for it. Scenarios: send, stream,
get, list, cancel, subscribe, ended, missing, input, wrong, begin, again. Prints
one JSON line with what was seen and exits 0;
prints the reason as a JSON line and exits 1 when the agent behaved otherwise.
It deliberately checks only what the protocol promises, not what one agent says.
"""

import argparse
import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator

import grpc
import httpx
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import ParseDict

# Turns a hang into a failure, however busy the machine is.
TIMEOUT_SECONDS = 600.0

BINDINGS = {
    "jsonrpc": TransportProtocol.JSONRPC,
    "rest": TransportProtocol.HTTP_JSON,
    "grpc": TransportProtocol.GRPC,
}

# What the first message says instead of words, when it is not empty.
DATA: dict = {}

TERMINAL = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
}


class Unexpected(Exception):
    """The agent answered, but not as the protocol or the scenario asks."""


def expect(holds: bool, reason: str) -> None:
    if not holds:
        raise Unexpected(reason)


def state_name(state: int) -> str:
    """TASK_STATE_INPUT_REQUIRED becomes input-required."""
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def task_text(task: Task) -> str:
    """All artifact text, else the text of the status message."""
    artifacts = [get_artifact_text(artifact, delimiter="") for artifact in task.artifacts]
    return "\n".join(artifacts) or get_message_text(task.status.message, delimiter="")


def task_seen(task: Task) -> dict:
    return {
        "task": task.id,
        "context": task.context_id,
        "state": state_name(task.status.state),
        "text": task_text(task),
    }


class Caller:
    """The SDK client for one agent, in a streaming and a plain form."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, args: argparse.Namespace) -> None:
        self.card = card
        self.task = args.task
        self.binding = BINDINGS[args.binding]
        # The HTTP client has the token already; gRPC takes it with each call.
        sent = {"authorization": f"Bearer {args.token}"} if args.token else {}
        self.context = ClientCallContext(service_parameters=sent) if args.binding == "grpc" else None
        self.streaming = self._client(http, streaming=True)
        self.plain = self._client(http, streaming=False)

    def _client(self, http: httpx.AsyncClient, streaming: bool) -> Client:
        config = ClientConfig(
            streaming=streaming,
            httpx_client=http,
            grpc_channel_factory=grpc_channel,
            supported_protocol_bindings=[self.binding],
        )
        return ClientFactory(config).create(self.card)

    async def answer(self, request: SendMessageRequest) -> StreamResponse:
        """Sends without streaming and returns the one answer: a task or a message."""
        seen = [event async for event in self.plain.send_message(request, context=self.context)]
        expect(len(seen) == 1, f"expected one answer, got {len(seen)}")
        return seen[0]

    async def send(self, text: str, after: Task | None = None, at_once: bool = False) -> Task:
        """Sends without streaming and returns the task, which must be the answer."""
        answer = await self.answer(message_request(text, after, at_once))
        expect(answer.HasField("task"), f"expected a task, got {kind(answer)}")
        return answer.task

    def stream(self, text: str) -> AsyncIterator[StreamResponse]:
        expect(self.card.capabilities.streaming, "the card does not offer streaming")
        return self.streaming.send_message(message_request(text), context=self.context)

    async def get(self, task_id: str) -> Task:
        return await self.plain.get_task(GetTaskRequest(id=task_id), context=self.context)

    async def cancel(self, task_id: str) -> Task:
        return await self.plain.cancel_task(CancelTaskRequest(id=task_id), context=self.context)

    async def list(self, request: ListTasksRequest) -> ListTasksResponse:
        return await self.plain.list_tasks(request, context=self.context)

    def subscribe(self, task_id: str) -> AsyncIterator[StreamResponse]:
        return self.streaming.subscribe(SubscribeToTaskRequest(id=task_id), context=self.context)


def grpc_channel(target: str) -> grpc.aio.Channel:
    """A channel that leaves a proxy in the environment alone, as the HTTP client does."""
    return grpc.aio.insecure_channel(target, options=[("grpc.enable_http_proxy", 0)])


def message_request(text: str, after: Task | None = None, at_once: bool = False) -> SendMessageRequest:
    message = new_text_message(
        text,
        role=Role.ROLE_USER,
        task_id=after.id if after else None,
        context_id=after.context_id if after else None,
    )
    if DATA and not after:
        del message.parts[:]
        message.parts.append(ParseDict({"data": DATA}, Part()))
    return SendMessageRequest(
        message=message,
        configuration=SendMessageConfiguration(return_immediately=at_once),
    )


def kind(event: StreamResponse) -> str:
    """The name of an event, with the state for the two that carry one."""
    match event.WhichOneof("payload"):
        case "task":
            return f"task:{state_name(event.task.status.state)}"
        case "status_update":
            return f"status:{state_name(event.status_update.status.state)}"
        case "artifact_update":
            return "artifact"
        case other:
            return str(other)


async def send(caller: Caller, text: str, _: str) -> dict:
    """A plain call ends in a task that is finished or waits, or in a message."""
    answer = await caller.answer(message_request(text))
    if answer.HasField("message"):
        return {"message": answer.message.message_id, "text": get_message_text(answer.message, delimiter="")}
    return task_seen(answer.task)


async def stream(caller: Caller, text: str, _: str) -> dict:
    """A streamed call begins with the task and ends with a terminal status."""
    events, chunks, end = [], [], None
    async for event in caller.stream(text):
        events.append(kind(event))
        if event.HasField("artifact_update"):
            chunks.append(get_artifact_text(event.artifact_update.artifact, delimiter=""))
        if event.HasField("task") and end is None:
            end = event.task.status.state
        if event.HasField("status_update"):
            end = event.status_update.status.state
    expect(bool(events), "the stream was empty")
    expect(events[0].startswith("task:"), f"the first event is {events[0]}, not the task")
    expect(end in TERMINAL, f"the stream ended in {state_name(end or 0)}: {events}")
    expect(events[-1] in (f"status:{state_name(end)}", f"task:{state_name(end)}"),
           f"the last event is {events[-1]}, not the terminal status")
    return {"events": events, "state": state_name(end), "text": "".join(chunks)}


async def get(caller: Caller, text: str, _: str) -> dict:
    """GetTask tells the same as the call did."""
    sent = await caller.send(text)
    read = await caller.get(sent.id)
    expect(read.id == sent.id, f"asked for {sent.id}, got {read.id}")
    expect(read.status.state == sent.status.state,
           f"sent as {state_name(sent.status.state)}, read as {state_name(read.status.state)}")
    expect(list(read.artifacts) == list(sent.artifacts), "the artifacts differ")
    return task_seen(read)


async def cancel(caller: Caller, text: str, _: str) -> dict:
    """A task that runs can be cancelled and stays cancelled."""
    started = await caller.send(text, at_once=True)
    expect(started.status.state not in TERMINAL,
           f"the task was already {state_name(started.status.state)}")
    canceled = await caller.cancel(started.id)
    expect(canceled.status.state == TaskState.TASK_STATE_CANCELED,
           f"after the cancel it is {state_name(canceled.status.state)}")
    read = await caller.get(started.id)
    expect(read.status.state == TaskState.TASK_STATE_CANCELED,
           f"read back it is {state_name(read.status.state)}")
    return {"started": state_name(started.status.state), **task_seen(read)}


async def list_tasks(caller: Caller, text: str, _: str) -> dict:
    """A list has the last changed task first, and as many as asked for."""
    sent = [await caller.send(text) for _ in range(2)]
    page = await caller.list(ListTasksRequest(page_size=1, include_artifacts=True))
    expect([task.id for task in page.tasks] == [sent[1].id], "the first page is not the last task")
    expect(page.total_size >= 2, f"there are {page.total_size} tasks")
    more = ListTasksRequest(page_size=1, page_token=page.next_page_token, history_length=0)
    rest = await caller.list(more)
    expect([task.id for task in rest.tasks] == [sent[0].id], "the second page is not the task before")
    expect(not rest.tasks[0].history, "history was not wanted")
    return task_seen(page.tasks[0])


async def subscribe(caller: Caller, text: str, _: str) -> dict:
    """Whoever comes later sees the task first and then its end."""
    started = await caller.send(text, at_once=True)
    events = []
    async for event in caller.subscribe(started.id):
        events.append(kind(event))
        if len(events) == 1:
            await caller.cancel(started.id)
    expect(events[0].startswith("task:"), f"the first event is {events[0]}, not the task")
    expect(events[-1] == "status:canceled", f"the last event is {events[-1]}")
    return {"events": events}


async def ended(caller: Caller, text: str, _: str) -> dict:
    """A task that has ended can be neither followed nor cancelled, and the SDK knows why."""
    task = await caller.send(text)
    errors = []
    try:
        async for _ in caller.subscribe(task.id):
            raise Unexpected("a task that has ended was followed")
    except UnsupportedOperationError as error:
        errors.append(type(error).__name__)
    try:
        await caller.cancel(task.id)
    except TaskNotCancelableError as error:
        errors.append(type(error).__name__)
    expect(len(errors) == 2, f"only {errors} came")
    return {"errors": errors}


async def missing(caller: Caller, _: str, __: str) -> dict:
    """An unknown task id gives the SDK's own error."""
    try:
        task = await caller.get(str(uuid.uuid4()))
    except TaskNotFoundError as error:
        return {"error": type(error).__name__, "message": error.message, "data": error.data}
    raise Unexpected(f"an unknown id gave task {task.id}")


async def multi_turn(caller: Caller, text: str, answer: str) -> dict:
    """A question is answered on the same task."""
    asked = await caller.send(text)
    expect(asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED,
           f"the first answer is {state_name(asked.status.state)}, not input-required")
    done = await caller.send(answer, after=asked)
    expect(done.id == asked.id, f"the second message went to another task: {done.id}")
    expect(done.status.state == TaskState.TASK_STATE_COMPLETED,
           f"the second answer is {state_name(done.status.state)}, not completed")
    question = get_message_text(asked.status.message, delimiter="")
    return {"question": question, **task_seen(done)}


async def wrong(caller: Caller, _: str, __: str) -> dict:
    """A message that lacks what it must have is refused with the names of the fields."""
    try:
        await caller.answer(SendMessageRequest(message=Message(role=Role.ROLE_USER)))
    except InvalidParamsError as error:
        fields = [wrong["field"] for wrong in (error.data or {}).get("errors", [])]
        return {"error": type(error).__name__, "message": error.message, "fields": fields}
    raise Unexpected("a message without content was taken")


async def begin(caller: Caller, text: str, _: str) -> dict:
    """A call that does not wait leaves its task at work."""
    started = await caller.send(text, at_once=True)
    expect(started.status.state not in TERMINAL,
           f"the task was already {state_name(started.status.state)}")
    return task_seen(started)


async def again(caller: Caller, _: str, __: str) -> dict:
    """A task of an earlier call is followed, the task itself first, until it is cancelled."""
    events = []
    async for event in caller.subscribe(caller.task):
        events.append(kind(event))
        if len(events) == 1:
            expect(event.task.id == caller.task, f"it begins with {events[0]} of another task")
            await caller.cancel(caller.task)
    expect(events[-1] == "status:canceled", f"the last event is {events[-1]}")
    return {"events": events}


# Scenario, and the text it sends unless told otherwise.
SCENARIOS = {
    "send": (send, "hello there"),
    "stream": (stream, "hello there"),
    "get": (get, "hello there"),
    "list": (list_tasks, "hello there"),
    "cancel": (cancel, "slow"),
    "subscribe": (subscribe, "slow"),
    "ended": (ended, "hello there"),
    "missing": (missing, ""),
    "input": (multi_turn, "ask me"),
    "wrong": (wrong, ""),
    "begin": (begin, "slow"),
    "again": (again, ""),
}


async def run(args: argparse.Namespace) -> dict:
    scenario, default_text = SCENARIOS[args.scenario]
    headers = {"Authorization": f"Bearer {args.token}"} if args.token else {}
    # trust_env off: a proxy in the environment must not see loopback calls.
    async with httpx.AsyncClient(
        headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
    ) as http:
        card = await A2ACardResolver(http, args.base_url).get_agent_card()
        text = default_text if args.text is None else args.text
        async with asyncio.timeout(TIMEOUT_SECONDS):
            seen = await scenario(Caller(http, card, args), text, args.answer)
    return {"scenario": args.scenario, "agent": card.name, **seen}


def main() -> int:
    parser = argparse.ArgumentParser(description="Drive an A2A agent with the official SDK client.")
    parser.add_argument("base_url", help="such as http://127.0.0.1:4747/a2a/echo")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--binding", choices=BINDINGS, default="jsonrpc", help="how the calls go")
    parser.add_argument("--text", help="the message to send")
    parser.add_argument("--data", type=json.loads, default={}, help="a data part to send instead of the text")
    parser.add_argument("--answer", default="hello again", help="the second message of `input`")
    parser.add_argument("--task", help="the task that `again` follows")
    parser.add_argument("--token", help="sent as a bearer token with every request")
    args = parser.parse_args()
    DATA.update(args.data)
    try:
        print(json.dumps(asyncio.run(run(args))))
        return 0
    except Exception as error:  # every failure becomes one readable line
        reason = str(error) or repr(error)
        print(json.dumps({"scenario": args.scenario, "error": type(error).__name__, "reason": reason}))
        return 1


if __name__ == "__main__":
    sys.exit(main())
