"""The verbs of a model of a graph."""

import math

import pytest
import torch

from mindseye.data.karate import karate_club
from mindseye.data.own_graph import OwnGraph
from mindseye.errors import UsageError
from mindseye.graphs import keys_of
from mindseye.linking import Linker
from mindseye.models import GraphVAE


@pytest.fixture(params=["gcn", "linear"])
def linker(request):
    torch.manual_seed(0)
    data = OwnGraph(karate_club(), "test")
    return Linker(GraphVAE(34, latent=4, networks=request.param, hidden=8), data)


def test_probabilities_count_in_how_rare_links_are(linker):
    pair = linker.between(3, 20)
    logits = linker.links.logits(torch.tensor([[3, 20]]))
    train = len(linker.data.train)
    odds = math.exp(logits.item()) * train / (34 * 33 / 2 - train)
    assert pair.probability == pytest.approx(odds / (1 + odds), rel=1e-5)


def test_the_likeliest_are_the_best_of_all_and_never_the_node_itself(linker):
    found = linker.likeliest(5, n=33, known=True)
    chances = [pair.probability for pair in found]
    assert chances == sorted(chances, reverse=True)
    assert {pair.other for pair in found} == set(range(34)) - {5}
    best = linker.likeliest(5, n=3, known=True)
    assert best == found[:3]


def test_training_links_are_told_only_where_they_are_asked_for(linker):
    new = linker.likeliest(33, n=33)
    trained = set(keys_of(linker.data.train, 34).tolist())
    assert not {keys_of(torch.tensor([pair[:2]]), 34).item() for pair in new} & trained
    everything = linker.likeliest(33, n=33, known=True)
    assert {pair.known for pair in everything} >= {"training", "new"}
    assert len(everything) == 33 > len(new)


def test_a_link_that_was_held_out_is_called_so(linker):
    one, other = linker.data.asked.linked[0].tolist()
    assert linker.between(one, other).known == "held out"
    one, other = linker.data.train[0].tolist()
    assert linker.between(one, other).known == "training"
    one, other = linker.data.asked.apart[0].tolist()
    assert linker.between(one, other).known == "new"


def test_the_likeliest_of_all_are_the_best_of_every_node(linker):
    every = [
        pair for node in range(34) for pair in linker.likeliest(node, n=33) if pair.other > node
    ]
    expected = sorted(every, key=lambda pair: -pair.probability)[:12]
    found = linker.likeliest_of_all(12)
    assert [p.probability for p in found] == pytest.approx([p.probability for p in expected])
    assert {p[:2] for p in found} == {p[:2] for p in expected}


def test_both_ways_round_are_equally_likely(linker):
    assert linker.between(3, 9).probability == pytest.approx(linker.between("9", "3").probability)


def test_the_plane_has_a_place_for_every_node(linker):
    for straight in (True, False):
        at = linker.plane(straight=straight)
        assert at.shape == (34, 2)
        assert at.isfinite().all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda linker: linker.between(3, 3), "is one node; expected two"),
        (lambda linker: linker.likeliest("99"), "no node is called '99'; expected 0 to 33"),
        (lambda linker: linker.likeliest(34), "there is no node 34; expected 0 to 33"),
        (lambda linker: linker.between(-1, 2), "there is no node -1; expected 0 to 33"),
    ],
)
def test_nodes_that_are_not_there_are_named(linker, call, message):
    with pytest.raises(UsageError, match=message):
        call(linker)
