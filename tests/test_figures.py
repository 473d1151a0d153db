"""Verdicts: an observer that is told a word is told what the description says."""

import pytest

from mindseye.figures import verdicts_of
from mindseye.runs import Run, find


@pytest.fixture(scope="module")
def mind(writers):
    observer = str(writers / "00002-two-objects-observer-tiny")
    return Run(writers / "00001-two-objects-vlvae-agg-tiny").mind(observer)


def test_an_observer_is_told_what_each_description_says(mind):
    several = [mind.imagined(f"red cube {relation}", 2, 3) for relation in ("left", "behind")]
    for imagined, verdicts in zip(several, verdicts_of(mind, several), strict=True):
        alone = mind.judge(imagined.samples, [imagined.concept] * 2)
        assert [verdict.seen for verdict in verdicts] == alone
        assert all("relation" not in verdict.wrong for verdict in verdicts)


def test_what_is_open_is_told_so_that_most_of_what_is_said_is_seen(mind):
    said = mind.imagined("large red cube", 4, 1)
    (open_,) = verdicts_of(mind, [said])
    told = [
        verdicts_of(mind, [said._replace(concept=mind.concept(f"large red * cube {relation}"))])[0]
        for relation in ("left", "right", "front", "behind")
    ]
    fewest = [min(len(verdict.wrong) for verdict in each) for each in zip(*told, strict=True)]
    assert [len(verdict.wrong) for verdict in open_] == fewest


def test_a_run_is_judged_by_the_observer_of_its_data_beside_it(writers):
    beside = writers / "00002-two-objects-observer-tiny"
    assert Run(writers / "00001-two-objects-vlvae-agg-tiny").observer() == beside
    assert Run(writers / "00000-two-objects-vlvae-tiny").mind().can_judge
    assert Run(writers / "00000-two-objects-vlvae-tiny").observer("celeba") is None
    assert Run(writers / "00000-two-objects-vlvae-tiny").observer("mnist-a") is None  # other sides
    assert find("mnist-a").observer() == "mnist-a-observer"
