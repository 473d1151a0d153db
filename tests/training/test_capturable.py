"""Steps can be captured as CUDA graphs, known without a GPU: they are taken on the device meta.

Tensors there have shapes and no numbers. Whatever would wait for numbers cannot be done, nor can
what mixes tensors of two devices, such as one that was forgotten on the CPU. A step is taken twice:
the second time no number may come from the host, which a graph that is being captured refuses.
"""

from __future__ import annotations

import pytest
import torch
from torch.overrides import TorchFunctionMode

from mindseye.objectives import Bound
from mindseye.papers import get_recipe
from mindseye.papers.flows import flowing
from mindseye.runs.making import batches
from mindseye.training.plan import Plan

NAMES = (
    "mnist/vae",
    "mnist/iwae-2l",
    "mnist/ladder",
    "mnist/m2",
    "mnist/dgm",
    "mnist-a/telbo",
    "mnist-a/jmvae",
    "mnist-a/bivcca",
    "mnist-a/scan",
    "mnist-a/telbo-flow",
    "two-objects/observer",
    "two-objects/vlvae",
    "two-objects/vlvae-joint",
    "two-objects/vlvae-agg",
    "two-objects/vlvae-mix",
    "two-objects/vlvae-true",
    "one-object/vlvae",
    "sines/compvae",
    "sites/compvae",
    "loads/compvae",
    "captioned-mnist/align",
    "captioned-pairs/align",
    "captioned-mnist/noalign",
    "captioned-mnist/draw",
    "captioned-mnist/conv",
    "captioned-mnist/align-sharp",
)


@pytest.fixture(autouse=True)
def _numberless(monkeypatch):
    """Let autocast be switched off for the device meta too, where there is none."""
    real = torch.autocast

    def autocast(device, *options, **named):
        return real("cpu" if device == "meta" else device, *options, **named)

    monkeypatch.setattr(torch, "autocast", autocast)


class NothingSent(TorchFunctionMode):
    """Let no tensor be made of numbers of the host on another device."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if func in SENDING and isinstance(found, torch.Tensor) and found.device.type != "cpu":
            here = not isinstance(args[0], torch.Tensor) or args[0].device.type == "cpu"
            assert not here, f"{func.__name__} sends numbers to {found.device}"
        return found


SENDING = {torch.tensor, torch.as_tensor, torch.Tensor.to, torch.Tensor.type_as}


def take(recipe, bounds):
    """Gradients of every bound, on a batch drawn by a number that is on the device."""
    model = recipe.build().to("meta").train()
    part = "observer" if recipe.model.kind == "observer" else "train"
    dataset = recipe.data.open(part).to("meta")
    plan = Plan(bounds, batches(recipe, dataset), recipe.training)
    number = torch.zeros((), dtype=torch.int64, device="meta")
    learnt = [p for p in model.parameters() if p.requires_grad]
    beta = torch.ones((), device="meta")
    for bound in bounds:
        bound(model, plan.drawn(number, 0, 1), beta)  # what is kept from then on may be sent now
        with NothingSent():
            found = bound(model, plan.drawn(number, 0, 1), beta)
            gradients = torch.autograd.grad(-found.value.mean(), learnt, allow_unused=True)
        yield gradients


def tiny(name):
    recipe = get_recipe(f"{name}-tiny")
    return recipe.with_settings({"data.source": "digits"} if "mnist" in recipe.data.name else {})


@pytest.mark.parametrize("name", NAMES)
def test_a_step_waits_for_no_number(name):
    recipe = tiny(name)
    for gradients in take(recipe, recipe.bounds):
        found = [gradient for gradient in gradients if gradient is not None]
        assert found
        assert {gradient.device.type for gradient in found} == {"meta"}


@pytest.mark.parametrize("name", ["sines/compvae", "sites/compvae"])
def test_a_step_of_the_flow_beside_a_model_of_parts_waits_for_no_number(name):
    recipe = flowing(tiny(name), couplings=2)
    (gradients,) = take(recipe, recipe.bounds)
    assert all(gradient is not None for gradient in gradients)


def test_a_step_that_waits_is_found():
    recipe = tiny("mnist/vae")

    def waiting(model, batch, beta):
        bound = recipe.bounds[0](model, batch, beta)
        return Bound(bound.value * bound.value.mean().item(), bound.terms)

    with pytest.raises(RuntimeError, match="item"):
        list(take(recipe, [waiting]))


def test_a_number_that_was_forgotten_on_the_cpu_is_found():
    recipe = tiny("mnist/vae")

    def forgetful(model, batch, beta):
        bound = recipe.bounds[0](model, batch, beta)
        return Bound(bound.value * torch.ones(len(bound.value)), bound.terms)

    with pytest.raises(RuntimeError, match="device"):
        list(take(recipe, [forgetful]))


def test_a_number_that_is_sent_in_every_step_is_found():
    recipe = tiny("mnist/vae")

    def sending(model, batch, beta):
        bound = recipe.bounds[0](model, batch, beta)
        return Bound(bound.value * torch.tensor([2.0], device="meta"), bound.terms)

    with pytest.raises(AssertionError, match="sends numbers"):
        list(take(recipe, [sending]))
