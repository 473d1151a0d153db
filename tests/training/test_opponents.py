"""What plays against a model has running means of its own."""

import torch
from torch import nn

from mindseye.models import FactorVAE
from mindseye.objectives import factor
from mindseye.training import Plan, Training, train
from mindseye.training.eager import Eager, paces_of
from mindseye.training.flat import Flat


def game() -> FactorVAE:
    torch.manual_seed(0)
    return FactorVAE((1, 8, 8), 3, "tanh", width=8, units=6)


def bound(model, x, beta):
    return factor(model, x)


def pictures(number: int) -> torch.Tensor:
    return (torch.rand(8, 1, 8, 8, generator=torch.Generator().manual_seed(number)) < 0.3).float()


def test_the_discriminator_is_the_opponent_also_among_several_models():
    model = game()
    assert set(paces_of(model, Training())) == set(model.discriminator.parameters())
    both = nn.ModuleList([game(), game()])
    assert len(paces_of(both, Training())) == 2 * len(list(model.discriminator.parameters()))
    assert paces_of(nn.Linear(1, 1), Training()) == {}


def test_every_parameter_is_in_one_group_with_its_own_decays():
    model = game()
    engine = Eager(model, Plan([bound], pictures, Training()), ())
    found = {p: group["betas"] for group in engine.adam.param_groups for p in group["params"]}
    assert len(found) == len(list(model.parameters()))
    for name, parameter in model.named_parameters():
        expected = (0.5, 0.9) if name.startswith("discriminator") else (0.9, 0.999)
        assert found[parameter] == expected


def test_flat_storage_has_the_same_decays():
    model = game()
    flat = Flat(model, 64, (), 0.0, paces=paces_of(model, Training()))
    for name, blocks, start in zip(flat.names, flat.blocks, flat.starts, strict=True):
        expected = 0.5 if name.startswith("discriminator") else 0.9
        own = flat.buffers["beta1"][start : start + blocks]
        assert torch.allclose(own, torch.tensor(expected))


def test_both_players_learn():
    model = game()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    list(train(model, bound, pictures, Training(steps=5, batch_size=8, log_every=5)))
    for name, parameter in model.named_parameters():
        assert not torch.equal(parameter, before[name]), name
