"""Sparse matrices: products, gradients, rows."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.sparse import Sparse


def drawn(rows: int, columns: int, share: float, seed: int) -> tuple[Sparse, torch.Tensor]:
    """A random sparse matrix, and the same as a dense one."""
    generator = torch.Generator().manual_seed(seed)
    there = torch.rand(rows, columns, generator=generator) < share
    dense = torch.randn(rows, columns, generator=generator) * there
    at, across = dense.nonzero(as_tuple=True)
    order = torch.randperm(len(at), generator=generator)  # entries come in any order
    at, across = at[order], across[order]
    return Sparse.of(at, across, (rows, columns), dense[at, across]), dense


shapes = st.tuples(
    st.integers(1, 7), st.integers(1, 9), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 99)
)


@settings(deadline=None, max_examples=50)
@given(shapes)
def test_a_product_is_that_of_the_dense_matrix(shape):
    matrix, dense = drawn(*shape)
    right = torch.randn(dense.shape[1], 5, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(matrix @ right, dense @ right)
    torch.testing.assert_close(matrix.dense(), dense)


@settings(deadline=None, max_examples=50)
@given(shapes)
def test_a_transposed_product_is_that_of_the_dense_matrix(shape):
    matrix, dense = drawn(*shape)
    right = torch.randn(dense.shape[0], 3, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(matrix.transposed_product(right), dense.T @ right)


def test_the_gradient_of_a_product_is_that_of_differences():
    matrix, _ = drawn(6, 4, 0.5, 3)
    right = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda dense: matrix @ dense, (right,))


@settings(deadline=None, max_examples=50)
@given(shapes, st.lists(st.integers(0, 100), max_size=9))
def test_rows_may_come_in_any_order_and_repeat(shape, index):
    matrix, dense = drawn(*shape)
    chosen = torch.tensor([i % len(dense) for i in index], dtype=torch.int64)
    torch.testing.assert_close(matrix.rows(chosen).dense(), dense[chosen])


@pytest.mark.parametrize("asked_before", [False, True])
def test_other_weights_change_both_products(asked_before):
    matrix, dense = drawn(5, 6, 0.5, 7)
    if asked_before:
        matrix.transposed_product(torch.ones(5, 1))
    twice = matrix.weighted(2 * matrix.values)
    torch.testing.assert_close(twice @ torch.eye(6), 2 * dense)
    torch.testing.assert_close(twice.transposed_product(torch.eye(5)), 2 * dense.T)


def test_the_identity_changes_nothing():
    right = torch.randn(4, 2)
    assert torch.equal(Sparse.identity(4) @ right, right)
