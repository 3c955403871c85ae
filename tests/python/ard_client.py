"""A client of a site's discovery face, written from the specification of ARD alone.

Usage: ard_client.py SCENARIO[,SCENARIO...] --url http://host:port [--schemas FOLDER] [--key KEY]

Plays the scenarios, prints what each saw as one JSON line, and exits 1 with the reason when the site behaved otherwise. With --schemas every
answer is validated against the schemas of the specification (ai-catalog.schema.json and ard.openapi.yaml). The scenario `rest` holds live answers
of the REST interface against the site's own OpenAPI document. Trust manifests are verified with the packages jwt and cryptography, not with the
site's own code.
"""

import argparse
import base64
import json
import pathlib
import sys
import urllib.parse

import httpx
import jsonschema
import jwt
import referencing
import yaml

# Turns a hang into a failure, however busy the machine is.
TIMEOUT_SECONDS = 600.0

A2A = "application/a2a-agent-card+json"
MCP = "application/mcp-server-card+json"


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


class Registry:
    """A registry, and what the specification says of its answers."""

    def __init__(self, url: str, key: str | None, schemas: pathlib.Path | None) -> None:
        self.url = url
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False)
        self.validated = 0
        self.known = None
        if schemas:
            catalog = json.loads((schemas / "ai-catalog.schema.json").read_text())
            registry = yaml.safe_load((schemas / "ard.openapi.yaml").read_text())
            # The document refers to the other one by its file name, relative to itself.
            base = "https://schemas.invalid/"
            registry["$id"] = base + "ard.openapi.yaml"
            draft = referencing.jsonschema.DRAFT202012
            resources = [
                (base + "ai-catalog.schema.json", draft.create_resource(catalog)),
                (base + "ard.openapi.yaml", draft.create_resource(registry)),
            ]
            self.known = referencing.Registry().with_resources(resources)
            self.base = base

    def valid(self, answer: object, reference: str) -> None:
        """Holds an answer against a schema of the specification."""
        if self.known is None:
            return
        schema = {"$ref": self.base + reference}
        validator = jsonschema.Draft202012Validator(schema, registry=self.known)
        wrong = sorted(validator.iter_errors(answer), key=lambda error: list(error.absolute_path))
        check(not wrong, f"{reference}: {[(list(e.absolute_path), e.message) for e in wrong[:3]]}")
        self.validated += 1

    def post(self, path: str, body: object, name: str) -> dict:
        response = self.http.post(path, json=body)
        check(response.status_code == 200, f"{path}: {response.status_code} {response.text}")
        self.valid(response.json(), f"ard.openapi.yaml#/components/schemas/{name}")
        return response.json()

    def search(self, text: str, filter: dict | None = None, **more: object) -> dict:
        query = {"text": text} | ({"filter": filter} if filter else {})
        return self.post("/search", {"query": query, **more}, "SearchResponse")

    def agents(self, **parameters: object) -> dict:
        response = self.http.get("/agents", params=parameters)
        check(response.status_code == 200, f"/agents {parameters}: {response.status_code} {response.text}")
        self.valid(response.json(), "ard.openapi.yaml#/components/schemas/ListResponse")
        return response.json()

    def refused(self, response: httpx.Response, status: int, code: str) -> str:
        check(response.status_code == status, f"{response.request.url}: {response.status_code} {response.text}")
        told = response.json()
        self.valid(told, "ard.openapi.yaml#/components/schemas/Error")
        check(told["errorCode"] == code, f"the code is {code}: {told}")
        return told["message"]


def verify(manifest: dict, keys: dict[str, jwt.PyJWK]) -> None:
    """Checks a detached JWS over the canonical form of a manifest, which has neither numbers nor letters that would need more than sorting."""
    content = {name: value for name, value in manifest.items() if name != "signature"}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    protected, nothing, signature = manifest["signature"].split(".")
    check(nothing == "", "the payload is detached")
    payload = base64.urlsafe_b64encode(canonical).rstrip(b"=").decode()
    whole = f"{protected}.{payload}.{signature}"
    header = jwt.get_unverified_header(whole)
    check(header["typ"] == "trust-manifest+jose", f"the type is named: {header}")
    jwt.PyJWS().decode(whole, keys[header["kid"]].key, algorithms=["EdDSA", "ES256"])


def catalog(registry: Registry) -> dict:
    told = None
    for path in ["/.well-known/ai-catalog.json", "/.well-known/ard.json"]:
        response = registry.http.get(path)
        check(response.status_code == 200, f"{path}: {response.status_code}")
        check(response.headers["access-control-allow-origin"] == "*", "pages elsewhere may read it")
        told = response.json()
        registry.valid(told, "ai-catalog.schema.json")
        again = registry.http.get(path, headers={"If-None-Match": response.headers["etag"]})
        check(again.status_code == 304, "an unchanged catalogue is not sent again")
    keys = {key["kid"]: jwt.PyJWK(key) for key in registry.http.get("/.well-known/jwks.json").json()["keys"]}
    verify(told["host"]["trustManifest"], keys)
    for entry in told["entries"]:
        verify(entry["trustManifest"], keys)
        check(entry["trustManifest"]["identity"] == told["host"]["identifier"], "the site vouches")
        check(registry.http.get(entry["url"]).status_code == 200, f"the document is there: {entry['url']}")
    addresses = [entry["url"] for entry in told["entries"] if entry["type"] == "application/ai-registry+json"]
    check(addresses == [registry.url], f"the registry is named: {addresses}")
    return {"entries": [entry["identifier"] for entry in told["entries"]]}


