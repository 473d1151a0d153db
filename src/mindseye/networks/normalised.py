"""Convolutions that are normalised: `conv → batch normalisation → ELU`, and what makes it fast.

On a GPU in training, normalisation and ELU are one kernel (`mindseye.kernels`). It may also fold
its result, two by two pixels into channels, for a convolution of stride 2 behind it: that
convolution is then one of stride 1 with kernels of 3 by 3, which GPUs do twice as fast as a strided
one. The first layer, of one channel, is a kernel by itself. Nothing of this changes the numbers
beyond rounding.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from mindseye.kernels import wanted

__all__ = ["BatchNormELU", "Block", "StridedConv"]


class BatchNormELU(nn.BatchNorm2d):
    """Batch normalisation with the authors' ε, then ELU; averages follow the last hundred batches.

    Arguments:
        channels: Channels of the maps.
        fold: Whether the fused form may fold its result for a `StridedConv` behind it.
    """

    def __init__(self, channels: int, *, fold: bool = False):
        super().__init__(channels, eps=1e-3, momentum=0.01)
        self.fold = fold

    def forward(self, input: Tensor) -> Tensor:
        """Normalise by the batch in training, by the running averages otherwise."""
        if self.training and wanted(input):
            from mindseye.kernels.normalise import BatchNormELU as Fused

            return Fused.apply(input, *self.numbers(), self.fold)
        return F.elu(super().forward(input))

    def numbers(self) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor] | None, float, float]:
        """What a kernel asks for; no running averages if they are held still."""
        assert self.running_mean is not None
        assert self.running_var is not None
        running = (self.running_mean, self.running_var) if self.track_running_stats else None
        return self.weight, self.bias, running, self.momentum or 0.0, self.eps


class StridedConv(nn.Conv2d):
    r"""A 5 by 5 convolution of stride 2 that reads folded maps too.

    Pixel $2o + k$ of a row is pixel $k \bmod 2$ of the pair $o + \lfloor k/2 \rfloor$, so the
    kernel of 5, with a zero as its sixth entry, is a kernel of 3 over pairs.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Maps `(B, C, H, W)`, or folded `(B, 4C, H/2, W/2)`, to maps of half the side."""
        if input.shape[1] == self.in_channels:
            return super().forward(input)
        padding = int(self.padding[0]) // 2
        return F.conv2d(input, self.folded(), self.bias, padding=padding)

    def folded(self) -> Tensor:
        """The kernels over folded maps, `(out, 4 in, 3, 3)`, channels last."""
        if wanted(self.weight):
            from mindseye.kernels.folding import FoldedKernel

            return FoldedKernel.apply(self.weight)
        out, channels = self.weight.shape[:2]
        six = F.pad(self.weight.permute(0, 2, 3, 1), (0, 0, 0, 1, 0, 1))  # (out, 6, 6, in)
        pairs = six.view(out, 3, 2, 3, 2, channels).transpose(2, 3)
        return pairs.reshape(out, 3, 3, 4 * channels).permute(0, 3, 1, 2)


class Block(nn.Sequential):
    """A convolution, batch normalisation and ELU.

    Arguments:
        conv: The convolution, without a bias.
        norm: The normalisation.
    """

    def __init__(self, conv: nn.Conv2d, norm: BatchNormELU):
        super().__init__(conv, norm)
        shape = (conv.in_channels, conv.kernel_size, conv.padding)
        self.stem = shape == (1, (5, 5), (2, 2)) and conv.out_channels in (16, 32, 64) and norm.fold

    def forward(self, input: Tensor) -> Tensor:
        """Convolve and normalise; a first layer's picture gets no gradient from the fused form."""
        conv, norm = self
        assert isinstance(conv, nn.Conv2d)
        assert isinstance(norm, BatchNormELU)
        if self.stem and self.training and wanted(input) and not input.requires_grad:
            from mindseye.kernels.stem import Stem

            return Stem.apply(input, conv.weight, *norm.numbers(), conv.stride[0])
        return norm(conv(input))
