"""Chains of latents against the joint normal that they are."""

import torch
from torch import Tensor
from torch.distributions import Independent, MultivariateNormal, Normal

from mindseye.distributions import Chain, diagonal_normal, standard_normal


def link(matrix: Tensor, scale: float):
    return lambda value: Independent(Normal(value @ matrix.T, scale), 1)


def linear(downwards: bool = False) -> tuple[Chain, MultivariateNormal]:
    """h_1 ~ N(0, I), h_2 = A h_1 + 0.5 ε, and the joint normal of both."""
    matrix = torch.tensor([[1.0, -0.5], [0.3, 2.0], [0.7, 0.1]])
    chain = Chain(standard_normal(torch.zeros(2)), [link(matrix, 0.5)], downwards=downwards)
    below = matrix @ matrix.T + 0.25 * torch.eye(3)
    top = torch.cat([torch.eye(2), matrix.T], 1)
    covariance = torch.cat([top, torch.cat([matrix, below], 1)])
    return chain, MultivariateNormal(torch.zeros(5), covariance)


def test_the_log_density_is_that_of_the_joint_normal():
    chain, joint = linear()
    torch.manual_seed(0)
    first, second = torch.randn(7, 2), torch.randn(7, 3)
    expected = joint.log_prob(torch.cat([first, second], 1))
    torch.testing.assert_close(chain.log_prob((first, second)), expected)


def test_a_chain_that_runs_down_has_its_last_layer_first():
    up, _ = linear()
    down, _ = linear(downwards=True)
    torch.manual_seed(0)
    first, second = torch.randn(7, 2), torch.randn(7, 3)
    torch.testing.assert_close(down.log_prob((second, first)), up.log_prob((first, second)))
    low, high = down.rsample((4,))
    assert (low.shape, high.shape) == ((4, 3), (4, 2))


def test_draws_have_the_covariance_of_the_joint_normal():
    chain, joint = linear()
    torch.manual_seed(0)
    drawn = torch.cat(chain.rsample((200_000,)), 1)
    error = (drawn.T.cov() - joint.covariance_matrix).abs().max()
    assert error < 0.04  # 5 / √200 000 times the largest variance, 4


def test_means_of_later_layers_are_means_over_draws():
    matrix = torch.tensor([[2.0, 0.0], [0.0, -1.0]])
    loc = torch.tensor([[1.0, 2.0], [-3.0, 0.5]])
    chain = Chain(diagonal_normal(loc, torch.full_like(loc, -3.0)), [link(matrix, 0.1)])
    torch.manual_seed(0)
    first, second = chain.means(2000)
    assert torch.equal(first, loc)
    torch.testing.assert_close(second, loc @ matrix.T, atol=0.01, rtol=0)


def test_a_chain_of_one_layer_is_that_layer():
    q = diagonal_normal(torch.randn(5, 3), torch.randn(5, 3))
    chain = Chain(q)
    (z,) = chain.rsample((2,))
    assert torch.equal(chain.log_prob((z,)), q.log_prob(z))
    assert torch.equal(chain.means(4)[0], q.mean)
