"""Networks between pictures and vectors, in matched pairs.

`paper`  The networks of Vedantam et al. (2018, A.4): DCGAN. Where text and code differ the code is
         taken, since it made the published numbers; `docs/papers.md` lists the differences.
`lean`   For people without a GPU: pictures are folded into 16 channels of a quarter of the size
         before the first convolution and unfolded after the last, so that no layer works at full
         resolution. Chosen by measurement: `benchmarks/networks.py`.

`dense`  No convolutions, for small pictures such as MNIST's own (MNIST-2bit).

`paper` and `lean` want square pictures of 64 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from mindseye.errors import UsageError
from mindseye.networks.dense import MLP, initialised

__all__ = [
    "NETWORKS",
    "ConvEncoder",
    "DCGANDecoder",
    "DenseDecoder",
    "DenseEncoder",
    "FoldedDecoder",
    "ImageNetworks",
]

Shape = tuple[int, int, int]


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
        for i, (after, kernel, stride, padding) in enumerate(
            zip(channels, kernels, strides, paddings, strict=True)
        ):
            last = i == len(channels) - 1
            layers.append(initialised(nn.Conv2d(before, after, kernel, stride, padding, bias=last)))
            layers += [] if last else [_batch_norm(after)]
            layers.append(nn.ELU())
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
        first = nn.ConvTranspose2d(latent, width, 4, bias=False)
        layers: list[nn.Module] = [initialised(first), _batch_norm(width), nn.ELU()]
        for before, after in pairwise(widths):
            layers += [_doubling(before, after, bias=False), _batch_norm(after), nn.ELU()]
        self.layers = nn.Sequential(*layers, _doubling(widths[-1], shape[0], bias=True))

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, 64, 64)`."""
        return self.layers(z[:, :, None, None])


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
            _batch_norm(width),
            nn.ELU(),
            initialised(nn.Conv2d(width, width * 4, 3, padding=1, bias=False)),
            nn.PixelShuffle(2),  # (B, width, 8, 8)
            _batch_norm(width),
            nn.ELU(),
            initialised(nn.Conv2d(width, width * 2, 3, padding=1, bias=False)),
            nn.PixelShuffle(2),  # (B, width / 2, 16, 16)
            _batch_norm(width // 2),
            nn.ELU(),
            initialised(nn.Conv2d(width // 2, width // 2, 3, padding=1, bias=False)),
            _batch_norm(width // 2),
            nn.ELU(),
            initialised(nn.Conv2d(width // 2, 16 * shape[0], 3, padding=1)),
            nn.PixelShuffle(4),  # (B, C, 64, 64)
        )

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, 64, 64)`."""
        return self.layers(self.dense(z).view(len(z), -1, 4, 4))


class DenseDecoder(nn.Module):
    """Two dense layers and the pixels.

    Arguments:
        latent: Size of the latent vector.
        shape: Channels, height and width of a picture.
        width: Width of the hidden layers.
    """

    def __init__(self, latent: int, shape: Shape, width: int):
        super().__init__()
        self.shape = shape
        self.mlp = MLP([latent, width, width, math.prod(shape)])

    def forward(self, z: Tensor) -> Tensor:
        """Map `(B, D)` to `(B, C, H, W)`."""
        return self.mlp(z).view(len(z), *self.shape)


@dataclass(frozen=True)
class ImageNetworks:
    """A matched encoder and decoder, and the sizes of the dense networks that go with them."""

    encoder: Callable[[Shape, int], ConvEncoder | DenseEncoder]
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


def _lean_encoder(shape: Shape, width: int) -> ConvEncoder:
    _expect_64(shape)
    return ConvEncoder(shape, 4, [width // 2, width, width], [3, 3, 3], [1, 2, 2], [1, 1, 1])


NETWORKS: dict[str, ImageNetworks] = {
    "paper": ImageNetworks(_paper_encoder, DCGANDecoder, width=1024, hidden=512, depth=4),
    "lean": ImageNetworks(_lean_encoder, FoldedDecoder, width=64, hidden=256, depth=2),
    "dense": ImageNetworks(DenseEncoder, DenseDecoder, width=512, hidden=512, depth=1),
}


def _doubling(before: int, after: int, *, bias: bool) -> nn.Module:
    """A transposed convolution that doubles the side of its input."""
    conv = nn.ConvTranspose2d(before, after, 5, stride=2, padding=2, output_padding=1, bias=bias)
    return initialised(conv)


def _batch_norm(channels: int) -> nn.Module:
    """Batch normalisation with the authors' ε; its averages follow the last hundred batches."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


def _expect_64(shape: Shape) -> None:
    if shape[1:] != (64, 64):
        raise UsageError(
            f"these networks draw 64 by 64 pixels; the pictures have {shape[1]} by {shape[2]}.",
            "Try networks=dense.",
        )
