"""Models of wholes and parts: what their methods return, and what they must not depend on."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from mindseye.distributions.correlated import CorrelatedNormals
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.models import CompVAE, ImprintVAE, WholesVAE, imprint
from mindseye.models.compositional import LEAST
from mindseye.networks.imprints import PictureImprint
from mindseye.objectives import compvae
from mindseye.papers import get_recipe
from mindseye.parts import Kit
from mindseye.pieces import Pieces

WAVES, SITES = Kit(["low", "middle", "high"]), Kit(["red", "green"], axes=("x", "y"))
CURVE, PICTURE = (1, 1, 200), (3, 32, 32)
SIZES = (1, 4, 2, 3)
B, N, Z = len(SIZES), sum(SIZES), 5
CASES = [(networks, shape) for networks in ("paper", "imprint") for shape in (CURVE, PICTURE)]
OURS = CASES[2:]


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Weights as wide as ever, drawn much sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            nn.init,
            "trunc_normal_",
            lambda weight, mean, std, *_: weight.uniform_(-(3**0.5) * std, 3**0.5 * std),
        )
        yield


def make(networks: str, shape: tuple[int, int, int], **sizes: int) -> WholesVAE:
    torch.manual_seed(0)
    kit = WAVES if shape == CURVE else SITES
    width = {("paper", CURVE): 64, ("paper", PICTURE): 0}.get((networks, shape), 3)
    own = {"width": width, "hidden": 16, "latent": Z}
    return (CompVAE if networks == "paper" else ImprintVAE)(kit, shape, **(own | sizes))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def wholes(shape: tuple[int, int, int], count: int = B) -> Tensor:
    return torch.rand(count, *shape, generator=generator())


def pieces(kit: Kit, sizes: tuple[int, ...] = SIZES) -> Pieces:
    rows = sum(sizes)
    codes = torch.randint(len(kit.categories), (rows,), generator=generator())
    places = 2 * torch.rand(rows, len(kit.axes), generator=generator()) - 1
    return Pieces(codes, places, torch.tensor(sizes))


def permuted(y: Pieces, order: Tensor) -> Pieces:
    return Pieces(y.codes[order], y.places[order], y.sizes)


def posterior(
    model: WholesVAE, x: Tensor, y: Pieces, z: Tensor | None = None, tags: Tensor | None = None
) -> CorrelatedNormals:
    """q({w_i}|x,z,{l_i}), at the mean of z if no other is given."""
    seen = model.seen(x)
    z = model.q_z(seen).mean if z is None else z
    return model.q_w(seen, z, y, model.groups(y), tags)


class Noise:
    """All noise of a bound, so that wholes and parts have theirs wherever they stand."""

    def __init__(self, model: WholesVAE, rows: int = N, count: int = B):
        size = (rows, model.label_q.size)
        self.z, self.tags, self.w = (
            torch.randn(*each, generator=generator())
            for each in ((count, Z), size, (rows, model.part))
        )

    def bound(
        self, model: WholesVAE, x: Tensor, y: Pieces, wholes: Tensor, parts: Tensor
    ) -> Tensor:
        """The bound of wholes, with the noise of some rows."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DiagonalNormal, "rsample", lambda q: q.at(self.z[wholes]))
            patch.setattr(torch, "randn_like", lambda said: self.tags[parts])
            patch.setattr(CorrelatedNormals, "_drawn", lambda q, shape: self.w[parts])
            return compvae(model, x, y).value


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1][1]}")
def model(request) -> WholesVAE:
    return make(*request.param)


# Every method returns a distribution


def test_shapes_are_those_of_wholes_and_of_parts(model):
    x, y = wholes(model.shape), pieces(model.vocabulary)
    p_w = model.p_w(y, model.groups(y))
    q_z = model.q_z(model.seen(x))
    q_w = posterior(model, x, y)
    for each in (p_w, q_w):
        assert each.mean.shape == each.sample().shape == (N, model.part)
        assert each.log_prob(each.mean).shape == (B,)
    total = model.total(q_w.mean, y, q_w.groups)
    assert total.shape == (B, model.summed)
    p_z, p_x = model.p_z(total), model.p_x(q_z.mean, total)
    for each, event in ((q_z, (Z,)), (p_z, (Z,)), (p_x, model.shape)):
        assert (each.batch_shape, each.event_shape) == ((B,), event)
        assert each.rsample().shape == (B, *event)
        assert each.stddev.min() > 0


