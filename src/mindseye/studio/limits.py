"""What a request may cost, and who may ask.

Pure ASGI: a request that is refused costs nothing but its first line. Bodies are counted while they
come, whatever their header says, and kept in memory only.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mindseye.studio.engine import Engine

__all__ = ["HEADERS", "Limits"]

BODY = 8 * 2**20
"""The largest body, in bytes."""

_TOO_LARGE = f"A request may have {BODY:,} bytes."

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Sent with everything: the page may load its own files and nothing else."""


class TooLarge(Exception):
    """A body that is larger than it may be."""


class Limits:
    """Refuse strangers and what is too much, before anything is computed.

    Arguments:
        app: Who answers the rest.
        engine: Whose queue may be full.
        hosts: The names under which the server may be asked; any if empty. A page of somebody else
            that has its own name point here (DNS rebinding) is refused by it.
        patience: Seconds after which a request is given up, whatever it waits for.
        bodies: How many bodies may be on their way at once: they are kept in memory.
    """

    def __init__(
        self,
        app: ASGIApp,
        engine: Engine,
        hosts: Collection[str] = (),
        *,
        patience: float = 30.0,
        bodies: int = 8,
    ):
        self.app, self.engine, self.hosts = app, engine, frozenset(hosts)
        self.patience, self.bodies = patience, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        reply = _Reply(send)
        if refusal := self._refusal(scope, dict(scope["headers"])):
            return await reply.refuse(*refusal)
        if scope["method"] in ("GET", "HEAD"):
            return await self._attended(scope, receive, reply)
        self.bodies -= 1
        try:
            await self._received(scope, receive, reply)
        finally:
            self.bodies += 1

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        """Why a request is refused, if it is, by its head alone."""
        length = headers.get(b"content-length", b"0")
        if self.hosts and _host(headers.get(b"host", b"")) not in self.hosts:
            return 421, "This server is not asked under that name."
        if not length.isdigit() or int(length) > BODY:
            return 413, _TOO_LARGE
        if not scope["path"].startswith("/api/"):
            return None
        if headers.get(b"sec-fetch-site") == b"cross-site":
            return 403, "A page from elsewhere may not ask."
        waiting = scope["method"] not in ("GET", "HEAD") and self.bodies <= 0
        if self.engine.full or waiting:
            return 429, "Too many requests are waiting."
        return None

    async def _attended(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        """Answer as long as somebody waits: what a client asked who has left is not computed."""
        body, gone = [await receive()], asyncio.Event()

        async def replayed() -> Message:
            if body:
                return body.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        watching = asyncio.ensure_future(watch())
        try:
            await self._in_time(scope, replayed, reply, watching)
        finally:
            watching.cancel()

    async def _received(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        """Answer a request whose body is counted while it comes."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            reply.muted = seen > BODY  # whatever the application says to it, the answer is 413
            if reply.muted:
                raise TooLarge
            return message

        await self._in_time(scope, counted, reply)
        if reply.muted:
            reply.muted = False
            await reply.refuse(413, _TOO_LARGE)

    async def _in_time(
        self, scope: Scope, receive: Receive, reply: _Reply, *others: asyncio.Future[None]
    ) -> None:
        """Let the application answer until its time is over, or another future is done."""
        answering = asyncio.ensure_future(self.app(scope, receive, reply.send))
        try:
            done, _ = await asyncio.wait(
                {answering, *others},
                timeout=self.patience + 5,  # whoever waits for the engine is told by it
                return_when=asyncio.FIRST_COMPLETED,
            )
            if answering not in done:
                answering.cancel()
            with suppress(asyncio.CancelledError, TooLarge):
                await answering
        finally:
            answering.cancel()
        if not done:
            await reply.refuse(503, "The answer took too long.")


class _Reply:
    """An answer on its way, with our headers."""

    def __init__(self, send: Send):
        self._send, self.started, self.muted = send, False, False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if self.muted:
            return
        if message["type"] == "http.response.start":
            self.started = True
            known = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            message = {**message, "headers": [*message["headers"], *more]}
        await self._send(message)

    async def refuse(self, status: int, message: str) -> None:
        """Send a refusal, if nothing has been sent yet."""
        if self.started:
            return
        body = json.dumps({"message": message, "hint": ""}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        if status in (429, 503):
            headers.append((b"retry-after", b"1"))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _host(value: bytes) -> str:
    """The host of a header, without its port; nothing if it is not of that form."""
    found = re.fullmatch(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", value.decode("latin-1").lower())
    return found[1] if found else ""
