"""Zachary's karate club: 34 people, 78 friendships, and the two clubs it broke into.

Small enough to be looked at whole. `Mr. Hi` taught, and `Officer` stands for the officers; everyone
later joined one of the two sides. The people are counted from 0; Zachary counts from 1.

References:
    An Information Flow Model for Conflict and Fission in Small Groups, Zachary, 1977
    https://doi.org/10.1086/jar.33.4.3629752
"""

from __future__ import annotations

import torch

from mindseye.graphs import Graph, graph_of

__all__ = ["CLASSES", "FRIENDS", "OFFICERS", "karate_club"]

CLASSES = ("Mr. Hi", "Officer")
"""The two sides."""

FRIENDS = {
    0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    1: [2, 3, 7, 13, 17, 19, 21, 30],
    2: [3, 7, 8, 9, 13, 27, 28, 32],
    3: [7, 12, 13],
    4: [6, 10],
    5: [6, 10, 16],
    6: [16],
    8: [30, 32, 33],
    9: [33],
    13: [33],
    14: [32, 33],
    15: [32, 33],
    18: [32, 33],
    19: [33],
    20: [32, 33],
    22: [32, 33],
    23: [25, 27, 29, 32, 33],
    24: [25, 27, 31],
    25: [31],
    26: [29, 33],
    27: [33],
    28: [31, 33],
    29: [32, 33],
    30: [32, 33],
    31: [32, 33],
    32: [33],
}
"""The friends of every person who come after them."""

OFFICERS = (9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33)
"""Who took the side of the officers."""


def karate_club() -> Graph:
    """The club, without features.

    >>> club = karate_club()
    >>> club.nodes, len(club.links), club.classes[club.labels[33]]
    (34, 78, 'Officer')
    """
    pairs = [(one, other) for one, others in FRIENDS.items() for other in others]
    labels = torch.zeros(34, dtype=torch.int64)
    labels[list(OFFICERS)] = 1
    return graph_of(torch.tensor(pairs), 34, labels=labels, classes=CLASSES)
