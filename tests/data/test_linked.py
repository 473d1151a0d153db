"""Links divided, hidden and drawn: nothing leaks, everything is a function of its number."""

import pytest
import torch

from mindseye.data import Data
from mindseye.data.karate import karate_club
from mindseye.data.linked import divided, pairs_apart
from mindseye.data.own_graph import OwnGraph
from mindseye.data.surroundings import Neighbours, surroundings
from mindseye.errors import DataError, UsageError
from mindseye.graphs import AllPairs, Pairs, graph_of, keys_of, normalised


def drawn_graph(nodes: int = 60, links: int = 240, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    return graph_of(torch.randint(nodes, (links, 2), generator=generator), nodes)


def keys(graph, pairs):
    return set(keys_of(pairs, graph.nodes).tolist())


@pytest.mark.parametrize("seed", range(5))
def test_every_link_is_in_one_part_and_a_tenth_and_a_twentieth_are_held_out(seed):
    graph = drawn_graph(seed=seed)
    train, held_out = divided(graph, seed)
    count = len(graph.links)
    parts = [keys(graph, part) for part in (train, *(held_out[p].linked for p in held_out))]
    assert set.union(*parts) == keys(graph, graph.links)
    assert sum(map(len, parts)) == count
    assert len(held_out["test"].linked) == count // 10
    assert len(held_out["validation"].linked) == count // 20


@pytest.mark.parametrize("seed", range(5))
def test_pairs_apart_are_no_links_no_loops_and_none_comes_twice(seed):
    graph = drawn_graph(seed=seed)
    held_out = divided(graph, seed).held_out
    apart = torch.cat([part.apart for part in held_out.values()])
    assert len(keys(graph, apart)) == len(apart) == count_of(held_out)
    assert not keys(graph, apart) & keys(graph, graph.links)
    assert (apart[:, 0] != apart[:, 1]).all()


def count_of(held_out):
    return sum(len(part.linked) for part in held_out.values())


def test_pairs_apart_are_uniform_over_all_there_are():
    graph = graph_of(torch.tensor([[0, 1], [2, 3]]), 5)
    drawn = torch.cat([pairs_apart(graph.links, 5, 4, seed, "test") for seed in range(2000)])
    share = torch.bincount(keys_of(drawn, 5), minlength=25).double() / len(drawn)
    there = share[share > 0]
    assert len(there) == 8  # of ten pairs two are linked
    assert there.sub(1 / 8).abs().max() < 0.015


def test_another_seed_divides_otherwise_and_the_same_one_alike():
    graph = drawn_graph()
    assert torch.equal(divided(graph, 3).train, divided(graph, 3).train)
    assert not torch.equal(divided(graph, 3).train, divided(graph, 4).train)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (graph_of(torch.tensor([[0, 1], [1, 2]])), "the graph has 2 links; a twentieth"),
        (graph_of(torch.combinations(torch.arange(8))), "the graph is too dense"),
    ],
)
def test_a_graph_of_which_nothing_can_be_held_out_is_refused(graph, message):
    with pytest.raises(DataError, match=message):
        divided(graph)


def test_what_is_seen_are_training_links_alone():
    data = OwnGraph(drawn_graph(), "test", split_seed=2)
    seen = data.seen.hops[0].dense()
    held_out = torch.cat([part.linked for part in data.division.held_out.values()])
    assert (seen[held_out[:, 0], held_out[:, 1]] == 0).all()
    train = data.division.train
    assert (seen[train[:, 0], train[:, 1]] > 0).all()


def test_all_pairs_are_asked_about_where_nothing_is_hidden():
    data = OwnGraph(drawn_graph())
    batch = data.batch(7, 1)
    assert isinstance(batch.y, AllPairs)
    assert torch.equal(batch.y.links, data.train)


@pytest.mark.parametrize("step", [0, 1, 50])
def test_hidden_links_are_asked_about_and_never_heard_over(step):
    data = OwnGraph(drawn_graph(), masked=0.4, seed=3)
    seen, asked = data.batch(step, 1)
    assert isinstance(asked, Pairs)
    around = seen.hops[0].dense()
    assert len(asked.linked) == len(asked.apart) == round(0.4 * len(data.train))
    assert (around[asked.linked[:, 0], asked.linked[:, 1]] == 0).all()
    entries = int((around > 0).sum()) - data.graph.nodes
    assert entries == 2 * (len(data.train) - len(asked.linked))


def test_hidden_links_differ_from_step_to_step_and_all_have_their_turn():
    data = OwnGraph(drawn_graph(), masked=0.5)
    each = [keys(data.graph, data.batch(step, 1).y.linked) for step in range(20)]
    assert each[0] != each[1]
    assert set.union(*each) == keys(data.graph, data.train)


