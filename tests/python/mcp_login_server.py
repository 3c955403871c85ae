"""A tool server on the official Python package that wants a login, with the package's own authorization server.

Prints `listening URL`; ends when its stdin closes. People consent by opening the address, at once; a client of its own
(`machine`, secret `machine-secret`) comes in without a person, which the package does not do by itself. For the tests:

    POST /control/expire    access tokens count no longer; refresh tokens do
    POST /control/revoke    no token counts any longer
    POST /control/deny      the next person who is asked says no
    GET  /control/seen      how often what happened, and every secret that was given out
"""

import os
import secrets
import socket
import sys
import threading
import time
from collections import Counter

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse

SCOPE = "notes"
LIFETIME = 3600

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(os.environ.get("MCP_PORT", "0"))))
listener.listen()
url = f"http://127.0.0.1:{listener.getsockname()[1]}"


class People(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}
        self.seen, self.secrets, self.deny = Counter(), [], False

    def secret(self, kind):
        made = f"{kind}-{secrets.token_hex(20)}"
        self.secrets.append(made)
        return made

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.seen["registered"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.seen["asked"] += 1
        if self.deny:
            self.deny = False
            raise AuthorizeError(error="access_denied", error_description="The person said no.")
        code = AuthorizationCode(
            code=self.secret("code"),
            scopes=params.scopes or [SCOPE],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state, iss=url)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        self.seen["exchanged"] += 1
        del self.codes[authorization_code.code]
        return self.tokens(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.seen["refreshed"] += 1
        del self.refresh[refresh_token.token]
        return self.tokens(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def tokens(self, client_id, scopes, resource, person=True):
        access = AccessToken(
            token=self.secret("access"),
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time()) + LIFETIME,
            resource=resource,
        )
        self.access[access.token] = access
        token = OAuthToken(access_token=access.token, expires_in=LIFETIME, scope=" ".join(scopes))
        if person:
            kept = RefreshToken(
                token=self.secret("refresh"), client_id=client_id, scopes=scopes, resource=resource
            )
            self.refresh[kept.token] = kept
            token.refresh_token = kept.token
        return token


people = People()
server = MCPServer(
    "notebook",
    auth_server_provider=people,
    auth=AuthSettings(
        issuer_url=url,
        resource_server_url=f"{url}/mcp",
        validate_token_resource=True,
        required_scopes=[SCOPE],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
    ),
)


@server.tool()
def note(text: str) -> str:
    """Notes something down."""
    return f"noted: {text}"


@server.custom_route("/control/{what}", methods=["GET", "POST"])
async def control(request: Request):
    what = request.path_params["what"]
    if what in ("expire", "revoke"):
        people.access.clear()
    if what == "revoke":
        people.refresh.clear()
    if what == "deny":
        people.deny = True
    return JSONResponse({**people.seen, "secrets": people.secrets})


inner = server.streamable_http_app()


async def app(scope, receive, send):
    """The package's own app, with the one grant that it lacks before it."""
    if scope["type"] != "http" or scope["path"] != "/token":
        return await inner(scope, receive, send)
    body, more = b"", True
    while more:
        piece = await receive()
        body, more = body + piece.get("body", b""), piece.get("more_body", False)

    async def again():
        return {"type": "http.request", "body": body, "more_body": False}

    form = await Request(scope, again).form()
    if form.get("grant_type") != "client_credentials":
        return await inner(scope, again, send)
    if (form.get("client_id"), form.get("client_secret")) != ("machine", "machine-secret"):
        answer = JSONResponse({"error": "invalid_client"}, status_code=401)
    else:
        people.seen["machine"] += 1
        token = people.tokens("machine", [SCOPE], form.get("resource"), person=False)
        answer = JSONResponse(token.model_dump(exclude_none=True))
    await answer(scope, again, send)


print(f"listening {url}", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