def test_gradients_reach_every_parameter(model):
    model.zero_grad()
    compvae(model, wholes(model.shape), pieces(model.vocabulary), beta=0.5).value.sum().backward()
    lost = [
        name
        for name, p in model.named_parameters()
        if p.grad is None or not p.grad.isfinite().all() or not p.grad.any()
    ]
    assert lost == []


def test_a_bound_reads_a_whole_once_and_asks_once_what_its_parts_are(model):
    asked: list[str] = []
    known = ["label", "label_q", "read"] if isinstance(model, CompVAE) else ["imprint", "read"]
    hooks = [
        getattr(model, name).register_forward_hook(lambda *_, name=name: asked.append(name))
        for name in known
    ]
    compvae(model, wholes(model.shape), pieces(model.vocabulary))
    for hook in hooks:
        hook.remove()
    assert sorted(asked) == known


def test_decoders_are_the_generative_half(model):
    y = pieces(model.vocabulary)
    p_w = model.p_w(y, model.groups(y))
    w = p_w.sample() if isinstance(model, ImprintVAE) else p_w.rsample()
    total = model.total(w, y, p_w.groups)
    z = model.p_z(total).rsample()
    model.zero_grad()
    log_joint = model.p_x(z, total).log_prob(wholes(model.shape)) + p_w.log_prob(w)
    log_joint.sum().backward()
    reached = {p for p in model.parameters() if p.grad is not None}
    assert reached == {p for each in model.decoders for p in each.parameters()}
    model.zero_grad()


def test_the_channels_of_a_pixel_have_one_deviation(model):
    p_x = model.p_x(torch.randn(B, Z), torch.randn(B, model.summed))
    assert torch.equal(p_x.stddev, p_x.stddev[:, :1].expand(B, *model.shape))


# Floors


@pytest.mark.parametrize("shape", [CURVE, PICTURE])
def test_deviations_that_run_away_end_at_their_floor(shape):
    model = make("imprint", shape)
    with torch.no_grad():
        model.prior_z[-1].bias[Z:] -= 1e4
        last = model.write.bend[-1] if shape == CURVE else model.write.layers[-1]
        last.bias[shape[0] :] -= 1e4
    total, z = torch.ones(B, model.summed), torch.randn(B, Z)
    for each in (model.p_z(total), model.p_x(z, total)):
        assert_close(each.stddev, torch.full_like(each.stddev, LEAST[shape == CURVE]))


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_no_deviation_is_below_its_floor(model, scale):
    total, z = (scale * torch.randn(B, size) for size in (model.summed, Z))
    y = pieces(model.vocabulary)
    deviations = [model.p_z(total).stddev, model.p_x(z, total).stddev]
    if isinstance(model, CompVAE):
        deviations.append(model.p_w(y, model.groups(y)).stddev)
    least = LEAST[model.shape == CURVE]
    assert min(each.min().item() for each in deviations) >= least * (1 - 1e-5)


# Orders and batches


def test_the_order_of_parts_changes_nothing(model):
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    order = torch.tensor([0, 3, 1, 4, 2, 6, 5, 9, 7, 8])
    each = torch.arange(B)
    with torch.no_grad():
        before = noise.bound(model, x, y, each, torch.arange(N))
        after = noise.bound(model, x, permuted(y, order), each, order)
        moved = noise.bound(model, x, permuted(y, order), each, torch.arange(N))
    assert_close(after, before, rtol=0, atol=0.01)
    assert (moved - before)[1:].abs().max() > 0.1  # its noise has to come with a part


