"""Data that may be at hand, and places where none is."""

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

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
