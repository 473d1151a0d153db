import pytest
import torch

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.metrics import (
    collapsed,
    collapsed_coverage,
    combined,
    correctness,
    coverage,
    evaluate,
    queries,
)


def defined(values):
    return torch.tensor([value for value in values if value is not None], dtype=torch.float64)


def asked(words, n=480):
    return [concept for level in (1, 2, 3, 4) for concept in queries(words, level, n=n)]


@pytest.mark.parametrize("base", ["2", "e"])
@pytest.mark.parametrize(("samples", "n"), [(10, 480), (100, 240)])
def test_a_perfect_imaginer_meets_the_ceiling(words, observer, perfect, samples, n, base):
    score = evaluate(perfect, observer, asked(words, n), samples=samples, base=base)
    assert set(score.model.correctness) == {1.0}
    gaps = defined(score.model.coverage) - defined(score.perfect.coverage)
    assert len(gaps) == 3 * n
    for some in gaps.split(n):  # level by level
        assert abs(some.mean()) < 4 * some.std() / n**0.5


def test_coverage_of_a_perfect_imaginer_goes_to_one(words, observer, perfect):
    score = evaluate(perfect, observer, queries(words, 1), samples=5000)
    assert defined(score.model.coverage).min() > 0.998
    assert defined(score.model.combined).min() > 0.998


@pytest.mark.parametrize("base", ["2", "e"])
def test_a_stuck_imaginer_has_the_coverage_of_the_floor(words, observer, perfect, base):
    # Every value of a uniform reference is equally far away, so nothing is left to chance.
    floors = collapsed_coverage(words, base)
    score = evaluate(collapsed(perfect), observer, asked(words, 40), samples=20, base=base)
    assert set(score.model.correctness) == {1.0}
    assert score.model.coverage == pytest.approx(score.collapsed.coverage, abs=1e-12)
    for query, found in zip(score.queries, score.model.coverage, strict=True):
        left = [floors[name] for name in query.missing]
        assert found == (pytest.approx(sum(left) / len(left), abs=1e-12) if left else None)


def test_a_wrong_imaginer_has_correctness_zero(words, observer, wrong):
    score = evaluate(wrong, observer, asked(words, 40), samples=10)
    assert set(score.model.correctness) == {0.0}
    assert score.at(4)["model"]["combined"].high == pytest.approx(0, abs=1e-12)


