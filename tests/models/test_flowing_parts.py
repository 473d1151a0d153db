"""A flow beside a model of wholes: where their latents are, and parts that still come and go."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal
from torch.testing import assert_close

from mindseye.composing import Composer
from mindseye.data.sines import Sines
from mindseye.data.sites import Sites
from mindseye.models import FlowingParts, ImprintVAE
from mindseye.objectives import OBJECTIVES, compvae, fit_aggregate_of_parts
from mindseye.papers import get_recipe
from mindseye.papers.flows import flowing
from mindseye.pieces import Pieces, encode_parts
from mindseye.runs import create, reading

Z = 4
TEXTS = {Sines: ("f2, f7", "f3"), Sites: ("red@0.2,-0.5; blue@0.6,0.1", "green@-0.4,0.4")}


def make(data: type[Sines] | type[Sites] = Sines) -> FlowingParts:
    torch.manual_seed(0)
    base = ImprintVAE(data.vocabulary, data.shape, latent=Z, width=3, hidden=16)
    return FlowingParts(base, 2, 8)


def wholes(data: type[Sines] | type[Sites] = Sines, count: int = 8) -> tuple[Tensor, Pieces]:
    index = torch.arange(count)
    x, y = data("train").examples(index, 1 + index % 3)
    return x, y


def fitted(model: FlowingParts, steps: int = 5) -> FlowingParts:
    torch.manual_seed(1)
    batch = wholes(Sines if model.shape == Sines.shape else Sites)
    model.prepare(batch[1])
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 0.01)
    for _ in range(steps):
        bound = OBJECTIVES["aggregate-parts"].function(model.train(), *batch)
        adam.zero_grad()
        (-bound.value.mean()).backward()
        adam.step()
    return model.eval()


@pytest.fixture(scope="module")
def shaken() -> FlowingParts:
    """A flow that is far from none."""
    model = make()
    torch.manual_seed(2)
    for weight in model.flow.parameters():
        torch.nn.init.normal_(weight, 0, 0.2)
    return model.eval()


@pytest.fixture
def total() -> Tensor:
    return 1 + 3 * torch.rand(6, 64, generator=torch.Generator().manual_seed(3))


# The model below


@pytest.mark.parametrize("data", TEXTS)
def test_it_begins_as_what_the_model_believes(data):
    model, (x, y) = make(data), wholes(data)
    model.prepare(y)
    total, z = torch.rand(8, model.summed), torch.randn(8, Z)
    ours, its = model.p_z(total), model.base.p_z(total)
    assert_close(ours.log_prob(z), its.log_prob(z))
    moved = ours.flow.at(z)  # in another order, and nothing else
    assert torch.equal(moved.sort(1).values, z.sort(1).values)
    assert_close(ours.at(z), its.at(moved))
    bounds = []
    for each in (model, model.base):
        torch.manual_seed(4)
        bounds.append(compvae(each, x, y).value)
    assert_close(*bounds, rtol=1e-5, atol=1e-3)


def test_the_model_below_never_changes_and_gradients_reach_the_flow_alone():
    model = make()
    before = {name: tensor.clone() for name, tensor in model.base.state_dict().items()}
    flow = [p.clone() for p in model.flow.parameters()]
    fitted(model, steps=3)
    assert all(before[n].equal(tensor) for n, tensor in model.base.state_dict().items())
    assert all(p.grad is None and not p.requires_grad for p in model.base.parameters())
    assert not any(map(torch.equal, flow, model.flow.parameters()))
    found = {n.split(".")[0] for n, p in model.named_parameters() if p.grad is not None}
    assert found == {"reader", "flow"}


def test_all_but_the_belief_of_the_whole_is_that_of_the_model_below(shaken):
    x, y = wholes()
    one, two = (each.seen(x) for each in (shaken, shaken.base))
    assert torch.equal(one, two)
    assert torch.equal(shaken.q_z(one).mean, shaken.base.q_z(two).mean)
    groups = shaken.groups(y)
    p_w, its = (each.p_w(y, groups) for each in (shaken, shaken.base))
    assert torch.equal(p_w.mean, its.mean)
    z, tags = torch.randn(8, Z), torch.randn(len(y.codes), shaken.tags)
    q_w, other = (each.q_w(one, z, y, groups, tags) for each in (shaken, shaken.base))
    assert torch.equal(q_w.mean, other.mean)
    total = 1 + torch.rand(8, 64)
    assert torch.equal(shaken.p_x(z, total).mean, shaken.base.p_x(z, total).mean)
    assert (shaken.p_z(total).mean - shaken.base.p_z(total).mean).abs().max() > 1e-2


# What is believed


def test_densities_have_the_volume_of_the_map(shaken, total):
    noise = torch.randn(6, Z, generator=torch.Generator().manual_seed(5)).double()
    q = shaken.double().p_z(total.double())
    for row in range(6):
        own = shaken.p_z(total[row : row + 1].double())
        jacobian = torch.autograd.functional.jacobian(
            lambda e, own=own: own.at(e[None])[0], noise[row]
        )
        log_noise = Normal(0.0, 1.0).log_prob(noise[row]).sum()
        expected = log_noise - jacobian.slogdet().logabsdet
        assert_close(q.log_prob(q.at(noise))[row], expected, rtol=0, atol=1e-4)
    shaken.float()


def test_noise_comes_back_from_latents_and_latents_from_noise(shaken, total):
    q = shaken.p_z(total)
    noise = torch.randn(6, Z, generator=torch.Generator().manual_seed(6))
    assert_close(q.noise_of(q.at(noise)), noise, rtol=0, atol=1e-4)
    z = q.normal.mean + q.normal.stddev
    assert_close(q.at(q.noise_of(z)), z, rtol=1e-4, atol=1e-3)


def test_autocast_rounds_nothing(shaken, total):
    z = torch.randn(6, Z)
    expected = shaken.p_z(total).log_prob(z)
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(shaken.p_z(total).log_prob(z), expected)


def test_sums_of_more_parts_than_ever_are_read_as_large_ones(shaken, total):
    far, farther = (shaken._told(scale * total) for scale in (1e5, 1e6))
    assert_close(far, farther, rtol=0, atol=1e-4)


def test_sums_are_measured_by_what_is_said_of_parts():
    model, (_, y) = make(), wholes(count=64)
    model.prepare(y)
    torch.manual_seed(7)
    p_w = model.p_w(y, model.groups(y))
    drawn = torch.cat([model.total(p_w.sample(), y, p_w.groups) for _ in range(200)])
    assert_close(model.middle, drawn.mean(0), rtol=0, atol=0.15)
    assert_close(model.spread, drawn.std(0), rtol=0.1, atol=0)


# What is read


def test_what_is_read_are_a_draw_of_the_latent_and_one_of_the_sum(monkeypatch):
    model, (x, y) = make(), wholes()
    seen: list[Tensor] = []
    inner = model.base.total
    monkeypatch.setattr(model.base, "total", lambda *a: seen.append(inner(*a)) or seen[-1])
    torch.manual_seed(8)
    rows = model.read(x, y)
    torch.manual_seed(8)
    z = model.base.q_z(model.base.seen(x)).sample()
    assert torch.equal(rows[:, :Z], z)
    assert torch.equal(rows[:, Z:], seen[0])
    kept, total = model.posterior(rows)
    assert torch.equal(kept, z)
    assert torch.equal(total, seen[0])
    assert not torch.equal(model.read(x, y)[:, Z:], total)


# What is learnt


@pytest.fixture(scope="module")
def learnt(tmp_path_factory) -> FlowingParts:
    """A flow fitted to a model of twelve steps."""
    base = create(get_recipe("sines/compvae-wide-tiny"), tmp_path_factory.mktemp("runs"))
    list(base.train())
    recipe = flowing(base.recipe, couplings=2)
    settings = {"steps": "150", "batch_size": "64", "learning_rate": "0.005", "clip": "100"}
    made = create(
        recipe.with_settings(settings | {"log_every": "150"}), base.path.parent, start=base
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(reading.WHOLES, "cpu", 2048)
        list(made.train())
    model = made.model()
    assert isinstance(model, FlowingParts)
    return model


@torch.no_grad()
def test_the_flow_knows_wholes_it_never_saw_better_than_the_model_does(learnt):
    x, y = Sines("validation").examples(torch.arange(1024))
    torch.manual_seed(9)
    found = fit_aggregate_of_parts(learnt, x, y).terms
    gain = found["log_qz_qzw"] - found["log_pz_qzw"]
    assert gain.mean() > 1
    assert gain.median() > 0.2
    bounds = []
    for model in (learnt, learnt.base):
        torch.manual_seed(9)
        bounds.append(compvae(model, x, y))
    one, two = (bound.terms for bound in bounds)
    assert torch.equal(one["log_px_qzw"], two["log_px_qzw"])
    assert torch.equal(one["kl_qw_pw"], two["kl_qw_pw"])
    rise = bounds[0].value - bounds[1].value
    assert_close(rise, two["kl_qz_pz"] - one["kl_qz_pz"], rtol=1e-3, atol=0.1)
    assert rise.mean() > 1


# Verbs


@pytest.mark.parametrize("data", TEXTS)
def test_a_part_that_is_added_and_removed_leaves_no_trace(data):
    text, more = TEXTS[data]
    composer = Composer(fitted(make(data)))
    before = composer.composed(text, 3, seed=1)
    after = composer.added(before, more, seed=1)
    assert torch.equal(composer.removed(after, more).means, before.means)
    again = composer.composed(f"{more}; {text}", 3, seed=1)
    assert torch.equal(after.means, again.means)
    assert torch.equal(composer.replaced(after, more, more, seed=1).means, after.means)


def test_what_is_extracted_is_what_the_posterior_has(shaken):
    composer, two = Composer(shaken), torch.full((3,), 2)
    x = Sines("test").examples(torch.arange(3), two).x
    made = composer.extracted(x, "f2, f7")
    with torch.no_grad():
        y = encode_parts([made.parts] * 3)
        total = shaken.total(made.w.flatten(0, 1), y, shaken.groups(y))
        z = shaken.p_z(total).at(made.noise)
        assert_close(z, shaken.q_z(shaken.seen(x)).mean, rtol=1e-3, atol=1e-3)
        p_x = shaken.p_x(z, total)
    assert_close(made.means, p_x.mean, rtol=0, atol=1e-3)


def test_wholes_toward_a_quantile_and_moved_sites_keep_their_noise():
    sines, sites = Composer(fitted(make())), Composer(fitted(make(Sites)))
    assert len(sines.biased("f2, f7", "max", 0.5, 1.0, n=2)) == 2
    before = sites.composed("red@0.2,-0.5; blue@0.6,0.1", 2, seed=3)
    there = sites.moved(before, "red@0.2,-0.5", -0.4, 0.2)
    back = sites.moved(there, "red@-0.4,0.2", 0.2, -0.5)
    assert torch.equal(there.noise, before.noise)
    assert_close(back.means, before.means, rtol=0, atol=1e-4)


# Kept


def test_a_blank_one_takes_weights():
    full = fitted(make())
    with torch.device("meta"):
        blank = make()
    assert all(tensor.is_meta for name, tensor in blank.state_dict().items())
    blank.load_state_dict(full.state_dict(), assign=True)
    total, z = torch.randn(5, 64), torch.randn(5, Z)
    assert torch.equal(blank.eval().p_z(total).log_prob(z), full.p_z(total).log_prob(z))


def test_in_training_the_model_below_is_as_it_is_used():
    model = make().train()
    assert model.flow.training
    assert not any(part.training for part in model.base.modules())


def test_repr_says_what_is_fitted_to_what():
    assert "q(z | sum w) ≈ E[q(z | x)] over the wholes of that sum" in repr(make())
