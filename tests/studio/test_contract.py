"""The promise of /api/openapi.json, tried with what a fuzzer makes up."""

import base64
from collections import Counter

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mindseye.pictures import png_bytes
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Shelf

CHECKS = [
    not_a_server_error,
    response_schema_conformance,
    content_type_conformance,
    status_code_conformance,
]
SAID = ["", "digit=4", "4, big", "6, small, upright, top-left"]
PICTURE = base64.urlsafe_b64encode(png_bytes(np.zeros((1, 64, 64)))).decode()
ROUTES = [
    "GET /api/imagine",
    "GET /api/hierarchy",
    "GET /api/experts",
    "POST /api/pictures",
    "GET /api/describe",
    "GET /api/between",
    "GET /api/traversals",
    "GET /api/runs",
    "GET /api/runs/{name}",
    "GET /api/compare",
    "GET /api/models",
]


@pytest.fixture(scope="module")
def operations(opened, tmp_path_factory):
    app = make_app(Shelf([opened], tmp_path_factory.mktemp("runs")))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    return {each.ok().label: each.ok() for each in schema.get_all_operations()}


@pytest.mark.parametrize("route", ROUTES)
def test_no_request_breaks_the_contract(operations, route):
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operations[route].as_strategy(), meant=st.booleans(), said=st.sampled_from(SAID))
    def tried(case, meant, said):
        if meant:  # so that half of the requests come as far as the model
            known = {"model": "", "models": ["mnist-a"], "description": said, "picture": PICTURE}
            case.query = {**(case.query or {}), **{k: v for k, v in known.items() if k in names}}
        answer = case.call()
        found[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    found: Counter[int] = Counter()
    names = {parameter.name for parameter in operations[route].query}

    tried()
    assert found[429] == found[503] == 0
    if route not in ("GET /api/runs/{name}", "POST /api/pictures"):
        assert found[200]


def test_every_route_is_tried(operations):
    assert sorted(operations) == sorted(ROUTES)


def test_every_route_and_parameter_is_documented(client):
    found = client.get("/api/openapi.json").json()
    for path, methods in found["paths"].items():
        for method in methods.values():
            assert method["description"], path
            for parameter in method.get("parameters", []):
                assert parameter.get("description") or parameter["in"] == "path", (path, parameter)
