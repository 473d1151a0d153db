"""Links: probabilities that sum to one, and sums over all pairs against the plain ones."""

import itertools

import pytest
import torch
from torch.nn.functional import logsigmoid

from mindseye.distributions import links as module
from mindseye.distributions.links import Links
from mindseye.graphs import graph_of


def drawn(nodes: int = 7, size: int = 3, dtype: torch.dtype = torch.float64):
    return torch.randn(nodes, size, dtype=dtype, generator=torch.Generator().manual_seed(nodes))


def adjacency(links, nodes):
    matrix = torch.eye(nodes, dtype=torch.float64)
    matrix[links[:, 0], links[:, 1]] = matrix[links[:, 1], links[:, 0]] = 1
    return matrix


LINKS = graph_of(torch.tensor([[0, 1], [1, 2], [2, 5], [3, 6], [0, 6]])).links


def test_probabilities_of_all_matrices_sum_to_one():
    p = Links(drawn(2))
    every = itertools.product((0.0, 1.0), repeat=4)
    total = sum(p.log_prob(torch.tensor(a).view(2, 2)).exp() for a in every)
    assert total == pytest.approx(1, abs=1e-12)


def test_the_likelihood_of_a_graph_is_made_of_what_its_nodes_have():
    p = Links(drawn())
    present, absent = p.by_node(LINKS)
    assert (present + absent).sum() == pytest.approx(p.log_prob(adjacency(LINKS, 7)).item())


def test_every_node_has_the_sum_over_its_own_row():
    z = drawn()
    a, logits = adjacency(LINKS, 7), z @ z.T
    present, absent = Links(z).by_node(LINKS)
    torch.testing.assert_close(present, (a * logsigmoid(logits)).sum(1))
    torch.testing.assert_close(absent, ((1 - a) * logsigmoid(-logits)).sum(1))


@pytest.mark.parametrize("block", [1, 3, 4, 7, 100])
@pytest.mark.parametrize("alike", [True, False])
def test_gradients_are_those_of_differences_however_blocks_fall(monkeypatch, block, alike):
    monkeypatch.setattr(module, "BLOCK", block)
    z = drawn().requires_grad_()
    weights = torch.ones(7).double() if alike else torch.arange(7).double()
    assert torch.autograd.gradcheck(lambda z: (Links(z).by_node(LINKS)[1] * weights).sum(), (z,))


@pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
def test_blocks_cover_all_pairs_once(count):
    z = drawn(count, dtype=torch.float32)
    links = torch.empty(0, 2, dtype=torch.int64)
    _, absent = Links(z).by_node(links)
    logits = z @ z.T
    expected = (logsigmoid(-logits) * (1 - torch.eye(count))).sum(1)
    torch.testing.assert_close(absent, expected, rtol=1e-4, atol=1e-3)


def test_far_out_latents_have_finite_log_probabilities_and_gradients():
    z = (1e3 * drawn(dtype=torch.float32)).requires_grad_()
    present, absent = Links(z).by_node(LINKS)
    (present + absent).sum().backward()
    assert torch.isfinite(present).all()
    assert torch.isfinite(absent).all()
    assert torch.isfinite(z.grad).all()


def test_pairs_and_rows_have_the_same_log_odds():
    z = drawn()
    pairs = torch.cartesian_prod(torch.arange(7), torch.arange(7))
    for p in (Links(z), Links(z, score=lambda a, b: (a * b).cumsum(-1)[..., 1] ** 2)):
        rows = torch.stack([p.logits_of(node) for node in range(7)])
        torch.testing.assert_close(p.logits(pairs).view(7, 7), rows)


def test_draws_have_the_probabilities_of_their_log_odds():
    p = Links(0.7 * drawn(3))
    torch.manual_seed(0)
    share = p.sample(torch.Size([20_000])).mean(0)
    assert (share - (p.z @ p.z.T).sigmoid()).abs().max() < 0.015
