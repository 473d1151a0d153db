"""What a request may cost, and who may ask."""

from io import BytesIO

import numpy as np
import pytest
from starlette.testclient import TestClient

from mindseye.errors import UsageError
from mindseye.runs import BUILTIN, Run
from mindseye.studio.engine import Engine
from mindseye.studio.limits import BODY, HEADERS
from mindseye.studio.server import LOCAL, listening, make_app
from mindseye.studio.shelf import Opened, Shelf


def test_a_body_that_says_it_is_too_large_is_refused(client):
    answer = client.post("/api/pictures", content=b"\0" * (BODY + 1))
    assert answer.status_code == 413
    assert answer.json()["message"]


def test_a_body_that_does_not_say_how_large_it_is_is_counted(client):
    def endless():
        for _ in range(20):
            yield b"\0" * 2**20

    answer = client.post("/api/pictures", content=endless())
    assert answer.status_code == 413


@pytest.mark.parametrize("path", ["/", "/api/models", "/static/main.js", "/nowhere"])
def test_everything_forbids_what_the_page_does_not_need(client, path):
    headers = client.get(path).headers
    for name, value in HEADERS.items():
        assert headers[name] == value
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "",
        "127.0.0.1.evil",
        "127.0.0.1:evil",
        "[::1]evil",
        "[::1",
    ],
)
def test_a_stranger_to_whom_the_name_points_is_refused(client, host):
    assert client.get("/api/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST"])
def test_this_machine_is_known_by_its_names(opened, host):
    app = make_app(Shelf([opened]), hosts=LOCAL)
    with TestClient(app) as client:
        assert client.get("/api/runs", headers={"host": host}).status_code == 200


def test_a_page_from_elsewhere_may_not_make_it_compute(client):
    answer = client.get("/api/imagine", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    assert client.get("/api/runs", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_what_goes_wrong_has_our_headers_too(client, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("mindseye.studio.views.imagine.imagined", broken)
    answer = client.get("/api/imagine", params={"n": 1})
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]


def test_a_file_of_arrays_is_not_unpacked(client):
    file = BytesIO()
    np.savez_compressed(file, x=np.zeros((1, 4000, 4000), np.float32))
    answer = client.post("/api/pictures", content=file.getvalue())
    assert answer.status_code == 400
    assert "arrays" in answer.json()["message"]


def test_a_full_queue_answers_429_at_once_and_the_page_still_comes(opened):
    engine = Engine(room=0)
    with TestClient(make_app(Shelf([opened]), engine=engine)) as client:
        answer = client.get("/api/imagine")
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/").status_code == 200


def test_an_answer_that_takes_too_long_is_503(opened):
    engine = Engine(patience=0.01)
    shelf = Shelf([opened])
    assert shelf.opened("").mind  # reading it takes longer than the patience here
    with TestClient(make_app(shelf, engine=engine)) as client:
        answer = client.get("/api/imagine", params={"n": 64})
    assert answer.status_code == 503
    assert answer.headers["retry-after"]


def test_a_run_folder_can_bring_no_code(tmp_path):
    folder = tmp_path / "runs" / "00000-evil"
    folder.mkdir(parents=True)
    (folder / "recipe.json").write_bytes((BUILTIN / "mnist-a" / "recipe.json").read_bytes())
    (folder / "weights.safetensors").write_bytes(b"\x80\x04cos\nsystem\n")
    (folder / "sitecustomize.py").write_text("raise SystemExit")
    app = make_app(Shelf([Opened(Run(folder))], tmp_path / "runs"))
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/api/imagine")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("00000-evil/weights.safetensors")
    assert str(tmp_path) not in answer.text


def test_a_port_that_is_taken_says_so():
    with listening("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="cannot be used"):
        listening("127.0.0.1", taken.getsockname()[1])
