"""Flows beside a model that is held still."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from mindseye.concepts import Attribute, Vocabulary
from mindseye.distributions import Autoregression
from mindseye.errors import UsageError
from mindseye.labels import Labels, encode
from mindseye.models import VAE, VLVAE, DeepVAE, FactorVAE, Flowing, JointVAE, LadderVAE
from mindseye.objectives import OBJECTIVES, Bound, vlvae_bound

WORDS = Vocabulary([Attribute("digit", ["0", "1", "2"]), Attribute("size", ["big", "small"])])
EVERY = Labels.full(torch.tensor(list(product(range(3), range(2)))))
D = 4
BASES = {
    "vlvae": lambda: VLVAE(WORDS, (3, 16, 16), D, "folded", width=4, hidden=16),
    "vlvae-joint": lambda: VLVAE(
        WORDS, (3, 16, 16), D, "folded", width=4, hidden=16, inference="joint"
    ),
    "joint": lambda: JointVAE(WORDS, (1, 64, 64), D, "lean", width=8, hidden=8),
    "vae": lambda: VAE((1, 8, 8), D, width=8),
    "factor": lambda: FactorVAE((1, 8, 8), D, width=8),
}
FITTED = [(name, "aggregate") for name in BASES]
FITTED += [(name, "true-posterior") for name in BASES if name not in ("vae", "factor")]


def make(name: str, vocabulary: Vocabulary = WORDS, seed: int = 0, normals: int = 0) -> Flowing:
    torch.manual_seed(seed)
    base = BASES[name]()
    return Flowing(base, vocabulary, 2, 8, joint=name == "vlvae-joint", normals=normals)


def pictures(model: Flowing, count: int = len(EVERY.codes)) -> torch.Tensor:
    return torch.rand(count, *model.shape, generator=torch.Generator().manual_seed(1))


def fitted(model: Flowing, objective: str, steps: int = 5) -> Bound:
    """The last bound of a few steps of training."""
    torch.manual_seed(1)
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 0.01)
    model.train()
    for _ in range(steps):
        bound = OBJECTIVES[objective].function(model, pictures(model), EVERY)
        adam.zero_grad()
        (-bound.value.mean()).backward()
        adam.step()
    model.eval()
    return bound


def state(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def changed(module: nn.Module, before: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, now in module.state_dict().items() if not torch.equal(now, before[name])}


# The model below


@pytest.mark.parametrize(("name", "objective"), FITTED)
def test_the_model_below_never_changes(name, objective):
    model = make(name)
    base, flows = state(model.base), state(model.words_flow)
    bound = fitted(model, objective)
    assert bound.value.isfinite().all()
    assert changed(model.base, base) == set()
    assert all(p.grad is None and not p.requires_grad for p in model.base.parameters())
    assert changed(model.words_flow, flows)


def test_its_statistics_would_change_if_it_were_trained():
    model = make("vlvae")
    before = state(model.base)
    vlvae_bound(model.base.train(), pictures(model), EVERY)
    assert any("running_mean" in name for name in changed(model.base, before))


def test_in_training_the_model_below_is_as_it_is_used():
    model = make("vlvae").train()
    assert model.words_flow.training
    assert not any(part.training for part in model.base.modules())


@pytest.mark.parametrize(
    ("objective", "reached"),
    [
        ("aggregate", {"reader", "words_flow", "prior_flow"}),
        ("true-posterior", {"reader", "words_flow"}),
    ],
)
def test_gradients_reach_the_flows_alone(objective, reached):
    model = make("vlvae")
    fitted(model, objective, steps=3)
    found = {n.split(".")[0] for n, p in model.named_parameters() if p.grad is not None}
    assert found == reached


def test_what_is_inferred_is_what_the_model_below_infers():
    for name in ("vlvae", "joint", "vae"):
        model = make(name).eval()
        q = model.posterior(pictures(model), EVERY)
        assert torch.equal(q.mean, model.base.q_x(pictures(model)).mean)
        assert torch.equal(q.mean, model.q_x(pictures(model)).mean)
    model = make("vlvae-joint").eval()
    x = pictures(model)
    assert torch.equal(model.posterior(x, EVERY).mean, model.base.q_xy(x, EVERY).mean)


@pytest.mark.parametrize("name", BASES)
def test_pictures_are_those_of_the_model_below(name):
    model = make(name).eval()
    z = torch.randn(5, D)
    assert torch.equal(model.p_x(z).mean, model.base.p_x(z).mean)
    assert (model.latent, model.shape, model.prior) == (D, model.base.shape, model.base.prior)


def test_a_model_of_pictures_alone_describes_nothing():
    with pytest.raises(UsageError, match="trained on pictures alone"):
        make("vae").p_y(torch.randn(2, D))


# Beliefs


def test_both_flows_begin_as_the_prior():
    model, z = make("vlvae"), torch.randn(6, D)
    expected = model.prior.log_prob(z)
    assert_close(model.aggregate.log_prob(z), expected)
    assert_close(model.q_y(EVERY).log_prob(z), expected)
    drawn = model.aggregate.at(z)
    assert torch.equal(drawn.sort(1).values, z.sort(1).values)
    assert not model.knows_aggregate


@pytest.mark.parametrize(("objective", "knows"), [("aggregate", True), ("true-posterior", False)])
def test_the_aggregate_is_known_once_it_was_fitted(objective, knows):
    model = make("vlvae")
    fitted(model, objective)
    assert model.knows_aggregate is knows


def test_codes_that_were_not_said_mean_nothing():
    model = make("vlvae")
    fitted(model, "aggregate")
    said = torch.tensor([[True, False]]).expand(2, -1)
    z = torch.randn(2, D)[:1].expand(2, -1)
    one = model.q_y(Labels(torch.tensor([[2, 0], [2, 1]]), said)).log_prob(z)
    assert one[0] == one[1]
    full = model.q_y(Labels.full(torch.tensor([[2, 0], [2, 1]]))).log_prob(z)
    assert (full - one).abs().min() > 1e-4


def test_one_row_is_believed_as_among_others():
    model = make("vlvae")
    fitted(model, "aggregate")
    z = torch.randn(6, D)
    together = model.q_y(EVERY).log_prob(z)
    for i in range(6):
        alone = model.q_y(Labels.full(EVERY.codes[i : i + 1])).log_prob(z[i : i + 1])
        assert_close(alone[0], together[i], rtol=0, atol=1e-4)


def test_without_words_what_is_believed_is_the_aggregate():
    silent = make("vae", Vocabulary([]))
    assert silent.reader is None
    nothing = encode([silent.vocabulary.root] * 3)
    z = torch.randn(3, D)
    for weight in silent.prior_flow.parameters():
        nn.init.normal_(weight, 0, 0.2)
    q = silent.q_y(nothing)
    assert q.batch_shape == (3,)
    assert_close(q.log_prob(z), silent.aggregate.log_prob(z))


def test_a_model_of_pictures_alone_learns_digits():
    torch.manual_seed(0)
    digits = Vocabulary([Attribute("digit", ["0", "1"])])
    base = VAE((1, 8, 8), 2, width=8)
    codes = torch.arange(64) % 2
    x = codes.float()[:, None, None, None].expand(-1, 1, 8, 8)
    model, y = Flowing(base, digits, 2, 8), Labels.full(codes[:, None])
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], 0.01)
    for _ in range(120):
        loss = -OBJECTIVES["aggregate"].function(model.train(), x, y).value.mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    q, means = model.eval().q_y(encode([digits.parse("0"), digits.parse("1")])), base.q_x(x[:2])
    assert_close(q.mean, means.mean, rtol=0, atol=0.25)
    assert_close(q.stddev, means.stddev, rtol=0.25, atol=0.05)


# What is refused, and what is kept


def test_a_model_with_layers_of_latents_is_refused():
    deep = DeepVAE((1, 8, 8), (4, 2), (8, 8))
    ladder = LadderVAE((3, 16, 16), latents=(4, 4), filters=4)
    for base in (deep, ladder):
        with pytest.raises(UsageError, match=f"a {type(base).__name__} has layers of latents"):
            Flowing(base, WORDS)
        assert all(p.requires_grad for p in base.parameters())


@pytest.mark.parametrize("name", ["vlvae", "vae"])
def test_a_blank_one_takes_weights(name):
    full = make(name)
    fitted(full, "aggregate")
    with torch.device("meta"):
        blank = make(name)
    assert all(tensor.is_meta for tensor in blank.state_dict().values())
    blank.load_state_dict(full.state_dict(), assign=True)
    z, blank = torch.randn(6, D), blank.eval()
    assert torch.equal(blank.q_y(EVERY).log_prob(z), full.q_y(EVERY).log_prob(z))
    assert torch.equal(blank.aggregate.log_prob(z), full.aggregate.log_prob(z))
    assert torch.equal(blank.p_x(z).mean, full.p_x(z).mean)


def test_repr_says_what_is_fitted_to_what():
    assert "q(z | y) ≈ E[q(z | x)] over the pictures of y" in repr(make("vlvae"))
    assert "≈ E[q(z | x, y)] over all" in repr(make("vlvae-joint"))


# An autoregressive base of q(z)


@pytest.mark.parametrize("name", BASES)
def test_an_autoregressive_base_learns_with_the_couplings_of_the_aggregate(name):
    model = make(name, normals=3)
    assert not model.knows_aggregate
    before = state(model.prior_base), state(model.prior_flow)
    bound = fitted(model, "aggregate")
    assert bound.value.isfinite().all()
    assert isinstance(model.aggregate.base, Autoregression)
    assert model.knows_aggregate
    assert changed(model.prior_base, before[0])
    assert changed(model.prior_flow, before[1])
    assert model.q_y(EVERY).base is None


def test_where_there_are_no_words_it_is_what_is_believed_of_each():
    model = make("vae", Vocabulary([]), normals=3)
    believed = model.q_y(Labels.full(torch.zeros(5, 0, dtype=torch.long)))
    assert believed.batch_shape == (5,)
    z = torch.randn(5, D, generator=torch.Generator().manual_seed(0))
    assert torch.equal(believed.log_prob(z), model.aggregate.log_prob(z))
    assert torch.equal(believed.at(z), model.aggregate.at(z))
    assert believed.mean.shape == (5, D)