def test_correctness_of_the_floor_is_chance(words, observer, perfect):
    score = evaluate(perfect, observer, queries(words, 4), samples=2)
    chance = (1 / 10 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    assert score.collapsed.correctness == pytest.approx([chance] * 240, abs=1e-12)


def test_a_blind_stuck_imaginer_meets_the_floor_under_a_skewed_reference(words, observer, each):
    reference = [[0.55, *([0.05] * 9)], [0.9, 0.1], [0.2, 0.0, 0.8], [0.25] * 4]

    def blind(concept, n, seed):
        generator = torch.Generator().manual_seed(seed)
        codes = [torch.multinomial(torch.tensor(p), 1, generator=generator) for p in reference]
        return torch.cat(codes).to(torch.float32).expand(n, 1, 1, 4)

    score = evaluate(each(blind), observer, asked(words, 500), samples=3, reference=reference)
    for found, floor in zip(
        vars(score.model).values(), vars(score.collapsed).values(), strict=True
    ):
        gaps = defined(found) - defined(floor)
        assert abs(gaps.mean()) < 4 * gaps.std() / len(gaps) ** 0.5


def test_batched_scores_equal_those_of_single_queries(words, observer, perfect):
    asked_ = [words.parse("digit=4"), words.parse("small, upright"), words.from_codes([1, 0, 1, 2])]
    shown = []

    def remember(concepts, n, seeds):
        pictures = perfect(concepts, n, seeds)
        shown.extend(pictures)
        return pictures

    row = evaluate(remember, observer, asked_, samples=7, base="e").model
    judged = [observer(pictures) for pictures in shown]
    assert row.correctness == tuple(map(correctness, judged, asked_))
    assert row.combined == tuple(
        combined(codes, concept, "uniform", "e")
        for codes, concept in zip(judged, asked_, strict=True)
    )
    assert row.coverage == (
        coverage(judged[0], asked_[0], "uniform", "e"),
        coverage(judged[1], asked_[1], "uniform", "e"),
        None,
    )


def test_the_batch_size_does_not_matter(words, observer, perfect):
    scores = [
        evaluate(perfect, observer, queries(words, 1), samples=10, batch=batch)
        for batch in (3, 10, 37, 10_000)
    ]
    assert all(score == scores[0] for score in scores)


def test_the_observer_never_sees_more_than_a_batch(words, observer, perfect):
    seen = []

    def watch(pictures):
        seen.append(len(pictures))
        return observer(pictures)

    evaluate(perfect, watch, queries(words, 1), samples=10, batch=64)
    assert max(seen) <= 64
    assert sum(seen) == 190


def test_real_pictures_have_a_row_of_their_own(words, observer, perfect, wrong):
    score = evaluate(wrong, observer, queries(words, 2), samples=5, real=perfect)
    assert score.real is not None
    assert set(score.model.correctness) == {0.0}
    assert set(score.real.correctness) == {1.0}
    assert list(score.rows) == ["model", "real", "perfect", "collapsed"]


def test_repeated_queries_are_imagined_afresh_and_a_seed_repeats_them_all(words, observer, perfect):
    twice = [words.root] * 2
    first = evaluate(perfect, observer, twice, samples=10, seed=1)
    assert first.model.coverage[0] != first.model.coverage[1]
    assert first == evaluate(perfect, observer, twice, samples=10, seed=1)
    assert first.model != evaluate(perfect, observer, twice, samples=10, seed=2).model


def test_progress_counts_up_to_all_queries(words, observer, perfect):
    calls = []
    evaluate(
        perfect,
        observer,
        queries(words, 1),
        samples=10,
        real=perfect,
        batch=50,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[-1] == (38, 38)
    assert calls == sorted(calls)
    assert len(calls) == 8


def test_means_are_given_by_level(words, observer, perfect):
    score = evaluate(perfect, observer, [words.root, *queries(words, 1), *queries(words, 4)])
    assert score.levels == [0, 1, 4]
    assert set(score.at(0)["model"]) == {"coverage", "combined"}
    assert set(score.at(1)["model"]) == {"correctness", "coverage", "combined"}
    assert set(score.at(4)["model"]) == {"correctness", "combined"}
    found = score.at(1)["model"]["coverage"]
    assert found.mean == pytest.approx(defined(score.model.coverage[1:20]).mean().item())
    assert found.low <= found.mean <= found.high
    assert found.n == 19
    with pytest.raises(UsageError, match=r"`level=2` was not asked; expected one of \[0, 1, 4\]"):
        score.at(2)


def test_any_number_of_attributes_will_do(observer, perfect):
    faces = Vocabulary([Attribute(f"trait {k}", ["no", "yes"]) for k in range(40)])
    score = evaluate(perfect, observer, queries(faces, 20, n=30), samples=100)
    assert set(score.model.correctness) == {1.0}
    assert defined(score.model.coverage).min() > 0.99


def test_what_cannot_be_evaluated_is_refused(words, observer, perfect):
    asked_ = queries(words, 1)
    other = Vocabulary([Attribute("side", ["heads", "tails"])]).parse("heads")
    with pytest.raises(UsageError, match=r"`queries` is empty"):
        evaluate(perfect, observer, [])
    with pytest.raises(
        UsageError, match=r"`queries` mixes vocabularies: 'side=heads' and 'digit=0"
    ):
        evaluate(perfect, observer, [*asked_, other])
    with pytest.raises(UsageError, match=r"`samples=0` is too few"):
        evaluate(perfect, observer, asked_, samples=0)
    with pytest.raises(UsageError, match=r"`batch=0` is too few"):
        evaluate(perfect, observer, asked_, batch=0)
    with pytest.raises(UsageError, match=r"`base='ten'` is not a log base"):
        evaluate(perfect, observer, asked_, base="ten")  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        UsageError,
        match=r"`imaginer` gave shape \(19, 6, 1, 1, 4\); expected 5 pictures of each of 19",
    ):
        evaluate(lambda c, n, s: perfect(c, n + 1, s), observer, asked_, samples=5)
    with pytest.raises(UsageError, match=r"`observer` gave 94 rows for 95 pictures"):
        evaluate(perfect, lambda x: observer(x)[1:], asked_, samples=5)
    with pytest.raises(UsageError, match=r"`observer` holds the code 10 for `digit`; exp"):
        evaluate(perfect, lambda x: observer(x) + 1, asked_, samples=100)