def search(registry: Registry) -> dict:
    best = registry.search("add and multiply numbers")["results"][0]
    check(best["displayName"] == "calc", f"the calculator is found: {best}")
    check(best["type"] == A2A and best["source"] == registry.url, f"its first form: {best}")
    tools = registry.search("add and multiply numbers", {"type": [MCP]})["results"]
    check({result["type"] for result in tools} == {MCP}, f"the filter holds: {tools}")
    nobody = registry.search("add and multiply numbers", {"publisher": ["nobody.example"]})
    check(nobody["results"] == [], f"nobody publishes here: {nobody}")
    scalar = registry.search("add and multiply numbers", {"metadata.local": True, "tags": best["tags"]})
    check(scalar["results"][0]["displayName"] == "calc", f"scalars are values too: {scalar}")
    return {"score": best["score"]}


def pages(registry: Registry) -> dict:
    text = "what time is it, calculate this, and say it back to me"
    whole = [result["identifier"] for result in registry.search(text, pageSize=100)["results"]]
    found, token = [], None
    while True:
        page = registry.search(text, pageSize=1, **({"pageToken": token} if token else {}))
        found += [result["identifier"] for result in page["results"]]
        token = page.get("pageToken")
        if not token:
            break
    check(found == whole, f"pages hold the same as the whole: {found} {whole}")
    listed, token = [], None
    while True:
        page = registry.agents(pageSize=2, orderBy="displayName DESC", **({"pageToken": token} if token else {}))
        listed += [item["identifier"] for item in page["items"]]
        token = page.get("pageToken")
        if not token:
            break
    check(len(listed) == len(set(listed)) == page["total"], f"each once: {listed} of {page['total']}")
    return {"found": len(found), "listed": len(listed)}


def explore(registry: Registry) -> dict:
    facets = [{"field": "type"}, {"field": "publisher", "limit": 1}, {"field": "tags", "minCount": 1000}]
    told = registry.post("/explore", {"resultType": {"facets": facets}}, "ExploreResponse")["facets"]
    total = registry.agents(pageSize=1)["total"]
    counted = {bucket["value"]: bucket["count"] for bucket in told["type"]["buckets"]}
    check(sum(counted.values()) == total, f"every entry has one type: {counted} of {total}")
    check(told["tags"]["buckets"] == [], f"small buckets are left out: {told}")
    narrow = {"query": {"text": "add and multiply numbers", "filter": {"type": MCP}}, "resultType": {"facets": facets[:1]}}
    told = registry.post("/explore", narrow, "ExploreResponse")["facets"]
    check([bucket["value"] for bucket in told["type"]["buckets"]] == [MCP], f"the filter holds: {told}")
    return {"types": counted}


def listing(registry: Registry) -> dict:
    only = registry.agents(filter=f"type = '{A2A}' AND (displayName = 'CALC' OR displayName = 'nobody')")
    check([item["displayName"] for item in only["items"]] == ["calc"], f"the filter holds: {only}")
    check(registry.agents(filter="createdAfter > '2999-01-01'")["total"] == 0, "nothing is from the future")
    one = only["items"][0]
    response = registry.http.get("/agents/" + urllib.parse.quote(one["identifier"], safe=""))
    registry.valid(response.json(), "ai-catalog.schema.json#/$defs/catalogEntry")
    check(response.json() == one, "one entry is as it is in the list")
    check("etag" in response.headers, "it may be kept")
    return {"identifier": one["identifier"]}


def errors(registry: Registry) -> dict:
    wrong = "INVALID_ARGUMENT"
    said = [
        registry.refused(registry.http.post("/search", json=body), 400, wrong)
        for body in [
            {},
            {"query": {"text": ""}},
            {"query": {"text": "x", "more": 1}},
            {"query": {"text": "x", "filter": {"colour": "red"}}},
            {"query": {"text": "x"}, "federation": "everywhere"},
            {"query": {"text": "x"}, "pageSize": 1000},
            {"query": {"text": "x"}, "pageToken": "nonsense"},
        ]
    ]
    said.append(registry.refused(registry.http.post("/search", content=b"{"), 400, wrong))
    said.append(registry.refused(registry.http.post("/explore", json={}), 400, wrong))
    said.append(registry.refused(registry.http.get("/agents", params={"filter": "type ="}), 400, wrong))
    said.append(registry.refused(registry.http.get("/agents/nonsense"), 400, wrong))
    said.append(registry.refused(registry.http.get("/agents/urn%3Aair%3Anobody.example%3Aa%3Ab"), 404, "NOT_FOUND"))
    bad = {"Authorization": "Bearer ask_nobody_00000000"}
    response = registry.http.post("/search", json={"query": {"text": "x"}}, headers=bad)
    said.append(registry.refused(response, 401, "UNAUTHENTICATED"))
    check(all(said), "every refusal says what to do")
    return {"refused": len(said)}


