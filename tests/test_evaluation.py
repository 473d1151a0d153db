"""Protocols: who is asked what, and whose pictures stand beside the answers."""

from __future__ import annotations

import pytest
import torch

from mindseye.concepts import Concept
from mindseye.data import DATASETS, Data
from mindseye.errors import UsageError
from mindseye.evaluation import (
    PROTOCOLS,
    Protocol,
    ask,
    get_protocol,
    held_out,
    queries_of,
    real_pictures,
)

DATA = Data(source="digits", compositional=True)


def test_validation_and_test_share_no_combination_and_no_source():
    chosen, tested = (set(held_out(DATA, part)) for part in ("validation", "test"))
    assert (len(chosen), len(tested)) == (12, 24)
    assert not chosen & tested
    one, two = (real_pictures(DATA, "cpu", None, part) for part in ("validation", "test"))
    assert not _digits(one) & _digits(two)


def test_validation_asks_other_queries_than_the_test():
    words = DATASETS["mnist-a"].vocabulary
    test, chosen = (
        queries_of(words, Protocol(queries=200, levels=(3,), part=part))
        for part in ("test", "validation")
    )
    assert test == queries_of(words, Protocol(queries=200, levels=(3,)))
    assert sum(a == b for a, b in zip(test, chosen, strict=True)) < 20  # chance has about one


@pytest.mark.parametrize("queries", [0, 4], ids=["every concept", "drawn"])
def test_validation_draws_other_noise_than_the_test(queries):
    asked: dict[str, set[int]] = {}

    class Observer(torch.nn.Linear):
        def judge(self, pictures: torch.Tensor, told: None = None) -> torch.Tensor:
            return torch.zeros(len(pictures), 4, dtype=torch.long)

    for part in ("test", "validation"):
        protocol = Protocol(samples=2, queries=queries, levels=(4,), part=part)
        seen = asked.setdefault(part, set())

        def imagine(concepts: list[Concept], n: int, seeds: list[int], seen=seen) -> torch.Tensor:
            seen.update(seeds)
            return torch.zeros(len(concepts), n, 1, 64, 64)

        ask(imagine, Observer(1, 1), queries_of(DATASETS["mnist-a"].vocabulary, protocol), protocol)
    assert len(asked["test"]) == (queries or 240)
    assert not asked["test"] & asked["validation"]


def _digits(dataset) -> set[bytes]:
    return {image.numpy().tobytes() for image in dataset.images}


def test_the_seed_of_the_split_chooses_the_combinations():
    other = Data(source="digits", compositional=True, split_seed=1)
    assert set(held_out(other)) != set(held_out(DATA))


def test_protocols_ask_the_test_part_unless_told_otherwise():
    assert {protocol.part for protocol in PROTOCOLS.values()} == {"test"}
    with pytest.raises(UsageError, match="`part='train'` is not known; expected 'test' or 'val"):
        Protocol(part="train")


def test_real_pictures_are_of_all_combinations():
    batch = real_pictures(DATA, "cpu", None).examples(torch.arange(3000))
    assert len({tuple(codes) for codes in batch.y.codes.tolist()}) == 240


def test_a_misspelt_protocol_gets_the_nearest():
    with pytest.raises(UsageError, match="Did you mean 'paper'"):
        get_protocol("papr")


def test_captions_held_out_have_a_kind_of_object_that_training_never_showed():
    data = Data("two-objects", compositional=True)
    seen = data.open("train").every
    kinds = {tuple(row) for half in (seen[:, :4], seen[:, 5:]) for row in half.tolist()}
    asked = held_out(data)
    assert len(asked) == 6880
    assert all(not {tuple(a.codes[:4]), tuple(a.codes[5:])} <= kinds for a in asked)
