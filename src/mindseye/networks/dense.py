"""Fully connected networks: one, or K of the same shape as one batched product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from mindseye.kernels import wanted

__all__ = ["MLP", "GlorotMLP", "ParallelMLP", "initialised", "truncated_normal"]


class MLP(nn.Sequential):
    """Linear layers with ELU between them, and none after the last.

    Arguments:
        sizes: Width of the input, of every hidden layer and of the output.
    """

    def __init__(self, sizes: Sequence[int]):
        layers: list[nn.Module] = []
        for width, following in pairwise(sizes):
            layers += [initialised(nn.Linear(width, following)), nn.ELU()]
        super().__init__(*layers[:-1])

    def forward(self, input: Tensor) -> Tensor:
        """Map `(..., first size)` to `(..., last size)`."""
        if not (self.training and wanted(input)):
            return super().forward(input)
        *hidden, last = self.children()
        for layer in hidden[::2]:
            assert isinstance(layer, nn.Linear)
            input = _bias_elu(input @ layer.weight.T, layer.bias)
        return last(input)


class GlorotMLP(nn.Sequential):
    """Linear layers with tanh between them, and none after the last, as Burda et al. (2016).

    Weights are uniform within the bounds of Glorot and Bengio (2010), biases zero.

    Arguments:
        sizes: Width of the input, of every hidden layer and of the output.
        between: What stands between them instead of tanh.
    """

    def __init__(self, sizes: Sequence[int], between: Callable[[], nn.Module] = nn.Tanh):
        layers: list[nn.Module] = []
        for width, following in pairwise(sizes):
            layers += [_glorot(nn.Linear(width, following)), between()]
        super().__init__(*layers[:-1])

    def forward(self, input: Tensor) -> Tensor:
        """Map `(..., first size)` to `(..., last size)`."""
        if not (self.training and wanted(input)):
            return super().forward(input)
        for layer in self:
            linear = isinstance(layer, nn.Linear)
            input = _Linear.apply(input, layer.weight, layer.bias) if linear else layer(input)
        return input


class _Linear(torch.autograd.Function):
    """A dense layer whose bias learns by a product: on a GPU faster than a sum over many rows."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = input.reshape(-1, input.shape[-1]).to(weight.dtype)
        ctx.save_for_backward(rows, weight)
        ctx.shape = input.shape
        return torch.addmm(bias, rows, weight.T).view(*input.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (gradient,) = gradients
        rows, weight = ctx.saved_tensors
        gradient = gradient.reshape(-1, gradient.shape[-1]).to(weight.dtype)
        total = gradient.new_ones(1, len(gradient)) @ gradient
        return (gradient @ weight).view(ctx.shape), gradient.T @ rows, total[0]


class ParallelMLP(nn.Module):
    """`count` networks of the same shape and different weights, as one batched product a layer.

    Arguments:
        count: How many networks, K.
        sizes: Width of the input, of every hidden layer and of the output.
    """

    def __init__(self, count: int, sizes: Sequence[int]):
        super().__init__()
        self.weights = nn.ParameterList(
            truncated_normal((count, width, following), std=width**-0.5)
            for width, following in pairwise(sizes)
        )
        self.biases = nn.ParameterList(torch.zeros(count, 1, width) for width in sizes[1:])

    def forward(self, x: Tensor) -> Tensor:
        """Map `(K, B, first size)` to `(K, B, last size)`."""
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i < last and wanted(x):
                x = _bias_elu(x @ weight, bias)
                continue
            x = torch.baddbmm(bias, x, weight)
            x = nn.functional.elu(x) if i < last else x
        return x


def _bias_elu(x: Tensor, bias: Tensor) -> Tensor:
    """ELU of x + bias, one kernel each way."""
    from mindseye.kernels.dense import BiasELU

    return BiasELU.apply(x, bias)


def _glorot(layer: nn.Linear) -> nn.Linear:
    """Weights that keep the variance of tanh layers in both directions."""
    if not layer.weight.is_meta:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return layer


_Layer = TypeVar("_Layer", nn.Linear, nn.Conv2d, nn.ConvTranspose2d)


def initialised(layer: _Layer) -> _Layer:
    """Truncated normal weights of variance 1/fan-in and zero biases, as the authors' library."""
    if isinstance(layer, nn.ConvTranspose2d):
        # An output pixel is reached by 1/stride² of the kernel's entries.
        fan_in = layer.weight[:, 0].numel() // (layer.stride[0] * layer.stride[1])
    else:
        fan_in = layer.weight[0].numel()
    layer.weight.data = truncated_normal(layer.weight.shape, std=fan_in**-0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def truncated_normal(shape: Sequence[int], std: float) -> Tensor:
    """Normal numbers, cut at two standard deviations."""
    weight = torch.empty(*shape)
    # On the meta device, where a model is built to be loaded, there is nothing to fill.
    return weight if weight.is_meta else nn.init.trunc_normal_(weight, 0, std, -2 * std, 2 * std)
