"""How fast the studio answers, alone and in a crowd, and what a crowd costs a training beside it.

A server runs in a process of its own; clients are asyncio streams that keep their connection. Every
figure stands beside another of the same run: the request beside the bare model call, requests that
are answered together beside requests that are answered one by one.

    python benchmarks/studio.py
    python benchmarks/studio.py --seconds 60 --clients 32 --json studio.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import mindseye
from mindseye.figures import judged
from mindseye.provenance import provenance

SERVER = """
import sys
from mindseye.runs import BUILTIN, Run
from mindseye.studio.engine import Engine
from mindseye.studio.server import listening, make_app, serve
from mindseye.studio.shelf import Opened, Shelf
opened = Opened(Run(BUILTIN / "mnist-a"))
opened.mind.judge(opened.mind.imagine("", n=16))
at = listening("127.0.0.1", 0)
print(at.getsockname()[1], flush=True)
serve(make_app(Shelf([opened]), engine=Engine(together=int(sys.argv[1]))), at)
"""


def main() -> None:
    options = _options()
    report: dict[str, Any] = {"provenance": provenance("cpu"), "options": vars(options) | {}}
    report["options"]["json"] = None
    report["alone"] = alone()
    print(_told(report["alone"]), flush=True)
    for n in (options.pictures, 1):
        for together in (64, 1):
            with server(together) as port:
                found = asyncio.run(crowd(port, n, options.clients, options.seconds))
            way = "together" if together > 1 else "one by one"
            report[f"{options.clients} clients, {n} pictures, {way}"] = found
            print(f"{options.clients} clients, {n} pictures, {way}: {_told(found)}", flush=True)
    with server(64) as port:
        found = asyncio.run(slow_and_gone(port, options.seconds / 4))
    report["beside clients that are slow or leave"] = found
    print(f"beside clients that are slow or leave: {_told(found)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def alone(repeats: int = 40) -> dict[str, float]:
    """Milliseconds of 16 judged pictures: the bare calls, and the request around them."""
    mind = mindseye.load("mnist-a")

    def bare(seed: int) -> None:
        judged(mind, mind.imagined("digit=4, size=big", 16, seed))

    calls = [_timed(lambda seed=seed: bare(seed)) for seed in range(repeats)][5:]
    with server(64) as port:
        requests = asyncio.run(_requests(port, repeats))[5:]
    call, request = statistics.median(calls), statistics.median(requests)
    return {"model ms": 1e3 * call, "request ms": 1e3 * request, "ratio": request / call}


async def _requests(port: int, repeats: int) -> list[float]:
    client = await Client.to(port)
    found = []
    for seed in range(repeats):
        started = time.perf_counter()
        assert await client.get(_path(16, seed)) == 200
        found.append(time.perf_counter() - started)
    client.close()
    return found


async def crowd(port: int, n: int, clients: int, seconds: float) -> dict[str, Any]:
    """Requests a second, latencies and status codes of some clients that never rest."""
    stop = time.perf_counter() + seconds
    codes: Counter[int] = Counter()
    waits: list[float] = []

    async def one(number: int) -> None:
        client, seed = await Client.to(port), 0
        while time.perf_counter() < stop:
            started = time.perf_counter()
            code = await client.get(_path(n, 100_000 * number + seed))
            codes[code] += 1
            waits.append(time.perf_counter() - started)
            seed += 1
        client.close()

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    took = time.perf_counter() - started
    waits.sort()
    return {
        "requests/s": len(waits) / took,
        "pictures/s": n * codes[200] / took,
        "p50 ms": 1e3 * waits[len(waits) // 2],
        "p99 ms": 1e3 * waits[int(0.99 * len(waits))],
        "codes": dict(codes),
    }


async def slow_and_gone(port: int, seconds: float) -> dict[str, Any]:
    """What eight good clients get while others read nothing, or leave before their answer."""
    slow = [await Client.to(port) for _ in range(16)]
    for client in slow:
        client.ask(_path(64, 1))  # and never read
    leaving = asyncio.create_task(_leave(port, seconds))
    found = await crowd(port, 16, 8, seconds)
    await leaving
    for client in slow:
        client.close()
    return found


async def _leave(port: int, seconds: float) -> None:
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        client = await Client.to(port)
        client.ask(_path(16, 2))
        await asyncio.sleep(0.05)
        client.close()


class Client:
    """A connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Client:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    def ask(self, path: str) -> None:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    async def get(self, path: str) -> int:
        """The status of an answer, which is read to its end."""
        self.ask(path)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1])
            for line in head.split("\r\n")
            if line.lower().startswith("content-length")
        )
        await self.reader.readexactly(length)
        return int(head.split()[1])

    def close(self) -> None:
        self.writer.close()


@contextmanager
def server(together: int) -> Iterator[int]:
    """A studio that answers up to so many pictures by one call, and its port."""
    command = [sys.executable, "-c", SERVER, str(together)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def _path(n: int, seed: int) -> str:
    return f"/api/imagine?description=digit%3D4,size%3Dbig&n={n}&seed={seed}"


def _timed(call: Any) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _told(found: dict[str, Any]) -> str:
    return ", ".join(
        f"{k} {v:.1f}" if isinstance(v, float) else f"{k} {v}" for k, v in found.items()
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=32, help="how many ask at once")
    parser.add_argument("--pictures", type=int, default=16, help="pictures of a request")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long they ask")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
