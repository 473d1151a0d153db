import pytest
import torch

from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.metrics import accuracy


def test_accuracy_counts_each_attribute_on_its_own(words):
    truth = torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 2, 2], [3, 1, 0, 3]])
    predicted = truth.clone()
    predicted[0, 0] = 9
    predicted[:, 1] = 1 - predicted[:, 1]
    found = accuracy(predicted, Labels.full(truth), words)
    assert {name: estimate.mean for name, estimate in found.items()} == {
        "digit": 0.75,
        "size": 0.0,
        "orientation": 1.0,
        "location": 1.0,
    }


def test_what_was_not_labelled_is_not_counted(words):
    codes = torch.zeros(4, 4, dtype=torch.int64)
    observed = torch.ones(4, 4, dtype=torch.bool)
    observed[0, 0] = False
    observed[:, 3] = False
    predicted = codes.clone()
    predicted[0, 0] = 7
    found = accuracy(predicted, Labels(codes, observed), words)
    assert (found["digit"].mean, found["digit"].n) == (1.0, 3)
    assert "location" not in found


def test_predictions_and_labels_must_be_of_the_same_pictures(words):
    codes = torch.zeros(4, 4, dtype=torch.int64)
    with pytest.raises(UsageError, match=r"`predicted` has 3 rows, `truth` has 4"):
        accuracy(codes[:3], Labels.full(codes), words)
