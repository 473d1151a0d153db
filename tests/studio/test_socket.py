"""The studio behind a real socket: who leaves is forgotten, who stops it waits for answers."""

import http.client
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
import uvicorn

from mindseye.runs import BUILTIN, Run
from mindseye.studio.engine import Engine
from mindseye.studio.server import listening, make_app
from mindseye.studio.shelf import Opened, Shelf

COMMAND = [sys.executable, "-c", "from mindseye.cli import main; main()"]


@pytest.fixture
def served(opened):
    """An engine, and the port of a studio that uses it."""
    engine, at = Engine(), listening("127.0.0.1", 0)
    app = make_app(Shelf([opened]), engine=engine)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    yield engine, at.getsockname()[1]
    server.should_exit = True
    thread.join(10)
    at.close()


def held(engine) -> threading.Event:
    """Keep the engine busy until the event is set."""
    go, begun = threading.Event(), threading.Event()

    def wait():
        begun.set()
        go.wait(20)

    def hold():
        import asyncio

        asyncio.run(engine.run(wait))

    threading.Thread(target=hold, daemon=True).start()
    assert begun.wait(10)
    return go


def test_what_a_client_asked_who_left_is_not_computed(served):
    engine, port = served
    go = held(engine)
    for seed in range(5):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(f"GET /api/imagine?seed={seed} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            time.sleep(0.1)
    assert len(engine._waiting) < 5  # they have made room already
    time.sleep(0.3)
    assert not engine._waiting
    go.set()
    time.sleep(0.3)
    assert engine.answered == 1  # only the one that kept it busy


def test_whoever_connects_and_asks_nothing_is_hung_up_on(monkeypatch, served):
    """The server of `mindseye studio` does so after 20 seconds; here it is asked to after one."""
    from mindseye.studio import server

    monkeypatch.setattr(server._Punctual, "WAIT", 0.5)
    engine, at = served[0], listening("127.0.0.1", 0)
    app = make_app(Shelf([Opened(Run(BUILTIN / "mnist-a"))]), engine=engine)
    config = uvicorn.Config(app, log_level="warning", http=server._Punctual)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [at]}, daemon=True)
    thread.start()
    connection = http.client.HTTPConnection(*at.getsockname(), timeout=10)
    for _ in range(4):  # whoever asks again in time is not
        connection.request("GET", "/api/runs")
        assert connection.getresponse().read()
        sock = connection.sock
        time.sleep(0.3)
    assert connection.sock is sock
    connection.close()
    for begun in (b"", b"GET /api/models HT"):
        with socket.create_connection(at.getsockname(), timeout=10) as lazy:
            lazy.sendall(begun)
            assert lazy.recv(1) == b""
    running.should_exit = True
    thread.join(10)
    at.close()


def test_answers_do_not_wait_for_nagle(served):
    """Head and body leave at once: an answer that takes no time takes a few milliseconds."""
    _, port = served
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        waits = []
        for _ in range(20):
            started = time.perf_counter()
            connection.request("GET", "/api/runs")
            connection.getresponse().read()
            waits.append(time.perf_counter() - started)
    assert sorted(waits)[10] < 0.03


def test_a_client_that_does_not_read_blocks_nobody(served):
    _, port = served
    lazy = socket.create_connection(("127.0.0.1", port))
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    for _ in range(3):
        lazy.sendall(b"GET /api/traversals HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status(port, "/api/imagine?n=2") == 200
    lazy.close()


def status(port: int, path: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", path)
        with closing(connection.getresponse()) as answer:
            return answer.status


def test_a_stopped_studio_answers_first_what_it_was_asked(tmp_path):
    process, port = started(tmp_path)
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("GET", "/api/imagine?n=64&description=digit%3D4")
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        answer = connection.getresponse()
        assert answer.status == 200
        assert b'"n":64' in answer.read()
    _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors
    with pytest.raises(ConnectionRefusedError):
        status(port, "/api/runs")


def started(folder) -> tuple[subprocess.Popen[str], int]:
    """A studio in a process of its own, and its port."""
    process = subprocess.Popen(
        [*COMMAND, "studio", "--no-browser", "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
    assert status(port, "/api/runs") == 200
    return process, port


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_studio_ends_at_once_and_without_a_traceback(tmp_path, stop):
    process, _ = started(tmp_path)
    process.send_signal(stop)
    _, errors = process.communicate(timeout=20)
    assert process.returncode in (0, 130, -signal.SIGTERM)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "no run or built-in model is called 'nobody'"),
        (["--host", "203.0.113.7"], "cannot be used"),
        (["--port", "70000"], "less than or equal to 65535"),
    ],
)
def test_what_cannot_be_opened_is_one_line(tmp_path, words, message):
    found = subprocess.run(
        [*COMMAND, "studio", "--no-browser", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
