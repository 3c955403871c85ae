"""Drives an agent with the client of the official Python a2a-sdk 0.3.

Usage: a2a_client03.py BASE_URL SCENARIO [--text TEXT] [--answer TEXT]
       [--token TOKEN]
The card is read from BASE_URL/.well-known/agent-card.json, the calls go by
JSON-RPC to the address that the card names in the members of A2A 0.3.
Scenarios: card, send, stream, get, cancel, resubscribe, ended, missing, input.
Prints one JSON line with what was seen and exits 0; prints the reason as a JSON
line and exits 1 when the agent behaved otherwise.
It deliberately checks only what the protocol promises, not what one agent says.
"""

import argparse
import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import (
    AgentCard,
    Message,
    MessageSendConfiguration,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskQueryParams,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)
from a2a.utils.artifact import get_artifact_text
from a2a.utils.message import get_message_text

# Turns a hang into a failure, however busy the machine is.
TIMEOUT_SECONDS = 600.0

TERMINAL = {TaskState.completed, TaskState.failed, TaskState.canceled, TaskState.rejected}


class Unexpected(Exception):
    """The agent answered, but not as the protocol or the scenario asks."""


def expect(holds: bool, reason: str) -> None:
    if not holds:
        raise Unexpected(reason)


def task_text(task: Task) -> str:
    """All artifact text, else the text of the status message."""
    artifacts = [get_artifact_text(artifact, delimiter="") for artifact in task.artifacts or []]
    status = task.status.message
    return "\n".join(artifacts) or (get_message_text(status, delimiter="") if status else "")


def task_seen(task: Task) -> dict:
    return {"task": task.id, "context": task.context_id, "state": task.status.state.value, "text": task_text(task)}


def kind(update: object, task: Task) -> str:
    """The name of an event, with the state for those that carry one."""
    match update:
        case TaskStatusUpdateEvent():
            return f"status:{update.status.state.value}{':final' if update.final else ''}"
        case TaskArtifactUpdateEvent():
            return "artifact"
        case _:
            return f"task:{task.status.state.value}"


