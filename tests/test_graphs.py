"""Graphs: what is cleaned, what is refused, and what is carried from node to node."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.errors import DataError, UsageError
from mindseye.graphs import Graph, graph_of, keys_of, normalised
from mindseye.sparse import Sparse

pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=50)
@given(pairs)
def test_links_are_the_set_of_pairs_of_different_nodes(drawn):
    graph = graph_of(torch.tensor(drawn), 9)
    expected = sorted({(min(p), max(p)) for p in drawn if p[0] != p[1]})
    assert [tuple(link) for link in graph.links.tolist()] == expected


@settings(deadline=None, max_examples=50)
@given(pairs)
def test_a_graph_of_its_own_links_is_the_same_and_clean(drawn):
    graph = graph_of(torch.tensor(drawn), 9)
    if len(graph.links):
        again = graph_of(graph.links, 9)
        assert torch.equal(again.links, graph.links)
        assert again.cleaned == ""


def test_what_was_left_out_is_counted():
    looped = torch.tensor([[0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 2]])
    assert graph_of(looped).cleaned == "2 self-loops and 2 repeated links were left out"
    assert graph_of(torch.tensor([[0, 0], [0, 1]])).cleaned == "1 self-loop was left out"


@pytest.mark.parametrize(
    ("rows", "nodes", "message"),
    [
        ([[0, 1], [2, 7]], 5, r"row 2 has the node 7, which is out of range; expected 0 to 4"),
        ([[0, 1], [-1, 2]], 5, r"row 2 has the node -1, which is out of range"),
        ([[0, 1, 2]], None, r"expected two nodes in every row"),
    ],
)
def test_a_node_out_of_range_is_named_with_its_row(rows, nodes, message):
    with pytest.raises(DataError, match=message):
        graph_of(torch.tensor(rows), nodes)


def test_no_links_are_no_graph():
    with pytest.raises(DataError, match="there are no links"):
        graph_of(torch.empty(0, 2, dtype=torch.int64), 3)


def test_isolated_nodes_stay_and_hear_themselves_alone():
    graph = graph_of(torch.tensor([[0, 1]]), 4)
    assert graph.facts()["isolated"] == 2
    around = normalised(graph.links, 4).dense()
    assert torch.equal(around[2:], torch.eye(4)[2:])


@settings(deadline=None, max_examples=50)
@given(pairs)
def test_the_normalised_matrix_is_the_paper_s(drawn):
    links = graph_of(torch.tensor(drawn), 9).links
    adjacency = torch.eye(9)
    adjacency[links[:, 0], links[:, 1]] = adjacency[links[:, 1], links[:, 0]] = 1
    root = torch.diag(adjacency.sum(1).rsqrt())
    around = normalised(links, 9)
    torch.testing.assert_close(around.dense(), root @ adjacency @ root)
    right = torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(around.transposed_product(right), around.dense().T @ right)


@settings(deadline=None, max_examples=50)
@given(pairs)
def test_a_pair_has_one_key_either_way_round_and_no_other_pair_has_it(drawn):
    both = torch.tensor(drawn)
    key = keys_of(both, 9)
    assert torch.equal(key, keys_of(both.flip(1), 9))
    assert len(key.unique()) == len({frozenset(pair) for pair in drawn})


def test_nodes_are_found_by_name_or_by_number():
    named = graph_of(torch.tensor([[0, 1]]), names=("ada", "bob"))
    assert named.node("bob") == 1
    assert named.name(0) == "ada"
    with pytest.raises(UsageError, match=r"no node is called 'bbo'") as caught:
        named.node("bbo")
    assert "bob" in caught.value.hint
    numbered = graph_of(torch.tensor([[0, 1]]))
    assert numbered.node("1") == 1
    with pytest.raises(UsageError, match=r"no node is called '2'; expected 0 to 1"):
        numbered.node("2")


def test_a_graph_goes_to_torch_geometric_and_comes_back():
    pytest.importorskip("torch_geometric")
    features = Sparse.of(
        torch.tensor([0, 2]), torch.tensor([1, 0]), (3, 2), torch.tensor([2.0, 3.0])
    )
    graph = graph_of(
        torch.tensor([[0, 1], [1, 2]]),
        features=features,
        labels=torch.tensor([0, 1, 1]),
        classes=("0", "1"),
    )
    data = graph.to_pyg()
    assert data.is_undirected()
    assert data.num_edges == 4
    back = Graph.from_pyg(data)
    assert torch.equal(back.links, graph.links)
    assert back.features is not None
    assert torch.equal(back.features.dense(), features.dense())
    assert back.labels is not None
    assert back.labels.tolist() == [0, 1, 1]
