import networkx as nx

from mindseye.data.karate import karate_club


def test_the_club_is_the_one_that_networkx_has():
    club, other = karate_club(), nx.karate_club_graph()
    links = sorted(tuple(sorted(pair)) for pair in other.edges)
    assert [tuple(pair) for pair in club.links.tolist()] == links
    assert [club.classes[i] for i in club.labels] == [other.nodes[i]["club"] for i in range(34)]
    assert (club.nodes, len(club.links), club.cleaned) == (34, 78, "")
