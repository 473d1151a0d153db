"""What a request may cost, and who may ask.

Pure ASGI: a request that is refused costs nothing but its first line. Bodies are counted while they
come, whatever their header says, and kept in memory only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mindseye.studio.engine import Engine

__all__ = ["HEADERS", "Limits", "TooLarge"]

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
    """

    def __init__(self, app: ASGIApp, engine: Engine, hosts: Collection[str] = ()):
        self.app, self.engine, self.hosts = app, engine, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        if self.hosts and _host(headers.get(b"host", b"")) not in self.hosts:
            return await _refuse(send, 421, "This server is not asked under that name.")
        if scope["path"].startswith("/api/") and self.engine.full:
            return await _refuse(send, 429, "Too many requests are waiting.", retry=1)
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > BODY:
            return await _refuse(send, 413, _TOO_LARGE)
        if scope["method"] == "GET":
            return await _attended(self.app, scope, receive, _with_headers(send))
        body = _Body(receive)
        await self.app(scope, body.receive, _with_headers(body.guarded(send)))


async def _attended(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
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

    answering = asyncio.ensure_future(app(scope, replayed, send))
    watching = asyncio.ensure_future(watch())
    try:
        await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering
    finally:
        watching.cancel()


class _Body:
    """A body that is counted while it comes; if it is too large, that is the answer."""

    def __init__(self, receive: Receive):
        self._receive, self.seen = receive, 0

    async def receive(self) -> Message:
        """The next part."""
        message = await self._receive()
        self.seen += len(message.get("body", b""))
        if self.seen > BODY:
            raise TooLarge
        return message

    def guarded(self, send: Send) -> Send:
        """The same answer, unless the body was too large: then whatever was said, it is 413."""
        refused = False

        async def sending(message: Message) -> None:
            nonlocal refused
            if self.seen <= BODY:
                await send(message)
            elif not refused:
                refused = True
                await _refuse(send, 413, _TOO_LARGE)

        return sending


def _host(value: bytes) -> str:
    """The host of a header, without its port."""
    text = value.decode("latin-1").lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def _with_headers(send: Send) -> Send:
    """The same answer with our headers."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, message: str, retry: int = 0) -> None:
    body = json.dumps({"message": message, "hint": ""}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if retry:
        headers.append((b"retry-after", b"%d" % retry))
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
