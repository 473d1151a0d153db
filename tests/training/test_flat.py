"""Flat storage: the same numbers in the same layouts, and addresses that point at gradients."""

from __future__ import annotations

import ctypes

import pytest
import torch
from torch import Tensor, nn

from mindseye.distributions import Flow
from mindseye.networks import Couplings
from mindseye.training.flat import Flat

BLOCK = 64


def network() -> nn.Sequential:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 5, bias=False), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 9)
    )
    nn.init.normal_(model[1].weight)
    model[1].running_mean.normal_()
    model[1].num_batches_tracked.fill_(7)
    return model.to(memory_format=torch.channels_last)


@pytest.fixture
def model() -> nn.Sequential:
    return network()


@pytest.fixture
def flat(model) -> Flat:
    return Flat(model, BLOCK, [model[3].weight], 0.1)


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


# Layout


def test_views_keep_shape_stride_and_numbers(flat):
    before = dict(network().named_parameters())
    for name, view in flat.views("weights").items():
        assert view.shape == before[name].shape
        assert view.stride() == before[name].stride()
        assert torch.equal(view, before[name])


def test_parameters_begin_at_blocks_and_do_not_overlap(flat):
    buffer = flat.buffers["weights"]
    sizes = {name: view.numel() for name, view in flat.views("weights").items()}
    starts = [view.storage_offset() for view in flat.views("weights").values()]
    assert all(start % BLOCK == 0 for start in starts)
    taken = [
        number
        for start, size in zip(starts, sizes.values(), strict=True)
        for number in range(start, start + size)
    ]
    assert len(set(taken)) == len(taken) == sum(sizes.values())
    assert len(buffer) == BLOCK * sum(-(-size // BLOCK) for size in sizes.values())


def test_the_module_looks_at_the_buffers(flat, model):
    with torch.no_grad():
        flat.views("compute")["3.bias"].fill_(2.0)
        flat.views("weights")["1.weight"].fill_(3.0)
        flat.statistics.fill_(4.0)
    assert (model[3].bias == 2).all()
    assert (model[1].weight == 3).all()
    assert (model[1].running_var == 4).all()
    assert model[1].num_batches_tracked == 7


def test_normalisations_stay_float32_while_others_compute_in_bfloat16(flat, model):
    kinds = {name: p.dtype for name, p in model.named_parameters()}
    assert kinds == {
        "0.weight": torch.bfloat16,
        "1.weight": torch.float32,
        "1.bias": torch.float32,
        "3.weight": torch.bfloat16,
        "3.bias": torch.bfloat16,
    }
    before = network()
    assert torch.equal(model[0].weight, before[0].weight.bfloat16())
    assert model[0].weight.stride() == before[0].weight.stride()
    assert torch.equal(model[1].weight, before[1].weight)


def test_weight_decay_stands_at_the_blocks_of_what_was_handed_in(flat):
    decay, at = flat.buffers["decay"], flat.names.index("3.weight")
    chosen = range(flat.starts[at], flat.starts[at] + flat.blocks[at])
    assert [bool(value) for value in decay] == [block in chosen for block in range(len(decay))]


def test_parameters_that_need_no_gradient_are_left_where_they_are():
    model = network()
    model[0].weight.requires_grad_(False)
    flat = Flat(model, BLOCK, [], 0.0)
    assert "0.weight" not in flat.names
    assert model[0].weight.dtype == torch.float32


def test_flows_keep_all_digits_where_weights_are_rounded():
    torch.manual_seed(0)
    model = nn.ModuleDict({"words": nn.Linear(3, 4), "flow": Couplings(5, hidden=8, context=4)})
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)
    z, y = torch.randn(16, 5), torch.randn(16, 4)
    before = Flow(model["flow"], y, size=5).log_prob(z)
    Flat(model, BLOCK, [], 0.0)
    assert model["words"].weight.dtype == torch.bfloat16
    assert torch.equal(Flow(model["flow"], y, size=5).log_prob(z), before)


def test_what_is_held_still_is_part_of_the_state(model):
    model[0].weight.requires_grad_(False)
    flat = Flat(model, BLOCK, [], 0.0)
    state = flat.live(copy=True)
    assert {n.removeprefix("model.") for n in state if n.startswith("model.")} == set(
        network().state_dict()
    )
    with torch.no_grad():
        model[0].weight.add_(1)
    flat.load(state)
    assert torch.equal(model[0].weight, network()[0].weight)


# State


def test_a_state_names_everything_that_a_step_changes(flat, model):
    model_names = {f"model.{name}" for name in network().state_dict()}
    parameters = dict(network().named_parameters())
    adam = {f"adam.{m}.{n}" for m in ("step", "exp_avg", "exp_avg_sq") for n in parameters}
    average = {f"ema.{name}" for name in network().state_dict()}
    assert flat.live().keys() == model_names | adam | average
    before = network().state_dict()
    for name, tensor in before.items():
        assert torch.equal(flat.live()[f"model.{name}"], tensor)
        assert torch.equal(flat.live()[f"ema.{name}"], tensor)


def disturb(flat: Flat) -> None:
    """Change every number that a step changes."""
    with torch.no_grad():
        for name in ("weights", "first", "second", "average", "compute", "steps"):
            flat.buffers[name].add_(1)
        for buffer in flat.model.buffers():
            buffer.add_(1)
        flat.averaged.add_(1)


def test_a_copy_stays_as_it_was(flat):
    copy = flat.live(copy=True)
    before = {name: tensor.clone() for name, tensor in copy.items()}
    disturb(flat)
    assert same(copy, before)
    assert not any(torch.equal(tensor, before[name]) for name, tensor in flat.live().items())


def test_what_is_live_follows(flat):
    live = flat.live()
    disturb(flat)
    now = flat.live()
    assert all(torch.equal(live[name], now[name]) for name in live if "adam.step" not in name)


def test_a_loaded_state_comes_back_exactly(flat, model):
    torch.manual_seed(1)
    with torch.no_grad():
        for name in ("weights", "first", "second", "average"):
            for view in flat.views(name).values():
                view.normal_()
        flat.buffers["steps"].copy_(flat._by_block(torch.arange(5.0)))
    state = flat.live(copy=True)
    disturb(flat)
    flat.load(state)
    assert same(flat.live(), state)
    assert torch.equal(model[3].weight, state["model.3.weight"].bfloat16())
    assert [flat.live()[f"adam.step.{name}"].item() for name in flat.names] == [0, 1, 2, 3, 4]


def test_a_state_of_any_layout_can_be_loaded(flat):
    state = flat.live(copy=True)
    contiguous = {name: tensor.contiguous() for name, tensor in state.items()}
    disturb(flat)
    flat.load(contiguous)
    assert same(flat.live(), state)
    assert flat.live()["model.0.weight"].stride() == network()[0].weight.stride()


def test_what_adam_does_not_know_yet_is_zero(flat):
    state = {n: t for n, t in flat.live(copy=True).items() if not n.startswith("adam.")}
    disturb(flat)
    flat.load(state)
    moments = [t for n, t in flat.live().items() if n.startswith("adam.")]
    assert all((tensor == 0).all() for tensor in moments)


def test_release_gives_the_float32_weights_back(flat, model):
    with torch.no_grad():
        flat.views("weights")["3.weight"].fill_(1.0009765625)  # rounds to 1 in bfloat16
    flat.refresh()
    assert (model[3].weight == 1).all()
    flat.release()
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert (model[3].weight == 1.0009765625).all()
    before = network().state_dict()
    assert model.state_dict().keys() == before.keys()
    assert torch.equal(model[0].weight, before["0.weight"])
    assert model[0].weight.stride() == before["0.weight"].stride()


# Gradients


def test_the_table_addresses_every_block_of_a_gradient(flat):
    gradients = [torch.randn_like(p, dtype=torch.float32) for p in flat.parameters]
    addresses, kinds, counts = flat.table(gradients)
    block = 0
    for gradient, count in zip(gradients, flat.blocks, strict=True):
        numbers = gradient.as_strided((gradient.numel(),), (1,))  # as they lie in memory
        for part in numbers.split(BLOCK):
            kind = ctypes.c_float * len(part)
            assert counts[block] == len(part)
            assert list(kind.from_address(int(addresses[block]))) == part.tolist()
            block += 1
        assert (kinds[block - count : block] == 1).all()
    assert block == len(addresses) == sum(flat.blocks)


def test_a_gradient_of_half_the_size_has_addresses_half_as_far_apart(flat):
    gradients = [torch.zeros_like(p, dtype=torch.bfloat16) for p in flat.parameters]
    addresses, kinds, _ = flat.table(gradients)
    assert (kinds == 2).all()
    assert addresses[0] == gradients[0].data_ptr()
    assert addresses[1] - addresses[0] == 2 * BLOCK


def test_a_missing_gradient_is_of_no_kind(flat):
    gradients = [torch.zeros_like(p, dtype=torch.float32) for p in flat.parameters]
    at = flat.names.index("3.weight")
    table = flat.table([None if i == at else g for i, g in enumerate(gradients)])
    missing = slice(flat.starts[at], flat.starts[at] + flat.blocks[at])
    assert (table[:, missing] == 0).all()
    assert (table[1] == 0).sum() == flat.blocks[at]
