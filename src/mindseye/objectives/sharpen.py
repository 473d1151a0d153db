r"""The sharpener's game: two players at every level of a pyramid, and the model below held still.

Of a real picture there are halvings $x_l$, and halvings $m_l$ of the mean picture that the model
paints when it is shown the real one: a reconstruction, blurred as what it paints is. A fake picture
is made in a context, what was painted at the coarser level:

$$ u_l = \mathrm{doubled}(m_{l+1}), \qquad y_l = u_l + b_l(m) + G_l(u_l, m_l, ε_l, s) . $$

A discriminator is asked for the log odds of being real, given the same context and the sentence:

$$
\begin{aligned}
\mathcal{L} = -\sum_l \Big[ \; & γ \log(1 + e^{-D_l(y_l)}) + \frac{λ}{CHW} \|y_l - x_l\|_1 \\
   + \; & \log(1 + e^{-D_l(x_l)}) + \log(1 + e^{D_l(y_l)})
   + \frac{r_1}{2} \|\nabla_{x_l} D_l(x_l)\|^2 \; \Big] .
\end{aligned}
$$

The first line trains the generator, through a discriminator that is held still. The second trains
the discriminator, and fake pictures are constants there. So one step trains both players, and
neither reaches the model below.

Denton et al. have neither the distance, which keeps what was painted, nor the penalty, which keeps
the game from running away. Their contexts are real ones, $\mathrm{doubled}(x_{l+1})$; but painting
begins with a context that the model has painted, so here the generator learns to mend coarser blur
too. A share `real` of the contexts is theirs.

References:
    Deep Generative Image Models using a Laplacian Pyramid of Adversarial Networks, Denton et al.,
    2015
    https://arxiv.org/abs/1506.05751
    Generating Images from Captions with Attention, Mansimov, Parisotto, Ba and Salakhutdinov, 2016
    https://arxiv.org/abs/1511.02793
    Which Training Methods for GANs do actually Converge?, Mescheder et al., 2018
    https://arxiv.org/abs/1801.04406
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mindseye.errors import UsageError
from mindseye.models.joint import frozen
from mindseye.models.sharpener import Sharpened
from mindseye.networks.pyramid import doubled, reduced
from mindseye.objectives.bound import Bound
from mindseye.objectives.registry import objective

__all__ = ["sharpen"]


@objective("sharpen", fits="q_y", cite="denton2015 mansimov2016", trains="draw captioned")
def sharpen(
    model: Sharpened,
    x: Tensor,
    y: Any,
    *,
    gamma: float = 1.0,
    lam: float = 30.0,
    r1: float = 1.0,
    real: float = 0.0,
) -> Bound:
    """What both players of every level lose, with its sign turned.

    Arguments:
        model: The painting model, which is held still, with its sharpener.
        x: Real pictures.
        y: Their captions.
        gamma: The weight of what a generator loses to its discriminator.
        lam: The weight of its distance from the real picture, the mean over pixels.
        r1: The weight of the discriminator's slope at real pictures.
        real: The share of contexts that are of real pictures; the others are of painted ones.
    """
    _expect_sharpener(model)
    with torch.no_grad():
        painted = reduced(model.drawn(x, y).p_x.mean.to(x), model.levels)
    targets, heard = reduced(x, model.levels), model.heard(y)
    told = torch.rand_like(x[:, :1, :1, :1]) < real
    coarser = [torch.where(told, *each) for each in zip(targets, painted, strict=True)]
    levels = [
        _lost(model, level, targets[level], coarser[level + 1], painted, heard)
        for level in range(model.levels)
    ]
    terms = {name: torch.stack([each[name] for each in levels]).sum(0) for name in levels[0]}
    lost = gamma * terms["fool"] + lam * terms["distance"] + terms["tell"] + r1 * terms["r1"]
    return Bound(-lost, terms)


def _lost(
    model: Sharpened,
    level: int,
    target: Tensor,
    coarser: Tensor,
    painted: list[Tensor],
    heard: Tensor | None,
) -> dict[str, Tensor]:
    """What the players of one level lose, each `(B,)`."""
    judge, context = model.discriminators[level], doubled(coarser, target.shape[-2:])
    noise = torch.randn_like(target[:, :1])
    fake = model.refined(level, context, painted, noise, heard)
    with frozen([judge]):  # it is asked, and does not learn from this
        fool = softplus(-judge(fake, context, heard))
    distance = (fake - target).abs().mean((1, 2, 3))
    score, slope = _slope(judge, target, context, heard)
    tell = softplus(-score) + softplus(judge(fake.detach(), context, heard))
    steep = slope.square().sum((1, 2, 3)) / 2
    return {"fool": fool, "distance": distance, "tell": tell, "r1": steep}


def _slope(
    judge: Any, target: Tensor, context: Tensor, heard: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Logits of pictures, and their gradient with respect to the pixels, which has one too."""
    with torch.enable_grad():
        target = target.detach().requires_grad_()
        score = judge(target, context, heard)
        (slope,) = torch.autograd.grad(score.sum(), target, create_graph=True)
    return score, slope


def _expect_sharpener(model: Any) -> None:
    if not isinstance(model, Sharpened):
        raise UsageError(
            f"`sharpen` trains what stands beside a painting model; {type(model).__name__} has"
            " nothing there.",
            "`mindseye sharpen RUN` gives a sharpener to the model of a run.",
        )