def test_in_training_a_held_out_link_may_be_drawn_as_a_pair_apart():
    data = OwnGraph(drawn_graph(nodes=14, links=70), masked=0.5)
    held_out = keys(data.graph, data.division.held_out["test"].linked)
    drawn = set.union(*(keys(data.graph, data.batch(step, 1).y.apart) for step in range(40)))
    assert held_out <= drawn
    assert not drawn & keys(data.graph, data.train)


@pytest.mark.parametrize("options", [{}, {"masked": 0.5}, {"masked": 0.5, "fanout": 3}])
def test_a_batch_is_a_function_of_its_number(options):
    one, other = (OwnGraph(drawn_graph(), seed=5, **options).batch(9, 8) for _ in range(2))
    right = torch.randn(one.x.features.width, 2)
    for hop_one, hop_other in zip(one.x.hops, other.x.hops, strict=True):
        assert torch.equal(hop_one.dense(), hop_other.dense())
    assert torch.equal(one.x.features @ right, other.x.features @ right)
    assert all(torch.equal(a, b) for a, b in zip(one.y, other.y, strict=True))


# Surroundings


def carried(seen, known):
    for hop in seen:
        known = hop @ known
    return known


@pytest.mark.parametrize("fanout", [1000, 60])
def test_with_room_for_all_neighbours_surroundings_are_exact(fanout):
    graph = drawn_graph()
    known, asked = torch.randn(60, 4), torch.tensor([3, 17, 40])
    heard, hops = surroundings(Neighbours.of(graph.links, 60), asked, fanout, 2, seed=1)
    around = normalised(graph.links, 60)
    torch.testing.assert_close(carried(hops, known[heard]), (around @ (around @ known))[asked])


def test_without_some_links_surroundings_are_those_of_the_graph_without_them():
    graph = drawn_graph()
    gone, left = graph.links[::7], graph.links[[i for i in range(len(graph.links)) if i % 7]]
    known, asked = torch.randn(60, 4), torch.arange(60)
    neighbours = Neighbours.of(graph.links, 60)
    heard, hops = surroundings(neighbours, asked, 100, 2, seed=1, without=gone)
    around = normalised(left, 60)
    torch.testing.assert_close(carried(hops, known[heard]), around @ (around @ known))


def test_drawn_neighbours_are_right_on_average():
    graph = drawn_graph(nodes=40, links=400)
    known, asked = torch.randn(40, 3), torch.arange(40)
    neighbours = Neighbours.of(graph.links, 40)
    sums = torch.zeros(40, 3)
    for seed in range(400):
        heard, hops = surroundings(neighbours, asked, 5, 1, seed=seed)
        assert hops[0].counts.max() <= 6
        sums += carried(hops, known[heard])
    exact = normalised(graph.links, 40) @ known
    assert (sums / 400 - exact).abs().max() < 0.08


@pytest.mark.parametrize(("masked", "heard"), [(0.5, [1.0, 0.0]), (0.0, [0.5, 0.5])])
def test_links_of_a_mini_batch_are_heard_over_only_where_nothing_is_hidden(masked, heard):
    couples = graph_of(torch.arange(60).view(30, 2))
    seen, asked = OwnGraph(couples, masked=masked, fanout=4).batch(0, 8)
    rows = seen.hops[-1].dense()[asked.linked.flatten()]
    assert rows.sort(descending=True).values[:, :2].tolist() == [pytest.approx(heard)] * 16


# As a data set


def test_the_karate_club_is_there_without_files():
    data = Data("graph").resolved()
    assert (data.source, data.nodes, data.columns) == ("karate", 34, 34)
    assert data.open("test").facts()["links"] == 7
    assert karate_club().facts()["links"] == 78


def test_a_graph_of_files_keeps_its_path_and_its_size(tmp_path):
    rows = "\n".join(f"{i},{(i + 1) % 40}" for i in range(40))
    (tmp_path / "edges.csv").write_text(f"source,target\n{rows}\n")
    data = Data("graph").resolved(str(tmp_path))
    assert (data.source, data.nodes, data.columns) == (str(tmp_path), 40, 40)
    assert data.open("train").count == 40 - 4 - 2
    (tmp_path / "edges.csv").write_text(f"{rows}\n41,2\n")
    with pytest.raises(DataError, match=r"the graph has 42 nodes; it had 40 when the run began"):
        data.open("train")


def test_a_graph_that_is_not_there_is_named():
    with pytest.raises(DataError, match="there is no graph at nowhere"):
        Data("graph", source="nowhere").resolved()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"masked": 1.0}, r"`masked=1.0` must be at least 0 and below 1"),
        ({"fanout": -1}, r"`fanout=-1` is negative"),
    ],
)
def test_shares_and_numbers_out_of_range_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        Data("graph", **options)


def test_only_graphs_have_links():
    assert Data("graph").graph("validation").part == "validation"
    with pytest.raises(UsageError, match=r"`data.name='sines'` has no links; expected 'cora'"):
        Data("sines").graph()


def test_training_holds_nothing_out():
    with pytest.raises(UsageError, match="holds nothing out"):
        _ = OwnGraph(drawn_graph()).asked
