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
import tempfile
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


OVERLOAD = 400
"""Clients that ask for ten times what two cores can do; those beyond the queue are told to wait."""


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
        good = asyncio.run(crowd(port, 16, 8, options.seconds / 3))
        found = asyncio.run(slow_and_gone(port, options.seconds / 3))
    for name, each in (
        ("8 clients", good),
        ("8 clients beside slow ones and ones that leave", found),
    ):
        report[name] = each
        print(f"{name}: {_told(each)}", flush=True)
    with server(64) as port:
        found = asyncio.run(crowd(port, options.pictures, OVERLOAD, options.seconds))
    report[f"{OVERLOAD} clients"] = found
    print(f"{OVERLOAD} clients: {_told(found)}", flush=True)
    report["a training beside 32 clients"] = found = beside_training(options.seconds / 3)
    print(f"a training beside 32 clients: {_told(found)}", flush=True)
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
    """Answers a second, their latencies, and status codes, of some clients that never rest."""
    stop = time.perf_counter() + seconds
    codes: Counter[int] = Counter()
    waits: list[float] = []

    async def one(number: int) -> None:
        client, seed = await Client.to(port), 0
        while time.perf_counter() < stop:
            started = time.perf_counter()
            code = await client.get(_path(n, 100_000 * number + seed))
            codes[code] += 1
            seed += 1
            if code == 200:
                waits.append(time.perf_counter() - started)
            else:
                await asyncio.sleep(1)  # as the answer says
        client.close()

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    took = time.perf_counter() - started
    waits.sort()
    return {
        "answers/s": len(waits) / took,
        "pictures/s": n * codes[200] / took,
        "p50 ms": 1e3 * waits[len(waits) // 2],
        "p99 ms": 1e3 * waits[int(0.99 * len(waits))],
        "codes": dict(codes),
    }


async def slow_and_gone(port: int, seconds: float) -> dict[str, Any]:
    """What eight good clients get while others read nothing, or leave before their answer."""
    slow = [await Client.to(port) for _ in range(4)]
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


def beside_training(seconds: float) -> dict[str, float]:
    """Steps a second of a small training, alone and while 32 clients ask."""
    command = [sys.executable, "-c", "from mindseye.cli import main; main()", "train"]
    settings = ["source=digits", "steps=100000", "log_every=5", "checkpoint_every=100000"]
    words = ["mnist-a/telbo-lean", *(word for s in settings for word in ("--set", s))]
    with (
        tempfile.TemporaryDirectory() as home,
        subprocess.Popen([*command, *words], cwd=home, stderr=subprocess.DEVNULL) as training,
    ):
        log = Path(home) / "runs" / "00000-mnist-a-telbo-lean" / "log.jsonl"
        while not log.is_file() or not log.read_text():
            time.sleep(0.2)
        alone = _steps(log, seconds)
        with server(64) as port:
            before = time.perf_counter(), _step(log)
            asyncio.run(crowd(port, 16, 32, seconds))
            rate = (_step(log) - before[1]) / (time.perf_counter() - before[0])
        training.terminate()
    return {"steps/s alone": alone, "steps/s beside": rate, "ratio": rate / alone}


def _steps(log: Path, seconds: float) -> float:
    before = _step(log)
    time.sleep(seconds)
    return (_step(log) - before) / seconds


def _step(log: Path) -> int:
    return json.loads(log.read_text().strip().splitlines()[-1])["step"]


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
