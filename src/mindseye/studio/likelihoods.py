"""What `mindseye evaluate` has written about a model of pictures: rate, distortion, activities."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mindseye.errors import DataError
from mindseye.files import read_json
from mindseye.runs import Run

__all__ = ["Estimate", "Likelihood", "likelihood_of"]

FILE = "likelihood.json"

UNITS = 2**16
"""No layer has more units."""


class _Kept(BaseModel):
    """A part of the file; whatever else stands there is left out."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Estimate(_Kept):
    """A mean and its interval, in nats a picture."""

    mean: float
    low: float
    high: float


class Likelihood(_Kept):
    """How probable a model finds pictures, and what it spends on saying so."""

    part: str = Field(max_length=100, description="Of the data.")
    k: int = Field(ge=1, description="Draws of the importance-weighted estimate, for a picture.")
    pictures: int = Field(ge=1)
    nll: Estimate = Field(description="-log p(x).")
    rate: Estimate = Field(description="KL(q(z|x) || p(z)).")
    distortion: Estimate = Field(description="-E log p(x|z).")
    activities: list[list[float]] = Field(
        max_length=64, description="The variance of every unit's expectation, layer by layer."
    )


def likelihood_of(run: Run) -> Likelihood | None:
    """What was written about a run; nothing if it was not evaluated."""
    file = run.path / FILE
    if not file.is_file():
        return None
    try:
        found = Likelihood.model_validate(read_json(file))
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"])) or "its form"
        raise DataError(
            f"{file} is not of this version: `{field}` is wrong.",
            f"`mindseye evaluate {run.name}` writes it again.",
        ) from None
    if any(len(layer) > UNITS for layer in found.activities):
        raise DataError(f"{file} has more than {UNITS:,} units in a layer.")
    return found
