r"""The last stage of a recipe: the experts of q(z|y) are fitted to where pictures are.

The posteriors of many training pictures are computed once: $q(z \mid x_n, y_n)$, what the decoder
was trained with, or $q(z \mid x_n)$ where an objective fits no joint reader. The experts then
minimise the divergence of $q(z \mid y_\mathcal{O})$ from the mean posterior of the pictures that
fit $y_\mathcal{O}$, for full and partial descriptions; nothing else moves. It takes a minute on a
CPU, and afterwards every word means latents that have pictures.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mindseye.data import Dataset
from mindseye.labels import Labels
from mindseye.models import JointVAE
from mindseye.objectives import Aggregate, words_to_aggregate
from mindseye.papers.recipe import Refit
from mindseye.randomness import integers, keys
from mindseye.training import Checkpoints, Record, train

__all__ = ["aggregate_of", "refitted"]


def refitted(
    vae: JointVAE,
    dataset: Dataset,
    options: Refit,
    *,
    joint: bool = True,
    seed: int = 0,
    checkpoints: Checkpoints | None = None,
    compiled: bool = False,
) -> Generator[Record]:
    """Fit the experts of a trained model; records as they come.

    Arguments:
        vae: The model; its experts change.
        dataset: Where the pictures come from.
        options: How many pictures and updates.
        joint: Whether q(z|x, y) was trained; else pictures are read by q(z|x).
        seed: Chooses descriptions and noise.
        checkpoints: Where to save, if anywhere.
        compiled: On a GPU, capture whole steps and replay them.
    """
    aggregate = aggregate_of(vae, dataset, options, joint=joint)
    training = options.training(seed)
    size = training.batch_size

    def described(number: int | Tensor, count: int = 1) -> Labels:
        """Descriptions of random pictures of the aggregate."""
        rows = number * size + torch.arange(count * size, device=aggregate.codes.device)
        chosen = integers(keys(seed, rows, "refit"), len(aggregate.codes))
        return Labels.full(aggregate.codes[chosen])

    with _only(vae, vae.label_encoder):
        yield from train(
            vae,
            lambda _, y, beta: words_to_aggregate(vae, aggregate, y, drop=options.partial),
            described,
            training,
            checkpoints=checkpoints,
            compiled=compiled,
        )


@torch.no_grad()
def aggregate_of(
    vae: JointVAE, dataset: Dataset, options: Refit, *, joint: bool = True
) -> Aggregate:
    """The posteriors of the first pictures of a data set."""
    vae.eval()
    device = vae.label_encoder.embedding.device
    loc, scale, codes = [], [], []
    for index in torch.arange(options.pictures, device=device).split(512):
        x, y = dataset.examples(index)
        q = vae.q_xy(x, y) if joint else vae.q_x(x)
        loc.append(q.mean)
        scale.append((q.variance + options.bandwidth**2).sqrt())
        codes.append(y.codes)
    return Aggregate(torch.cat(loc), torch.cat(scale), torch.cat(codes))


@contextmanager
def _only(model: nn.Module, part: nn.Module) -> Iterator[None]:
    """Let one part of a model learn and hold the rest still."""
    wanted = {id(parameter) for parameter in part.parameters()}
    still = [p for p in model.parameters() if p.requires_grad and id(p) not in wanted]
    for parameter in still:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in still:
            parameter.requires_grad_(True)
