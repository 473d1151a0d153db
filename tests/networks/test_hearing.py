"""Graph networks against torch_geometric's layers, and what they may not depend on."""

import pytest
import torch

from mindseye.data.own_graph import OwnGraph
from mindseye.graphs import Seen, graph_of, normalised
from mindseye.networks.hearing import GraphConvolutions, HadamardMLP, LinearHops
from mindseye.sparse import Sparse


def shown(nodes: int = 12, columns: int = 5) -> tuple[Seen, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    links = graph_of(torch.randint(nodes, (30, 2), generator=generator), nodes).links
    x = torch.randn(nodes, columns, generator=generator)
    rows, across = x.nonzero(as_tuple=True)
    around = normalised(links, nodes)
    features = Sparse.of(rows, across, (nodes, columns), x[rows, across])
    return Seen(features, (around, around), nodes), links


def test_two_layers_are_those_of_torch_geometric():
    nn = pytest.importorskip("torch_geometric.nn")
    seen, links = shown()
    ours = GraphConvolutions(5, 8, 3)
    both = torch.cat([links, links.flip(1)]).T
    first, last = nn.GCNConv(5, 8, bias=False), nn.GCNConv(8, 3, bias=False)
    first.lin.weight.data, last.lin.weight.data = ours.first.data.T, ours.last.data.T
    theirs = last(first(seen.features.dense(), both).relu(), both)
    torch.testing.assert_close(ours(seen), theirs)
    weights = torch.randn_like(theirs)
    (theirs * weights).sum().backward()
    (ours(seen) * weights).sum().backward()
    torch.testing.assert_close(ours.first.grad, first.lin.weight.grad.T)
    torch.testing.assert_close(ours.last.grad, last.lin.weight.grad.T)


@pytest.mark.parametrize("made", [GraphConvolutions, LinearHops])
def test_numbering_nodes_otherwise_only_reorders_what_is_told(made):
    seen, links = shown()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    network = made(5, 8, 3).eval()
    moved = order.argsort()[links]
    around = normalised(moved, 12)
    again = Seen(seen.features.rows(order), (around, around), 12)
    torch.testing.assert_close(network(again), network(seen)[order])


def test_features_are_dropped_in_training_alone():
    seen, _ = shown()
    network = LinearHops(5, 8, 3, drop=0.5)
    torch.manual_seed(0)
    assert not torch.equal(network(seen), network(seen))
    network.eval()
    assert torch.equal(network(seen), network(seen))


def test_a_link_has_the_same_log_odds_either_way_round():
    read, one, other = HadamardMLP(4, 6), torch.randn(9, 4), torch.randn(9, 4)
    assert torch.equal(read(one, other), read(other, one))


def test_who_is_further_than_two_hops_is_not_heard():
    path = graph_of(torch.tensor([[i, i + 1] for i in range(29)]))
    data = OwnGraph(path)
    around = normalised(path.links, 30)
    network = GraphConvolutions(30, 8, 3)
    told = network(Seen(data.features, (around, around), 30))
    (gradient,) = torch.autograd.grad(told[10].sum(), network.first)
    heard = gradient.abs().sum(1).nonzero()[:, 0].tolist()
    assert set(heard) <= set(range(8, 13))
    assert 10 in heard
