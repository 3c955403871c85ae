"""The official OpenAI client against a site: agents as if they were models.

Usage: openai_client.py SCENARIO[,SCENARIO...] --url http://host:port/v1 [--key KEY]

Plays the scenarios, prints what each saw as one JSON line, and exits 1 with the reason when the site behaved otherwise. It deliberately uses
nothing but the public interface of the package, so that what works here works in the programs built on it.
"""

import argparse
import base64
import json
import sys

import openai
from openai import OpenAI

# Turns a hang into a failure, however busy the machine is.
TIMEOUT_SECONDS = 600.0


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def models(client: OpenAI) -> dict:
    ids = [model.id for model in client.models.list()]
    check({"echo", "calc", "concierge"} <= set(ids), f"the demos are listed: {ids}")
    check(client.models.retrieve("calc").id == "calc", "one agent is shown")
    return {"ids": ids}


def chat(client: OpenAI) -> dict:
    first = [{"role": "user", "content": "2 + 3"}]
    answer = client.chat.completions.create(model="calc", messages=first)
    said = answer.choices[0].message
    check(said.content == "5", f"the agent calculates: {said}")
    check(answer.choices[0].finish_reason == "stop", "it stopped by itself")
    check(answer.usage is not None, "there is a usage")
    more = [*first, {"role": "assistant", "content": said.content}, {"role": "user", "content": "6 * 7"}]
    again = client.chat.completions.create(model="calc", messages=more)
    check(again.choices[0].message.content == "42", f"the transcript goes on: {again}")
    check(again.metadata["context_id"] == answer.metadata["context_id"], "in the same conversation")
    return {"answers": [said.content, again.choices[0].message.content]}


def question(client: OpenAI) -> dict:
    first = [{"role": "user", "content": "ask me"}]
    answer = client.chat.completions.create(model="asker", messages=first)
    said = answer.choices[0].message.content
    check(said.strip() == "Which colour?", f"the question is the answer: {said!r}")
    more = [*first, {"role": "assistant", "content": said}, {"role": "user", "content": "blue"}]
    again = client.chat.completions.create(model="asker", messages=more)
    check(again.metadata["task_id"] == answer.metadata["task_id"], "the task goes on")
    return {"answer": again.choices[0].message.content.strip()}


def chat_stream(client: OpenAI) -> dict:
    chunks = list(
        client.chat.completions.create(
            model="echo",
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    check(chunks[0].choices[0].delta.role == "assistant", "the role comes first")
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    check(text == "hello", f"the chunks are the answer: {text}")
    check(chunks[-2].choices[0].finish_reason == "stop", "the last choice says why it ended")
    check(chunks[-1].usage is not None and not chunks[-1].choices, "the usage comes last")
    with client.chat.completions.stream(model="echo", messages=[{"role": "user", "content": "again"}]) as stream:
        check(stream.get_final_completion().choices[0].message.content == "again", "the helper reads it too")
    return {"text": text, "chunks": len(chunks)}


def responses(client: OpenAI) -> dict:
    first = client.responses.create(model="calc", input="2 + 3")
    check(first.status == "completed" and first.output_text == "5", f"the agent calculates: {first}")
    check(client.responses.retrieve(first.id).output_text == "5", "the response can be read again")
    second = client.responses.create(model="calc", input="1 + 1", previous_response_id=first.id)
    check(second.conversation.id == first.conversation.id, "the conversation goes on")
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
    except openai.NotFoundError:
        return {"answers": [first.output_text, second.output_text]}
    raise AssertionError("a deleted response is still there")


def responses_question(client: OpenAI) -> dict:
    first = client.responses.create(model="asker", input="ask me")
    check(first.output_text.strip() == "Which colour?", f"the question is the answer: {first.output_text!r}")
    second = client.responses.create(model="asker", input="red", previous_response_id=first.id)
    check(second.metadata["task_id"] == first.metadata["task_id"], "the task goes on")
    return {"answer": second.output_text.strip()}


def responses_stream(client: OpenAI) -> dict:
    events = list(client.responses.create(model="echo", input="hello", stream=True))
    check([event.sequence_number for event in events] == list(range(len(events))), "the events are numbered")
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    check(text == "hello", f"the deltas are the answer: {text}")
    check(events[-1].type == "response.completed" and events[-1].response.output_text == "hello", "it ends whole")
    with client.responses.stream(model="echo", input="again") as stream:
        check(stream.get_final_response().output_text == "again", "the helper reads it too")
    return {"types": [event.type for event in events]}


def background(client: OpenAI) -> dict:
    begun = client.responses.create(model="slow", input="go", background=True)
    check(begun.status in ("queued", "in_progress"), f"it runs: {begun.status}")
    ended = client.responses.cancel(begun.id)
    check(ended.status == "cancelled", f"it is canceled: {ended.status}")
    return {"status": ended.status}


def file(client: OpenAI) -> dict:
    data = base64.b64encode(b'{"a": 1}').decode()
    part = {"filename": "a.json", "file_data": f"data:application/json;base64,{data}"}
    content = [{"type": "text", "text": "see"}, {"type": "file", "file": part}]
    answer = client.chat.completions.create(model="echo", messages=[{"role": "user", "content": content}])
    said = answer.choices[0].message.content
    check(f"[a.json](data:application/json;base64,{data})" in said, f"the file comes back: {said}")
    items = [{"type": "input_text", "text": "see"}, {"type": "input_file", **part}]
    response = client.responses.create(model="echo", input=[{"role": "user", "content": items}])
    check("a.json" in response.output_text, f"by responses too: {response.output_text}")
    return {"text": said}


def wrong_model(client: OpenAI) -> dict:
    try:
        client.chat.completions.create(model="nobody", messages=[{"role": "user", "content": "hi"}])
    except openai.NotFoundError as error:
        check(error.code == "model_not_found", f"the code says so: {error.code}")
        return {"message": error.message}
    raise AssertionError("an agent that is not there answered")


def wrong_parameter(client: OpenAI) -> dict:
    try:
        client.chat.completions.create(model="echo", messages=[{"role": "user", "content": "hi"}], n=2)
    except openai.BadRequestError as error:
        check(error.param == "n", f"the field is named: {error.param}")
        return {"message": error.message}
    raise AssertionError("two answers were promised")


def failed(client: OpenAI) -> dict:
    """A failed agent is asked once only: the client must not repeat its work."""
    try:
        client.chat.completions.create(model="calc", messages=[{"role": "user", "content": "1 / 0"}])
    except openai.InternalServerError as error:
        return {"message": error.message}
    raise AssertionError("a division by nought has a result")


def bad_key(client: OpenAI) -> dict:
    try:
        client.models.list()
    except openai.AuthenticationError as error:
        check(error.code == "invalid_api_key", f"the code says so: {error.code}")
        return {"message": error.message}
    raise AssertionError("a wrong key was taken")


SCENARIOS = {
    function.__name__: function
    for function in (
        models, chat, question, chat_stream, responses, responses_question, responses_stream, background, file,
        wrong_model, wrong_parameter, failed, bad_key,
    )
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios")
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", default="anything")
    wanted = parser.parse_args()
    client = OpenAI(base_url=wanted.url, api_key=wanted.key, timeout=TIMEOUT_SECONDS)
    seen, scenario = {}, None
    try:
        for scenario in wanted.scenarios.split(","):
            seen[scenario] = SCENARIOS[scenario](client)
    except Exception as error:  # noqa: BLE001: whatever it is, it is the reason
        print(json.dumps({"failed": f"{scenario}: {type(error).__name__}: {error}"}))
        return 1
    print(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
