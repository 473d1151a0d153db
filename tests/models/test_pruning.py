"""Units that say nothing can go: the likelihood stays."""

import pytest
import torch
from torch import nn

from mindseye.errors import UsageError
from mindseye.metrics.likelihood import activities, log_evidence, units
from mindseye.models.deep import DeepVAE
from mindseye.models.pruning import prunable, pruned
from mindseye.models.vae import VAE
from mindseye.networks import NETWORKS


def silence(layer: nn.Linear, units: list[int], size: int) -> None:
    """Let a reader's last layer say N(0, 1) for some units."""
    with torch.no_grad():
        for unit in units:
            for row in (unit, size + unit):
                layer.weight[row] = 0
                layer.bias[row] = 0


def deafen(layer: nn.Linear, units: list[int]) -> None:
    with torch.no_grad():
        layer.weight[:, units] = 0


def weights(model, x, z) -> torch.Tensor:
    """Log weights of given draws: the density of a silent unit cancels."""
    return model.p_x(z).log_prob(x) + model.prior.log_prob(z) - model.q_x(x).log_prob(z)


def pictures() -> torch.Tensor:
    torch.manual_seed(3)
    return (torch.rand(12, 1, 4, 4) < 0.4).float()


def test_dropping_units_that_say_nothing_changes_no_weight():
    torch.manual_seed(0)
    model = VAE((1, 4, 4), 5, width=8)
    silence(model.image_encoder.mlp[-1], [1, 3], 5)
    deafen(model.image_decoder.mlp[0], [1, 3])
    x = pictures()
    (found,) = activities(model, x)
    keep = found > 0.0
    assert keep.tolist() == [True, False, True, False, True]
    small = pruned(model, [keep])
    assert small.latent == 3
    assert model.latent == 5
    z = model.q_x(x).rsample((3,))
    torch.testing.assert_close(weights(small, x, z[..., keep]), weights(model, x, z))


def test_a_deep_model_loses_units_of_every_layer():
    torch.manual_seed(0)
    model = DeepVAE((1, 4, 4), (4, 3), (8, 8))
    silence(model.readers[0].mlp[-1], [2], 4)
    silence(model.readers[1].mlp[-1], [0], 3)
    silence(model.writers[0].mlp[-1], [2], 4)
    deafen(model.readers[1].mlp[0], [2])
    deafen(model.writers[0].mlp[0], [0])
    deafen(model.decoder[0], [2])
    keep = [torch.tensor([True, True, False, True]), torch.tensor([False, True, True])]
    small = pruned(model, keep)
    assert small.latents == (3, 2)
    x = pictures()
    z = model.q_x(x).rsample((3,))
    rest = tuple(layer[..., each] for layer, each in zip(z, keep, strict=True))
    torch.testing.assert_close(weights(small, x, rest), weights(model, x, z))


def test_a_unit_that_always_says_the_same_is_read_as_that():
    """Layers below the last have no mean of 0: q and p both say N(1.5, e⁻⁸) for one unit."""
    torch.manual_seed(0)
    model, unit = DeepVAE((1, 4, 4), (4, 3), (8, 8)), 2
    for network in (model.readers[0], model.writers[0]):
        silence(network.mlp[-1], [unit], 4)
        with torch.no_grad():
            network.mlp[-1].bias[unit], network.mlp[-1].bias[4 + unit] = 1.5, -8.0
    x = pictures()
    layers = units(model, x)
    assert layers[0].mean[unit].item() == pytest.approx(1.5)
    keep = [layer.activity > 1e-9 for layer in layers]
    assert (~keep[0]).nonzero().tolist() == [[unit]]
    z = model.q_x(x).rsample((3,))
    rest = (z[0][..., keep[0]], z[1])
    small = pruned(model, keep, [layer.mean for layer in layers])
    torch.testing.assert_close(weights(small, x, rest), weights(model, x, z), atol=0.02, rtol=0)
    without = pruned(model, keep)
    assert (weights(without, x, rest) - weights(model, x, z)).abs().max() > 0.1


def test_keeping_everything_keeps_every_bit():
    torch.manual_seed(0)
    model = DeepVAE((1, 4, 4), (4, 3), (8, 8))
    same = pruned(model, [torch.ones(4, dtype=torch.bool), torch.ones(3, dtype=torch.bool)])
    assert torch.equal(log_evidence(model, pictures(), 5), log_evidence(same, pictures(), 5))


@pytest.mark.parametrize("networks", NETWORKS)
def test_any_networks_lose_a_unit_or_say_that_they_cannot(networks):
    torch.manual_seed(0)
    model = VAE((1, 64, 64), 4, networks, width=16, hidden=8).eval()
    keep, mean, z = torch.tensor([True, False, True, True]), torch.randn(4), torch.randn(3, 4)
    if not prunable(model):
        assert networks in ("paper", "slim")  # transposed convolutions read their latents
        with pytest.raises(UsageError, match="not read by a dense layer"):
            pruned(model, [keep])
        return
    z[:, 1] = mean[1]
    small = pruned(model, [keep], [mean])
    torch.testing.assert_close(small.p_x(z[:, keep]).mean, model.p_x(z).mean)
    x = torch.rand(3, 1, 64, 64)
    torch.testing.assert_close(small.q_x(x).mean, model.q_x(x).mean[:, keep])


@pytest.mark.parametrize("keep", [[torch.ones(4, dtype=torch.bool)], [torch.zeros(5).bool()]])
def test_units_must_be_chosen_for_every_layer(keep):
    with pytest.raises(UsageError, match="`keep` must choose"):
        pruned(VAE((1, 4, 4), 5, width=8), keep)