class Caller:
    """The SDK client for one agent, in a streaming and a plain form."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard) -> None:
        self.card = card
        self.streaming = self._client(http, streaming=True)
        self.plain = self._client(http, streaming=False)

    def _client(self, http: httpx.AsyncClient, streaming: bool) -> Client:
        return ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(self.card)

    async def answer(self, text: str, after: Task | None = None, at_once: bool = False) -> Task | Message:
        """Sends without streaming and returns the one answer."""
        configuration = MessageSendConfiguration(blocking=not at_once)
        sent = self.plain.send_message(message(text, after), configuration=configuration)
        seen = [event async for event in sent]
        expect(len(seen) == 1, f"expected one answer, got {len(seen)}")
        return seen[0] if isinstance(seen[0], Message) else seen[0][0]

    async def send(self, text: str, after: Task | None = None, at_once: bool = False) -> Task:
        """Sends without streaming and returns the task, which must be the answer."""
        answer = await self.answer(text, after, at_once)
        expect(isinstance(answer, Task), "expected a task, got a message")
        return answer

    async def get(self, task_id: str) -> Task:
        return await self.plain.get_task(TaskQueryParams(id=task_id))


def message(text: str, after: Task | None = None) -> Message:
    return Message(
        role=Role.user,
        message_id=str(uuid.uuid4()),
        parts=[Part(root=TextPart(text=text))],
        task_id=after.id if after else None,
        context_id=after.context_id if after else None,
    )


async def card(caller: Caller, _: str, __: str) -> dict:
    """The card has what a client of this version looks for."""
    found = caller.card
    expect(found.protocol_version.startswith("0.3"), f"the card is of version {found.protocol_version}")
    expect(found.preferred_transport == "JSONRPC", f"the transport is {found.preferred_transport}")
    return {"name": found.name, "url": found.url, "skills": [skill.id for skill in found.skills]}


async def send(caller: Caller, text: str, _: str) -> dict:
    """A plain call ends in a task that is finished or waits, or in a message."""
    answer = await caller.answer(text)
    if isinstance(answer, Message):
        expect(answer.role == Role.agent, "the message is not the agent's")
        return {"message": answer.message_id, "text": get_message_text(answer, delimiter="")}
    return task_seen(answer)


async def followed(events: object) -> tuple[Task | None, list[str]]:
    """Reads a stream to its end: the task as the SDK puts it together, and the names of the events."""
    task, names = None, []
    async for task, update in events:
        names.append(kind(update, task))
    return task, names


async def stream(caller: Caller, text: str, _: str) -> dict:
    """A stream begins with the task, ends with the one final status, and adds up to what is read later."""
    task, names = await followed(caller.streaming.send_message(message(text)))
    expect(names[0].startswith("task:"), f"the stream began with {names[0]}")
    expect(names[-1].endswith(":final"), f"the stream ended with {names[-1]}")
    expect(sum(name.endswith(":final") for name in names) == 1, f"there was not one end: {names}")
    later = await caller.get(task.id)
    expect(task_text(later) == task_text(task), f"{task_text(later)!r} is not what was streamed, {task_text(task)!r}")
    return {**task_seen(task), "events": names}


async def get(caller: Caller, text: str, _: str) -> dict:
    """A task can be read again, with as much history as asked."""
    task = await caller.send(text)
    short = await caller.plain.get_task(TaskQueryParams(id=task.id, history_length=1))
    expect(len(short.history or []) <= 1, "more history than asked")
    again = await caller.get(task.id)
    expect(task_seen(again) == task_seen(task), "the task changed after it had ended")
    return task_seen(again)


async def cancel(caller: Caller, text: str, _: str) -> dict:
    """A task at work is canceled, once."""
    task = await caller.send(text, at_once=True)
    canceled = await caller.plain.cancel_task(TaskIdParams(id=task.id))
    expect(canceled.status.state == TaskState.canceled, f"it is {canceled.status.state}")
    error = await refusal(caller.plain.cancel_task(TaskIdParams(id=task.id)))
    expect(error == -32002, f"canceled twice: {error}")
    return task_seen(canceled)


async def resubscribe(caller: Caller, text: str, _: str) -> dict:
    """A task at work is followed again until it ends."""
    task = await caller.send(text, at_once=True)
    names = []
    async for seen, update in caller.streaming.resubscribe(TaskIdParams(id=task.id)):
        if not names:
            await caller.plain.cancel_task(TaskIdParams(id=task.id))
        names.append(kind(update, seen))
    expect(names[0].startswith("task:"), f"it began with {names[0]}")
    expect(names[-1] == "status:canceled:final", f"it ended with {names[-1]}")
    return {"events": names}


async def ended(caller: Caller, text: str, _: str) -> dict:
    """Whoever comes back to a task that has ended is told how it ended; more cannot be said to it."""
    task = await caller.send(text)
    expect(task.status.state in TERMINAL, f"the task is still {task.status.state}")
    seen, names = await followed(caller.streaming.resubscribe(TaskIdParams(id=task.id)))
    expect(task_seen(seen) == task_seen(task), "another end was told")
    more = await refusal(caller.send("more", after=task))
    canceled = await refusal(caller.plain.cancel_task(TaskIdParams(id=task.id)))
    return {"events": names, "errors": [more, canceled]}


async def missing(caller: Caller, _: str, __: str) -> dict:
    """A task that is not there is refused with its own code everywhere."""
    unknown = str(uuid.uuid4())
    gone = Task.model_validate({"id": unknown, "contextId": "c", "status": {"state": "working"}})
    codes = [
        await refusal(caller.get(unknown)),
        await refusal(caller.plain.cancel_task(TaskIdParams(id=unknown))),
        await refusal(followed(caller.streaming.resubscribe(TaskIdParams(id=unknown)))),
        await refusal(caller.send("hello", after=gone.model_copy(update={"context_id": None}))),
        await refusal(followed(caller.streaming.send_message(message("hello", gone)))),
    ]
    return {"errors": codes}


async def input_required(caller: Caller, text: str, answer: str) -> dict:
    """An agent that asks back is answered in the same task."""
    asked = await caller.send(text)
    expect(asked.status.state == TaskState.input_required, f"it did not ask: {asked.status.state}")
    expect(asked.status.message is not None, "it asked without words")
    question = get_message_text(asked.status.message, delimiter="")
    done = await caller.send(answer, after=asked)
    expect(done.id == asked.id, "the answer began another task")
    expect(done.context_id == asked.context_id, "the answer began another conversation")
    return {**task_seen(done), "question": question}


async def refusal(call: object) -> int:
    """The code with which a call is refused; that it is not refused is unexpected."""
    try:
        await call
    except A2AClientJSONRPCError as error:
        return error.error.code
    raise Unexpected("it was not refused")


SCENARIOS = {
    "card": card,
    "send": send,
    "stream": stream,
    "get": get,
    "cancel": cancel,
    "resubscribe": resubscribe,
    "ended": ended,
    "missing": missing,
    "input": input_required,
}

DEFAULT_TEXT = {"cancel": "slow please", "resubscribe": "slow please", "input": "ask me"}


async def play(words: argparse.Namespace) -> dict:
    headers = {"Authorization": f"Bearer {words.token}"} if words.token else {}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, headers=headers) as http:
        caller = Caller(http, await A2ACardResolver(http, words.base_url).get_agent_card())
        text = words.text or DEFAULT_TEXT.get(words.scenario, "hello there")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await SCENARIOS[words.scenario](caller, text, words.answer)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("--text")
    parser.add_argument("--answer", default="hello again")
    parser.add_argument("--token")
    words = parser.parse_args()
    try:
        print(json.dumps(asyncio.run(play(words))))
        return 0
    except Exception as error:  # Whatever it is, the test shows it.
        print(json.dumps({"scenario": words.scenario, "failed": f"{type(error).__name__}: {error}"}))
        return 1


if __name__ == "__main__":
    sys.exit(main())
