r"""A trained model with flows beside it: where its latents really are, given words or nothing.

A decoder is only good where posteriors of pictures are, and neither the prior $p(z)$ nor the true
posterior of words $p(z \mid y)$ is there alone. So the model is held still, and flows learn the
aggregates of its posteriors,

$$ q_φ(z \mid y) ≈ \mathbb{E}_{p_D(x \mid y)}[q(z \mid x)], \qquad
   q_φ(z) ≈ \mathbb{E}_{p_D(x)}[q(z \mid x)] , $$

of which the first is also defined for descriptions that leave words open. Any model with one latent
vector can have them: what it needs is $q(z \mid x)$ or $q(z \mid x, y)$, and a decoder.

References:
    On the Importance of Learning Aggregate Posteriors in Multimodal Variational Autoencoders,
    Cremer and Kushman, 2018
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from mindseye.concepts import Vocabulary
from mindseye.distributions import Autoregression, Flow
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.vlvae import CODE, CaptionEncoder
from mindseye.networks import Autoregressive, Couplings

__all__ = ["Flowing"]


WIDER = 2
"""Times the width of couplings an autoregressive base has: its units are shared by coordinates."""


class Flowing(nn.Module):
    """A model that is held still, and the flows q(z|y) and q(z).

    Arguments:
        base: The model: `latent`, `p_x` and `q_x` or `q_xy` are asked of it.
        vocabulary: What can be said; a model of pictures alone learns the words here.
        couplings: Couplings of a flow.
        hidden: Width of their networks.
        joint: Whether pictures are read together with their descriptions, by q(z|x,y).
        normals: Of each coordinate of the autoregressive base of q(z); 0 for a normal there too.
    """

    factorised = False

    def __init__(
        self,
        base: Any,
        vocabulary: Vocabulary,
        couplings: int = 6,
        hidden: int = 128,
        *,
        joint: bool = False,
        normals: int = 0,
    ):
        super().__init__()
        if hasattr(base, "latents") or not isinstance(getattr(base, "latent", None), int):
            raise UsageError(
                f"a {type(base).__name__} has layers of latents; flows are fitted to one vector.",
                "Use a model with one latent vector, such as a vae, joint or vlvae.",
            )
        self.base = base.requires_grad_(False)
        self.vocabulary, self.shape, self.latent = vocabulary, base.shape, base.latent
        self.joint = joint
        self.reader = CaptionEncoder(vocabulary, CODE) if len(vocabulary) else None
        context = CODE if self.reader else 0
        self.words_flow = Couplings(self.latent, couplings, hidden, context)
        self.prior_flow = Couplings(self.latent, couplings, hidden)
        wide = WIDER * hidden
        self.prior_base = Autoregressive(self.latent, wide, normals) if normals else None

    def train(self, mode: bool = True) -> Flowing:
        """Let the flows learn; the model below stays as it is used."""
        super().train(mode)
        self.base.eval()
        return self

    @property
    def prior(self) -> Distribution:
        """p(z), that the model was trained with."""
        return self.base.prior

    @property
    def aggregate(self) -> Flow:
        """q(z): where pictures are, whatever they show."""
        return self._of_all()

    @property
    def knows_aggregate(self) -> bool:
        """Whether q(z) was fitted; it is p(z), or next to it, as long as it was not."""
        return any(
            bool(p.any()) for name, p in self.prior_flow.named_parameters() if "bias" in name
        )

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.parameters()).device

    @torch.no_grad()
    def posterior(self, x: Tensor, y: Labels | None = None) -> Distribution:
        """What the model infers from pictures, and from descriptions if it reads those too.

        It is also given what was inferred before: means and deviations, `(B, 2, D)`.
        """
        if x.ndim == 3:
            return DiagonalNormal(*x.unbind(1))
        return self.base.q_xy(x, y) if self.joint else self.base.q_x(x)

    def read(self, x: Tensor, y: Labels) -> Tensor:
        """What is inferred from pictures, to be kept: means and deviations, `(B, 2, D)`."""
        q = self.posterior(x, y)
        return torch.stack([q.mean, q.stddev], 1)

    def q_x(self, x: Tensor) -> Distribution:
        """q(z|x)."""
        return self.base.q_x(x)

    def q_xy(self, x: Tensor, y: Labels) -> Distribution:
        """q(z|x,y)."""
        return self.base.q_xy(x, y)

    def q_y(self, y: Labels) -> Flow:
        """q(z|y), also of descriptions that leave words open."""
        if self.reader is None:
            return self._of_all(torch.zeros(len(y.codes), 0, device=self.device))
        return Flow(self.words_flow, self.reader(y), size=self.latent)

    def _of_all(self, context: Tensor | None = None) -> Flow:
        """q(z), once or for each of some rows of no width."""
        base = Autoregression(self.prior_base, device=self.device) if self.prior_base else None
        options = {"size": self.latent, "device": self.device, "base": base}
        return Flow(self.prior_flow, context, **options)

    def p_x(self, z: Tensor) -> Distribution:
        """p(x|z)."""
        return self.base.p_x(z)

    def p_y(self, z: Tensor) -> Any:
        """p(y|z), of a model that knows words."""
        if not hasattr(self.base, "p_y"):
            raise UsageError(
                "this model describes nothing: it was trained on pictures alone, and learnt only"
                " afterwards where those of words are.",
                "Describe with a model of pictures and words, such as mnist-a.",
            )
        return self.base.p_y(z)

    @property
    def draws_bits(self) -> bool | None:
        """Whether a pixel is 0 or 1, where the model says so itself."""
        return getattr(self.base, "draws_bits", None)

    @property
    def likelihood(self) -> Any:
        """What a pixel is, where the model says so."""
        return getattr(self.base, "likelihood", None)

    def extra_repr(self) -> str:
        """What is fitted to what."""
        q = "q(z | x, y)" if self.joint else "q(z | x)"
        return f"q(z | y) ≈ E[{q}] over the pictures of y,  q(z) ≈ E[{q}] over all"
