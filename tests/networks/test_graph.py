"""Elements of sets that hear each other, and nobody else."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import elu
from torch.testing import assert_close

from mindseye.groups import Groups
from mindseye.networks.graph import FAINT, GraphBlock, Residual

SIZES = (3, 1, 0, 4)
ROWS, N, M = sum(SIZES), 6, 5
STARTS = (0, 3, 4, 4)


def grouped(*sizes: int) -> Groups:
    return Groups.of(torch.tensor(sizes), sum(sizes))


def elements(rows: int = ROWS) -> Tensor:
    return torch.randn(rows, N, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def block() -> GraphBlock:
    torch.manual_seed(0)
    made = GraphBlock(N, M)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # biases that are not zero
    return made.requires_grad_(False)


def test_an_element_hears_the_sum_of_what_all_others_say(block):
    h, groups = elements(), grouped(*SIZES)
    said = block.says(h)
    rows = []
    for i in range(ROWS):
        same = (groups.owner == groups.owner[i]) & (torch.arange(ROWS) != i)
        heard = block.heard(said[same].sum(0))
        rows.append(block.becomes(torch.cat([h[i], heard])))
    assert_close(block(h, groups), torch.stack(rows), rtol=0, atol=1e-5)


def test_elements_in_another_order_become_the_same_in_that_order(block):
    h, groups = elements(), grouped(*SIZES)
    order = torch.tensor([2, 0, 1, 3, 5, 7, 6, 4])
    assert_close(block(h[order], groups), block(h, groups)[order], rtol=0, atol=1e-6)


@pytest.mark.parametrize("row", range(ROWS))
def test_an_element_hears_all_of_its_own_set_and_none_of_another(block, row):
    h, groups = elements().requires_grad_(), grouped(*SIZES)
    (gradient,) = torch.autograd.grad(block(h, groups)[row].sum(), h)
    assert (gradient.abs().amax(1) > 0).tolist() == (groups.owner == groups.owner[row]).tolist()


def test_an_element_alone_hears_nothing():
    torch.manual_seed(0)
    block, h, groups = GraphBlock(N, M), elements(3), grouped(1, 2)
    before = block(h, groups)
    with torch.no_grad():
        for parameter in block.says.parameters():
            parameter.normal_()
    after = block(h, groups)
    assert torch.equal(after[0], before[0])
    assert (after[1:] - before[1:]).abs().amax(1).min() > 1e-2


def test_sets_are_the_same_alone_and_together(block):
    h = elements()
    together = block(h, grouped(*SIZES))
    for start, size in zip(STARTS, SIZES, strict=True):
        rows = slice(start, start + size)
        assert_close(block(h[rows], grouped(size)), together[rows], rtol=0, atol=1e-6)


def test_what_many_say_is_summed_with_all_digits():
    torch.manual_seed(0)
    block, h = GraphBlock(N, M), (0.002 * elements(1)).bfloat16().expand(500, -1)
    with torch.autocast("cpu", torch.bfloat16):
        found = block(h, grouped(500))
        others = 499 * block.says(h).float()  # sums in bfloat16 stop growing at 256 equal terms
        assert others.abs().max() > 0.5
        expected = block.becomes(torch.cat([h, block.heard(others)], -1))
    assert_close(found, expected, rtol=0, atol=0.01)


def test_a_residual_is_the_identity_and_two_layers():
    torch.manual_seed(0)
    residual, h = Residual(N), elements()
    (first, a), (second, b) = ((each.weight, each.bias) for each in residual.children())
    assert_close(residual(h), h + elu(h @ first.T + a) @ second.T + b)


def test_a_residual_begins_near_the_identity():
    torch.manual_seed(0)
    residual = Residual(400)
    assert residual.first.weight.std().item() == pytest.approx(0.88 / 20, rel=0.02)  # cut at 2
    assert residual.second.weight.std().item() == pytest.approx(FAINT * 0.88 / 20, rel=0.02)
    h = torch.randn(64, 400)
    assert (residual(h) - h).std() < 0.4


def test_gradients_reach_every_parameter():
    torch.manual_seed(0)
    block = GraphBlock(N, M)
    block(elements(), grouped(*SIZES)).square().sum().backward()
    lost = [n for n, p in block.named_parameters() if p.grad is None or not p.grad.any()]
    assert lost == []


def test_a_blank_one_takes_weights(block):
    with torch.device("meta"):
        blank = GraphBlock(N, M)
    assert all(weight.is_meta for weight in blank.parameters())
    blank.load_state_dict(block.state_dict(), assign=True)
    assert torch.equal(blank(elements(), grouped(*SIZES)), block(elements(), grouped(*SIZES)))
