"""What `mindseye evaluate` has written about a model of a graph: how well it finds links."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mindseye.errors import DataError
from mindseye.files import read_json
from mindseye.runs import Run

__all__ = ["LinkScores", "link_scores_of"]

FILE = "links.json"

Shares = dict[str, float]


class _Kept(BaseModel):
    """A part of the file; whatever else stands there is left out."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Share(_Kept):
    """A share between 0 and 1, and its interval."""

    mean: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)


class LinkScores(_Kept):
    """How well held-out links are told from pairs without one."""

    part: str = Field(max_length=100, description="Of the links.")
    links: int = Field(ge=1, description="Held-out links; there are as many pairs without one.")
    scores: dict[str, Share] = Field(max_length=20, description="By measure: auc, ap, hits@100 …")
    beside: dict[str, Shares] = Field(
        max_length=20, description="The same of what needs no training."
    )
    chance: Shares = Field(max_length=20, description="Of scores drawn at random.")


def link_scores_of(run: Run) -> LinkScores | None:
    """What was written about a run; nothing if it was not evaluated."""
    file = run.path / FILE
    if not file.is_file():
        return None
    try:
        return LinkScores.model_validate(read_json(file))
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "its form"
        raise DataError(
            f"{file} is not of this version: `{field}` is wrong.",
            f"`mindseye evaluate {run.name}` writes it again.",
        ) from None
