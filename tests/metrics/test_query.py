from collections import Counter

import pytest

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.metrics import queries


def test_all_queries_of_a_level_are_the_concepts_of_that_level(words):
    for level in range(5):
        found = queries(words, level)
        assert found == list(words.concepts(level))
        assert len(set(found)) == words.count(level)


def test_drawn_queries_have_the_level_asked_for(words):
    for level in range(5):
        found = queries(words, level, n=480)
        assert len(found) == 480
        assert {concept.level for concept in found} == {level}


def test_drawn_queries_say_every_attribute_equally_often(words):
    for level in (1, 2, 3):
        said = Counter(name for concept in queries(words, level, n=4000) for name in concept.values)
        for name in words.names:
            assert said[name] / 4000 == pytest.approx(level / 4, abs=0.03)


def test_480_full_queries_use_every_combination_twice(words):
    assert set(Counter(queries(words, 4, n=480)).values()) == {2}


def test_a_seed_gives_the_same_queries(words):
    assert queries(words, 2, n=50, seed=3) == queries(words, 2, n=50, seed=3)
    assert queries(words, 2, n=50, seed=3) != queries(words, 2, n=50, seed=4)


def test_held_out_combinations_are_asked_once_each_and_nothing_else(words):
    held_out = set(list(words.concepts(4))[::10])
    found = queries(words, 4, among=held_out)
    assert set(found) == held_out
    assert len(found) == 24


@pytest.mark.parametrize("n", [None, 100])
def test_partial_queries_among_combinations_describe_one_of_them(words, n):
    held_out = list(words.concepts(4))[::40]
    for concept in queries(words, 2, n=n, among=held_out):
        assert any(concept.generalizes(full) for full in held_out)


def test_among_everything_is_everything(words):
    for level in range(5):
        assert set(queries(words, level, among=words.concepts(4))) == set(words.concepts(level))


def test_the_order_of_a_set_does_not_matter(words):
    held_out = list(words.concepts(4))[::10]
    assert queries(words, 3, n=40, among=held_out) == queries(words, 3, n=40, among=held_out[::-1])
    assert queries(words, 3, among=held_out) == queries(words, 3, among=held_out[::-1])


def test_a_vocabulary_too_large_to_list_can_be_asked():
    faces = Vocabulary([Attribute(f"trait {k}", ["no", "yes"]) for k in range(80)])
    found = queries(faces, 79, n=20)
    assert len(set(found)) == 20


def test_one_attribute_is_enough():
    coin = Vocabulary([Attribute("side", ["heads", "tails"])])
    assert Counter(map(str, queries(coin, 1, n=4))) == {"side=heads": 2, "side=tails": 2}


def test_impossible_queries_are_refused(words):
    with pytest.raises(UsageError, match=r"`level=5` is not a number of words; expected 0 to 4"):
        queries(words, 5)
    with pytest.raises(UsageError, match=r"`n=0` is too few; expected 1 or more"):
        queries(words, 1, n=0)
    with pytest.raises(UsageError, match=r"`among` holds 'digit=4', which leaves size, orient"):
        queries(words, 1, among=[words.parse("digit=4")])
    with pytest.raises(UsageError, match=r"`among` is empty"):
        queries(words, 1, among=[])
