"""Flows for any trained model: the recipe of a run becomes that of flows beside its model."""

from __future__ import annotations

from dataclasses import replace

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.objectives import Objective, get_objective
from mindseye.papers.cremer import NORMALS, SIZES, flows
from mindseye.papers.recipe import Recipe, Refit

__all__ = ["BASES", "flowing"]

BASES = {"autoregressive": NORMALS, "normal": 0}
"""What q(z) may begin with, and how many normals each coordinate of it has."""

ALIKE = {"aggregate": ("aggregate-parts",)}
"""Objectives that do for other models what one of a name does."""


def flowing(
    recipe: Recipe,
    objective: str = "aggregate",
    couplings: int = 6,
    hidden: int = 0,
    pictures: int | None = None,
    base: str | None = None,
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
        pictures: How many there are to fit to, where they may be few; they are seen less often
            then, by narrower networks.
        base: What q(z) begins with, one of `BASES`; None for the first where a q(z) is fitted.
    """
    fitting = [each for each in _objectives(objective) if recipe.model.kind in each.trains]
    if recipe.model.flow:
        raise UsageError(
            f"{recipe.name} has flows already.", "Fit them to the run that it began with."
        )
    if not fitting:
        raise _unfit(objective, recipe.model.kind)
    if couplings < 1:
        raise UsageError(f"`couplings={couplings}` is too few; expected 1 or more.")
    size = next((s for s in SIZES if s and recipe.name.endswith(f"-{s}")), "fast")
    seen = None if objective == "true-posterior" else pictures
    training, width = flows(size, recipe.model.latent, seen)
    reads = " ".join(sorted(recipe.fits))
    model = replace(recipe.model, flow=couplings, flow_hidden=hidden or width, reads=reads)
    return replace(
        recipe,
        name=f"{recipe.name}-{objective}",
        about=f"Flows fitted to the latents of {recipe.name}.",
        model=replace(model, normals=_normals(fitting[0].name, base)),
        objectives=(fitting[0].name,),
        weights={},
        training=replace(training, seed=recipe.training.seed),
        refit=Refit(),
        start="",
    )


def _normals(objective: str, base: str | None) -> int:
    """How many normals a coordinate of the base of q(z) has."""
    if objective != "aggregate":
        if base:
            raise UsageError(
                f"`base={base!r}` says nothing here: {objective!r} fits no q(z).",
                "Leave it out.",
            )
        return 0
    if base and base not in BASES:
        raise UsageError(
            f"`base={base!r}` is not known; expected {listed(BASES)}.",
            did_you_mean(base, BASES),
        )
    return BASES[base or "autoregressive"]


def _objectives(name: str) -> list[Objective]:
    """The objective of a name, and those that do the same for other models."""
    return [get_objective(each) for each in (name, *ALIKE.get(name, ()))]


def _unfit(objective: str, kind: str) -> UsageError:
    """That an objective fits no flows to models of a kind, and what does."""
    kinds = [kind for each in _objectives(objective) for kind in each.trains]
    hint = "It needs one latent vector and words, pictures or wholes that are decoded from it."
    if any(kind in each.trains for each in _objectives("aggregate")):
        hint = "Where its latents are can be learnt: --target aggregate."
    return UsageError(
        f"flows cannot be fitted by {objective!r} to a model of `kind={kind!r}`;"
        f" expected {listed(kinds)}.",
        hint,
    )
