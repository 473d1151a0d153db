"""`mindseye describe`: what a picture shows."""

from __future__ import annotations

from typing import Annotated

import typer

from mindseye.cli.options import Device, Json, Model, Seed, chosen_device
from mindseye.cli.output import answer, print_json

__all__ = ["describe"]


def describe(
    pictures: Annotated[list[str], typer.Argument(help="Picture files: PNG, JPEG, …, .npy.")],
    model: Model = "mnist-a",
    invert: Annotated[
        bool, typer.Option("--invert", help="For dark ink on light paper: swap black and white.")
    ] = False,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Describe pictures: a probability for every value of every attribute.

    \b
    mindseye describe photo.png
    mindseye describe scan.jpg --invert --json
    """
    import torch

    from mindseye.pictures import read_picture
    from mindseye.runs import load

    mind = load(model, chosen_device(device))
    found = {}
    for path in pictures:
        x = torch.from_numpy(read_picture(path, mind.model.shape))
        found[path] = mind.describe(1 - x if invert else x, seed=seed)
    if json:
        return print_json(found)
    for path, attributes in found.items():
        answer(path)
        for name, values in attributes.items():
            _bars(name, values)


def _bars(name: str, values: dict[str, float]) -> None:
    """The three most probable values of an attribute, with bars."""
    best = sorted(values.items(), key=lambda pair: -pair[1])[:3]
    for i, (value, probability) in enumerate(best):
        length = round(20 * probability)
        label = name if i == 0 else ""
        answer(f"  {label:<12} {value:<14} {probability:6.1%}  {'█' * length}".rstrip())
