"""Who may see a page: whoever has its address, which holds a random token. Others are refused before viser answers."""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from importlib import import_module
from typing import Any

REFUSED = (
    "Open the whole address that the script or `condyle view` showed: behind the port stands the token of this page.\n"
)
_starting = threading.Lock()


class Gate(str):
    """A host that viser serves at, with the token of the page. `shut`: whether requests are checked.

    viser has no option for this. It passes the host on as it is, so that no other server of the process is changed.
    """

    token: str
    shut: bool

    def __new__(cls, host: str) -> Gate:
        gate = super().__new__(cls, host)
        gate.token, gate.shut = secrets.token_urlsafe(16), False
        return gate

    def admits(self, path: str) -> bool:
        """Whether a request's path is the token; what follows a question mark is viser's."""
        return compare_digest(path.partition("?")[0].strip("/").encode(), self.token.encode())

    def check(self, answer: Callable[..., Any], connection: Any, request: Any) -> Any:
        """Answer a page or a web socket that has the token, whatever its Host and Origin, and refuse others."""
        if not self.admits(request.path):
            return connection.respond(HTTPStatus.FORBIDDEN, REFUSED)
        return answer(connection, dataclasses.replace(request, path="/"))


@contextmanager
def checked(gate: Gate) -> Generator[None, None, None]:
    """Within it, a server of web sockets that starts at this host asks for the token."""
    package: Any = import_module("websockets.asyncio.server")
    with _starting:
        serve = package.serve

        def start(*arguments: Any, **options: Any) -> Any:
            answer = options.get("process_request")
            if answer is not None and any(value is gate for value in arguments):
                options["process_request"] = partial(gate.check, answer)
                gate.shut = True
            return serve(*arguments, **options)

        package.serve = start
        try:
            yield
        finally:
            package.serve = serve