def test_a_whole_is_the_same_alone_and_in_a_batch(model):
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    with torch.no_grad():
        together = noise.bound(model, x, y, torch.arange(B), torch.arange(N))
        for b, rows in enumerate(torch.arange(N).split(SIZES)):
            own = Pieces(y.codes[rows], y.places[rows], y.sizes[b : b + 1])
            alone = noise.bound(model, x[b : b + 1], own, torch.tensor([b]), rows)
            assert_close(alone[0], together[b], rtol=0, atol=0.01)


def test_wholes_do_not_know_each_other(model):
    x, y = wholes(model.shape).requires_grad_(), pieces(model.vocabulary)
    q_w = posterior(model, x, y)
    rows = q_w.groups.owner == 2
    (gradient,) = torch.autograd.grad((q_w.mean[rows] + q_w.scale[rows] + q_w.rho[rows]).sum(), x)
    assert gradient.abs().amax((1, 2, 3)).nonzero().tolist() == [[2]]


@pytest.mark.parametrize(("networks", "shape"), OURS)
def test_parts_of_one_whole_know_each_other(networks, shape):
    model, x = make(networks, shape), wholes(shape, 1)
    y = pieces(model.vocabulary, (3,))
    other = y._replace(codes=torch.cat([y.codes[:2], (y.codes[2:] + 1) % 2]))
    z, tags = torch.zeros(1, Z), torch.zeros(3, model.label_q.size)
    before, after = (posterior(model, x, each, z, tags).mean for each in (y, other))
    assert (after - before).abs().amax(1).min() > 1e-3


def test_wholes_of_one_part_and_of_thirty_have_a_bound_and_gradients(model):
    y = pieces(model.vocabulary, (1, 30))
    value = compvae(model, wholes(model.shape, 2), y).value
    assert value.isfinite().all()
    first, last = model.label_q.category, model.posterior_w.bias
    for gradient in torch.autograd.grad(value.sum(), [first, last]):
        assert gradient.isfinite().all()
        assert gradient.any()


@pytest.mark.parametrize(("networks", "shape"), OURS)
def test_a_single_part_leans_against_nobody(networks, shape):
    model = make(networks, shape)
    q = posterior(model, wholes(shape, 1), pieces(model.vocabulary, (1,)), torch.zeros(1, Z))
    assert_close(q.rho, torch.sigmoid(q.logits))
    assert_close(q.variance, (q.scale * torch.sigmoid(-q.logits)).square())


# What tells parts apart


def test_parts_of_one_category_are_told_apart_by_noise_alone():
    model, x, z = make("imprint", CURVE), wholes(CURVE, 1), torch.zeros(1, Z)
    y = Pieces(torch.tensor([1, 1]), torch.zeros(2, 0), torch.tensor([2]))
    tags = torch.randn(1, model.label_q.size).expand(2, -1)
    same = posterior(model, x, y, z, tags).mean
    assert torch.equal(same[0], same[1])
    apart = tags * torch.tensor([[1.0], [-1.0]])
    for each in (posterior(model, x, y, z, apart), posterior(model, x, y, z)):
        assert (each.mean[0] - each.mean[1]).abs().max() > 1e-2


def test_parts_with_places_need_no_noise():
    model, x, z = make("imprint", PICTURE), wholes(PICTURE, 1), torch.zeros(1, Z)
    y = Pieces(torch.tensor([1, 1]), torch.tensor([[0.5, 0.5], [-0.5, 0.5]]), torch.tensor([2]))
    q, again = posterior(model, x, y, z), posterior(model, x, y, z)
    assert torch.equal(q.mean, again.mean)
    assert (q.mean[0] - q.mean[1]).abs().max() > 1e-2


def test_what_is_summed_knows_categories_and_places(model):
    y = pieces(model.vocabulary, (1, 1))._replace(codes=torch.tensor([0, 1]))

    def expected(y: Pieces) -> Tensor:
        """What is summed of the means of parts."""
        p_w = model.p_w(y, model.groups(y))
        return model.total(p_w.mean, y, p_w.groups)

    one, other = expected(y)
    assert (one - other).abs().max() > 1e-2
    if model.vocabulary.axes:
        there = y._replace(places=y.places.flip(0))
        assert (expected(there) - expected(y)).abs().max() > 1e-2


