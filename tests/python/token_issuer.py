"""An authorization server as far as a resource sees it: a description, a key set, and tokens on request.

Prints `listening URL`; ends when its stdin closes. `POST /token` signs the claims of its JSON body, with defaults for
what they leave out; `POST /rotate` makes a new key. Tokens are made by PyJWT, so that another implementation than
ours decides what a token looks like.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

MAKERS = {
    "RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "PS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}

keys = {}
fetched = {"keys": 0}


def make_keys(generation):
    for name, maker in MAKERS.items():
        keys[name] = (f"{name}-{generation}", maker())


def jwk(name):
    kid, key = keys[name]
    written = jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True)
    return {**written, "kid": kid, "use": "sig", "alg": name}


class Issuer(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/.well-known/oauth-authorization-server":
            self.answer({"issuer": url, "jwks_uri": f"{url}/keys"})
        elif self.path == "/keys":
            fetched["keys"] += 1
            self.answer({"keys": [jwk(name) for name in keys]})
        elif self.path == "/fetched":
            self.answer(fetched)
        else:
            self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/rotate":
            make_keys(time.time_ns())
            self.answer({})
            return
        asked = json.loads(body)
        name = asked.pop("alg", "RS256")
        kid, key = keys[name]
        claims = {"iss": url, "sub": "ada", "exp": int(time.time()) + 300, **asked}
        token = jwt.encode(claims, key, algorithm=name, headers={"kid": kid, "typ": "at+jwt"})
        self.answer({"token": token})


make_keys(1)
server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
url = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"listening {url}", flush=True)
sys.stdin.read()