def referrals(registry: Registry) -> dict:
    told = registry.search("anything", federation="referrals")["referrals"]
    check(all(one["type"] == "application/ai-registry+json" for one in told), f"registries are named: {told}")
    check("referrals" not in registry.search("anything", federation="none"), "only where they are asked for")
    return {"referrals": [one["url"] for one in told]}


def servers(registry: Registry) -> dict:
    first = registry.http.get("/v0.1/servers", params={"limit": 1}).json()
    cursor = first["metadata"]["nextCursor"]
    second = registry.http.get("/v0.1/servers", params={"limit": 100, "cursor": cursor}).json()
    names = [one["server"]["name"] for one in first["servers"] + second["servers"]]
    check(len(names) == len(set(names)) and names == sorted(names), f"each once, by name: {names}")
    for name in names:
        address = "/v0.1/servers/" + urllib.parse.quote(name, safe="") + "/versions/latest"
        server = registry.http.get(address).json()["server"]
        check(server["name"] == name and len(server["description"]) <= 100, f"{server}")
        card = registry.http.get(server["remotes"][0]["url"] + "/server-card")
        check(card.headers["content-type"] == MCP, f"{card.headers}")
        check(card.json()["name"] == name, f"the card is its own: {card.text}")
    return {"servers": names}


def rest(registry: Registry) -> dict:
    """Live answers of the REST interface are as the site's OpenAPI document says."""
    document = registry.http.get("/openapi.json").json()
    resource = referencing.jsonschema.DRAFT202012.create_resource(document)
    known = referencing.Registry().with_resource("https://site.invalid/openapi", resource)
    agent = registry.http.get("/api/agents").json()["agents"][0]["name"]
    entry = registry.agents(pageSize=1)["items"][0]["identifier"]
    server = registry.http.get("/v0.1/servers").json()["servers"][0]["server"]["name"]
    places = {"{identifier}": entry, "{agent}": agent, "{version}": "latest"}
    begun = registry.http.post("/api/conversations", json={"agent": "echo", "message": "hello"})
    conversation = begun.json()["conversation"]["id"]
    checked = []
    for path, item in document["paths"].items():
        # Rooms have stories of their own (crates/gateway/tests): they need members first.
        if path.startswith("/api/rooms"):
            continue
        # Streams have no end, and what is exported is no JSON.
        if path.startswith("/api/conversations") and path.endswith(("/events", "/export")):
            continue
        if "get" not in item or path.startswith(("/api/tasks/", "/api/outbox/", "/api/agents/{name}/tools", "/api/hub/", "/api/queries/")):
            continue
        name = agent if path.startswith("/api/agents") else server
        name = conversation if path.startswith("/api/conversations") else name
        address = path
        for place, value in (places | {"{name}": name, "{id}": name}).items():
            address = address.replace(place, urllib.parse.quote(value, safe=""))
        response = registry.http.get(address)
        check(response.status_code == 200, f"{address}: {response.status_code} {response.text}")
        [(media, content)] = item["get"]["responses"]["200"]["content"].items()
        check(response.headers["content-type"] == media, f"{address}: {response.headers['content-type']}")
        schema = {"$ref": "https://site.invalid/openapi" + content["schema"]["$ref"]}
        jsonschema.Draft202012Validator(schema, registry=known).validate(response.json())
        checked.append(path)
    found = registry.http.post("/api/find", json={"text": "add numbers", "limit": 2}).json()
    schema = {"$ref": "https://site.invalid/openapi#/components/schemas/Matches"}
    jsonschema.Draft202012Validator(schema, registry=known).validate(found)
    schema = {"$ref": "https://site.invalid/openapi#/components/schemas/BegunConversation"}
    jsonschema.Draft202012Validator(schema, registry=known).validate(begun.json())
    return {"checked": len(checked)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenarios")
    parser.add_argument("--url", required=True)
    parser.add_argument("--schemas", type=pathlib.Path)
    parser.add_argument("--key")
    given = parser.parse_args()
    registry = Registry(given.url, given.key, given.schemas)
    seen = {}
    for scenario in given.scenarios.split(","):
        try:
            seen[scenario] = globals()[scenario](registry)
        except Exception as error:
            print(f"{scenario}: {type(error).__name__}: {error}", file=sys.stderr)
            sys.exit(1)
    print(json.dumps(seen | {"validated": registry.validated}))


if __name__ == "__main__":
    main()
