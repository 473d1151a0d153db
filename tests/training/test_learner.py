from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mindseye.errors import UsageError
from mindseye.objectives.bound import Bound
from mindseye.training import Plan, Training
from mindseye.training.learner import Learner, Stream


class Quadratic(nn.Module):
    """One number to learn."""

    def __init__(self, start: float = 0.0):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([start], dtype=torch.float64))


def nearness(model, batch, beta):
    return Bound(-0.5 * (model.w - batch).square(), {})


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.Dropout(0.2), nn.Linear(16, 1))


def noisy(model, x, beta):
    value = -(model(x) - x.sum(-1, keepdim=True)).square().sum(-1)
    return Bound(value - beta * torch.rand(()), {"error": -value})


def batch(step):
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(step))


def taught(model, bound, batch, options, decayed=()) -> Learner:
    """A learner after all its steps."""
    learner = Learner(model, Plan([bound], batch, options), decayed)
    learner.advance(options.steps)
    return learner


def equal(one: nn.Module, two: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), two.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


# Steps.


def test_the_first_step_of_adam_goes_up_by_the_learning_rate():
    model = Quadratic()
    taught(model, nearness, lambda _: torch.tensor([5.0]), Training(steps=1, learning_rate=0.1))
    assert model.w.item() == pytest.approx(0.1)


def test_weight_decay_is_an_l2_penalty():
    # The maximum of -(w - 2)²/2 - λ w²/2 is 2/(1 + λ).
    model = Quadratic()
    options = Training(steps=800, learning_rate=0.05, schedule="cosine", weight_decay=0.25)
    taught(model, nearness, lambda _: torch.tensor([2.0]), options, [model.w])
    assert model.w.item() == pytest.approx(2 / 1.25, abs=1e-6)


def test_statistics_that_are_held_stay_and_normalise_every_picture_by_itself():
    seen = []

    def watched(model, x, beta):
        seen.append((model[:2](x).detach(), copy.deepcopy(model[:2]).eval()(x).detach()))
        return noisy(model, x, beta)

    model = network()
    before = copy.deepcopy(model[1].state_dict())
    taught(model, watched, batch, Training(steps=3, learning_rate=0.1, held=True))
    after = model[1].state_dict()
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert torch.equal(after[name], before[name])
    assert not torch.equal(after["weight"], before["weight"])  # weights are learnt nonetheless
    for trained, imagined in seen:
        assert torch.equal(trained, imagined)
    assert model[2].training  # the rest is as ever


def test_statistics_that_are_not_held_follow_the_batches():
    model = network()
    before = copy.deepcopy(model[1].state_dict())
    taught(model, noisy, batch, Training(steps=3, learning_rate=0.1))
    assert not torch.equal(model[1].running_mean, before["running_mean"])


def test_weight_decay_spares_the_parameters_that_were_not_handed_in():
    one, two = Quadratic(1.0), Quadratic(1.0)

    def idle(model, _, beta):
        return Bound(0 * (one.w + two.w), {})

    options = Training(steps=10, learning_rate=0.01, weight_decay=0.5)
    taught(nn.ModuleList([one, two]), idle, lambda _: None, options, [one.w])
    assert one.w.item() == pytest.approx(0.9, abs=1e-3)
    assert two.w.item() == 1.0


def test_a_loop_written_by_hand_gives_the_same_weights():
    options = Training(steps=25, learning_rate=0.01, clip=0.5, adam_betas=(0.5, 0.9), seed=4)
    ours, model = network(), network()
    taught(ours, noisy, batch, options)
    torch.manual_seed(4)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.5, 0.9), fused=True)
    for step in range(25):
        loss = -noisy(model, batch(step), 1.0).value.mean()
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        adam.step()
    assert equal(ours, model)


def test_parameters_that_need_no_gradient_stay():
    model = network()
    frozen = next(model.parameters()).requires_grad_(False)
    before = frozen.clone()
    taught(model, noisy, batch, Training(steps=5, learning_rate=0.1))
    assert torch.equal(before, frozen)


# State.


def test_a_state_is_a_copy_that_another_learner_goes_on_from():
    options = Training(steps=12, learning_rate=0.01, ema=0.9, clip=1.0)
    whole, ours = network(), network()
    last = taught(whole, noisy, batch, options).state()
    first = Learner(ours, Plan([noisy], batch, options))
    first.advance(5)
    state = first.state()
    first.advance(9)
    other = Learner(network(), Plan([noisy], batch, options))
    other.load(state, "a state")
    other.advance(12)
    assert equal(other.model, whole)
    assert state["counters"].tolist() == [5, 0, 0, 0, 5]
    assert all(torch.equal(tensor, last[name]) for name, tensor in other.state().items())


def test_kernels_in_channels_last_keep_their_layout_and_their_numbers():
    def convolution() -> nn.Module:
        torch.manual_seed(1)
        layer = nn.Conv2d(3, 5, 3, bias=False, dtype=torch.float64)
        return layer.to(memory_format=torch.channels_last)

    def size(model, step, beta):
        return Bound(-model(torch.ones(2, 3, 4, 4).double() * step).square().sum((1, 2, 3)), {})

    options = Training(steps=6, learning_rate=0.01, ema=0.9)
    learner = taught(convolution(), size, float, options)
    half = Learner(convolution(), Plan([size], float, options))
    half.advance(3)
    resumed = Learner(convolution(), Plan([size], float, options))
    resumed.load({name: tensor.contiguous() for name, tensor in half.state().items()}, "a file")
    resumed.advance(6)
    assert equal(resumed.model, learner.model)
    shaped = [tensor for tensor in resumed.state().values() if tensor.ndim == 4]
    assert len(shaped) == 4  # the weight, its two moments and its average
    assert all(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in shaped)


# Randomness.


def test_two_streams_take_turns_without_touching_each_other():
    torch.manual_seed(9)
    before = torch.get_rng_state()
    one, two = Stream(torch.device("cpu"), 1), Stream(torch.device("cpu"), 2)
    drawn = []
    for stream in (one, two, one, two):
        with stream:
            drawn.append(torch.rand(3))
    torch.testing.assert_close(torch.cat(drawn[::2]), _numbers(1), rtol=0, atol=0)
    torch.testing.assert_close(torch.cat(drawn[1::2]), _numbers(2), rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), before)


def _numbers(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([torch.rand(3, generator=generator) for _ in range(2)])


# Arguments.


def test_a_model_without_parameters_is_refused():
    with pytest.raises(UsageError, match="`model` has no parameter to train"):
        Learner(nn.ReLU(), Plan([noisy], batch, Training(steps=1)))


def test_weight_decay_needs_something_to_act_on():
    with pytest.raises(UsageError, match=r"`weight_decay` \(=0.01\) has nothing to act on"):
        Learner(network(), Plan([noisy], batch, Training(weight_decay=0.01)))


def test_parameters_of_another_model_cannot_be_decayed():
    options, others = Training(weight_decay=0.01), list(network().parameters())
    with pytest.raises(UsageError, match="`decayed` holds a parameter that `model` does not train"):
        Learner(network(), Plan([noisy], batch, options), others)
