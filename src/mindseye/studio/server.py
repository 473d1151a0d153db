"""All of the studio as one application, and the server that runs it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from mindseye.captions import Sentence
from mindseye.composing import Composer
from mindseye.concepts import Vocabulary
from mindseye.errors import MindseyeError, UsageError
from mindseye.painting import Painter
from mindseye.studio import schemas
from mindseye.studio.engine import Busy, Engine, Late, judges
from mindseye.studio.house import ERRORS, House, TheHouse
from mindseye.studio.limits import Limits
from mindseye.studio.shelf import Absent, Opened, Shelf
from mindseye.studio.views import VIEWS
from mindseye.studio.views.parts import kit_of
from mindseye.version import __version__

__all__ = ["LOCAL", "listening", "make_app", "serve"]

STATIC = Path(__file__).parent / "static"

LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself."""


def make_app(shelf: Shelf, *, engine: Engine | None = None, hosts: Collection[str] = ()) -> Limits:
    """The application.

    Arguments:
        shelf: The models that are open.
        engine: The thread they work in; a new one if not given.
        hosts: The names under which it may be asked; any if empty.
    """
    working = engine or Engine()
    house = House(shelf, working)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        working.start()
        yield
        working.close()
        house.close()

    app = FastAPI(
        title="mindseye studio",
        summary="Descriptions to pictures, pictures to descriptions.",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.house = house
    for view in VIEWS:
        app.include_router(view.router, tags=[view.name])
    _add_house(app)
    _add_complaints(app)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return Limits(app, engine=working, hosts=hosts)


def _add_house(app: FastAPI) -> None:
    """The page itself, and what it asks first."""

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(STATIC / "api.html")

    @app.get("/api/models", responses=ERRORS, tags=["house"])
    def models(house: TheHouse) -> schemas.Models:
        """All that is open, and all there is to see."""
        return schemas.Models(
            version=__version__,
            views=[schemas.ViewName(name=v.name, title=v.title, about=v.about) for v in VIEWS],
            models=[_model(house, name) for name in house.shelf.models],
        )


def _model(house: House, name: str) -> schemas.Model:
    opened = house.opened(name)
    if opened.is_graph:
        return _model_of_a_graph(opened)
    mind = opened.outline
    if isinstance(mind, Composer):
        return _model_of_parts(opened, mind)
    return schemas.Model(
        name=name,
        about=opened.run.recipe.about,
        vocabulary=_vocabulary(mind.vocabulary),
        pattern=mind.vocabulary.pattern if isinstance(mind.vocabulary, Sentence) else "",
        strokes=mind.strokes if isinstance(mind, Painter) else 0,
        kit=None,
        shape=mind.model.shape,
        latent=mind.model.latent,
        judged=judges(mind),
        reads="q_x" in mind.fits,
        bits=mind.draws_bits,
        builtin=opened.builtin,
        views=[view.name for view in VIEWS if view.shows(mind)],
    )


def _vocabulary(vocabulary: Vocabulary) -> list[schemas.Attribute]:
    """What can be said; words that several attributes share are sent once."""
    first: dict[tuple[str, ...], str] = {}
    made = []
    for name, values in ((each.name, tuple(each.values)) for each in vocabulary):
        like = "" if first.setdefault(values, name) == name else first[values]
        made.append(schemas.Attribute(name=name, values=[] if like else list(values), like=like))
    return made


def _model_of_parts(opened: Opened, composer: Composer) -> schemas.Model:
    return schemas.Model(
        name=opened.name,
        about=opened.run.recipe.about,
        vocabulary=[],
        kit=kit_of(opened),
        shape=composer.model.shape,
        latent=composer.model.latent,
        judged=False,
        reads=False,
        bits=False,
        builtin=opened.builtin,
        views=[view.name for view in VIEWS if view.shows_parts],
    )


def _model_of_a_graph(opened: Opened) -> schemas.Model:
    """A model that has no words and no pictures."""
    recipe = opened.run.recipe
    return schemas.Model(
        name=opened.name,
        about=recipe.about,
        vocabulary=[],
        kit=None,
        shape=None,
        latent=recipe.model.latent,
        judged=False,
        reads=False,
        bits=False,
        builtin=opened.builtin,
        nodes=recipe.data.shape[1],
        views=[view.name for view in VIEWS if view.shows_graphs],
    )


def _add_complaints(app: FastAPI) -> None:
    """What goes wrong is said in the same form everywhere; the unforeseen says nothing."""

    @app.exception_handler(MindseyeError)
    async def mistaken(request: Request, error: MindseyeError) -> JSONResponse:
        status, shelf = 404 if isinstance(error, Absent) else 400, request.app.state.house.shelf
        return _complaint(
            status, shelf.without_folders(error.message), shelf.without_folders(error.hint)
        )

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        name = str(first["loc"][-1])
        return _complaint(422, f"`{name}`: {first['msg']}.", "See /api/openapi.json.")

    @app.exception_handler(HTTPException)
    async def missing(_: Request, error: HTTPException) -> JSONResponse:
        return _complaint(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Busy)
    async def busy(_: Request, error: Busy) -> JSONResponse:
        return _complaint(429, "Too many requests are waiting.", headers={"retry-after": "1"})

    @app.exception_handler(Late)
    async def late(_: Request, error: Late) -> JSONResponse:
        return _complaint(503, "The answer took too long.", headers={"retry-after": "2"})

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> JSONResponse:
        return _complaint(500, "Something went wrong in the studio.", "Its terminal says what.")


def _complaint(
    status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    content = schemas.Complaint(message=message, hint=hint).model_dump()
    return JSONResponse(content, status, headers=dict(headers or {}))


def listening(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 takes any port that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Said to be TCP, so that asyncio sends at once; else every answer waits 40 ms for Nagle.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # whoever comes before the server is ready waits
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"`--host {host} --port {port}` cannot be used: {reason}.",
            "Try --port 0, which takes any port that is free.",
        ) from None
    return found


def serve(app: Limits, at: socket.socket) -> None:
    """Answer requests until somebody stops it; what is being computed is finished first."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=10,
        http=_Punctual,
        h11_max_incomplete_event_size=128 * 1024,
    )
    uvicorn.Server(config).run(sockets=[at])


class _Punctual(H11Protocol):
    """HTTP/1.1 that hangs up on whoever connects and asks nothing, or only half a question."""

    WAIT = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and may take some time to say what they want."""
        super().connection_made(transport)
        self._waiting_since = self.loop.time()
        self.loop.call_later(self.WAIT, self._hurry)

    def on_response_complete(self) -> None:
        """They have their answer, and may ask again."""
        self._waiting_since = self.loop.time()
        super().on_response_complete()

    def _hurry(self) -> None:
        if self.transport.is_closing():
            return
        left = self._waiting_since + self.WAIT - self.loop.time()
        if left <= 0 and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        else:
            self.loop.call_later(max(left, 0.1 * self.WAIT), self._hurry)
