"""Networks between pictures and vectors, in matched pairs.

`paper`  The networks of Vedantam et al. (2018, A.4): DCGAN. Where text and code differ the code is
         taken, since it made the published numbers; `docs/papers.md` lists the differences.
`slim`   The paper's decoder at a quarter of its width, encoders without layers at full
         resolution, which cost a GPU more than all others together, and half as many dense layers.
`lean`   For people without a GPU: pictures are folded into 16 channels of a quarter of the size
         before the first convolution and unfolded after the last, so that no layer works at full
         resolution. Chosen by measurement: `benchmarks/networks.py`.
`dense`  No convolutions, for small pictures such as MNIST's own (MNIST-2bit).
`plain`, `smooth`, `tanh`, `silu`  Those of disentanglement, importance weighting and patches:
         `strided`.

`paper`, `slim` and `lean` want square pictures of 64 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import pad

from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.kernels import wanted
from mindseye.networks.dense import MLP, GlorotMLP, initialised
from mindseye.networks.normalised import BatchNormELU, Block, StridedConv
from mindseye.networks.strided import FlatDecoder, FlatEncoder, PlainDecoder, PlainEncoder

__all__ = [
    "NETWORKS",
    "ConvEncoder",
    "DCGANDecoder",
    "DenseEncoder",
    "FoldedDecoder",
    "ImageNetworks",
    "get_networks",
]

Shape = tuple[int, int, int]

_STRIDED = (5, 2)
"""Kernel and stride of the convolutions that read folded maps."""


class ConvEncoder(nn.Sequential):
    """Convolutions with batch normalisation (but on the last) and ELU, flattened.

    Arguments:
        shape: Channels, height and width of a picture.
        fold: Side of the squares of pixels that become channels first; 1 for none.
        channels: Channels of every layer.
        kernels: Kernel sizes, one a layer.
        strides: Strides, one a layer.
        paddings: Paddings, one a layer.
    """

    def __init__(
        self,
        shape: Shape,
        fold: int,
        channels: Sequence[int],
        kernels: Sequence[int],
        strides: Sequence[int],
        paddings: Sequence[int],
    ):
        layers: list[nn.Module] = [nn.PixelUnshuffle(fold)] if fold > 1 else []
        before, side = shape[0] * fold**2, shape[1] // fold
        following = [*zip(kernels[1:], strides[1:], strict=True), None]
        for after, kernel, stride, padding, then in zip(
            channels, kernels, strides, paddings, following, strict=True
        ):
            kind = StridedConv if (kernel, stride) == _STRIDED and before > 1 else nn.Conv2d
            conv = kind(before, after, kernel, stride, padding, bias=then is None)
            norm = BatchNormELU(after, fold=then == _STRIDED and side % 2 == 0) if then else None
            layers += [Block(initialised(conv), norm)] if norm else [initialised(conv), nn.ELU()]
            before, side = after, (side + 2 * padding - kernel) // stride + 1
        super().__init__(*layers, nn.Flatten())
        self.features = before * side**2


class DenseEncoder(nn.Sequential):
    """One dense layer of the pixels.

    Arguments:
        shape: Channels, height and width of a picture.
        width: Width of the layer.
    """

    def __init__(self, shape: Shape, width: int):
        super().__init__(nn.Flatten(), MLP([math.prod(shape), width]), nn.ELU())
        self.features = width


class DCGANDecoder(nn.Module):
    """Transposed convolutions from one pixel to 64, halving the channels (Radford et al., 2015).

    Arguments:
        latent: Size of the latent vector.
        shape: Channels, height and width of a picture.
        width: Channels of the first layer; 1024 in the paper.
    """

    def __init__(self, latent: int, shape: Shape, width: int):
        super().__init__()
        _expect_64(shape)
        widths = [width, width // 2, width // 4, width // 8]
        layers: list[nn.Module] = [_First(latent, width), BatchNormELU(width)]
        for before, after in pairwise(widths):
            doubling = nn.ConvTranspose2d(before, after, 5, 2, 2, output_padding=1, bias=False)
            layers += [initialised(doubling), BatchNormELU(after)]
        self.layers = nn.Sequential(*layers, _Last(widths[-1], shape[0]))

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, 64, 64)`."""
        return self.layers(z[:, :, None, None])


class _First(nn.ConvTranspose2d):
    """A transposed convolution of one pixel to 4 by 4, as the matrix product it is."""

    def __init__(self, before: int, after: int):
        super().__init__(before, after, 4, bias=False)
        initialised(self)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map `(B, D, 1, 1)` to `(B, C, 4, 4)`, channels last."""
        matrix = self.weight.permute(0, 2, 3, 1).flatten(1)  # (D, 16 C)
        return (input.flatten(1) @ matrix).view(-1, 4, 4, self.out_channels).permute(0, 3, 1, 2)


class _Last(nn.ConvTranspose2d):
    """A transposed convolution to twice the side; on a GPU, for one channel, a product and sums."""

    def __init__(self, before: int, after: int):
        super().__init__(before, after, 5, 2, 2, output_padding=1)
        initialised(self)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Map `(B, C, H, W)` to `(B, C', 2H, 2W)`."""
        if self.out_channels > 1 or not wanted(input):
            return super().forward(input)
        from mindseye.kernels.overlap import TAPS, Overlap

        assert self.bias is not None
        matrix = pad(self.weight.flatten(1), (0, TAPS - 25))  # (C, 32)
        return Overlap.apply(input.permute(0, 2, 3, 1) @ matrix) + self.bias


