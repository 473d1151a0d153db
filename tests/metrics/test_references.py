import pytest
import torch

from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.metrics import coverage, marginals
from mindseye.metrics.references import reference_table


def test_the_uniform_table_is_padded_with_zeros(words):
    table = reference_table("uniform", words)
    assert table.shape == (4, 10)
    torch.testing.assert_close(table.sum(-1), torch.ones(4, dtype=torch.float64))
    assert table[1].tolist() == [0.5, 0.5, *([0.0] * 8)]


def test_marginals_count_only_what_was_labelled(words):
    codes = torch.tensor([[0, 0, 0, 0], [0, 1, 1, 1], [9, 1, 2, 2]])
    observed = torch.tensor([[True] * 4, [True] * 4, [False, True, True, True]])
    found = marginals(Labels(codes, observed), words)
    assert found[0] == [1.0, *([0.0] * 9)]
    assert found[1] == pytest.approx([1 / 3, 2 / 3])


def test_marginals_are_a_reference(words):
    codes = torch.tensor([[0, 0, 0, 0], [0, 1, 1, 1], [9, 1, 2, 2]])
    reference = marginals(Labels.full(codes), words)
    assert coverage(codes, words.root, reference) == pytest.approx(1, abs=1e-15)


def test_marginals_need_a_label_of_every_attribute(words):
    labels = Labels(torch.zeros(2, 4, dtype=torch.int64), torch.tensor([[True, False] * 2] * 2))
    with pytest.raises(UsageError, match=r"`labels` never say `size`"):
        marginals(labels, words)


def test_a_reference_is_checked(words):
    rows = [[0.1] * 10, [0.5] * 2, [1 / 3] * 3, [0.25] * 4]
    with pytest.raises(UsageError, match=r"`reference='unifrom'` is not known.*Did you mean 'unif"):
        reference_table("unifrom", words)
    with pytest.raises(UsageError, match=r"`reference` has 3 vectors; expected 4"):
        reference_table(rows[:3], words)
    with pytest.raises(
        UsageError, match=r"`reference` of `size` has shape \(3,\); expected \(2,\)"
    ):
        reference_table([rows[0], [0.2, 0.3, 0.5], *rows[2:]], words)
    with pytest.raises(UsageError, match=r"`reference` of `size` is \[0.5, 0.6\]; expected prob"):
        reference_table([rows[0], [0.5, 0.6], *rows[2:]], words)
    with pytest.raises(UsageError, match=r"`reference` of `size` is \[-0.5, 1.5\]; expected prob"):
        reference_table([rows[0], [-0.5, 1.5], *rows[2:]], words)