# Weights


def test_a_blank_one_takes_weights(model):
    with torch.device("meta"):
        blank = make("paper" if isinstance(model, CompVAE) else "imprint", model.shape)
    assert all(tensor.is_meta for tensor in blank.state_dict().values())
    blank.load_state_dict(model.state_dict(), assign=True)
    x, y, noise = wholes(model.shape), pieces(model.vocabulary), Noise(model)
    rows = torch.arange(B), torch.arange(N)
    with torch.no_grad():
        assert torch.equal(*(noise.bound(each, x, y, *rows) for each in (blank, model)))


def test_sizes_are_the_papers_unless_others_are_asked_for():
    with torch.device("meta"):
        curves = CompVAE(WAVES, CURVE)
        pictures = CompVAE(SITES, PICTURE, latent=1024)
    assert (curves.part, curves.latent, len(curves.blocks)) == (1024, 256, 3)
    assert (pictures.part, pictures.latent, len(pictures.blocks)) == (2048, 1024, 3)
    assert curves.posterior_w.weight.shape == (3 * 1024, 2048)
    assert curves.label.category.shape == (3, 2048)
    assert pictures.prior_w[0].weight.shape == (1024, 64)


def test_repr_shows_the_factorisation():
    curves, pictures = (repr(make(*case)) for case in (("paper", CURVE), ("imprint", PICTURE)))
    assert "p(x, z, w | l) = p(x | z, sum w) p(z | sum w) prod p(w_i | l_i)" in curves
    assert "wholes (1, 1, 200), parts of 3 categories, latents 5 and 64 a part" in curves
    assert "p(x | z, sum imprint(l_i, w_i)) p(z | sum imprint(l_i, w_i))" in pictures
    assert "latents 5 and 3 a part, imprints of 4096" in pictures
    assert all("q(z | x) q(w | x, z, l)" in shown for shown in (curves, pictures))


def test_what_cannot_be_built_is_refused():
    with pytest.raises(UsageError, match="`width=64` must be 2048"):
        make("paper", PICTURE, width=64)
    with pytest.raises(UsageError, match="places of 2 numbers, and these have 0"):
        ImprintVAE(WAVES, PICTURE)
    spelt = r"`networks='imprit'` is not known; expected 'paper' or 'imprint'\. .*'imprint'\?"
    with pytest.raises(UsageError, match=spelt):
        get_recipe("sines/compvae-tiny").with_settings({"networks": "imprit"}).build()


def test_curves_and_colours_are_read_on_a_scale_of_their_own():
    seen: list[Tensor] = []
    for shape, values in ((CURVE, (8.0, -4.0)), (PICTURE, (1.0, 0.0))):
        model = make("paper", shape)
        model.read.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        model.seen(torch.tensor(values)[:, None, None, None].expand(2, *shape))
    assert [each[:, 0, 0, 0].tolist() for each in seen] == [[2.0, -1.0], [1.0, -1.0]]


# Imprints


def test_means_of_latents_of_curves_stay_where_a_mixture_can_follow():
    model = make("imprint", CURVE)
    with torch.no_grad():
        model.posterior_w.bias[: model.part] = 1e4
    far = posterior(model, wholes(CURVE, 1), pieces(WAVES, (3,)), torch.zeros(1, Z)).mean
    assert_close(far, torch.full_like(far, imprint.FARTHEST))


@pytest.mark.parametrize("shape", [CURVE, PICTURE])
def test_imprints_are_summed_some_at_a_time_to_the_same(shape, monkeypatch):
    model, y = make("imprint", shape), pieces(WAVES if shape == CURVE else SITES)
    w, groups = torch.randn(N, model.part), model.groups(y)
    whole = model.total(w, y, groups)
    monkeypatch.setattr(imprint, "AT_ONCE", 3)
    with torch.no_grad():
        assert_close(model.total(w, y, groups), whole)


