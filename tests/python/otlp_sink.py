"""Receives OpenTelemetry traces over OTLP/HTTP and prints them.

Listens on a free port of 127.0.0.1, prints `listening http://127.0.0.1:PORT`,
then one JSON line for each span posted to /v1/traces (protobuf, plain or
gzip). Ends when stdin closes. It deliberately keeps nothing and knows neither
metrics nor logs: any other path is answered with 404.
"""

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

PROTOBUF = "application/x-protobuf"
# Spans of concurrent posts must not share a line.
PRINTING = threading.Lock()


def value(any_value: AnyValue) -> object:
    """The plain JSON form of an attribute's value."""
    match any_value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [value(item) for item in any_value.array_value.values]
        case "kvlist_value":
            return attributes(any_value.kvlist_value.values)
        case "bytes_value":
            return any_value.bytes_value.hex()
        case kind:
            return getattr(any_value, kind)


def attributes(pairs: list[KeyValue]) -> dict[str, object]:
    return {pair.key: value(pair.value) for pair in pairs}


def line(span: Span, scope: str, resource: dict[str, object]) -> dict[str, object]:
    return {
        "name": span.name,
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "parent_span_id": span.parent_span_id.hex(),
        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        "status": Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_").lower(),
        "duration_ns": span.end_time_unix_nano - span.start_time_unix_nano,
        "attributes": attributes(span.attributes),
        "events": [event.name for event in span.events],
        "scope": scope,
        "resource": resource,
    }


def lines(request: ExportTraceServiceRequest) -> list[dict[str, object]]:
    return [
        line(span, group.scope.name, attributes(source.resource.attributes))
        for source in request.resource_spans
        for group in source.scope_spans
        for span in group.spans
    ]


class Receiver(BaseHTTPRequestHandler):
    """Answers the exporter's posts."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # the base class fixes the name
        body = self.body()
        if self.path != "/v1/traces":
            return self.answer(404, b"only /v1/traces is received here", "text/plain")
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
        except (DecodeError, OSError, EOFError) as error:
            return self.answer(400, str(error).encode(), "text/plain")
        with PRINTING:
            for span in lines(request):
                print(json.dumps(span), flush=True)
        return self.answer(200, ExportTraceServiceResponse().SerializeToString(), PROTOBUF)

    def body(self) -> bytes:
        """The request's body, whether its length is told or it comes in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(chunks)

    def answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: stdout belongs to the spans."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="receiver", daemon=True).start()
    print(f"listening http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
