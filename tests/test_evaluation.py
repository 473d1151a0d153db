"""Protocols: who is asked what, and whose pictures stand beside the answers."""

from __future__ import annotations

import pytest
import torch

from mindseye.data import Data
from mindseye.errors import UsageError
from mindseye.evaluation import PROTOCOLS, Protocol, get_protocol, held_out, real_pictures

DATA = Data(source="digits", compositional=True)


def test_validation_and_test_share_no_combination_and_no_source():
    chosen, tested = (set(held_out(DATA, part)) for part in ("validation", "test"))
    assert (len(chosen), len(tested)) == (12, 24)
    assert not chosen & tested
    one, two = (real_pictures(DATA, "cpu", None, part) for part in ("validation", "test"))
    assert not _digits(one) & _digits(two)


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
