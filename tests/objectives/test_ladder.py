"""The bound of a ladder: the elbo without free bits, and no price for what is below them."""

import math

import pytest
import torch
from torch import Tensor

from mindseye.errors import UsageError
from mindseye.models.ladder import LadderVAE
from mindseye.objectives.iwae import iwae, iwae_dreg, iwae_stl, vae
from mindseye.objectives.ladder import ladder
from mindseye.objectives.registry import get_objective


@pytest.fixture
def model() -> LadderVAE:
    return lively((1, 8, 8), (2, 2, 3), filters=4)


def lively(*args, scale: float = 0.1, **options) -> LadderVAE:
    """A small ladder whose weights are far from where training begins."""
    torch.manual_seed(0)
    model = LadderVAE(*args, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(scale * torch.randn_like(parameter))
    return model


def binary(count: int, *shape: int) -> Tensor:
    torch.manual_seed(1)
    return (torch.rand(count, *shape) < 0.4).float()


def gradients(model: LadderVAE, value: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, list(model.parameters())))


def test_without_free_bits_it_is_the_elbo(model):
    x = binary(1, 1, 8, 8).expand(6000, 1, 8, 8)
    bound = ladder(model, x, free=0.0)
    log_w = model.weights(x).log_w[0]
    spread = math.hypot(bound.value.std().item(), log_w.std().item()) / math.sqrt(6000)
    assert bound.value.mean().item() == pytest.approx(log_w.mean().item(), abs=5 * spread)
    assert bound.value.std() < log_w.std()  # divergences are exact, not drawn


def test_terms_are_the_parts_of_the_bound(model):
    bound = ladder(model, binary(5, 1, 8, 8), beta=0.3, free=0.0)
    assert list(bound.terms) == ["log_px", "kl_1", "kl_2", "kl_3"]
    assert all(term.shape == (5,) for term in bound.terms.values())
    kl = sum(bound.terms[f"kl_{i}"] for i in (1, 2, 3))
    torch.testing.assert_close(bound.value, bound.terms["log_px"] - 0.3 * kl)


@pytest.mark.parametrize("free", [0.0, 0.5, 2.0, 100.0])
def test_a_layer_costs_at_least_its_free_bits_in_the_mean(model, free):
    found = ladder(model, binary(9, 1, 8, 8), beta=0.7, free=free)
    layers = [found.terms[f"kl_{i}"].mean().item() for i in (1, 2, 3)]
    expected = found.terms["log_px"].mean().item() - 0.7 * sum(max(kl, free) for kl in layers)
    assert found.value.mean().item() == pytest.approx(expected, rel=1e-5)


def test_below_the_free_bits_divergences_have_no_gradient(model):
    x = binary(6, 1, 8, 8)
    torch.manual_seed(3)
    free = gradients(model, ladder(model, x, free=1e3).value.mean())
    torch.manual_seed(3)
    none = gradients(model, ladder(model, x, beta=0.0).value.mean())
    for a, b in zip(free, none, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_the_weight_may_be_a_tensor(model):
    x = binary(4, 1, 8, 8)
    values = []
    for beta in (0.25, torch.tensor(0.25)):
        torch.manual_seed(3)
        values.append(ladder(model, x, beta=beta).value)
    assert torch.equal(*values)


def test_free_bits_below_nothing_are_refused(model):
    with pytest.raises(UsageError, match="`free=-1`"):
        ladder(model, binary(2, 1, 8, 8), free=-1)


def test_it_is_registered_with_its_weights():
    found = get_objective("ladder")
    assert found.weights == {"beta": 1.0, "free": 0.5}
    assert found.trains == ("ladder",)


@pytest.mark.parametrize("bound", [ladder, vae, iwae, iwae_stl, iwae_dreg])
def test_the_gradient_reaches_every_parameter(bound):
    torch.manual_seed(0)
    model, x = LadderVAE((1, 8, 8), (2, 2, 3), filters=4), binary(4, 1, 8, 8)
    options = {"free": 0.0} if bound is ladder else {"k": 3}
    bound(model, x, **options).value.mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_the_doubly_reparameterised_gradient_is_that_of_the_bound():
    """Also for the weights of the way down, which are those of q and of p at once."""
    model = lively((1, 2, 2), (1, 1), filters=2, halvings=(1, 1), scale=0.5)
    x = binary(1, 1, 2, 2).expand(20_000, 1, 2, 2)

    def found(bound) -> Tensor:
        torch.manual_seed(5)
        return torch.cat([g.flatten() for g in gradients(model, bound(model, x, k=4).value.mean())])

    plain, dreg, stl = found(iwae), found(iwae_dreg), found(iwae_stl)
    assert (dreg - plain).norm() < 0.03 * plain.norm()
    assert (stl - plain).norm() > 2 * (dreg - plain).norm()


def test_a_few_steps_climb():
    torch.manual_seed(0)
    model = LadderVAE((1, 8, 8), (2, 3), filters=8)
    shown = binary(4, 1, 8, 8)
    model.prepare(shown.mean(0))
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    values = []
    for step in range(150):
        x = shown[torch.randint(4, (32,))]
        bound = ladder(model, x, beta=min(1.0, step / 75), free=0.1)
        optimiser.zero_grad()
        (-bound.value.mean()).backward()
        optimiser.step()
        values.append((bound.terms["log_px"] - bound.terms["kl_1"] - bound.terms["kl_2"]).mean())
    start, end = (torch.stack(part).mean().item() for part in (values[:5], values[-10:]))
    assert end > start + 15  # of 27 or so; four pictures are worth 1.4 nats


def test_steps_in_bfloat16_measure_in_float32(model):
    x = binary(4, 1, 8, 8)
    torch.manual_seed(3)
    plain = ladder(model, x)
    torch.manual_seed(3)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = ladder(model, x)
    assert rounded.value.dtype == torch.float32
    torch.testing.assert_close(rounded.value, plain.value, rtol=0.02, atol=0.5)
    assert all(g.isfinite().all() for g in gradients(model, rounded.value.mean()))
