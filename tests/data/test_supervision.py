import pytest
import torch

from mindseye.data.supervision import described, known
from mindseye.errors import UsageError

CLASSES = torch.arange(1000) % 7 % 5  # classes 0 and 1 are twice as large


@pytest.mark.parametrize("labels", [5, 10, 100, 250])
def test_classes_have_as_many_labels_each(labels):
    chosen = known(CLASSES, labels)
    assert chosen.sum() == labels
    assert CLASSES[chosen].bincount().tolist() == [labels // 5] * 5


def test_labels_that_do_not_divide_evenly_differ_by_one():
    counts = CLASSES[known(CLASSES, 13)].bincount(minlength=5)
    assert counts.sum() == 13
    assert counts.max() - counts.min() == 1


def test_a_small_class_is_known_whole():
    classes = torch.tensor([0] * 100 + [1] * 3)
    assert classes[known(classes, 20)].bincount().tolist() == [17, 3]


def test_fewer_labels_are_among_the_more():
    few, many = known(CLASSES, 20, seed=3), known(CLASSES, 200, seed=3)
    assert (few & many).sum() == 20


def test_seeds_choose_other_pictures():
    assert torch.equal(known(CLASSES, 50), known(CLASSES, 50))
    assert (known(CLASSES, 50) & known(CLASSES, 50, seed=1)).sum() < 15


@pytest.mark.parametrize(("share", "count"), [(1.0, 1000), (0.1, 100), (0.0, 0)])
def test_a_share_is_so_many_pictures(share, count):
    assert known(CLASSES, share=share).sum() == count


def test_descriptions_are_hidden_in_training_only():
    assert described(CLASSES, "train", 10, 1.0, 0, "x").sum() == 10
    assert described(CLASSES, "test", 10, 1.0, 0, "x") is None


def test_labels_and_a_share_contradict_each_other():
    with pytest.raises(UsageError, match=r"`labels=10` and `labelled=0.5` both .*; keep one"):
        known(CLASSES, 10, share=0.5)


def test_more_labels_than_pictures_are_refused():
    with pytest.raises(UsageError, match=r"`labels=1001` are more than the 1000 training"):
        known(CLASSES, 1001)


@pytest.mark.parametrize(("labels", "share"), [(10, 1.0), (0, 0.5)])
def test_what_is_not_known_cannot_be_chosen(labels, share):
    assert described(None, "train", 0, 1.0, 0, "amat") is None
    with pytest.raises(UsageError, match=r"`label.*` cannot be chosen: `source='amat'` does not"):
        described(None, "train", labels, share, 0, "amat")
