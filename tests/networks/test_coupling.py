"""Couplings against their Jacobians and against themselves undone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from mindseye.networks import MLP, Couplings
from mindseye.networks.coupling import WIDEST, _Coupling, _Permutation


def shaken(size: int, context: int = 0, count: int = 6, seed: int = 0) -> Couplings:
    """Couplings of random weights, in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        couplings = Couplings(size, count, hidden=16, context=context).double()
        for weight in couplings.parameters():
            nn.init.normal_(weight, 0, 0.2)
    return couplings


def randn(*shape: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def context_of(couplings: Couplings, *shape: int) -> Tensor | None:
    return randn(*shape, couplings.context, seed=2) if couplings.context else None


# There and back


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 7), st.sampled_from([0, 1, 3]), st.integers(0, 6), st.integers(0, 2**31 - 1))
def test_what_is_undone_was_never_done(size, context, count, seed):
    couplings, noise = shaken(size, context, count, seed), randn(5, size, seed=seed)
    y = context_of(couplings, 5)
    z, there = couplings(noise, y)
    found, back = couplings.inverse(z, y)
    assert_close(found, noise, rtol=1e-9, atol=1e-9)
    assert_close(back, -there, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("context", [0, 2])
def test_the_log_determinants_are_those_of_the_jacobians(size, context):
    couplings, noise = shaken(size, context), randn(size)
    y = context_of(couplings)
    z, there = couplings(noise, y)
    _, back = couplings.inverse(z, y)
    forward = jacobian(lambda point: couplings(point, y)[0], noise)
    inverse = jacobian(lambda point: couplings.inverse(point, y)[0], z)
    assert_close(there, torch.linalg.slogdet(forward).logabsdet, rtol=0, atol=1e-9)
    assert_close(back, torch.linalg.slogdet(inverse).logabsdet, rtol=0, atol=1e-9)
    assert there.abs() > 0.01


# The beginning


@pytest.mark.parametrize("size", [1, 2, 5, 8])
@pytest.mark.parametrize("context", [0, 3])
def test_couplings_begin_as_a_permutation(size, context):
    couplings, noise = Couplings(size, context=context), torch.randn(4, size)
    y = torch.randn(4, context) if context else None
    z, log_det = couplings(noise, y)
    assert torch.equal(z.sort(-1).values, noise.sort(-1).values)
    assert (log_det == 0).all()


def test_every_weight_that_can_learn_does():
    couplings = Couplings(4, hidden=8, context=2)
    optimiser = torch.optim.SGD(couplings.parameters(), 0.01)
    for _ in range(4):  # a network of zeros passes nothing on before its last layer has moved
        optimiser.zero_grad()
        z, log_det = couplings(torch.randn(64, 4), torch.randn(64, 2))
        ((z - 1).square().sum(-1) + log_det.square()).mean().backward()
        optimiser.step()
    assert all(w.grad is not None and w.grad.abs().max() > 0 for w in couplings.parameters())


# Permutations


def orders(couplings: Couplings) -> list[Tensor]:
    return [step.order for step in couplings.steps if isinstance(step, _Permutation)]


@pytest.mark.parametrize("size", [3, 4, 5, 10, 64])
def test_permutations_bring_others_into_the_first_half(size):
    place, seen = torch.arange(size), []
    for order in orders(Couplings(size)):
        assert torch.equal(order.sort().values, torch.arange(size))
        place = place[order]
        seen.append(set(place[: size // 2].tolist()))
    assert len(seen) == 5
    assert set.union(*seen) == set(range(size)) or size > 10


def test_permutations_know_nothing_of_the_global_seed_and_leave_it_alone():
    torch.manual_seed(0)
    first = orders(Couplings(8))
    torch.manual_seed(1)
    second = orders(Couplings(8))
    assert all(map(torch.equal, first, second))
    torch.manual_seed(0)
    untouched = torch.rand(3)
    torch.manual_seed(0)
    _Permutation([1, 0])
    assert torch.equal(torch.rand(3), untouched)


def test_blank_couplings_take_weights_and_orders():
    full, noise = shaken(5, 2), randn(3, 5)
    with torch.device("meta"):
        blank = Couplings(5, hidden=16, context=2)
    assert all(tensor.is_meta for tensor in blank.state_dict().values())
    blank.load_state_dict(full.state_dict(), assign=True)
    y = context_of(full, 3)
    assert all(map(torch.equal, blank(noise, y), full(noise, y)))


# Shapes


def test_contexts_are_shared_by_samples():
    couplings, noise, y = shaken(3, 2), randn(4, 5, 3), randn(5, 2, seed=2)
    z, log_det = couplings(noise, y)
    for s in range(4):
        for b in range(5):
            alone, one = couplings(noise[s, b], y[b])
            assert_close(z[s, b], alone)
            assert_close(log_det[s, b], one)
    back, _ = couplings.inverse(z, y)
    assert_close(back, noise)


def test_noise_is_shared_by_contexts():
    couplings, noise, y = shaken(3, 2), randn(4, 1, 3), randn(5, 2, seed=2)
    z, log_det = couplings(noise, y)
    expected = couplings(noise.expand(4, 5, 3), y)
    assert torch.equal(z, expected[0])
    assert torch.equal(log_det, expected[1])
    assert couplings(noise[0, 0], y)[0].shape == (5, 3)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_leading_sizes_may_be_any(size, shape):
    z, log_det = shaken(size)(randn(*shape, size))
    assert (z.shape, log_det.shape) == ((*shape, size), shape)


def test_networks_are_given_rows():
    couplings, seen = shaken(3, 2), []
    for module in couplings.modules():
        if isinstance(module, MLP):
            module.register_forward_hook(lambda _, given, made: seen.append(given[0].ndim))
    couplings(randn(4, 5, 3), randn(5, 2))
    couplings.inverse(randn(3), randn(2))
    assert seen == [2] * 24


@pytest.mark.parametrize(
    ("noise", "given"), [((4, 3), None), ((4, 3), (4, 1)), ((4, 3), (2,)), ((4, 1), (4, 4))]
)
def test_wrong_sizes_are_refused(noise, given):
    y = None if given is None else randn(*given)
    with pytest.raises(RuntimeError, match="shape"):
        shaken(3, 4)(randn(*noise), y)


def test_a_context_that_nobody_reads_is_refused():
    with pytest.raises(RuntimeError, match="shape"):
        shaken(1)(randn(4, 1), randn(4, 2))


def test_no_number_is_read_back():
    with torch.device("meta"):
        couplings, noise, y = Couplings(5, context=2), torch.empty(4, 3, 5), torch.empty(3, 2)
        z, log_det = couplings(noise, y)
        back, _ = couplings.inverse(z, y)
        (back.sum() + log_det.sum()).backward()
    assert (back.shape, log_det.shape) == ((4, 3, 5), (4, 3))


# Bounds and single coordinates


def test_log_scales_are_bounded():
    couplings = shaken(4, count=6)
    for weight in couplings.parameters():
        weight.data *= 1000
    _, log_det = couplings(randn(50, 4))
    assert log_det.abs().max() <= 4 * 8 * WIDEST  # six couplings and two affine maps


def test_a_single_coordinate_listens_to_the_context():
    couplings, noise = shaken(1, 2), randn(4, 1)
    here, there = (couplings(noise, randn(2, seed=seed))[0] for seed in (3, 4))
    assert not torch.allclose(here, there)
    slope = here.diff(dim=0) / noise.diff(dim=0)
    assert_close(slope, slope[:1].expand(3, 1))  # the same scale for all that share a context


def test_a_single_coordinate_without_a_context_is_scaled_and_shifted():
    couplings = shaken(1)
    assert [type(step) for step in couplings.steps].count(_Coupling) == 6
    assert sum(weight.numel() for weight in couplings.parameters()) == 4
