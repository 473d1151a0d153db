"""Data that may be at hand, and places where none is."""

import http.server
import io
import os
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor

from mindseye.data import raycast
from mindseye.data.camera import Scene, View

REAL = os.environ.get("MINDSEYE_DATA")


@pytest.fixture
def real(monkeypatch) -> Callable[[str], Path]:
    """A file of real data by its name, or the test is skipped."""

    def found(name: str) -> Path:
        path = next(Path(REAL).rglob(name), None) if REAL else None
        if path is None:
            pytest.skip(f"MINDSEYE_DATA does not hold {name}")
        monkeypatch.setenv("MINDSEYE_DATA", str(REAL))
        return path

    return found


@pytest.fixture
def nowhere(tmp_path, monkeypatch) -> Path:
    """An empty folder, and no data in any of the usual places."""
    monkeypatch.delenv("MINDSEYE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


class Mirror:
    """A web server on this machine that holds some files and remembers what was asked for."""

    def __init__(self, files: Mapping[str, bytes]):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.rsplit("/", 1)[-1]
                asked.append(name)
                self.send_response(200 if name in files else 404)
                self.send_header("Content-Length", str(len(files.get(name, b""))))
                self.end_headers()
                self.wfile.write(files.get(name, b""))

            def log_message(self, format, *args):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/files/"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def mirror(monkeypatch) -> Iterator[Callable[[Mapping[str, bytes]], Mirror]]:
    """Starts web servers of some files, by their names."""
    monkeypatch.setenv("no_proxy", "*")
    opened = []

    def start(files: Mapping[str, bytes]) -> Mirror:
        opened.append(Mirror(files))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def shares() -> Callable[[Scene, View], Tensor]:
    """Which share of the rays of a pixel meet each of up to three objects, `(B, 3, H, W)`.

    They are the pictures of a black table with a red, a green and a blue object, without light.
    """

    def dark(cast, things):
        view = cast.view
        return torch.zeros(len(cast.eye), 3, view.height, view.width)

    def plain(thing, others, cast, origin, ray, met):
        return [each[:, None, None].expand_as(met.near) for each in thing.colour.unbind(1)]

    def found(scene: Scene, view: View) -> Tensor:
        number = torch.eye(3)[: scene.place.shape[1]].expand(*scene.place.shape[:2], 3)
        with patch.object(raycast, "_table", dark), patch.object(raycast, "_shaded", plain):
            return raycast.render(scene._replace(colour=number), view)

    return found


class Old:
    """What Python 2 and numpy wrote of plain data, instruction by instruction."""

    def file(self, value: bytes) -> bytes:
        return b"\x80\x02" + value + b"."

    def whole(self, number: int) -> bytes:
        return b"J" + struct.pack("<i", number)

    def text(self, text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    def graph(self, neighbours: dict[int, list[int]]) -> bytes:
        parts = [
            self.whole(node) + b"](" + b"".join(map(self.whole, others)) + b"e"
            for node, others in neighbours.items()
        ]
        head = b"ccollections\ndefaultdict\nq\x01c__builtin__\nlist\nq\x02\x85Rq\x03"
        return head + b"(" + b"".join(parts) + b"u"

    def array(self, array: np.ndarray, place: int = 9) -> bytes:
        kind = array.dtype.str[1:].encode()
        dtype = b"cnumpy\ndtype\n" + self.text(kind) + b"K\x00K\x01\x87Rr" + b"\x63\1\0\0"
        dtype += b"(K\x03U\x01<NNN" + 2 * self.whole(-1) + b"K\x00tb"
        shape = b"(" + b"".join(map(self.whole, array.shape)) + b"t"
        data = array.tobytes()
        head = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        state = b"(K\x01" + shape + dtype + b"\x89T" + struct.pack("<I", len(data)) + data + b"t"
        return head + b"q" + bytes([place]) + state + b"b"

    def csr(self, matrix: np.ndarray) -> bytes:
        rows, columns = matrix.nonzero()
        starts = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int32)
        parts = {b"indptr": starts, b"indices": columns.astype(np.int32)}
        parts[b"data"] = matrix[rows, columns].astype(np.float32)
        items = b"".join(self.text(key) + self.array(value) for key, value in parts.items())
        shape = self.whole(len(matrix)) + self.whole(matrix.shape[1]) + b"\x86"
        head = b"cscipy.sparse.csr\ncsr_matrix\nq\x01)\x81q\x02}q\x03("
        return head + self.text(b"_shape") + shape + items + b"ub"


@pytest.fixture(scope="session")
def old() -> Old:
    """Writes files as Python 2 did."""
    return Old()


class Held:
    """A path whose file is held in memory: writing thousands of files takes long."""

    def __init__(self, data: bytes, name: str = "some.csv"):
        self.data, self.name = data, name

    def __str__(self) -> str:
        return self.name

    def open(self, mode: str = "r", encoding: str | None = None, newline: str | None = None):
        raw = io.BytesIO(self.data)
        return raw if mode == "rb" else io.TextIOWrapper(raw, encoding, newline=newline)


@pytest.fixture(scope="session")
def held() -> type[Held]:
    """Makes files of bytes that are on no disk."""
    return Held
