import itertools

import pytest
import torch

from mindseye.concepts import Attribute, Vocabulary
from mindseye.labels import Labels, decode, encode

WORDS = Vocabulary(
    [
        Attribute("size", ["big", "small"]),
        Attribute("hue", ["red", "blue", "green"]),
        Attribute("shape", ["square", "circle"]),
    ]
)


def every_concept():
    return list(itertools.chain.from_iterable(WORDS.concepts(level) for level in range(4)))


def test_decoding_undoes_encoding():
    concepts = every_concept()
    assert len(concepts) == 3 * 4 * 3
    assert decode(WORDS, encode(concepts)) == concepts


def test_encoding_undoes_decoding():
    labels = encode(every_concept())
    again = encode(decode(WORDS, labels))
    assert torch.equal(again.codes, labels.codes)
    assert torch.equal(again.observed, labels.observed)


def test_codes_index_the_values_in_order():
    for attribute, name in enumerate(WORDS.names):
        for code, value in enumerate(WORDS.attribute(name).values):
            labels = encode([WORDS.concept(**{name: value})])
            assert labels.codes[0, attribute] == code
            assert labels.observed[0].nonzero().tolist() == [[attribute]]


def test_what_was_not_said_is_zero_and_not_observed():
    labels = encode([WORDS.root])
    assert labels.codes.tolist() == [[0, 0, 0]]
    assert not labels.observed.any()


def test_a_code_that_was_not_said_means_nothing():
    observed = torch.tensor([[True, False, False]])
    first = Labels(torch.tensor([[1, 0, 0]]), observed)
    second = Labels(torch.tensor([[1, 2, 1]]), observed)
    assert decode(WORDS, first) == decode(WORDS, second) == [WORDS.parse("small")]


def test_full_labels_leave_nothing_open():
    codes = torch.tensor([[1, 2, 0], [0, 0, 1]])
    labels = Labels.full(codes)
    assert labels.observed.all()
    assert [concept.level for concept in decode(WORDS, labels)] == [3, 3]


def test_labels_are_integers_and_booleans_wherever_they_are():
    for device in ("cpu", "meta"):
        labels = encode(every_concept(), device)
        assert labels.codes.dtype == torch.int64
        assert labels.observed.dtype == torch.bool
        assert labels.codes.shape == labels.observed.shape == (36, 3)
        assert labels.codes.device.type == labels.observed.device.type == device


@pytest.mark.parametrize("level", range(4))
def test_a_concept_of_a_level_says_so_many_words(level):
    assert (encode(list(WORDS.concepts(level))).observed.sum(1) == level).all()
