"""What is said of a coordinate reads all before it, and nothing else."""

import pytest
import torch
from torch import nn

from mindseye.networks import Autoregressive


def network(size=3, hidden=24, normals=4, seed=0):
    """A network that says something else of every latent."""
    torch.manual_seed(seed)
    made = Autoregressive(size, hidden, normals).double()
    nn.init.normal_(made.last.weight, std=0.3)
    return made


@pytest.mark.parametrize("hidden", [3, 5, 24])
def test_a_coordinate_depends_on_those_before_it_and_on_all_of_them(hidden):
    """However narrow the network was asked to be."""
    said = network(size=5, hidden=hidden)
    z = torch.randn(5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for k in range(3):
        slopes = torch.autograd.functional.jacobian(lambda z, k=k: said(z)[k], z)
        reads = slopes.abs().sum(1) > 0  # (D, D)
        assert torch.equal(reads, torch.ones(5, 5, dtype=torch.bool).tril(-1))


def test_one_by_one_it_says_the_same():
    said, z = network(), torch.randn(7, 3, dtype=torch.float64)
    at_once = said(z)
    for d, one in enumerate(said.one_by_one(z)):
        for k in range(3):
            assert torch.allclose(one[k], at_once[k][:, d])


def test_what_is_not_there_yet_is_not_read():
    """Coordinates that are filled in while they are asked for."""
    said, given = network(), torch.randn(7, 3, dtype=torch.float64)
    z, found = torch.zeros(7, 3, dtype=torch.float64), []
    for d, one in enumerate(said.one_by_one(z)):
        found.append(one[1])
        z[:, d] = given[:, d]
    assert torch.allclose(torch.stack(found, 1), said(given)[1])


def test_weights_are_normalised_and_deviations_positive_and_bounded():
    said = network()
    with torch.no_grad():
        said.last.bias.mul_(1e4)
    weight, _, log_scale = said(torch.randn(20, 3, dtype=torch.float64))
    assert torch.allclose(weight.exp().sum(-1), torch.ones(20, 3).double())
    assert log_scale.abs().max() <= 7
