"""A model without the units that say nothing.

A unit whose posterior does not depend on the picture can be taken out: nothing is drawn for it, and
whoever read it reads its mean, which is 0 in the last layer and need not be in those below. What is
left is a smaller model of the same kind, whose likelihood is measured like any other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from mindseye.errors import UsageError
from mindseye.models.deep import DeepVAE
from mindseye.models.vae import VAE

__all__ = ["prunable", "pruned"]


def prunable(model: nn.Module) -> bool:
    """Whether the networks that read and write the latents of a model have dense layers there."""
    return isinstance(model, DeepVAE) or (
        isinstance(model, VAE) and bool(_dense(model.image_decoder))
    )


@torch.no_grad()
def pruned(
    model: VAE | DeepVAE, keep: Sequence[Tensor], means: Sequence[Tensor] | None = None
) -> VAE | DeepVAE:
    """A copy of a model with only some of its units.

    Arguments:
        model: A VAE, or a deep one, that is `prunable`.
        keep: For every layer of latents, which units stay, bool `(D_l,)`.
        means: For every layer, what is read instead of the units that go, `(D_l,)`; 0 if not given.
    """
    if not prunable(model):
        raise UsageError("This model's latents are not read by a dense layer, and none can go.")
    layers = model.latents if isinstance(model, DeepVAE) else (model.latent,)
    if tuple(len(each) for each in keep) != layers or not all(each.any() for each in keep):
        raise UsageError(f"`keep` must choose some of the units of every layer {layers}.")
    small = deepcopy(model)
    means = means or [torch.zeros(len(each)) for each in keep]
    kept = list(zip(keep, means, strict=True))
    if isinstance(small, DeepVAE):
        small.latents = tuple(int(each.sum()) for each in keep)
        for reader, each in zip(small.readers, keep, strict=True):
            _end(reader, each)
        for reader, under in zip(list(small.readers)[1:], kept, strict=False):
            _begin(reader, *under)
        for writer, under, above in zip(small.writers, keep, kept[1:], strict=False):
            _begin(writer, *above)
            _end(writer, under)
        _begin(small.decoder, *kept[0])
    else:
        small.latent = int(keep[0].sum())
        _end(small.image_encoder, keep[0])
        _begin(small.image_decoder, *kept[0])
    return small


def _begin(network: nn.Module, keep: Tensor, means: Tensor) -> None:
    """Let a network's first dense layer read some of its inputs, and take the others as given."""
    layer = _dense(network)[0]
    keep, means = keep.to(layer.weight.device), means.to(layer.weight)
    layer.bias.add_(layer.weight[:, ~keep] @ means[~keep])
    layer.weight = nn.Parameter(layer.weight[:, keep].clone())
    layer.in_features = layer.weight.shape[1]


def _end(network: nn.Module, keep: Tensor) -> None:
    """Let a network's last dense layer give the means and deviations of some units."""
    layer = _dense(network)[-1]
    both = keep.to(layer.weight.device).repeat(2)
    layer.weight, layer.bias = (nn.Parameter(p[both].clone()) for p in (layer.weight, layer.bias))
    layer.out_features = len(layer.weight)


def _dense(network: nn.Module) -> list[nn.Linear]:
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
