r"""Joint image-attribute models: one latent behind a picture and its description.

A picture $x$ and the attributes $y = (y_1, \dots, y_K)$ share a latent $z \in \mathbb{R}^D$:

$$ p(x, y, z) = p(z)\, p(x \mid z) \prod_k p(y_k \mid z). $$

Three inference networks read both, the picture alone, or any subset of words:
$q(z \mid x, y)$, $q(z \mid x)$ and $q(z \mid y_\mathcal{O})$. Every method returns a distribution;
means and scales never leave the network that made them.

References:
    Generative Models of Visually Grounded Imagination, Vedantam et al., 2018
    https://arxiv.org/abs/1705.10762
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.distributions import Distribution, Independent

from mindseye.concepts import Vocabulary
from mindseye.distributions import (
    Attributes,
    Pixels,
    ProductOfExperts,
    diagonal_normal,
    moment_matched,
)
from mindseye.distributions.normal import loc_and_log_scale
from mindseye.errors import UsageError, did_you_mean, listed
from mindseye.labels import Labels
from mindseye.models.vae import ImageEncoder, normal_prior
from mindseye.networks import (
    MLP,
    AttributeTower,
    ImageNetworks,
    ParallelMLP,
    SymbolTower,
    get_networks,
)
from mindseye.streams import side_by_side

__all__ = ["JointModel", "JointVAE", "frozen"]


class JointModel(Protocol):
    """What an objective asks of a joint model; `y` is whatever its `p_y` can score."""

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        ...

    @property
    def decoders(self) -> list[nn.Module]:
        """The modules of p(x|z) and p(y|z)."""
        ...

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x)."""
        ...

    def p_x(self, z: Tensor) -> Any:
        """p(x|z)."""
        ...

    def p_y(self, z: Tensor) -> Any:
        """p(y|z)."""
        ...

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x)."""
        ...

    def q_y(self, y: Any) -> Distribution:
        """q(z|y)."""
        ...

    def q_xy(self, x: Tensor, y: Any) -> Distribution:
        """q(z|x,y)."""
        ...


class JointVAE(nn.Module):
    r"""The joint VAE (JVAE) of pictures and attributes.

        p(z)         = N(0, I)
        p(x | z)     = Bernoulli(decoder(z))
        p(y_k | z)   = Cat(mlp_k(z))
        q(z | x)     = N(mlp(conv(x)))
        q(z | y_O)   ∝ p(z) ∏_{k ∈ O} N(mlp_k(embed_k(y_k)))
        q(z | x, y)  = N(mlp(mlp(conv(x)), mlp_1(embed_1(y_1)), …))

    With atomic words a description is one symbol, q(z | y) = N(mlp(embed(y))), and a partial one
    is the Gaussian that has the moments of all symbols that fit: see `moment_matched`.

    Arguments:
        vocabulary: The attributes.
        shape: Channels, height and width of a picture.
        latent: D, the size of z.
        networks: Which pair of image networks, a key of `NETWORKS`.
        width: Channels of the decoder's first layer; the pair's default if 0.
        hidden: Width of the dense layers; the pair's default if 0.
        words: What q(z|y) embeds: "factorised", each word by itself, or "atomic".
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        shape: tuple[int, int, int] = (1, 64, 64),
        latent: int = 10,
        networks: str = "paper",
        width: int = 0,
        hidden: int = 0,
        words: str = "factorised",
    ):
        super().__init__()
        pair = get_networks(networks)
        width, hidden = width or pair.width, hidden or pair.hidden
        self.vocabulary, self.shape, self.latent = vocabulary, shape, latent
        sizes, dense = vocabulary.sizes, [hidden] * pair.depth
        self.image_decoder = pair.decoder(latent, shape, width)
        self.label_decoder = ParallelMLP(len(sizes), [latent, 128, 128, max(sizes)])
        self.image_encoder = ImageEncoder(pair, shape, width, [*dense, 2 * latent])
        self.label_encoder = _tower(words)(sizes, dense, 2 * latent)
        self.joint_encoder = _JointEncoder(pair, shape, sizes, width, hidden, 2 * latent)

    @property
    def prior(self) -> Distribution:
        """p(z)."""
        return normal_prior(self.latent, self.label_encoder.embedding.device)

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|z), over pictures `(C, H, W)`, of latents `(..., D)`."""
        logits = self.image_decoder(z.reshape(-1, z.shape[-1])).float()
        return Pixels(logits.unflatten(0, z.shape[:-1]))

    def p_y(self, z: Tensor) -> Attributes:
        """p(y|z), over labels, which may be partial."""
        logits = self.label_decoder(z.expand(len(self.vocabulary.sizes), *z.shape))  # (K, B, V)
        return Attributes(logits.movedim(0, -2), self.vocabulary.sizes)

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x)."""
        return diagonal_normal(*loc_and_log_scale(self.image_encoder(x)))

    def q_y(self, y: Labels) -> Independent:
        """q(z|y_O): the product of the prior and one expert per observed word, or a symbol's."""
        if not self.factorised:
            return moment_matched(*loc_and_log_scale(self.label_encoder()), y)
        return ProductOfExperts(*loc_and_log_scale(self.label_encoder(y.codes)), y.observed)

    def q_xy(self, x: Tensor, y: Labels) -> Distribution:
        """q(z|x,y), for labels that leave nothing open."""
        return diagonal_normal(*loc_and_log_scale(self.joint_encoder(x, y.codes)))

    @property
    def factorised(self) -> bool:
        """Whether q(z|y) is a product of experts, one for each word."""
        return not isinstance(self.label_encoder, SymbolTower)

    @property
    def decoders(self) -> list[nn.Module]:
        """The generative half, p(x|z) and p(y|z)."""
        return [self.image_decoder, self.label_decoder]

    @property
    def image_readers(self) -> list[nn.Module]:
        """The modules of q(z|x)."""
        return [self.image_encoder]

    def decayed(self) -> list[nn.Parameter]:
        """The weights the paper regularises: those of p(y|z)."""
        return list(self.label_decoder.weights)

    def extra_repr(self) -> str:
        """The factorisation, the pictures, the size of the latent and the attributes."""
        words = ", ".join(f"{a.name} ({len(a.values)})" for a in self.vocabulary)
        return (
            "p(x, y, z) = p(z) p(x | z) ∏ p(y_k | z);  q(z | x),  q(z | y_O),  q(z | x, y)\n"
            f"pictures {self.shape}, latent {self.latent}, attributes {words}"
        )


