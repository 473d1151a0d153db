r"""The bound of pictures given captions, stroke by stroke.

$$
\mathcal{L} = \mathbb{E}_{q(z_{1:T} \mid x, y)} \Big[ \log p(x \mid z_{1:T}, y)
- β \sum_t \mathrm{KL}\big(q(z_t \mid x, z_{<t}, y) \,\|\, p(z_t \mid z_{<t}, y)\big) \Big]
\le \log p(x \mid y)
$$

One draw of every stroke; given the draws before it, the divergence of a stroke is exact. With one
stroke and $p(z) = \mathcal{N}(0, I)$ it is the bound of a VAE that is given the caption.

In a share `drop` of the captions words are left out. Then a caption that leaves words open means
what it says, and words are learnt apart from each other, which is what combinations that were never
seen ask for. The paper leaves none out.

References:
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor
from torch.distributions import kl_divergence

from mindseye.models.draw import Drawn
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective
from mindseye.objectives.telbo import with_words_left_out

__all__ = ["draw"]


class Drawing(Protocol):
    """What the bound asks of a model."""

    def drawn(self, x: Tensor, y: Any) -> Drawn:
        """What is believed of latents before and after pictures are seen."""
        ...


@objective("draw", fits="q_y", cite="mansimov2016 gregor2015", trains="draw captioned", cools=True)
def draw(model: Drawing, x: Tensor, y: Any, *, beta: float = 1.0, drop: float = 0.0) -> Bound:
    """log p(x|y), from below."""
    drawn = model.drawn(x, with_words_left_out(y, drop))
    log_px, kl = drawn.p_x.log_prob(x), kl_divergence(drawn.q, drawn.p)
    return Bound(log_px - beta * kl, {"log_px_qxy": log_px, "kl_qxy_p": kl}, kl)
