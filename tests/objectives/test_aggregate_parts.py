"""A flow over the latents of wholes, where their aggregate is known and is no normal."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.distributions.normal import DiagonalNormal
from mindseye.models import FlowingParts
from mindseye.objectives import OBJECTIVES, fit_aggregate_of_parts

FAR, NEAR = 2.0, 0.5
WIDTH = math.hypot(FAR, NEAR)
BEST_NORMAL = -math.log(2 * math.pi * math.e * WIDTH**2)
"""E log p(z|w~) of the normal with the moments of the aggregate; two latents."""

TRUTH = -math.log(2 * math.pi * math.e * NEAR**2) - math.log(2)
"""Less the entropy of the aggregate, two modes that hardly meet."""


class Believer(nn.Module):
    """A model below whose p(z|w~) has the moments of the aggregate: the best normal there is."""

    vocabulary, shape, latent, part, summed = None, (1,), 2, 1, 1

    def p_z(self, total: Tensor) -> DiagonalNormal:
        zero = torch.zeros(len(total), 2)
        return DiagonalNormal(zero, zero + WIDTH)


def rows(count: int) -> Tensor:
    """z in one of two modes, along one diagonal or the other by the sum; and the sum, as read."""
    side, sign = (torch.randint(2, (count, 1)) * 2.0 - 1 for _ in range(2))
    z = FAR * sign * torch.cat([torch.ones_like(side), side], 1) + NEAR * torch.randn(count, 2)
    return torch.cat([z, side + 0.05 * torch.randn_like(side)], 1)


@pytest.fixture(scope="module")
def model() -> FlowingParts:
    torch.manual_seed(0)
    made, steps = FlowingParts(Believer(), 4, 32), 300
    adam = torch.optim.Adam(made.parameters(), 0.01)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    for _ in range(steps):
        loss = -fit_aggregate_of_parts(made, rows(256), None).value.mean()
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(made.parameters(), 10.0)
        adam.step()
        fall.step()
    return made.eval()


@torch.no_grad()
def terms(model: FlowingParts) -> dict[str, float]:
    torch.manual_seed(1)
    found = fit_aggregate_of_parts(model, rows(8192), None).terms
    return {name: values.mean().item() for name, values in found.items()}


def test_it_begins_at_the_best_normal():
    found = terms(FlowingParts(Believer(), 4, 32))
    assert found["log_qz_qzw"] == pytest.approx(found["log_pz_qzw"], abs=1e-5)
    assert found["log_qz_qzw"] == pytest.approx(BEST_NORMAL, abs=0.05)


def test_the_flow_gains_what_two_modes_are_worth_and_no_more(model):
    gain = TRUTH - BEST_NORMAL
    assert gain == pytest.approx(math.log(17 / 2))  # 2.14 nats
    found = terms(model)
    assert found["log_qz_qzw"] - found["log_pz_qzw"] == pytest.approx(gain, rel=0.07)
    assert found["log_qz_qzw"] < TRUTH + 0.03


@torch.no_grad()
def test_it_draws_the_modes_of_the_sum_it_is_told(model):
    torch.manual_seed(2)
    for side in (-1.0, 1.0):
        z = model.p_z(torch.full((4000, 1), side)).sample()
        along = (z[:, 0] + side * z[:, 1]) / 2
        across = (z[:, 0] - side * z[:, 1]) / 2
        assert across.std() < 0.6  # 0.35 in truth; the other way it is 2.03
        assert (along > 1).float().mean() == pytest.approx(0.5, abs=0.1)
        assert (along.abs() < 0.8).float().mean() < 0.06


@torch.no_grad()
def test_densities_are_one_in_all(model):
    edge = torch.linspace(-8, 8, 321)
    z = torch.cartesian_prod(edge, edge)
    density = model.p_z(torch.ones(1, 1)).log_prob(z).exp()
    assert_close(density.sum() * (edge[1] - edge[0]) ** 2, torch.tensor(1.0), rtol=0, atol=5e-3)


def test_the_order_of_the_batch_does_not_matter(model):
    some, order = rows(6), torch.randperm(6)
    one = fit_aggregate_of_parts(model, some, None).value
    two = fit_aggregate_of_parts(model, some[order], None).value
    assert_close(one[order], two, rtol=0, atol=1e-3)


def test_it_fits_what_is_believed_of_a_whole_and_has_no_weights():
    found = OBJECTIVES["aggregate-parts"]
    assert (found.fits, found.trains, found.weights) == ({"p_z"}, ("comp",), {})