@contextmanager
def frozen(modules: list[nn.Module]) -> Iterator[None]:
    """Hold some modules still: no gradient reaches their parameters, no statistic is updated.

    Gradients still flow *through* them. Batch normalisation normalises by the batch, as before,
    but its running averages do not see it.
    """
    parts = [part for module in modules for part in module.modules()]
    weights = [w for module in modules for w in module.parameters() if w.requires_grad]
    norms = [p for p in parts if isinstance(p, nn.BatchNorm2d) and p.track_running_stats]
    _set_still(weights, norms, still=True)
    try:
        yield
    finally:
        _set_still(weights, norms, still=False)


def _set_still(weights: list[nn.Parameter], norms: list[nn.BatchNorm2d], *, still: bool) -> None:
    for weight in weights:
        weight.requires_grad_(not still)
    for norm in norms:
        norm.track_running_stats = not still


class _JointEncoder(nn.Module):
    """An image branch and a branch per attribute, concatenated, then dense layers."""

    def __init__(
        self,
        pair: ImageNetworks,
        shape: tuple[int, int, int],
        sizes: tuple[int, ...],
        width: int,
        hidden: int,
        out: int,
    ):
        super().__init__()
        self.image = ImageEncoder(pair, shape, width, [hidden] * pair.depth)
        self.words = AttributeTower(sizes, [hidden] * (pair.depth - 1), hidden)
        self.fusion = MLP([hidden * (1 + len(sizes)), hidden, hidden, out])

    def forward(self, x: Tensor, codes: Tensor) -> Tensor:
        image, words = side_by_side(lambda: self.image(x), lambda: self.words(codes).flatten(1))
        branches = torch.cat([image, words], 1)
        return self.fusion(nn.functional.elu(branches))


def _tower(words: str) -> type[AttributeTower] | type[SymbolTower]:
    towers = {"factorised": AttributeTower, "atomic": SymbolTower}
    if words not in towers:
        raise UsageError(
            f"`words={words!r}` is not known; expected {listed(towers)}.",
            did_you_mean(words, towers),
        )
    return towers[words]
