"""Works side by side: on a CPU one after the other, in their order."""

from __future__ import annotations

import pytest
import torch

from mindseye.streams import side_by_side


def test_results_come_in_the_order_of_the_works():
    assert side_by_side(lambda: 1, lambda: "two", lambda: None) == [1, "two", None]


def test_works_run_once_each_and_in_order():
    order = []
    side_by_side(*(lambda n=n: order.append(n) for n in range(4)))
    assert order == [0, 1, 2, 3]


def test_one_work_is_as_good_as_many():
    assert side_by_side(lambda: 5) == [5]


def test_gradients_flow_through_every_work():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    one, two = side_by_side(lambda: x.square(), lambda: 5 * x)
    (one * two).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [15 * 4.0, 15 * 9.0]


def test_an_error_in_a_work_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda: 1, lambda: 1 // 0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_captured_works_give_the_same_numbers_as_plain_ones():
    x = torch.randn(64, 64, device="cuda")
    works = (lambda: x @ x, lambda: x.sin().sum(0), lambda: x.T @ x)
    expected = side_by_side(*works)
    lane, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    lane.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=lane):
        found = side_by_side(*works)
    graph.replay()
    torch.cuda.synchronize()
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two)