class FoldedDecoder(nn.Module):
    """A dense layer to 8 by 8, convolutions at 8 and 16, then four by four pixels a position.

    Arguments:
        latent: Size of the latent vector.
        shape: Channels, height and width of a picture.
        width: Channels at 8 by 8; half as many at 16 by 16.
    """

    def __init__(self, latent: int, shape: Shape, width: int):
        super().__init__()
        _expect_64(shape)
        self.dense = initialised(nn.Linear(latent, width * 16))
        self.layers = nn.Sequential(
            BatchNormELU(width),
            initialised(nn.Conv2d(width, width * 4, 3, padding=1, bias=False)),
            nn.PixelShuffle(2),  # (B, width, 8, 8)
            BatchNormELU(width),
            initialised(nn.Conv2d(width, width * 2, 3, padding=1, bias=False)),
            nn.PixelShuffle(2),  # (B, width / 2, 16, 16)
            BatchNormELU(width // 2),
            initialised(nn.Conv2d(width // 2, width // 2, 3, padding=1, bias=False)),
            BatchNormELU(width // 2),
            initialised(nn.Conv2d(width // 2, 16 * shape[0], 3, padding=1)),
            nn.PixelShuffle(4),  # (B, C, 64, 64)
        )

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, 64, 64)`."""
        return self.layers(self.dense(z).view(len(z), -1, 4, 4))


@dataclass(frozen=True)
class ImageNetworks:
    """A matched encoder and decoder, and the sizes of the dense networks that go with them."""

    encoder: Callable[[Shape, int], ConvEncoder | DenseEncoder | FlatEncoder | PlainEncoder]
    """Makes an encoder of pictures to flat `features` from (shape, width)."""

    decoder: Callable[[int, Shape, int], nn.Module]
    """Makes a decoder of latents to pictures from (latent, shape, width)."""

    width: int
    """Default width of the decoder."""

    hidden: int
    """Default width of the dense layers."""

    depth: int
    """Dense layers between the convolutions, or the embedding of a word, and the belief."""


def _paper_encoder(shape: Shape, width: int) -> ConvEncoder:
    del width  # the paper's encoder is the same for every decoder
    _expect_64(shape)
    return ConvEncoder(shape, 1, [32, 64, 128, 16], [5, 5, 5, 1], [1, 2, 2, 1], [2, 2, 0, 0])


def _slim_encoder(shape: Shape, width: int) -> ConvEncoder:
    del width
    _expect_64(shape)
    return ConvEncoder(shape, 1, [32, 64, 16], [5, 5, 1], [2, 2, 1], [2, 0, 0])


def _lean_encoder(shape: Shape, width: int) -> ConvEncoder:
    _expect_64(shape)
    return ConvEncoder(shape, 4, [width // 2, width, width], [3, 3, 3], [1, 2, 2], [1, 1, 1])


NETWORKS: dict[str, ImageNetworks] = {
    "paper": ImageNetworks(_paper_encoder, DCGANDecoder, width=1024, hidden=512, depth=4),
    "slim": ImageNetworks(_slim_encoder, DCGANDecoder, width=256, hidden=256, depth=2),
    "lean": ImageNetworks(_lean_encoder, FoldedDecoder, width=64, hidden=256, depth=2),
    "dense": ImageNetworks(
        DenseEncoder, partial(FlatDecoder, layers=MLP), width=512, hidden=512, depth=1
    ),
    "plain": ImageNetworks(PlainEncoder, PlainDecoder, width=32, hidden=256, depth=0),
    "smooth": ImageNetworks(
        partial(PlainEncoder, between=nn.SiLU),
        partial(PlainDecoder, between=nn.SiLU),
        width=32,
        hidden=256,
        depth=0,
    ),
    "tanh": ImageNetworks(FlatEncoder, FlatDecoder, width=200, hidden=200, depth=0),
    "silu": ImageNetworks(
        partial(FlatEncoder, between=nn.SiLU),
        partial(FlatDecoder, layers=partial(GlorotMLP, between=nn.SiLU)),
        width=200,
        hidden=200,
        depth=0,
    ),
}


def get_networks(name: str) -> ImageNetworks:
    """The pair of that name, or an error that names the near one."""
    if name not in NETWORKS:
        raise UsageError(
            f"`networks={name!r}` is not known; expected {listed(NETWORKS)}.",
            did_you_mean(name, NETWORKS),
        )
    return NETWORKS[name]


def _expect_64(shape: Shape) -> None:
    if shape[1:] != (64, 64):
        raise UsageError(
            f"these networks draw 64 by 64 pixels; the pictures have {shape[1]} by {shape[2]}.",
            "Try networks=dense.",
        )
