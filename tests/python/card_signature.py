"""Verifies and makes signatures of agent cards with the official Python a2a-sdk.

Usage: card_signature.py verify CARD_URL ALGORITHM
       card_signature.py sign ALGORITHM KEYS_URL
`verify` fetches the card, takes the keys from where the signature says they
are, lets the SDK verify with that one algorithm, and exits 1 when it refuses.
`sign` prints a card that the SDK signed with a new key, whose public half
is printed as a key set in the second line; KEYS_URL is where it will be.
"""

import copy
import json
import sys

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from a2a.utils.signing import SignatureVerificationError, create_agent_card_signer, create_signature_verifier
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

SAMPLE = {
    "name": "sample",
    "description": "Signed by the SDK: grüße",
    "version": "1",
    "supportedInterfaces": [
        {"url": "https://sample.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {
        "streaming": True,
        "pushNotifications": False,
        "extensions": [{"uri": "urn:x", "params": {"limit": 1.5, "none": ""}}],
    },
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
}


def published_key(kid: str | None, jku: str | None) -> PyJWK:
    keys = httpx.get(jku, timeout=600).raise_for_status().json()["keys"]
    return PyJWK(next(key for key in keys if key["kid"] == kid))


def verify(url: str, algorithm: str) -> int:
    card = httpx.get(url, timeout=600).raise_for_status().json()
    card["signatures"] = [one for one in card["signatures"] if header(one)["alg"] == algorithm]
    for changed in (False, True):
        message = parse_agent_card(copy.deepcopy(card))
        if changed:
            message.description += "!"
        try:
            create_signature_verifier(published_key, [algorithm])(message)
            held = True
        except SignatureVerificationError:
            held = False
        if held is changed:
            print(f"{algorithm}: the SDK {'took a changed card' if changed else 'refused the card'}")
            return 1
    return 0


def header(signature: dict) -> dict:
    from jwt.utils import base64url_decode

    return json.loads(base64url_decode(signature["protected"]))


def sign(algorithm: str) -> int:
    if algorithm == "EdDSA":
        key = ed25519.Ed25519PrivateKey.generate()
        private, public = OKPAlgorithm.to_jwk(key), OKPAlgorithm.to_jwk(key.public_key())
    else:
        key = ec.generate_private_key(ec.SECP256R1())
        private, public = ECAlgorithm.to_jwk(key), ECAlgorithm.to_jwk(key.public_key())
    protected = {"alg": algorithm, "kid": "sample-key", "typ": "JOSE", "jku": sys.argv[3]}
    card = create_agent_card_signer(PyJWK(json.loads(private)), protected)(ParseDict(SAMPLE, AgentCard()))
    print(json.dumps(MessageToDict(card)))
    print(json.dumps({"keys": [{**json.loads(public), "kid": "sample-key"}]}))
    return 0


if __name__ == "__main__":
    sys.exit(verify(*sys.argv[2:4]) if sys.argv[1] == "verify" else sign(sys.argv[2]))
