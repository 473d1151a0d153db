"""The studio's API under a property-based fuzzer, for as many cases as you like.

Schemathesis makes requests up from /api/openapi.json; every answer must be of a documented status,
of the documented form, and never a server error. Half of the requests are meant: their model,
description, picture and body are real ones, so that they come as far as the networks.

    python benchmarks/fuzz_studio.py
    python benchmarks/fuzz_studio.py --cases 20000 --json fuzz.json
"""

from __future__ import annotations

import argparse
import base64
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mindseye.pictures import png_bytes
from mindseye.provenance import provenance
from mindseye.runs import BUILTIN, Run
from mindseye.studio.server import make_app
from mindseye.studio.shelf import Opened, Shelf

CHECKS = [
    not_a_server_error,
    response_schema_conformance,
    content_type_conformance,
    status_code_conformance,
]
SAID = ["", "digit=4", "4, big", "6, small, upright, top-left"]
FILE = png_bytes(np.zeros((1, 64, 64)))
PICTURE = base64.urlsafe_b64encode(FILE).decode()
TABLES = Path(__file__).parents[1] / "docs"
"""With a table in the folder results."""


def main() -> None:
    options = _options()
    app = make_app(Shelf([Opened(Run(BUILTIN / "mnist-a"))], tables=TABLES))
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    operations = [each.ok() for each in schema.get_all_operations()]
    asking = [each for each in operations if each.query or each.body or each.path_parameters]
    started, found = time.perf_counter(), {}
    for each in operations:
        cases = options.cases // len(asking) if each in asking else 1
        found[each.label] = tried(each, cases)
        print(f"{each.label:24} {dict(found[each.label])}", flush=True)
    total = sum(found.values(), Counter())
    seconds = time.perf_counter() - started
    print(f"{sum(total.values())} requests in {seconds:.0f} s, {_server_errors(total)} answers 5xx")
    if options.json:
        report: dict[str, Any] = {"provenance": provenance("cpu"), "seconds": seconds}
        report |= {"requests": sum(total.values()), "5xx": _server_errors(total), "codes": found}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def tried(operation: Any, cases: int, texts: Sequence[str] = SAID) -> Counter[int]:
    """Status codes of so many requests; the first that breaks the contract is an exception."""
    names = {parameter.name for parameter in operation.query}
    codes: Counter[int] = Counter()

    @seed(0)
    @settings(
        max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(), meant=st.booleans(), said=st.sampled_from(texts))
    def one(case: Any, meant: bool, said: str) -> None:
        if meant:
            known = _known(said)
            case.query = {**(case.query or {}), **{k: v for k, v in known.items() if k in names}}
            path = {"name": "mnist-a" if "/runs/" in operation.path else "results", "number": 0}
            case.path_parameters = {k: path[k] for k in case.path_parameters or {}}
            if operation.body:
                case.body = FILE
        answer = case.call()
        codes[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    one()
    return codes


def _known(said: str) -> dict[str, Any]:
    """Parameters that mean something."""
    pictures = dict.fromkeys(("picture", "start_picture", "end_picture"), PICTURE)
    texts = dict.fromkeys(("description", "start", "end", "before"), said)
    here = {"model": "", "models": ["mnist-a"], "axes": "words", "place": "", "moved": ""}
    here |= {"node": "3"}
    return {**here, **pictures, **texts}


def _server_errors(codes: Counter[int]) -> int:
    return sum(count for code, count in codes.items() if code >= 500)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000, help="how many requests, about")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
