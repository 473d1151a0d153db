"""Plain networks: the last layer is torch's transposed convolution, computed another way."""

import pytest
import torch
from torch.nn.functional import conv_transpose2d
from torch.testing import assert_close

from mindseye.networks.strided import PlainDecoder, _Doubling


@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize("odd", [(0, 0), (1, 0), (1, 1)])
def test_doubling_is_a_transposed_convolution_and_so_is_its_gradient(channels, odd):
    torch.manual_seed(0)
    layer = _Doubling(5, channels, 4, 2, 1, odd)
    x = torch.randn(2, 5, 6, 7, requires_grad=True)
    wanted = conv_transpose2d(x, layer.weight, layer.bias, 2, 1, odd)
    found = layer(x)
    assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    towards = torch.randn_like(wanted)
    leaves = (x, layer.weight, layer.bias)
    ours = torch.autograd.grad((found * towards).sum(), leaves)
    theirs = torch.autograd.grad((wanted * towards).sum(), leaves)
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine, other, atol=1e-4, rtol=1e-4)


def test_weights_have_the_names_and_shapes_of_torch_s_own():
    names = {name: tuple(p.shape) for name, p in PlainDecoder(4, (1, 64, 64), 8).named_parameters()}
    assert names["layers.6.weight"] == (8, 1, 4, 4)
    assert names["layers.6.bias"] == (1,)
