"""Hooks of Schemathesis: what the schemas of a site cannot say about a value, and where files are written.

Tokens of pages are only good when a page gave them, and the filter of GET /agents has a grammar, so both are left out. Whole numbers are written
without a fraction. An amount of money has as many decimals as its asset, so one that fits the schema becomes one that exists. A backup is written into the folder that AGENTSITE_CONTRACT_FOLDER names, and nowhere else.
"""

import os
import re

import schemathesis

FOLDER = os.environ["AGENTSITE_CONTRACT_FOLDER"]
OPAQUE = {"cursor", "pageToken"}
LEFT_OUT = {"GET /agents": {"filter"}, "GET /api/hub": {"after"}}


AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,18})?")
ASSET = re.compile(r"credit|[A-Z][A-Z0-9]{1,6}(/[0-9]{1,2})?")


def is_money(value):
    """Whether the value has the form of an amount with its asset."""
    if set(value) != {"amount", "asset"} or not all(isinstance(one, str) for one in value.values()):
        return False
    return bool(AMOUNT.fullmatch(value["amount"]) and ASSET.fullmatch(value["asset"]))


def whole(value):
    """The value with whole numbers as integers: the same JSON to a schema, not to every reader."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, list):
        return [whole(one) for one in value]
    if isinstance(value, dict) and is_money(value):
        return {"amount": "1", "asset": "EUR"}
    if isinstance(value, dict):
        return {name: whole(one) for name, one in value.items()}
    return value


@schemathesis.hook
def map_query(context, query):
    if not query:
        return query
    operation = context.operation.label if context.operation else ""
    left_out = OPAQUE | LEFT_OUT.get(operation, set())
    return {name: value for name, value in query.items() if name not in left_out}


@schemathesis.hook
def map_body(context, body):
    if not isinstance(body, dict):
        return body
    return whole({name: value for name, value in body.items() if name != "pageToken"})


@schemathesis.hook
def before_call(context, case, kwargs):
    named = case.body.get("file") if isinstance(case.body, dict) else None
    if case.operation.label == "POST /api/backup" and isinstance(named, str) and named.startswith("/"):
        # Few names, so that some cases meet a file that is there already.
        case.body = {**case.body, "file": os.path.join(FOLDER, f"copy-{len(named) % 3}")}
