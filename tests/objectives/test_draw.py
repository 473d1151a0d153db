r"""The bound of pictures given captions, on a chain of strokes that is solved with pen and paper.

z_1 ~ N(0, 1), z_2 | z_1 ~ N(a z_1, 1), x | z ~ N(b z_1 + c z_2, s²): everything is Gaussian, so
q(z_1|x) and q(z_2|x, z_1) can be the true posteriors, and then the bound with every draw's weight
is log p(x) exactly.
"""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.testing import assert_close

from mindseye.data import Batch
from mindseye.data.captioned_mnist import SENTENCE
from mindseye.distributions.normal import DiagonalNormal
from mindseye.labels import Labels, encode
from mindseye.models import CaptionedVAE, Draw
from mindseye.models.draw import Drawn
from mindseye.objectives import OBJECTIVES, draw

A, B, C, S = 0.8, 1.3, -0.6, 0.5


class Chain(nn.Module):
    """Two strokes, linear and Gaussian; `tilt` moves the belief of the second off the truth."""

    def __init__(self, tilt: float = 0.0):
        super().__init__()
        self.tilt = tilt

    def drawn(self, x: Tensor, y: object = None) -> Drawn:
        x = x.flatten(1)
        variance = S**2 + C**2  # of x given z_1
        loading = B + C * A
        precision = 1 + loading**2 / variance
        q1 = Normal(loading * x / variance / precision, precision**-0.5)
        z1 = q1.rsample()
        precision2 = 1 + C**2 / S**2
        mean2 = (A * z1 + C * (x - B * z1) / S**2) / precision2
        q2 = Normal(mean2 + self.tilt, torch.full_like(mean2, precision2**-0.5))
        z2 = q2.rsample()
        q = DiagonalNormal(
            torch.cat([q1.mean, q2.mean], -1), torch.cat([q1.stddev.expand_as(z1), q2.stddev], -1)
        )
        p = DiagonalNormal(torch.cat([torch.zeros_like(z1), A * z1], -1), torch.ones(len(x), 2))
        p_x = Independent(Normal((B * z1 + C * z2).view(-1, 1, 1, 1), S), 3)
        return Drawn(q, p, p_x, torch.cat([z1, z2], -1))


def evidence(x: Tensor) -> Tensor:
    loading = B + C * A
    return Normal(0.0, math.sqrt(loading**2 + C**2 + S**2)).log_prob(x.flatten())


def some(n: int = 5) -> Tensor:
    return torch.linspace(-3, 3, n).view(-1, 1, 1, 1)


def test_the_weight_of_every_draw_is_the_evidence_at_the_true_posteriors():
    x = some()
    for seed in range(3):
        torch.manual_seed(seed)
        assert_close(Chain().drawn(x).log_weight(x), evidence(x))


def test_the_bound_is_the_evidence_at_the_true_posteriors():
    x = some().repeat(20_000, 1, 1, 1)
    torch.manual_seed(0)
    bound = draw(Chain(), x, None).value.view(-1, 5)
    assert_close(bound.mean(0), evidence(some()), rtol=0, atol=0.04)


def test_a_tilted_belief_costs_its_divergence_from_the_truth():
    x, tilt = some().repeat(20_000, 1, 1, 1), 0.4
    torch.manual_seed(0)
    bound = draw(Chain(tilt), x, None).value.view(-1, 5)
    gap = tilt**2 * (1 + C**2 / S**2) / 2
    assert_close(evidence(some()) - bound.mean(0), torch.full((5,), gap), rtol=0, atol=0.05)


def test_beta_weighs_the_divergence():
    x = some()
    torch.manual_seed(0)
    plain = draw(Chain(), x, None)
    torch.manual_seed(0)
    heavy = draw(Chain(), x, None, beta=3.0)
    assert_close(heavy.value, plain.value - 2 * plain.terms["kl_qxy_p"])
    assert_close(plain.heated(3.0).value, heavy.value)


def painters() -> list[nn.Module]:
    torch.manual_seed(0)
    return [
        Draw(SENTENCE, (1, 12, 12), 3, 3, 8, 4, 4),
        Draw(SENTENCE, (1, 12, 12), 3, 3, 8, 4, 4, "noalign"),
        Draw(SENTENCE, (1, 12, 12), 3, 3, 8, 4, 4, "alone"),
        CaptionedVAE(SENTENCE, (1, 12, 12), 3, "dense", 8, 8, 4),
    ]


def batch() -> tuple[Tensor, Labels]:
    x = torch.rand(4, 1, 12, 12, generator=torch.Generator().manual_seed(0)).round()
    texts = ("three top left", "five bottom right", "0 top right", "9 bottom left")
    return x, encode([SENTENCE.parse(text) for text in texts])


@pytest.mark.parametrize("model", painters())
def test_gradients_reach_every_parameter(model):
    draw(model, *batch()).value.mean().backward()
    lacking = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # words that nobody said have no gradient of their own, the table as a whole has
    assert lacking == []


@pytest.mark.parametrize("model", painters())
def test_the_order_of_a_batch_does_not_matter(model):
    x, y = batch()
    model.eval()
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        drawn, other = model.drawn(x, y), model.drawn(x[order], Labels(*(e[order] for e in y)))
    # draws differ; what does not depend on them is the first belief
    first = getattr(model, "latent", 3)
    assert_close(drawn.q.mean[order][:, :first], other.q.mean[:, :first])
    assert_close(drawn.p.mean[order][:, :first], other.p.mean[:, :first])


def test_the_bound_is_that_of_the_paper_line_by_line(script):
    model, (x, y) = painters()[0], batch()
    assert script("benchmarks/drawing.py").difference(model, Batch(x, y)) < 1e-6


def test_more_draws_give_a_better_bound():
    model, (x, y) = painters()[0], batch()
    torch.manual_seed(0)
    with torch.no_grad():
        weights = torch.stack([model.drawn(x, y).log_weight(x) for _ in range(512)])
    few = weights.view(64, 8, 4).logsumexp(1) - math.log(8)
    assert (few.mean(0) >= weights.mean(0)).all()
    assert (weights.logsumexp(0) - math.log(512) >= few.mean(0)).all()


def test_it_trains_what_paints_and_nothing_else():
    assert OBJECTIVES["draw"].trains == ("draw", "captioned")
    assert OBJECTIVES["draw"].fits == {"q_y"}


def test_one_stroke_is_a_vae_that_is_given_the_caption():
    model, (x, y) = painters()[3], batch()
    torch.manual_seed(5)
    bound = draw(model, x, y)
    torch.manual_seed(5)
    drawn = model.drawn(x, y)
    standard = DiagonalNormal(torch.zeros(4, 3), torch.ones(4, 3))
    expected = drawn.p_x.log_prob(x) - kl_divergence(drawn.q, standard)
    assert_close(bound.value, expected)


def test_words_are_left_out_of_a_share_of_the_captions():
    """All words of a share are heard as none: the bound is that of captions without them."""
    heard = []

    class Listening(Chain):
        def drawn(self, x, y=None):
            heard.append(y.observed)
            return super().drawn(x, y)

    y = Labels.full(torch.zeros(6000, 4, dtype=torch.int64))
    torch.manual_seed(0)
    draw(Listening(), some(6000), y, drop=0.5)
    draw(Listening(), some(6000), y)
    (part, whole) = heard
    assert whole.all()
    assert part.all(1).float().mean().item() == pytest.approx(0.5 + 0.5 / 5, abs=0.02)
    assert part.float().mean().item() == pytest.approx(0.75, abs=0.02)
