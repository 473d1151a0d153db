"""`mindseye studio`: the page in a browser."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Annotated

import typer

from mindseye.cli.options import DataFolder, Device, Runs, chosen_device
from mindseye.cli.output import answer, note
from mindseye.errors import UsageError

__all__ = ["studio"]

PORT = 8765
"""Where the studio is if nobody says otherwise and nobody else is there."""


def studio(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Runs to open, by folder, name or number; all finished ones if none."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"The port; {PORT} or the next that is free."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open nothing.")
    ] = False,
    runs: Runs = "runs",
    tables: Annotated[
        str, typer.Option(help="The folder of tables that `mindseye reproduce` made.")
    ] = "reproduced",
    data: DataFolder = None,
    device: Device = "cpu",
) -> None:
    """Open the studio: imagine, describe and explore in a browser.

    \b
    mindseye studio
    mindseye studio runs/00001-mnist-a-telbo-lean
    mindseye studio --port 9000 --no-browser
    """
    try:
        from mindseye.studio.server import LOCAL, make_app, serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"The studio needs {error.name}, which is not installed.",
            "pip install 'mindseye[studio]'",
        ) from None
    from mindseye.runs import find
    from mindseye.studio.shelf import shelf_of

    named = [find(name, runs) for name in models or []]
    shelf = shelf_of(named, runs, chosen_device(device), data, tables)
    for opened in list(shelf.models.values())[: max(1, len(named))]:
        opened.check()  # a damaged model complains here, not in the browser
    host, everywhere = host.strip("[]"), host in ("0.0.0.0", "::")  # noqa: S104 compared, not bound
    name = "localhost" if everywhere else f"[{host}]" if ":" in host else host
    app = make_app(shelf, hosts=() if everywhere else {*LOCAL, name.lower()})
    at = _socket(host, port)
    local = not everywhere and ip_address(at.getsockname()[0]).is_loopback
    address = f"http://{name}:{at.getsockname()[1]}/"
    answer(f"The studio is at {address}")
    if not local:
        note("Anybody who reaches this machine can use it. There is no password.")
    note("Ctrl-C stops it.")
    if not no_browser:
        _open_soon(address)
    serve(app, at)


def _socket(host: str, port: int | None) -> socket.socket:
    """A socket at the port that was asked for, or at the first that is free."""
    from mindseye.studio.server import listening

    if port is not None:
        return listening(host, port)
    for candidate in range(PORT, PORT + 10):
        with suppress(UsageError):
            return listening(host, candidate)
    return listening(host, 0)


def _open_soon(address: str) -> None:
    """Open the browser once the server answers."""
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, [address]).start()
