"""Which parameters an objective reaches, and which it leaves alone."""

from itertools import product
from math import comb

import pytest
import torch
from torch.distributions import kl_divergence

from mindseye.concepts import Attribute, Vocabulary
from mindseye.errors import UsageError
from mindseye.labels import Labels
from mindseye.models.joint import JointVAE, frozen
from mindseye.models.likelihood import last_bias
from mindseye.objectives import (
    OBJECTIVES,
    get_objective,
    image_elbo,
    jmvae,
    jmvae_agg,
    joint_elbo,
    scan,
    semi_supervised,
    telbo,
    unimodal_bounds,
)
from mindseye.objectives.elbo import bound_under
from mindseye.objectives.telbo import with_words_left_out
from mindseye.papers.recipe import FITTED

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
MODULES = ["image_decoder", "label_decoder", "image_encoder", "label_encoder", "joint_encoder"]
REACHED = {
    "elbo": {"image_decoder", "image_encoder"},
    "jvae": {"image_decoder", "label_decoder", "joint_encoder"},
    "telbo": set(MODULES),
    "unimodal": {"image_encoder", "label_encoder"},
    "semi": set(MODULES),
    "jmvae": set(MODULES),
    "jmvae-agg": set(MODULES),
    "scan": {"label_decoder", "label_encoder"},
    "bivcca": set(MODULES) - {"joint_encoder"},
}
ALONE = "vae iwae iwae-stl iwae-dreg capacity tcvae tcvae-mws hfvae hfvae-mws"
REACHED |= {name: {"image_decoder", "image_encoder"} for name in ALONE.split()}
FEW_DRAWS = {name: {"k": 4.0} for name in ("iwae", "iwae-stl", "iwae-dreg")}


def make(seed: int = 0, words: str = "factorised") -> JointVAE:
    torch.manual_seed(seed)
    sizes = {"latent": 3, "width": 8, "hidden": 16}
    return JointVAE(WORDS, (1, 64, 64), networks="lean", words=words, **sizes)


def batch(size: int = 6) -> tuple[torch.Tensor, Labels]:
    generator = torch.Generator().manual_seed(5)
    x = (torch.rand(size, 1, 64, 64, generator=generator) < 0.1).float()
    return x, Labels.full(torch.stack([torch.arange(size) % 3, torch.arange(size) % 2], 1))


def reached(model: JointVAE) -> set[str]:
    def moved(name: str) -> bool:
        grads = [p.grad for p in getattr(model, name).parameters()]
        return any(g is not None and g.abs().max() > 0 for g in grads)

    return {name for name in MODULES if moved(name)}


@pytest.mark.parametrize("name", sorted(REACHED))
def test_gradient_reaches_exactly_the_networks_it_should(name):
    model = make()
    OBJECTIVES[name].function(model, *batch()).value.mean().backward()
    assert reached(model) == REACHED[name]


def test_every_joint_objective_is_tested_here():
    joint = {name for name, found in OBJECTIVES.items() if "joint" in found.trains}
    assert joint - set(FITTED) == set(REACHED)  # tests/models/test_flowing.py has those of flows


def test_unimodal_bounds_leave_the_decoders_and_their_statistics_untouched():
    model = make()
    before = {k: v.clone() for k, v in model.state_dict().items() if "decoder" in k}
    unimodal_bounds(model, *batch()).value.mean().backward()
    assert all(p.grad is None for d in model.decoders for p in d.parameters())
    assert all(torch.equal(before[k], model.state_dict()[k]) for k in before)
    assert any("running_mean" in k for k in before)


def test_joint_bound_does_update_the_statistics():
    model = make()
    before = model.state_dict()["image_decoder.layers.0.running_mean"].clone()
    joint_elbo(model, *batch())
    assert not torch.equal(before, model.state_dict()["image_decoder.layers.0.running_mean"])


