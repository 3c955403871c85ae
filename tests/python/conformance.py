"""Checks a running site against A2A 1.0.1, requirement by requirement, in every binding that its card offers.

    python conformance.py http://127.0.0.1:4747 [--only CORE-] [--bindings jsonrpc,http] [--token KEY] [--json]

The site must have been started with --conformance: the checks drive its agent `conformance` by messageId. The ids are those of the
public compatibility kit; the checks are our own, and stricter: every answer and every event of a stream is validated against the
specification's JSON schema (tests/data/a2a.schema.json), and errors are checked in full (code, status, reason, domain).
Exit status 0 when nothing is violated. Requirements that the kit names and does not test are not tested here either.
"""

import argparse
import json
import pathlib
import re
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import jsonschema

SCHEMA = pathlib.Path(__file__).parent.parent / "data" / "a2a.schema.json"
TIMEOUT = 600.0  # turns a hang into a violation, however busy the machine is
QUIET = 1.0  # how long a stream that should stay open is listened to
DOMAIN = "a2a-protocol.org"
TERMINAL = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}
# Section 5.4 of the specification 1.0.1: JSON-RPC code, HTTP status, gRPC status, reason.
ERRORS = {
    "TaskNotFound": (-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "TaskNotCancelable": (-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    "PushNotificationNotSupported": (-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    "UnsupportedOperation": (-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    "ContentTypeNotSupported": (-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    "VersionNotSupported": (-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    "InvalidParams": (-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
}
RUN = uuid.uuid4().hex[:8]


class Violation(Exception):
    """What a check found wrong."""


def demand(condition, words):
    if not condition:
        raise Violation(words)


class Schema:
    """The schema with its references made local."""

    def __init__(self, path):
        text = path.read_text()
        whole = json.loads(text)
        names = {name.replace(" ", ""): name for name in whole["definitions"]}
        local = lambda found: json.dumps("#/definitions/" + names[found.group(1)])
        text = re.sub(r'"(?:lf\.a2a\.v1|google\.protobuf)\.(\w+)\.jsonschema\.json"', local, text)
        self.definitions = json.loads(text)["definitions"]
        for definition in self.definitions.values():
            definition.pop("$schema", None)
        self.seen = 0

    def check(self, value, name):
        self.seen += 1
        schema = {"$ref": f"#/definitions/{name}", "definitions": self.definitions}
        wrong = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).iter_errors(value)
        wrong = [f"{error.json_path}: {error.message}" for error in wrong]
        demand(not wrong, f"not a {name}: {'; '.join(wrong[:3])} in {json.dumps(value)[:400]}")
        self.conventions(value)
        return value

    def conventions(self, value, key=None):
        """What the schema cannot say: section 5.5 and 5.6 of the specification."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if key not in ("data", "metadata", "params"):
                    demand(not re.fullmatch(r"[a-z]+(_[a-z]+)+", name), f"`{name}` is not camelCase")
                self.conventions(inner, name)
        elif isinstance(value, list):
            for inner in value:
                self.conventions(inner, key)
        elif key in ("state", "role"):
            demand(isinstance(value, str) and value.isupper(), f"{key} must be the name of an enum: {value!r}")
        elif key == "timestamp":
            fine = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value)
            demand(fine, f"timestamps have milliseconds and end in Z: {value}")


SCHEMAS = {
    "SendMessage": "Send Message Response",
    "GetTask": "Task",
    "CancelTask": "Task",
    "ListTasks": "List Tasks Response",
    "CreateTaskPushNotificationConfig": "Task Push Notification Config",
    "GetTaskPushNotificationConfig": "Task Push Notification Config",
    "ListTaskPushNotificationConfigs": "List Task Push Notification Configs Response",
    "GetExtendedAgentCard": "Agent Card",
    "SendStreamingMessage": "Stream Response",
    "SubscribeToTask": "Stream Response",
}


class Refused(Exception):
    """An error of the site, the same in every binding."""

    def __init__(self, rpc=None, http=None, grpc=None, reason=None, domain=None, sentence=""):
        super().__init__(sentence)
        self.codes, self.reason, self.domain = {"jsonrpc": rpc, "http": http, "grpc": grpc}, reason, domain


class Binding:
    """One way to call the site; answers are ProtoJSON, whatever the wire is."""

    def __init__(self, url, schema):
        self.url, self.schema = url.rstrip("/"), schema
        self.http = httpx.Client(timeout=TIMEOUT, headers={"A2A-Version": "1.0"})

    def call(self, method, params, **headers):
        answer = self.exchange(method, params, headers)
        return self.schema.check(answer, SCHEMAS[method]) if method in SCHEMAS else answer

    def stream(self, method, params, **headers):
        for event in self.events(method, params, headers):
            demand(len(event) == 1, f"an event has exactly one member: {event}")
            yield self.schema.check(event, "Stream Response")


class JsonRpc(Binding):
    name = "jsonrpc"

    def post(self, method, params, headers, **more):
        body = {"jsonrpc": "2.0", "id": "c-1", "method": method, "params": params}
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        # With the slash that the public kit appends.
        return self.http.build_request("POST", self.url + "/", json=body, headers=headers, **more)

    def unwrap(self, answer):
        demand(answer.get("jsonrpc") == "2.0" and answer.get("id") == "c-1", f"not an answer to us: {answer}")
        demand(("result" in answer) != ("error" in answer), f"result or error, one of both: {answer}")
        if "result" in answer:
            return answer["result"]
        error = answer["error"]
        demand(set(error) <= {"code", "message", "data"} and isinstance(error["code"], int), f"not an error object: {error}")
        info = next((one for one in error.get("data", []) if one["@type"].endswith("google.rpc.ErrorInfo")), {})
        raise Refused(rpc=error["code"], reason=info.get("reason"), domain=info.get("domain"), sentence=error["message"])

    def exchange(self, method, params, headers):
        response = self.http.send(self.post(method, params, headers))
        demand(response.headers["content-type"] == "application/json", response.headers["content-type"])
        return self.unwrap(response.json())

    def events(self, method, params, headers):
        response = self.http.send(self.post(method, params, headers), stream=True)
        try:
            if response.headers["content-type"] != "text/event-stream":
                self.unwrap(json.loads(response.read()))
                raise Violation(f"a stream is text/event-stream, not {response.headers['content-type']}")
            for line in response.iter_lines():
                if line.startswith("data:"):
                    yield self.unwrap(json.loads(line[5:]))
        finally:
            response.close()


class Rest(Binding):
    name = "http"

    def route(self, method, params):
        one, config = params.get("id"), params.get("taskId")
        return {
            "SendMessage": ("POST", "/message:send"),
            "SendStreamingMessage": ("POST", "/message:stream"),
            "GetTask": ("GET", f"/tasks/{one}"),
            "ListTasks": ("GET", "/tasks"),
            "CancelTask": ("POST", f"/tasks/{one}:cancel"),
            "SubscribeToTask": ("POST", f"/tasks/{one}:subscribe"),
            "CreateTaskPushNotificationConfig": ("POST", f"/tasks/{config}/pushNotificationConfigs"),
            "GetTaskPushNotificationConfig": ("GET", f"/tasks/{config}/pushNotificationConfigs/{one}"),
            "ListTaskPushNotificationConfigs": ("GET", f"/tasks/{config}/pushNotificationConfigs"),
            "DeleteTaskPushNotificationConfig": ("DELETE", f"/tasks/{config}/pushNotificationConfigs/{one}"),
            "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
        }[method]

    def request(self, method, params, headers):
        verb, path = self.route(method, params)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if verb == "POST" and not path.endswith((":cancel", ":subscribe")):
            return self.http.build_request(verb, self.url + path, json=params, headers=headers)
        written = {True: "true", False: "false"}
        query = {name: written.get(value, value) if isinstance(value, bool) else value for name, value in params.items()}
        in_path = {"id", "taskId"} if "tasks/" in path else set()
        query = {name: value for name, value in query.items() if name not in in_path}
        if verb == "POST":
            headers["Content-Type"] = "application/json"
        return self.http.build_request(verb, self.url + path, params=query, headers=headers)

    def refuse(self, response):
        error = json.loads(response.read())["error"]
        demand(error["code"] == response.status_code, f"error.code is not the status: {error}")
        demand(isinstance(error["message"], str) and isinstance(error["status"], str), f"not an AIP-193 error: {error}")
        info = next((one for one in error.get("details", []) if one["@type"].endswith("google.rpc.ErrorInfo")), {})
        raise Refused(http=error["code"], reason=info.get("reason"), domain=info.get("domain"), sentence=error["message"])

    def exchange(self, method, params, headers):
        response = self.http.send(self.request(method, params, headers))
        media = response.headers.get("content-type", "")
        demand(media in ("application/json", "application/a2a+json") or not response.content, f"media type {media}")
        if response.status_code >= 400:
            self.refuse(response)
        return response.json() if response.content else {}

    def events(self, method, params, headers):
        response = self.http.send(self.request(method, params, headers), stream=True)
        try:
            if response.status_code >= 400:
                self.refuse(response)
            demand(response.headers["content-type"] == "text/event-stream", response.headers["content-type"])
            for line in response.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])
        finally:
            response.close()


class Grpc(Binding):
    name = "grpc"

    def __init__(self, url, schema):
        super().__init__(url, schema)
        import grpc
        from a2a.types import a2a_pb2, a2a_pb2_grpc

        self.grpc, self.pb = grpc, a2a_pb2
        target = re.sub(r"^\w+://", "", self.url).split("/")[0]
        self.stub = a2a_pb2_grpc.A2AServiceStub(grpc.insecure_channel(target))

    def ask(self, method, params, headers):
        from google.protobuf.json_format import ParseDict

        kinds = {
            "SendStreamingMessage": "SendMessageRequest",
            "CreateTaskPushNotificationConfig": "TaskPushNotificationConfig",
        }
        request = ParseDict(params, getattr(self.pb, kinds.get(method, method + "Request"))())
        metadata = {"a2a-version": "1.0"} | {name.lower().replace("_", "-"): value for name, value in headers.items()}
        return getattr(self.stub, method)(request, timeout=TIMEOUT, metadata=list(metadata.items()))

    def told(self, message):
        from google.protobuf.json_format import MessageToDict

        lists = isinstance(message, self.pb.ListTasksResponse)
        told = json.dumps(MessageToDict(message, always_print_fields_with_no_presence=lists))
        # In protobuf a time has no text; the library that writes it here leaves the fraction of a whole second out.
        return json.loads(re.sub(r'("timestamp": "[-\dT:]{19})Z"', r'\1.000Z"', told))

    def refuse(self, error):
        from google.rpc import error_details_pb2, status_pb2

        reason = domain = None
        for key, value in error.trailing_metadata() or []:
            if key == "grpc-status-details-bin":
                info = error_details_pb2.ErrorInfo()
                for detail in status_pb2.Status.FromString(value).details:
                    if detail.Unpack(info):
                        reason, domain = info.reason, info.domain
        raise Refused(grpc=error.code().name, reason=reason, domain=domain, sentence=error.details()) from None

    def exchange(self, method, params, headers):
        try:
            return self.told(self.ask(method, params, headers))
        except self.grpc.RpcError as error:
            self.refuse(error)

    def events(self, method, params, headers):
        call = self.ask(method, params, headers)
        try:
            for event in call:
                yield self.told(event)
        except self.grpc.RpcError as error:
            self.refuse(error)
        finally:
            call.cancel()


class Site:
    """What all checks of one binding share."""

    def __init__(self, root, card, binding, schema):
        self.root, self.card, self.binding, self.schema = root, card, binding, schema
        self.capabilities = card["capabilities"]

    def message(self, scene, **more):
        return {"role": "ROLE_USER", "parts": [{"text": "from our checks"}], "messageId": f"tck-{scene}-{RUN}", **more}

    def send(self, scene, configuration=None, **more):
        params = {"message": self.message(scene, **more)}
        if configuration is not None:
            params["configuration"] = configuration
        return self.binding.call("SendMessage", params)

    def task(self, scene, **more):
        answer = self.send(scene, **more)
        demand("task" in answer, f"{scene} gives a task: {answer}")
        return answer["task"]

    def stream(self, scene, **more):
        return list(self.binding.stream("SendStreamingMessage", {"message": self.message(scene, **more)}))

    def get(self, task, **more):
        return self.binding.call("GetTask", {"id": task, **more})

    def refusal(self, expected, attempt):
        try:
            given = attempt()
        except Refused as error:
            codes = dict(zip(("jsonrpc", "http", "grpc"), ERRORS[expected]))
            wanted, found = codes[self.binding.name], error.codes[self.binding.name]
            demand(found == wanted, f"{expected} is {wanted}, not {found}: {error}")
            demand(error.reason == ERRORS[expected][3], f"reason {error.reason}: {error}")
            demand(error.domain == DOMAIN, f"domain {error.domain}")
            return error
        raise Violation(f"{expected} was expected, and there came {json.dumps(given)[:300]}")

    def watch(self, task):
        """Subscribes in the background; gives a function that waits for the events until the end or a quiet time."""
        seen, ended, opened = [], threading.Event(), threading.Event()

        def listen():
            try:
                for event in self.binding.stream("SubscribeToTask", {"id": task}):
                    seen.append(event)
                    opened.set()
            except Exception as error:  # told by the check that waits
                seen.append(error)
            finally:
                ended.set()
                opened.set()

        threading.Thread(target=listen, daemon=True).start()
        demand(opened.wait(TIMEOUT), "a subscription begins at once")

        def finish(patience=TIMEOUT):
            closed = ended.wait(patience)
            for event in seen:
                if isinstance(event, Exception):
                    raise event
            return list(seen), closed

        return finish


def state(event):
    for name in ("task", "statusUpdate"):
        if name in event:
            return event[name]["status"]["state"]
    return None


CHECKS = []


def check(*ids, on=("jsonrpc", "http", "grpc"), needs=None, lacks=None):
    def keep(function):
        CHECKS.append((ids, function, on, needs, lacks))
        return function

    return keep


# --- Card ---


@check("CARD-DISC-001", "CARD-STRUCT-001", "CARD-PROTO-001", "CARD-PROTO-002", "BIND-FIELD-001", "VER-CLIENT-002", on=("jsonrpc",))
def the_card_is_complete(site):
    site.schema.check(site.card, "Agent Card")
    for name in "name description version capabilities skills supportedInterfaces defaultInputModes defaultOutputModes".split():
        demand(name in site.card, f"the card lacks {name}")
    for interface in site.card["supportedInterfaces"]:
        demand(interface["protocolBinding"] in ("JSONRPC", "HTTP+JSON", "GRPC"), interface)
        demand(re.fullmatch(r"\d+\.\d+", interface["protocolVersion"]), f"major.minor only: {interface}")


@check("CARD-CACHE-001", "CARD-CACHE-002", "CARD-CACHE-003", on=("jsonrpc",))
def the_card_can_be_cached(site):
    url = site.root + "/.well-known/agent-card.json"
    headers = httpx.get(url).headers
    demand("max-age" in headers["cache-control"], headers["cache-control"])
    demand(headers["last-modified"].endswith("GMT"), headers["last-modified"])
    again = httpx.get(url, headers={"If-None-Match": headers["etag"]})
    demand(again.status_code == 304 and not again.content, f"an unchanged card: {again.status_code}")


# --- Sending ---


@check("CORE-SEND-001", "CORE-MULTI-001a", "CORE-MULTI-003", "DM-TASK-001", "DM-STATUS-001", "DM-SERIAL-001", "DM-SERIAL-002",
       "DM-SERIAL-003", "DM-SERIAL-004", "GRPC-SVC-001", "GRPC-SVC-002", "JSONRPC-FMT-001", "JSONRPC-FMT-002")
def a_message_gives_a_task(site):
    one, two = site.task("complete-task"), site.task("complete-task")
    demand(one["status"]["state"] == "TASK_STATE_COMPLETED", one)
    demand(one["status"]["message"]["parts"][0]["text"] == "Hello from TCK", one)
    demand(one["contextId"] and one["id"] != two["id"], "each task has an id and a context of its own")


@check("DM-MSG-001", "DM-MSG-002", "CORE-MULTI-001a")
def a_message_may_be_the_answer(site):
    message = site.send("message-response")["message"]
    demand(message["parts"] == [{"text": "Direct message response"}] and message["role"] == "ROLE_AGENT", message)
    demand(message["contextId"] and not message.get("taskId"), message)


@check("DM-ART-001", "DM-PART-001")
def artifacts_have_parts_of_every_kind(site):
    named = {"mediaType": "text/plain", "filename": "output.txt"}
    for scene, part in {
        "artifact-text": {"text": "Generated text content"},
        "artifact-file": {"raw": "dGNr", **named},
        "artifact-file-url": {"url": "https://example.com/output.txt", **named},
        "artifact-data": {"data": {"key": "value", "count": 42}},
    }.items():
        artifacts = site.task(scene)["artifacts"]
        demand(len(artifacts) == 1 and artifacts[0]["artifactId"], artifacts)
        demand(artifacts[0]["parts"] == [part], f"{scene}: {artifacts}")


@check("DM-TASK-002", "CORE-EXECUTION-MODE-001", "AUTH-INTASK-001", "AUTH-INTASK-002")
def a_blocking_send_waits_for_an_end_or_a_question(site):
    for scene, expected in {
        "input-required": "TASK_STATE_INPUT_REQUIRED",
        "auth-required": "TASK_STATE_AUTH_REQUIRED",
        "reject-task": "TASK_STATE_REJECTED",
        "delayed-complete": "TASK_STATE_COMPLETED",
    }.items():
        task = site.task(scene, configuration={"returnImmediately": False})
        demand(task["status"]["state"] == expected, f"{scene}: {task['status']}")
        demand(site.get(task["id"])["status"]["state"] == expected, scene)


@check("CORE-EXECUTION-MODE-002")
def a_send_that_does_not_wait_returns_a_task_at_work(site):
    began = time.monotonic()
    task = site.task("delayed-complete", configuration={"returnImmediately": True})
    demand(task["status"]["state"] not in TERMINAL, task)
    demand(time.monotonic() - began < 1.5, "it must not wait for the agent")


@check("CORE-SEND-002")
def an_ended_task_takes_no_message(site):
    task = site.task("complete-task")
    site.refusal("UnsupportedOperation", lambda: site.send("terminal", taskId=task["id"]))


@check("CORE-SEND-003")
def a_part_of_an_unknown_type_is_refused(site):
    part = {"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"}
    site.refusal("ContentTypeNotSupported", lambda: site.send("send-003", parts=[part]))


@check("CORE-MULTI-002", "CORE-MULTI-002a")
def a_callers_context_is_kept(site):
    demand(site.task("complete-task", contextId=f"ours-{RUN}")["contextId"] == f"ours-{RUN}", "the context is the caller's")


@check("CORE-MULTI-004")
def a_message_to_an_unknown_task_is_refused(site):
    site.refusal("TaskNotFound", lambda: site.send("multi-004", taskId=f"nobody-{RUN}"))


@check("CORE-MULTI-005")
def the_context_follows_from_the_task(site):
    task = site.task("input-required")
    more = site.task("complete-task", taskId=task["id"])
    demand((more["id"], more["contextId"]) == (task["id"], task["contextId"]), more)


@check("CORE-MULTI-006")
def a_context_of_another_task_is_refused(site):
    task = site.task("input-required")
    site.refusal("InvalidParams", lambda: site.send("mismatch", taskId=task["id"], contextId=f"wrong-{RUN}"))


# --- Tasks ---


@check("CORE-GET-001")
def a_task_can_be_read(site):
    task = site.task("artifact-text")
    demand(site.get(task["id"]) == task, "as it was answered")


@check("CORE-GET-002", "CORE-CANCEL-003", "STREAM-SUB-004", "JSONRPC-ERR-001", "JSONRPC-ERR-002", "JSONRPC-ERR-003", "HTTP_JSON-ERR-001",
       "HTTP_JSON-ERR-002", "GRPC-ERR-001", "GRPC-ERR-002", "CORE-ERR-001", "BIND-EQUIV-003")
def an_unknown_task_is_told_so(site):
    params = {"id": f"nobody-{RUN}"}
    site.refusal("TaskNotFound", lambda: site.binding.call("GetTask", params))
    site.refusal("TaskNotFound", lambda: site.binding.call("CancelTask", params))
    site.refusal("TaskNotFound", lambda: list(site.binding.stream("SubscribeToTask", params)))


@check("CORE-CANCEL-001", "CORE-CANCEL-002", "HTTP_JSON-STATUS-001")
def a_task_is_canceled_once(site):
    for scene, more in (("input-required", {}), ("delayed-complete", {"configuration": {"returnImmediately": True}})):
        task = site.task(scene, **more)
        canceled = site.binding.call("CancelTask", {"id": task["id"]})
        demand((canceled["id"], canceled["status"]["state"]) == (task["id"], "TASK_STATE_CANCELED"), canceled)
        site.refusal("TaskNotCancelable", lambda: site.binding.call("CancelTask", {"id": task["id"]}))


@check("CORE-HIST-001", "CORE-HIST-002", "CORE-HIST-003", "CORE-HIST-004", "CORE-HIST-005", "CORE-HIST-006")
def history_is_in_order_and_as_long_as_asked(site):
    task = site.task("input-required", parts=[{"text": "first"}])
    for text in ("second", "third"):
        site.task("input-required", taskId=task["id"], parts=[{"text": text}])
    ended = site.task("complete-task", taskId=task["id"], parts=[{"text": "last"}], configuration={"historyLength": 0})
    demand(not ended.get("history"), f"historyLength 0 on SendMessage: {ended}")
    history = site.get(task["id"], historyLength=50)["history"]
    said = [one["parts"][0]["text"] for one in history if one["role"] == "ROLE_USER"]
    demand(said == ["first", "second", "third", "last"], said)
    demand(not site.get(task["id"], historyLength=0).get("history"), "historyLength 0 on GetTask")
    demand(site.get(task["id"], historyLength=1)["history"] == history[-1:], "the newest message")
    site.refusal("InvalidParams", lambda: site.get(task["id"], historyLength=-1))


@check("CORE-LIST-001", "CORE-LIST-002", "CORE-LIST-003", "CORE-LIST-004", "CORE-LIST-005")
def lists_have_pages_in_order(site):
    context = f"list-{site.binding.name}-{RUN}"
    made = [site.task("artifact-text", contextId=context)["id"] for _ in range(5)]
    asked = lambda **more: site.binding.call("ListTasks", {"contextId": context, **more})
    whole = asked()
    demand([task["id"] for task in whole["tasks"]] == made[::-1], "the last changed first")
    times = [task["status"]["timestamp"] for task in whole["tasks"]]
    demand(times == sorted(times, reverse=True), times)
    demand(whole["nextPageToken"] == "" and whole["totalSize"] == 5 and whole["pageSize"] == 50, whole)
    demand(all(not task.get("artifacts") for task in whole["tasks"]), "no artifacts unless asked for")
    demand(all(task["artifacts"] for task in asked(includeArtifacts=True)["tasks"]), "artifacts when asked for")
    demand(all(not task.get("history") for task in asked(historyLength=0)["tasks"]), "no history at length 0")
    seen, token = [], ""
    for _ in range(3):
        page = asked(pageSize=2, **({"pageToken": token} if token else {}))
        demand(page["totalSize"] == 5 and page["pageSize"] == 2, page)
        seen, token = seen + [task["id"] for task in page["tasks"]], page["nextPageToken"]
    demand(seen == made[::-1] and token == "", "three pages and no more")
    demand(asked(status="TASK_STATE_WORKING")["totalSize"] == 0, "none of them works")
    demand(asked(status="TASK_STATE_COMPLETED")["totalSize"] == 5, "all of them are done")
    demand(asked(statusTimestampAfter=times[0])["totalSize"] >= 1, "the last one is not before itself")
    demand(asked(statusTimestampAfter="2100-01-01T00:00:00Z")["totalSize"] == 0, "nothing is of the next century")
    nobody = site.binding.call("ListTasks", {"contextId": f"nobody-{RUN}"})
    demand(nobody["tasks"] == [] and nobody["totalSize"] == 0 and nobody["nextPageToken"] == "", nobody)
    for more in ({"pageSize": 101}, {"pageSize": -1}, {"pageToken": "not ours"}, {"historyLength": -1}):
        site.refusal("InvalidParams", lambda: asked(**more))


# --- Streams ---


@check("CORE-STREAM-001", "CORE-STREAM-003", "STREAM-ORDER-001", "JSONRPC-SSE-001", "HTTP_JSON-SSE-001", "GRPC-ERR-003", needs="streaming")
def a_stream_is_the_life_of_a_task(site):
    order = {"TASK_STATE_SUBMITTED": 0, "TASK_STATE_WORKING": 1}
    for scene, text in {
        "stream-001": "Stream hello from TCK",
        "stream-003": "Stream task lifecycle",
        "stream-ordering-001": "Ordered output",
        "stream-artifact-text": "Streamed text content",
    }.items():
        events = site.stream(scene)
        demand("task" in events[0] and all("task" not in event for event in events[1:]), f"the task comes first: {events}")
        states = [order.get(state(event), 2) for event in events if state(event)]
        demand(states == sorted(states) and state(events[-1]) in TERMINAL, f"{scene}: {states}")
        artifacts = [event["artifactUpdate"]["artifact"] for event in events if "artifactUpdate" in event]
        demand([one["parts"] for one in artifacts] == [[{"text": text}]], f"{scene}: {artifacts}")
        of = {event[name]["taskId"] for event in events for name in ("statusUpdate", "artifactUpdate") if name in event}
        demand(of == {events[0]["task"]["id"]}, "all events are of the task")


@check("CORE-STREAM-002", needs="streaming")
def a_message_is_a_stream_of_one(site):
    events = site.stream("message-response")
    demand(len(events) == 1 and "message" in events[0], events)
    demand(state(site.stream("stream-002")[-1]) in TERMINAL, "a task without output ends too")


@check("CORE-STREAM-003", needs="streaming")
def chunks_come_apart_and_join(site):
    events = site.stream("stream-artifact-chunked")
    updates = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
    told = [(one["artifact"]["parts"][0]["text"], one.get("append", False), one.get("lastChunk", False)) for one in updates]
    demand(told == [("chunk-1 ", False, False), ("chunk-2", True, True)], told)
    whole = site.get(events[0]["task"]["id"])["artifacts"]
    demand(whole[0]["parts"][0]["text"] == "chunk-1 chunk-2", whole)
    file = site.stream("stream-artifact-file")
    parts = [event["artifactUpdate"]["artifact"]["parts"] for event in file if "artifactUpdate" in event]
    demand(parts == [[{"raw": "dGNr", "mediaType": "text/plain", "filename": "output.txt"}]], parts)


@check("STREAM-SUB-001", "STREAM-SUB-002", needs="streaming")
def a_subscription_lasts_until_the_end(site):
    task = site.task("input-required")
    finish = site.watch(task["id"])
    first, closed = finish(QUIET)
    demand(not closed, "a task that waits for its caller has not ended")
    demand("task" in first[0] and first[0]["task"]["id"] == task["id"], f"the task comes first: {first}")
    site.task("complete-task", taskId=task["id"])
    events, closed = finish()
    demand(closed and state(events[-1]) == "TASK_STATE_COMPLETED", f"it ends with the task: {events}")


@check("STREAM-SUB-003", needs="streaming")
def an_ended_task_is_not_followed(site):
    task = site.task("complete-task")
    site.refusal("UnsupportedOperation", lambda: list(site.binding.stream("SubscribeToTask", {"id": task["id"]})))


@check("STREAM-ORDER-002", "STREAM-ORDER-003", "STREAM-ORDER-004", needs="streaming")
def all_streams_of_a_task_tell_the_same(site):
    task = site.task("input-required")
    left = site.binding.stream("SubscribeToTask", {"id": task["id"]})
    demand("task" in next(left), "the one that leaves saw the task")
    one, two = site.watch(task["id"]), site.watch(task["id"])
    left.close()
    site.task("artifact-text", taskId=task["id"])
    (first, ended), (second, too) = one(), two()
    demand(ended and too and first == second, f"{first} is not {second}")
    demand(any("artifactUpdate" in event for event in first), first)


@check("STREAM-SUB-001", needs="streaming")
def a_task_at_work_can_be_followed(site):
    message = {**site.message("x"), "messageId": f"test-resubscribe-message-id-{RUN}"}
    sent = site.binding.call("SendMessage", {"message": message, "configuration": {"returnImmediately": True}})
    events, closed = site.watch(sent["task"]["id"])()
    demand("task" in events[0] and closed and state(events[-1]) == "TASK_STATE_COMPLETED", events)


# --- Capabilities, versions, service parameters ---


PUSH = {"taskId": "t", "url": "https://example.com/hook"}


@check("CORE-CAP-001", lacks="pushNotifications")
def push_is_refused_where_it_is_not_declared(site):
    site.refusal("PushNotificationNotSupported", lambda: site.binding.call("CreateTaskPushNotificationConfig", PUSH))
    site.refusal("PushNotificationNotSupported", lambda: site.binding.call("ListTaskPushNotificationConfigs", {"taskId": "t"}))


@check("CORE-CAP-003", lacks="extendedAgentCard")
def an_extended_card_is_refused_where_it_is_not_declared(site):
    site.refusal("UnsupportedOperation", lambda: site.binding.call("GetExtendedAgentCard", {}))


@check("CARD-EXT-001", needs="extendedAgentCard")
def an_extended_card_is_a_card(site):
    demand(site.binding.call("GetExtendedAgentCard", {})["name"] == site.card["name"], "of the same agent")


@check("VER-SERVER-002")
def an_unknown_version_is_refused(site):
    for version in ("99.0", "2.0", "nonsense"):
        site.refusal("VersionNotSupported", lambda: site.binding.call("SendMessage", {"message": site.message("x")}, A2A_Version=version))


@check("VER-SERVER-001")
def the_version_is_major_and_minor(site):
    demand("task" in site.binding.call("SendMessage", {"message": site.message("complete-task")}, A2A_Version="1.0"), "1.0")


@check("JSONRPC-SVC-002", "HTTP_JSON-SVC-002", "GRPC-META-001")
def extensions_may_be_named(site):
    uris = "https://example.com/ext/v1,https://example.com/ext/v2"
    demand("task" in site.binding.call("SendMessage", {"message": site.message("complete-task")}, A2A_Extensions=uris), "taken")


@check("CORE-ERR-002")
def what_is_missing_is_refused(site):
    wrong = [{}, {"message": {}}, {"message": {**site.message("x"), "parts": []}}]
    for name in ("messageId", "parts", "role"):
        wrong.append({"message": {key: value for key, value in site.message("x").items() if key != name}})
    for params in wrong:
        site.refusal("InvalidParams", lambda: site.binding.call("SendMessage", params))


@check("DM-SERIAL-005", on=("jsonrpc", "http"))
def unknown_fields_are_ignored(site):
    message = site.message("complete-task", tckUnknownField="x")
    message["parts"] = [{"text": "x", "tckUnknownPart": 1}]
    task = site.binding.call("SendMessage", {"message": message, "tckExtraParam": 42})["task"]
    site.get(task["id"])


@check("BIND-EQUIV-001", "BIND-EQUIV-002")
def a_task_is_the_same_in_every_binding(site):
    task = site.task("artifact-data")
    for other in site.others:
        demand(other.call("GetTask", {"id": task["id"]}) == task, f"by {other.name}")


# --- What only one binding has ---


@check("JSONRPC-SSE-002", "JSONRPC-ERR-001", on=("jsonrpc",))
def json_rpc_has_its_own_errors(site):
    url, json_type = site.binding.url + "/", {"Content-Type": "application/json", "A2A-Version": "1.0"}
    code = lambda body, headers=json_type: httpx.post(url, content=body, headers=headers).json()["error"]["code"]
    demand(code(b"{nonsense") == -32700, "what is not JSON")
    demand(code(b"[]") == -32600 and code(b'{"id":1}') == -32600, "what is no request")
    demand(code(b'{"jsonrpc":"2.0","id":1,"method":"Sing"}') == -32601, "a method that is not there")
    demand(code(b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}') == -32602, "params that are no object")
    demand(code(b"anything", {**json_type, "Content-Type": "text/plain"}) == -32005, "another content type")


@check("HTTP_JSON-STATUS-001", "HTTP_JSON-URL-001", "HTTP_JSON-URL-002", "HTTP_JSON-QP-001", "HTTP_JSON-SVC-001", on=("http",))
def http_has_its_own_rules(site):
    url, body = site.binding.url, {"message": site.message("complete-task")}
    post = lambda path, **more: site.binding.http.post(url + path, **more)
    demand(post("/message:send", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 400, "another content type")
    demand(site.binding.http.get(url + "/message:send").status_code == 405, "another method")
    demand(post(f"/tasks/nobody-{RUN}:sing", json=body).status_code == 404, "another address")
    for asked in ("application/json", "application/a2a+json"):
        told = post("/message:send", content=json.dumps(body), headers={"Content-Type": asked}).headers["content-type"]
        demand(told == asked, f"{asked} was asked, {told} came")
    demand(site.binding.http.get(url + "/tasks", headers={"Accept": "application/a2a+json"}).headers["content-type"] == "application/a2a+json", "Accept")
    missing = site.binding.http.get(f"{url}/tasks/nobody-{RUN}")
    demand("application/json" in missing.headers["content-type"], f"an error to one who names no type: {missing.headers['content-type']}")


# --- Push ---


class Hook:
    """A webhook on this machine."""

    def __init__(self):
        self.got, self.arrived = [], threading.Condition()
        hook = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with hook.arrived:
                    hook.got.append((dict(self.headers.items()), json.loads(body)))
                    hook.arrived.notify_all()
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def until(self, condition):
        with self.arrived:
            demand(self.arrived.wait_for(lambda: any(condition(one) for one in self.got), TIMEOUT), f"no such delivery: {self.got}")
            return list(self.got)


@check("PUSH-CREATE-001", "PUSH-CREATE-002", "PUSH-GET-001", "PUSH-GET-002", "PUSH-LIST-001", "PUSH-DEL-001", "PUSH-DEL-002", needs="pushNotifications")
def push_configs_are_kept_and_deleted(site):
    task, config = site.task("input-required")["id"], f"push-{RUN}"
    made = site.binding.call("CreateTaskPushNotificationConfig", {"taskId": task, "id": config, "url": "https://example.com/hook"})
    demand((made["id"], made["url"], made["taskId"]) == (config, "https://example.com/hook", task), made)
    name = {"taskId": task, "id": config}
    demand(site.binding.call("GetTaskPushNotificationConfig", name) == made, "as it was made")
    listed = site.binding.call("ListTaskPushNotificationConfigs", {"taskId": task})
    demand(listed["configs"] == [made], listed)
    for _ in range(2):
        site.binding.call("DeleteTaskPushNotificationConfig", name)
    try:
        given = site.binding.call("GetTaskPushNotificationConfig", name)
        raise Violation(f"it was deleted: {given}")
    except Refused:
        pass
    demand(not site.binding.call("ListTaskPushNotificationConfigs", {"taskId": task}).get("configs"), "none is left")


@check("PUSH-DELIVER-001", "PUSH-DELIVER-002", "PUSH-DELIVER-003", needs="pushNotifications")
def pushes_arrive_with_their_credentials(site):
    hook = Hook()
    wanted = {"id": f"push-{RUN}", "url": hook.url, "authentication": {"scheme": "Bearer", "credentials": f"secret-{RUN}"}}
    task = site.task("input-required", configuration={"taskPushNotificationConfig": wanted})
    site.task("complete-task", taskId=task["id"])
    for headers, body in hook.until(lambda one: state(one[1]) in TERMINAL):
        headers = {name.lower(): value for name, value in headers.items()}
        demand(headers["authorization"] == f"Bearer secret-{RUN}", headers)
        demand(len(site.schema.check(body, "Stream Response")) == 1, body)


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("site")
    reader.add_argument("--only", default="")
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--token", default="", help="what to show where callers without a key may do less; not by gRPC")
    reader.add_argument("--bindings", default="jsonrpc,http,grpc", help="which of them to check, of those that the card offers")
    wanted = reader.parse_args()
    root, schema = wanted.site.rstrip("/"), Schema(SCHEMA)
    card = httpx.get(root + "/.well-known/agent-card.json").json()
    kinds = {"JSONRPC": JsonRpc, "HTTP+JSON": Rest, "GRPC": Grpc}
    bindings = {}
    for interface in card["supportedInterfaces"]:
        if interface["protocolVersion"] == "1.0":
            binding = kinds[interface["protocolBinding"]](interface["url"], schema)
            if wanted.token:
                binding.http.headers["Authorization"] = f"Bearer {wanted.token}"
            if binding.name in wanted.bindings.split(","):
                bindings.setdefault(binding.name, binding)
    counts, violations, covered = {}, [], set()
    for ids, function, on, needs, lacks in CHECKS:
        for name in on:
            binding = bindings.get(name)
            if binding is None or not any(one.startswith(wanted.only) for one in ids):
                continue
            site = Site(root, card, binding, schema)
            site.others = [other for other in bindings.values() if other is not binding]
            if (needs and not site.capabilities.get(needs)) or (lacks and site.capabilities.get(lacks)):
                counts["not applicable"] = counts.get("not applicable", 0) + 1
                continue
            try:
                function(site)
                counts[name] = counts.get(name, 0) + 1
                covered.update(ids)
            except (Violation, Refused, KeyError, IndexError, StopIteration, httpx.HTTPError, json.JSONDecodeError) as error:
                violations.append(f"{', '.join(ids)} by {name}: {function.__name__}: {type(error).__name__}: {error}")
    told = {"passed": counts, "requirements": len(covered), "validated": schema.seen, "violations": violations}
    if wanted.json:
        print(json.dumps(told))
    else:
        for violation in violations:
            print(f"VIOLATED {violation}")
        print(f"{sum(counts.values())} checks ({counts}), {len(covered)} requirements, {schema.seen} answers and events validated, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
