"""Flows for any trained model: the recipe of a run becomes that of flows beside its model."""

from __future__ import annotations

from dataclasses import replace

from mindseye.errors import UsageError, listed
from mindseye.objectives import get_objective
from mindseye.papers.cremer import SIZES, flows
from mindseye.papers.recipe import Recipe, Refit

__all__ = ["flowing"]


def flowing(
    recipe: Recipe, objective: str = "aggregate", couplings: int = 6, hidden: int = 0
) -> Recipe:
    """The recipe of flows beside the model of another recipe.

    Their training is that of the paper's recipes of the same size, by the end of the name.

    >>> from mindseye.papers.recipe import get_recipe
    >>> made = flowing(get_recipe("mnist-a/telbo-lean"))
    >>> made.name, made.model.flow, made.model.reads
    ('mnist-a/telbo-lean-aggregate', 6, 'q_x q_xy q_y')

    Arguments:
        recipe: Of a run whose model is trained.
        objective: aggregate or true-posterior.
        couplings: Of each flow.
        hidden: Width of their networks; 0 for that of the size.
    """
    trains = get_objective(objective).trains
    if recipe.model.flow:
        raise UsageError(
            f"{recipe.name} has flows already.", "Fit them to the run that it began with."
        )
    if recipe.model.kind not in trains:
        raise UsageError(
            f"flows cannot be fitted by {objective!r} to a model of `kind={recipe.model.kind!r}`;"
            f" expected {listed(trains)}.",
            "It needs one latent vector and words, or pictures, that are decoded from it.",
        )
    if couplings < 1:
        raise UsageError(f"`couplings={couplings}` is too few; expected 1 or more.")
    size = next((s for s in SIZES if s and recipe.name.endswith(f"-{s}")), "fast")
    training, width = flows(size, recipe.model.latent)
    reads = " ".join(sorted(recipe.fits))
    return replace(
        recipe,
        name=f"{recipe.name}-{objective}",
        about=f"Flows fitted to the latents of {recipe.name}.",
        model=replace(recipe.model, flow=couplings, flow_hidden=hidden or width, reads=reads),
        objectives=(objective,),
        weights={},
        training=replace(training, seed=recipe.training.seed),
        refit=Refit(),
        start="",
    )
