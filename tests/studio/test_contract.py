"""The promise of /api/openapi.json, tried with what a fuzzer makes up."""

import pytest
import schemathesis

from mindseye.runs import Run
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf

ROUTES = [
    "GET /api/imagine",
    "GET /api/captions",
    "GET /api/paint",
    "GET /api/retrieve",
    "GET /api/hierarchy",
    "GET /api/experts",
    "POST /api/pictures",
    "GET /api/describe",
    "GET /api/between",
    "GET /api/traversals",
    "GET /api/latents",
    "GET /api/latents/traversals",
    "GET /api/latents/sheet",
    "GET /api/latents/film",
    "GET /api/latents/plane",
    "GET /api/latents/example",
    "GET /api/latents/known",
    "GET /api/parts",
    "GET /api/graph",
    "GET /api/graph/plane",
    "GET /api/graph/links",
    "GET /api/runs",
    "GET /api/runs/{name}",
    "GET /api/compare",
    "GET /api/tables",
    "GET /api/tables/{name}",
    "GET /api/tables/{name}/figures/{number}",
    "GET /api/models",
]


@pytest.fixture(scope="module")
def fuzz(script):
    """The benchmark that tries many thousands of requests; here it tries a few."""
    return script("benchmarks/fuzz_studio.py")


@pytest.fixture(scope="module")
def operations(opened, fuzz, tmp_path_factory):
    app = make_app(Shelf([opened], tmp_path_factory.mktemp("runs"), fuzz.TABLES))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    return {each.ok().label: each.ok() for each in schema.get_all_operations()}


@pytest.mark.parametrize("route", ROUTES)
def test_no_request_breaks_the_contract(operations, fuzz, route):
    codes = fuzz.tried(operations[route], 12)
    assert codes[429] == codes[503] == 0
    strange = ("example", "captions", "paint", "retrieve", "parts")
    missing = route.endswith(strange) or "graph" in route
    assert codes[200] or missing  # MNIST may not be here, and other models are not


@pytest.fixture(scope="module")
def painted_operations(painters):
    """The same of a model without words."""
    shelf = Shelf([Opened(Run(painters / "00000-mnist-flat"))], painters)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", make_app(shelf))
    return {each.ok().label: each.ok() for each in schema.get_all_operations()}


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if "{" not in route and "compare" not in route]
)
def test_no_request_breaks_it_where_there_are_no_words(painted_operations, fuzz, route):
    codes = fuzz.tried(painted_operations[route], 12)
    assert codes[429] == codes[503] == 0
    said = ("captions", "paint", "retrieve", "hierarchy", "experts", "describe")
    silent = route.endswith((*said, "parts")) or "graph" in route
    assert bool(codes[200]) != silent


def test_every_route_is_tried(operations):
    assert sorted(operations) == sorted(ROUTES)


def test_every_route_and_parameter_is_documented(client):
    found = client.get("/api/openapi.json").json()
    for path, methods in found["paths"].items():
        for method in methods.values():
            assert method["description"], path
            for parameter in method.get("parameters", []):
                assert parameter.get("description") or parameter["in"] == "path", (path, parameter)
