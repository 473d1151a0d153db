"""The views: a view is one module here and one of the same name in `static/views`.

Each brings its routes, and says which models it can show. A new family adds its module and a line
below; it touches no other view.
"""

from __future__ import annotations

from mindseye.studio.views import (
    between,
    captions,
    describe,
    experts,
    graph,
    hierarchy,
    imagine,
    latents,
    parts,
    runs,
)
from mindseye.studio.views.view import View

__all__ = ["VIEWS", "View"]

VIEWS: tuple[View, ...] = (
    imagine.VIEW,
    captions.VIEW,
    hierarchy.VIEW,
    experts.VIEW,
    describe.VIEW,
    between.VIEW,
    latents.VIEW,
    parts.VIEW,
    graph.VIEW,
    runs.VIEW,
)
