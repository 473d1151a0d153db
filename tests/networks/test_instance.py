"""Networks that normalise every picture by itself."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from mindseye.errors import UsageError
from mindseye.networks.instance import InstanceDecoder, InstanceEncoder, InstanceNorm


def shaken(module: nn.Module) -> nn.Module:
    """The module with other weights than it begins with, norms and biases too."""
    torch.manual_seed(1)
    for weight in module.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    return module.double()


@pytest.mark.parametrize("fold", [1, 2])
@pytest.mark.parametrize("side", [112, 64, 48, 16])
def test_pictures_become_vectors_and_pictures_again(side, fold):
    shape = (3, side, side)
    code = InstanceEncoder(shape, 2, 7, fold)(torch.rand(2, *shape))
    assert code.shape == (2, 7)
    assert InstanceDecoder(7, shape, 2, fold)(code).shape == (2, *shape)


def test_pictures_need_not_be_square_nor_coloured():
    shape = (1, 16, 48)
    code = InstanceEncoder(shape, 2, 5, 2)(torch.rand(2, *shape))
    assert InstanceDecoder(5, shape, 2, 2)(code).shape == (2, *shape)


@pytest.mark.parametrize("rectified", [True, False])
def test_normalisation_is_that_of_torch(rectified):
    norm = shaken(InstanceNorm(3, rectified=rectified))
    x = 4 * torch.randn(2, 3, 5, 6, dtype=torch.float64) + 2
    expected = F.instance_norm(x, weight=norm.weight, bias=norm.bias)
    expected = F.relu(expected) if rectified else expected
    for mode in (True, False):
        assert_close(norm.train(mode)(x), expected, rtol=0, atol=1e-12)


def test_every_channel_has_mean_0_and_variance_1():
    x = InstanceNorm(3, rectified=False)(5 * torch.rand(2, 3, 8, 8) + 7)
    assert_close(x.mean((2, 3)), torch.zeros(2, 3), rtol=0, atol=1e-5)
    assert_close(x.var((2, 3), correction=0), torch.ones(2, 3), rtol=0, atol=1e-4)


@pytest.mark.parametrize("fold", [1, 2])
def test_pictures_of_a_batch_do_not_know_each_other(fold):
    shape = (3, 16, 16)
    encoder = shaken(InstanceEncoder(shape, 2, 5, fold))
    decoder = shaken(InstanceDecoder(5, shape, 2, fold))
    x = torch.rand(3, *shape, dtype=torch.float64, requires_grad=True)
    again = decoder(encoder(x))
    (grad,) = torch.autograd.grad(again[1].square().sum(), x)
    assert (grad.abs().amax((1, 2, 3)) > 0).tolist() == [False, True, False]
    assert_close(decoder(encoder(x[1:2])), again[1:2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("fold", [1, 2])
def test_every_pixel_is_read_and_drawn(fold):
    shape = (3, 16, 16)
    x = torch.rand(1, *shape, dtype=torch.float64, requires_grad=True)
    code = shaken(InstanceEncoder(shape, 4, 50, fold))(x)
    (grad,) = torch.autograd.grad((code * torch.randn(50)).sum(), x)
    assert (grad != 0).all()
    drawn = shaken(InstanceDecoder(5, shape, 4, fold))(torch.randn(1, 5, dtype=torch.float64))
    assert len(drawn.unique()) > 700  # of 768 pixels: no two are drawn by the same numbers


@pytest.mark.parametrize(("side", "fold", "near"), [(30, 1, 32), (30, 2, 32), (65, 2, 64)])
def test_a_side_that_cannot_be_halved_is_refused(side, fold, near):
    for make in (
        lambda side: InstanceEncoder((3, side, side), 2, 5, fold),
        lambda side: InstanceDecoder(5, (3, side, side), 2, fold),
    ):
        with pytest.raises(UsageError, match=rf"have {side} by {side} pixels\.") as refused:
            make(side)
        assert refused.value.hint == f"Try `side={near}`."
        make(near)


@pytest.mark.parametrize("fold", [1, 2])
def test_a_picture_of_which_one_pixel_is_left_is_refused(fold):
    side = 4 * fold  # one number has no variance
    with pytest.raises(UsageError) as refused:
        InstanceEncoder((3, side, side), 2, 5, fold)
    assert refused.value.hint == f"Try `side={2 * side}`."