def test_the_first_number_of_a_sum_of_curves_counts_the_parts():
    model, y = make("imprint", CURVE), pieces(WAVES)
    total = model.total(torch.randn(N, 3), y, model.groups(y))
    assert total[:, 0].tolist() == list(SIZES)


def test_a_curve_of_every_part_twice_is_twice_as_high_until_it_is_limited():
    model, z = make("imprint", CURVE), torch.zeros(2, Z)
    total = torch.rand(2, model.summed)
    assert_close(*(model.write.gist(scale * total) for scale in (1, 2)), rtol=1e-4, atol=1e-4)
    limited = [model.p_x(z, scale * total).mean for scale in (1, 2)]
    with torch.no_grad():
        for weight in model.write.limit[-1].parameters():
            weight.zero_()
    once, twice = (model.p_x(z, scale * total) for scale in (1, 2))
    assert_close(twice.mean, 2 * once.mean, rtol=1e-3, atol=1e-3)
    assert_close(twice.stddev, 2 * once.stddev, rtol=1e-3, atol=1e-3)
    assert (limited[1] - 2 * limited[0]).abs().max() > 1e-3


def test_parts_unlike_all_others_of_their_whole_teach_what_parts_are_like():
    model, y = make("imprint", CURVE), pieces(WAVES, (3, 2))
    y = y._replace(codes=torch.tensor([0, 1, 1, 2, 0]))
    p_w = model.p_w(y, model.groups(y))
    (gradient,) = torch.autograd.grad(p_w.log_prob(torch.randn(5, 3)).sum(), model.prior_w.table)
    assert gradient.any(1).tolist() == [True, False, True]  # which of two gave what is not known
    assert_close(p_w.loc, model.prior_w(y.codes)[1])


def test_parts_of_one_kind_hear_each_other_through_their_gate_alone():
    model, z = make("imprint", CURVE), torch.zeros(1, Z)
    codes, x = torch.tensor([0, 0, 1]), wholes(CURVE, 1)
    y, tags = Pieces(codes, torch.zeros(3, 0), torch.tensor([3])), torch.randn(3, model.tags)
    with torch.no_grad():  # a gate of its own for every kind, and no other way to hear
        model.gate.category.zero_()
        for kind, some in enumerate(torch.arange(model.tags).chunk(3)):
            model.gate.category[kind, some] = 1.0
        for block in model.blocks:
            for weight in block.heard[-1].second.parameters():
                weight.zero_()
            block.heard[-1].first.weight.zero_()
            block.becomes[0].weight[:, model.tags :] = 0
    before = posterior(model, x, y, z, tags).mean
    tags[1] += 1
    after = posterior(model, x, y, z, tags).mean
    changed = (after - before).abs().amax(1) > 1e-6
    assert changed.tolist() == [True, True, False]


def test_a_site_leaves_the_same_imprint_wherever_it_is_seen_from_there():
    torch.manual_seed(0)
    left = PictureImprint(2, 3, (5, 5), 16)
    codes, w = torch.tensor([1, 1]), torch.randn(1, 3).expand(2, -1)
    places = torch.tensor([[0.0, 0.0], [0.5, -0.5]])  # a point of the map to the right, one up
    one, other = left(codes, places, w).unflatten(-1, (16, 5, 5))
    assert_close(other[:, :-1, 1:], one[:, 1:, :-1])


def test_what_a_part_has_of_its_own_means_something_else_for_each_category():
    model, w = make("imprint", CURVE), torch.randn(3, 3)
    nowhere = torch.zeros(3, 0)
    codes = torch.arange(3)
    changes = model.imprint(codes, nowhere, w) - model.imprint(codes, nowhere, 0 * w)
    same = model.imprint(codes, nowhere, w[:1].expand(3, -1)) - model.imprint(codes, nowhere, 0 * w)
    assert changes[:, 0].abs().max() == 0
    assert (same[1:] - same[:1]).abs().amax(1).min() > 1e-2
