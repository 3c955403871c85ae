"""Registers receivers of push notifications with the official Python a2a-sdk.

Usage: push_client.py BASE_URL SCENARIO HOOK_URL [--binding jsonrpc|rest]
`send` gives the receiver along with the message; `create` adds it to a task
that waits for its caller, reads it back, lists it, answers the question, and
removes a second one twice. Prints one JSON line with what was seen. It
deliberately does not look at what receivers get.
"""

import argparse
import asyncio
import json

import httpx
from a2a.client import A2ACardResolver
from a2a.types import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageConfiguration,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import TaskNotFoundError

from a2a_client import BINDINGS, TIMEOUT_SECONDS, Caller, expect, message_request, task_seen


def receiver(url: str, **more: str) -> TaskPushNotificationConfig:
    shown = AuthenticationInfo(scheme="Bearer", credentials="cr3dentials")
    return TaskPushNotificationConfig(url=url, token="t0ken", authentication=shown, **more)


async def send(caller: Caller, hook: str) -> Task:
    """The receiver comes with the message."""
    request = message_request("hello there")
    request.configuration.CopyFrom(SendMessageConfiguration(task_push_notification_config=receiver(hook)))
    answer = await caller.answer(request)
    listed = await caller.plain.list_task_push_notification_configs(
        ListTaskPushNotificationConfigsRequest(task_id=answer.task.id)
    )
    expect([config.url for config in listed.configs] == [hook], f"listed are {listed.configs}")
    return answer.task


async def create(caller: Caller, hook: str) -> Task:
    """The receiver comes to a task that waits for its caller."""
    asked = await caller.send("ask me")
    client, task = caller.plain, asked.id
    made = await client.create_task_push_notification_config(receiver(hook, task_id=task, id="mine"))
    expect(made == receiver(hook, task_id=task, id="mine"), f"made was {made}")
    wanted = GetTaskPushNotificationConfigRequest(task_id=task, id="mine")
    expect(await client.get_task_push_notification_config(wanted) == made, "it is read as it was made")
    other = await client.create_task_push_notification_config(receiver(hook, task_id=task))
    expect(other.id not in ("", "mine"), "it gets an id of its own")
    for _ in range(2):
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task, id=other.id)
        await client.delete_task_push_notification_config(gone)
    try:
        await client.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task, id=other.id)
        )
        expect(False, "what was deleted is still there")
    except TaskNotFoundError:
        pass
    return await caller.send("blue", after=asked)


async def run(args: argparse.Namespace) -> dict:
    scenario = {"send": send, "create": create}[args.scenario]
    # trust_env off: a proxy in the environment must not see loopback calls.
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False) as http:
        card = await A2ACardResolver(http, args.base_url).get_agent_card()
        expect(card.capabilities.push_notifications, "the card does not offer push notifications")
        return task_seen(await scenario(Caller(http, card, args), args.hook))


def main() -> None:
    parser = argparse.ArgumentParser(description="Register receivers with the official SDK client.")
    parser.add_argument("base_url")
    parser.add_argument("scenario", choices=["send", "create"])
    parser.add_argument("hook")
    parser.add_argument("--binding", choices=BINDINGS, default="jsonrpc")
    # What else the caller looks at.
    parser.set_defaults(task=None, token=None)
    print(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
