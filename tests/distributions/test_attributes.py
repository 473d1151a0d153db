import torch
from torch.distributions import Categorical

from mindseye.distributions import Attributes
from mindseye.labels import Labels

SIZES = (3, 2, 5)


def make(batch: int = 6) -> tuple[Attributes, torch.Tensor]:
    logits = torch.randn(batch, 3, 5, generator=torch.Generator().manual_seed(1))
    return Attributes(logits, SIZES), logits


def test_log_prob_is_the_sum_over_observed_categoricals():
    p, logits = make()
    codes = torch.stack([torch.arange(6) % size for size in SIZES], 1)
    observed = torch.rand(6, 3, generator=torch.Generator().manual_seed(2)) < 0.5
    each = [Categorical(logits=logits[:, k, :s]).log_prob(codes[:, k]) for k, s in enumerate(SIZES)]
    expected = (torch.stack(each, 1) * observed).sum(1)
    torch.testing.assert_close(p.log_prob(Labels(codes, observed)), expected)


def test_saying_nothing_has_probability_one():
    p, _ = make()
    nothing = Labels(torch.zeros(6, 3, dtype=torch.long), torch.zeros(6, 3, dtype=torch.bool))
    assert p.log_prob(nothing).abs().max() == 0


def test_padding_has_no_probability_and_no_gradient():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    p = Attributes(logits, SIZES)
    assert p.probs[:, 1, 2:].abs().max() == 0
    p.log_prob(Labels.full(torch.zeros(2, 3, dtype=torch.long))).sum().backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[:, 1, 2:].abs().max() == 0


def test_mixture_averages_the_marginals():
    p, _ = make()
    mixed = Attributes.mixture(p)
    torch.testing.assert_close(mixed.probs, p.probs.mean(0))
    assert [m.shape[-1] for m in mixed.by_attribute()] == list(SIZES)