def test_telbo_gives_the_decoders_the_gradient_of_the_joint_bound_alone():
    model, other = make(), make()
    x, y = batch()
    torch.manual_seed(1)
    telbo(model, x, y, lam=3.0).value.sum().backward()
    torch.manual_seed(1)  # the joint bound draws its noise first
    joint_elbo(other, x, y, lam=3.0).value.sum().backward()
    for mine, its in zip(model.decoders, other.decoders, strict=True):
        for a, b in zip(mine.parameters(), its.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.parametrize("words", ["factorised", "atomic"])
def test_scan_leaves_all_of_the_pictures_and_their_statistics_untouched(words):
    model = make(words=words)
    before = {k: v.clone() for k, v in model.state_dict().items() if k.startswith("image")}
    scan(model, *batch()).value.mean().backward()
    parts = (model.image_encoder, model.image_decoder)
    assert all(p.grad is None and p.requires_grad for part in parts for p in part.parameters())
    assert all(torch.equal(before[k], model.state_dict()[k]) for k in before)
    assert any(k.startswith("image_encoder") and "running_mean" in k for k in before)
    assert reached(model) == REACHED["scan"]


def test_scan_teaches_only_the_symbols_it_has_seen():
    model = make(words="atomic")
    x, _ = batch()
    scan(model, x, Labels.full(torch.tensor([[2, 0]]).expand(6, -1))).value.sum().backward()
    assert model.label_encoder.embedding.grad.abs().sum(-1).nonzero().tolist() == [[4]]


def test_experts_of_jmvae_agg_do_not_bend_the_joint_model():
    model, other = make(), make()
    x, y = batch()
    torch.manual_seed(1)
    jmvae_agg(model, x, y, lam=3.0, alpha=2.0).value.sum().backward()
    torch.manual_seed(1)
    with_words_left_out(y, 0.5)  # the words are drawn first
    q = other.q_xy(x, y)
    joint = bound_under(q, other, x, y, name="qxy", lam=3.0, beta=1.0).value
    (joint - 2 * kl_divergence(q, other.q_x(x))).sum().backward()
    for name in set(MODULES) - {"label_encoder"}:
        mine, its = getattr(model, name).parameters(), getattr(other, name).parameters()
        for a, b in zip(mine, its, strict=True):
            torch.testing.assert_close(a.grad, b.grad)


def test_experts_of_full_descriptions_learn_from_jmvae_agg_what_they_do_from_jmvae():
    model, other = make(), make()
    x, y = batch()
    jmvae_agg(model, x, y, drop=0.0).value.sum().backward()
    jmvae(other, x, y).value.sum().backward()
    mine, its = model.label_encoder.parameters(), other.label_encoder.parameters()
    for a, b in zip(mine, its, strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    bent, unbent = other.joint_encoder.parameters(), model.joint_encoder.parameters()
    assert any(not torch.allclose(a.grad, b.grad) for a, b in zip(bent, unbent, strict=True))


@pytest.mark.parametrize("bound", [jmvae, jmvae_agg])
def test_both_kinds_of_jmvae_average_over_the_subsets_of_the_words(bound):
    model, count = make().eval(), 4000
    x, y = batch(1)
    with torch.no_grad():
        q = model.q_xy(x, y)
        expected = sum(
            kl_divergence(q, model.q_y(Labels(y.codes, torch.tensor([said])))).item()
            / (3 * comb(2, sum(said)))  # 0, 1 or 2 words equally often, and any of as many
            for said in product([True, False], repeat=2)
        )
        copies = x.expand(count, -1, -1, -1), Labels.full(y.codes.expand(count, -1))
        torch.manual_seed(0)
        found = bound(model, *copies, drop=1.0).terms["kl_qxy_qy"].mean().item()
    assert found == pytest.approx(expected, rel=0.02)


def test_thawed_modules_are_as_they_were():
    model = make()
    model.label_decoder.weights[0].requires_grad_(False)

    def stumble() -> None:
        with frozen(model.decoders):
            assert not any(p.requires_grad for d in model.decoders for p in d.parameters())
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        stumble()
    assert not model.label_decoder.weights[0].requires_grad
    assert model.label_decoder.weights[1].requires_grad
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert all(norm.track_running_stats for norm in norms)


def test_semi_supervised_with_all_labels_is_the_telbo_in_expectation():
    model = make().eval()
    x, y = batch()
    copies = [t.repeat_interleave(200, 0) for t in (x, y.codes)]
    many = (copies[0], Labels.full(copies[1]))
    with torch.no_grad():
        one = semi_supervised(model, *many, lam=2.0, gamma=2.0).value.mean()
        two = telbo(model, *many, lam=2.0, gamma=2.0).value.mean()
    torch.testing.assert_close(one, two, rtol=1e-3, atol=0)


def test_semi_supervised_without_labels_is_the_image_bound():
    model, other = make(), make()
    x, y = batch()
    nothing = Labels(y.codes, torch.zeros_like(y.observed))
    torch.manual_seed(2)
    value = semi_supervised(model, x, nothing).value
    value.sum().backward()
    assert reached(model) == {"image_decoder", "image_encoder"}
    torch.manual_seed(2)
    torch.randn(6, 3)  # the draw of q(z|x,y), which is not used
    expected = image_elbo(other, x).value
    torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("name", sorted(REACHED))
def test_bound_does_not_depend_on_the_order_of_the_batch(name):
    model, weights = make().eval(), FEW_DRAWS.get(name, {})
    last_bias(model.image_decoder).fill_(2.0)  # white is likely: the darker, the lower the bound
    x, y = batch()
    x = (torch.rand(x.shape) < torch.linspace(0.05, 0.95, len(x))[:, None, None, None]).float()
    order = torch.tensor([4, 2, 0, 5, 1, 3])

    def expected(x, y):
        torch.manual_seed(0)
        copies = (x.repeat_interleave(100, 0), Labels.full(y.codes.repeat_interleave(100, 0)))
        with torch.no_grad():
            bound = OBJECTIVES[name].function(model, *copies, **weights)
        return bound.value.view(len(x), -1).mean(1)

    found = expected(x, y)
    assert found.diff().abs().min() > 0.04 * found.abs().max()  # another order is seen
    torch.testing.assert_close(
        found[order], expected(x[order], Labels.full(y.codes[order])), rtol=0.01, atol=0.5
    )


def test_unknown_objectives_and_weights_name_the_near_one():
    with pytest.raises(UsageError, match=r"Did you mean 'telbo'\?"):
        get_objective("tello")
    with pytest.raises(UsageError, match=r"`lamda` is not a weight of `telbo`.*'lam'"):
        get_objective("telbo").check({"lamda": 3})
    with pytest.raises(UsageError, match=r"`lam='x'` is not a number"):
        get_objective("telbo").check({"lam": "x"})


def test_dropping_words_keeps_every_number_of_them_equally_often():
    y = Labels.full(torch.zeros(100_000, 4, dtype=torch.long))
    torch.manual_seed(0)
    kept = with_words_left_out(y, 1.0).observed.sum(1)
    assert torch.bincount(kept, minlength=5).float().div(1e5).sub(0.2).abs().max() < 0.01
    some = with_words_left_out(y, 0.25).observed.all(1).float().mean()
    assert some.item() == pytest.approx(0.75 + 0.25 * 0.2, abs=0.01)


def test_dropping_no_words_is_the_telbo():
    model, other = make(), make()
    x, y = batch()
    torch.manual_seed(1)
    value = telbo(model, x, y).value
    torch.manual_seed(1)
    torch.testing.assert_close(value, telbo(other, x, y, drop=0.0).value)


def test_dropped_words_change_the_bound_of_words_alone():
    model = make().eval()
    x, y = batch()
    torch.manual_seed(1)
    full = telbo(model, x, y).terms
    torch.manual_seed(1)
    partial = telbo(model, x, y, drop=1.0).terms
    torch.testing.assert_close(full["log_px_qxy"], partial["log_px_qxy"])
    assert partial["kl_qy_p"].mean() < full["kl_qy_p"].mean()
