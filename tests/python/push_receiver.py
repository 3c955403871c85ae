"""Receives push notifications of a site and verifies each as docs/push.md says.

Usage: push_receiver.py SITE_URL [PORT]
Listens on 127.0.0.1 at PORT or a free one, prints `listening URL`, then one
JSON line for each POST: what came, whether the signature holds with a key
that SITE_URL publishes, and whether it is fresh. The path decides the answer:
/once-gone refuses each delivery the first time with 410, all others take
everything. Ends when stdin closes. It deliberately knows nothing of tasks.
"""

import base64
import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from cryptography.exceptions import InvalidSignature
from jwt import PyJWK

# Deliveries of concurrent posts must not share a line.
PRINTING = threading.Lock()
# A receiver's clock may differ from the site's by so many seconds.
CLOCKS_DIFFER = 30

COVERED = ["@method", "@target-uri", "content-type", "content-digest", "idempotency-key"]


class Refused(Exception):
    """Why a delivery is not taken for the site's."""


def verify(site: str, url: str, headers: dict[str, str], body: bytes) -> str:
    """Returns the id of the delivery, or says why it is not to be believed."""
    label, _, params = headers["signature-input"].partition("=")
    names = re.match(r'\((.*?)\)', params)
    if names is None or [name.strip('"') for name in names[1].split()] != COVERED:
        raise Refused(f"the signature covers {params}")
    fields = dict(re.findall(r';(\w+)=("[^"]*"|\d+)', params))
    if fields["tag"] != '"a2a-push"' or fields["alg"] != '"ed25519"':
        raise Refused(f"the signature is for something else: {params}")
    now = time.time()
    if not int(fields["created"]) - CLOCKS_DIFFER <= now <= int(fields["expires"]) + CLOCKS_DIFFER:
        raise Refused("it is not fresh")
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    if headers["content-digest"] != f"sha-256=:{digest}:":
        raise Refused("the body was changed")
    values = {"@method": "POST", "@target-uri": url, **headers}
    lines = [f'"{name}": {values[name]}' for name in COVERED]
    base = "\n".join([*lines, f'"@signature-params": {params}'])
    # The keys of the site that the task was given to, never of one that the request names.
    keys = httpx.get(f"{site}/.well-known/jwks.json", trust_env=False, timeout=600).json()["keys"]
    key = next((key for key in keys if key["kid"] == fields["keyid"].strip('"')), None)
    if key is None:
        raise Refused("the site publishes no such key")
    signature = re.fullmatch(rf"{label}=:([A-Za-z0-9+/=]+):", headers["signature"])
    try:
        PyJWK(key, algorithm="EdDSA").key.verify(base64.b64decode(signature[1]), base.encode())
    except InvalidSignature:
        raise Refused("the signature does not hold") from None
    return headers["idempotency-key"].strip('"')


def main() -> None:
    site, refused_once = sys.argv[1], set()

    class Receiver(BaseHTTPRequestHandler):
        """Takes deliveries."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            url = f"http://{headers['host']}{self.path}"
            seen = {name: headers.get(name) for name in ("content-type", "a2a-version", "authorization")}
            seen |= {"path": self.path, "token": headers.get("x-a2a-notification-token"), "body": json.loads(body)}
            try:
                seen |= {"verified": True, "delivery": verify(site, url, headers, body)}
                # One changed byte, and it is not believed.
                try:
                    verify(site, url, headers, body + b" ")
                    seen["verified"] = "also when it was changed"
                except Refused:
                    pass
            except (Refused, KeyError) as error:
                seen |= {"verified": repr(error), "delivery": None}
            gone = self.path == "/once-gone" and seen["delivery"] not in refused_once
            refused_once.add(seen["delivery"])
            with PRINTING:
                print(json.dumps(seen), flush=True)
            self.send_response(410 if gone else 204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
