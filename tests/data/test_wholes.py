"""Wholes made of parts: whatever the data set, a whole is a function of its parts and its key."""

import pytest
import torch
from scipy import stats

from mindseye.data.batch import ENDLESS
from mindseye.data.loads import Loads
from mindseye.data.sines import Sines
from mindseye.data.sites import Sites
from mindseye.data.wholes import Specifics
from mindseye.errors import UsageError
from mindseye.groups import Groups
from mindseye.pieces import Pieces
from mindseye.randomness import integers, keys

KINDS = [Sines, Sites, Loads]
every = pytest.mark.parametrize("kind", KINDS)
NEAR = {"rtol": 1e-4, "atol": 2e-5}


def drawn(kind, sizes, seed=0):
    """A data set, parts of wholes of some sizes, and their numbers."""
    data, sizes = kind(seed=seed), torch.tensor(sizes)
    pieces = data.examples(torch.arange(len(sizes)), sizes).y
    return data, pieces, data.draw(pieces, keys(seed, torch.arange(len(sizes)), "tests"))


def rows(pieces, specifics, order, sizes):
    """Some of the parts, in another order, as wholes of other sizes."""
    own = Specifics(specifics.own[order], specifics.shared)
    return Pieces(pieces.codes[order], pieces.places[order], torch.tensor(sizes)), own


def same(ours, theirs):
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def whole(batch, b):
    """Whole number b of a batch, and its parts."""
    stop = int(batch.y.sizes[: b + 1].sum())
    own = slice(stop - int(batch.y.sizes[b]), stop)
    return batch.x[b], batch.y.codes[own], batch.y.places[own]


# A whole is a multiset


@every
def test_the_order_of_parts_never_matters(kind):
    data, pieces, specifics = drawn(kind, [7, 1, 5])
    order = torch.tensor([6, 0, 3, 2, 5, 1, 4, 7, 12, 8, 11, 9, 10])
    turned = data.render(*rows(pieces, specifics, order, [7, 1, 5]))
    torch.testing.assert_close(turned, data.render(pieces, specifics), **NEAR)


@every
def test_wholes_of_a_batch_do_not_meet(kind):
    """Wholes in another order are the same wholes in another order."""
    data, pieces, specifics = drawn(kind, [3, 2])
    order = torch.tensor([3, 4, 0, 1, 2])
    turned, own = rows(pieces, specifics, order, [2, 3])
    own = own._replace(shared=specifics.shared.flip(0))
    torch.testing.assert_close(
        data.render(turned, own), data.render(pieces, specifics).flip(0), **NEAR
    )


@every
def test_a_part_can_be_taken_away_with_all_else_fixed(kind):
    """The other wholes stay as they are, and the part that is put back makes the whole again."""
    data, pieces, specifics = drawn(kind, [3, 4, 2])
    before = data.render(pieces, specifics)
    fewer = rows(pieces, specifics, torch.tensor([0, 1, 2, 3, 5, 6, 7, 8]), [3, 3, 2])
    after = data.render(*fewer)
    torch.testing.assert_close(after[[0, 2]], before[[0, 2]], **NEAR)
    assert (after[1] - before[1]).abs().max() > 1e-3
    back = torch.tensor([0, 1, 2, 3, 5, 6, 4, 7, 8])
    again = data.render(*rows(pieces, specifics, back, [3, 4, 2]))
    torch.testing.assert_close(again, before, **NEAR)


@every
def test_numbers_of_parts_do_not_depend_on_parts_behind_them(kind):
    """So adding a part with the same key changes nothing else."""
    data, pieces, specifics = drawn(kind, [2, 3])
    more = Pieces(
        torch.cat([pieces.codes, pieces.codes[:1]]),
        torch.cat([pieces.places, pieces.places[:1]]),
        torch.tensor([2, 4]),
    )
    added = data.draw(more, keys(0, torch.arange(2), "tests"))
    assert torch.equal(added.own[:5], specifics.own)
    assert torch.equal(added.shared, specifics.shared)
    assert not torch.equal(added.own[5], added.own[4])


@every
def test_a_part_alone_is_a_whole_of_one_part(kind):
    data, pieces, specifics = drawn(kind, [3, 1])
    alone = data.alone(pieces, specifics)
    assert alone.shape == (4, *data.shape)
    for i, b in enumerate([0, 0, 0, 1]):
        single = Pieces(pieces.codes[[i]], pieces.places[[i]], torch.tensor([1]))
        own = Specifics(specifics.own[[i]], specifics.shared[[b]])
        torch.testing.assert_close(alone[[i]], data.render(single, own), **NEAR)
    torch.testing.assert_close(alone[3], data.render(pieces, specifics)[1], **NEAR)


@every
def test_a_whole_is_not_the_sum_of_its_parts(kind):
    data, pieces, specifics = drawn(kind, [12] * 8)
    groups = Groups.of(pieces.sizes, len(pieces.codes))
    sums = groups.totals(data.alone(pieces, specifics).flatten(1))
    apart = (sums - data.render(pieces, specifics).flatten(1)).square().mean().sqrt()
    assert apart > 0.05 * sums.std()


@every
@pytest.mark.parametrize("size", [1, 2, 16, 30])
def test_all_numbers_are_finite(kind, size):
    x = kind().examples(torch.arange(40), torch.full((40,), size)).x
    assert x.dtype == torch.float32
    assert x.isfinite().all()
    assert kind(most=16).batch(2, 32).x.isfinite().all()


@every
def test_nothing_is_silent_or_black(kind):
    data, pieces, specifics = drawn(kind, [0, 2, 0])
    x = data.render(pieces, specifics)
    assert torch.equal(x[[0, 2]], torch.zeros(2, *data.shape))
    own = specifics._replace(shared=specifics.shared[1:2])
    alone = data.render(pieces._replace(sizes=torch.tensor([2])), own)
    torch.testing.assert_close(x[1:2], alone, **NEAR)


# A whole is a function of its key


@every
def test_a_whole_is_the_same_alone_and_in_a_batch(kind):
    data = kind()
    together = data.examples(torch.arange(50))
    for b in (0, 17, 49):
        alone = data.examples(torch.tensor([b]))
        x, codes, places = whole(together, b)
        assert same((codes, places), alone.y[:2])
        torch.testing.assert_close(alone.x[0], x, **NEAR)


@every
def test_batches_hold_wholes_of_their_own_indices(kind):
    """What a batch shows can be asked for again by its indices and sizes."""
    data = kind(seed=5)
    found = data.batch(3, 10)
    index = integers(keys(5, torch.arange(30, 40), "order"), ENDLESS)
    again = data.examples(index, found.y.sizes)
    assert same(again.y, found.y)
    assert torch.equal(again.x, found.x)


@every
def test_some_batches_at_once_are_those_one_by_one(kind):
    data = kind()
    together = data.batch(4, 6, count=3)
    single = [data.batch(step, 6) for step in (4, 5, 6)]
    parts = len(single[0].y.codes)
    assert len(together.y.codes) == 3 * parts
    for c, one in enumerate(single):
        torch.testing.assert_close(together.x[6 * c : 6 * c + 6], one.x, **NEAR)
        own = slice(c * parts, (c + 1) * parts)
        assert torch.equal(together.y.codes[own], one.y.codes)
        assert torch.equal(together.y.places[own], one.y.places)
        assert torch.equal(together.y.sizes[6 * c : 6 * c + 6], one.y.sizes)


@every
def test_a_step_may_be_a_tensor(kind):
    ours, theirs = kind().batch(7, 8), kind().batch(torch.tensor(7), 8)
    assert same(ours.y, theirs.y)
    assert torch.equal(ours.x, theirs.x)


@every
def test_splits_and_seeds_differ(kind):
    index, sizes = torch.arange(6), torch.full((6,), 3)
    data = [kind(), kind("validation"), kind("test"), kind(seed=1)]
    for i, first in enumerate(data):
        for second in data[:i]:
            for ours, theirs in (
                (first.examples(index, sizes), second.examples(index, sizes)),
                (first.batch(0, 6), second.batch(0, 6)),
            ):
                assert not torch.equal(ours.y.codes, theirs.y.codes)
                assert ((ours.x - theirs.x).flatten(1).abs().amax(1) > 1e-3).sum() >= 4
    assert same(data[0].batch(2, 6).y, kind().batch(2, 6).y)


@every
def test_drawing_never_waits_for_a_number(kind):
    """On the meta device there are no numbers: to look at one would fail."""
    data = kind().to("meta")
    x, y = data.batch(torch.zeros((), dtype=torch.int64, device="meta"), 30, count=2, most=5)
    assert x.shape == (60, *data.shape)
    assert y.codes.shape == (180,)
    assert y.places.shape == (180, len(data.vocabulary.axes))
    assert data.wholes_of(y, 0, 3).shape == (60, 3, *data.shape)


# Numbers of parts


@pytest.mark.parametrize("most", [1, 4, 7, 16])
def test_numbers_of_parts_are_uniform_and_every_batch_has_as_many(most):
    data, sizes = Sines(most=most), []
    for step in range(20):
        y = data.batch(step, 100).y
        assert len(y.codes) == int(y.sizes.sum()) == 50 * (most + 1)
        assert (y.sizes[::2] + y.sizes[1::2] == most + 1).all()
        sizes.append(y.sizes)
    for half in (torch.stack(sizes)[:, ::2], torch.stack(sizes)[:, 1::2]):
        assert 1 <= half.min() <= half.max() <= most
        counts = torch.bincount(half.flatten() - 1, minlength=most)
        assert stats.chisquare(counts).pvalue > 1e-3 or most == 1


def test_examples_have_uniform_numbers_of_parts():
    sizes = Sines().examples(torch.arange(4000)).y.sizes
    assert stats.chisquare(torch.bincount(sizes, minlength=17)[1:]).pvalue > 1e-3


@every
def test_a_curriculum_makes_batches_smaller(kind):
    """A smaller number of parts for now is that of a data set which never has more."""
    ours, theirs = kind().batch(3, 12, most=2), kind(most=2).batch(3, 12)
    assert ours.y.sizes.max() == 2
    assert len(ours.y.codes) == 18
    assert same(ours.y, theirs.y)
    assert torch.equal(ours.x, theirs.x)


@every
def test_a_whole_keeps_its_first_parts_as_it_grows(kind):
    data, index = kind(), torch.tensor([9])
    small, large = (data.examples(index, torch.tensor([size])).y for size in (2, 5))
    assert torch.equal(small.codes, large.codes[:2])
    assert torch.equal(small.places, large.places[:2])


@every
def test_categories_are_uniform(kind):
    data = kind()
    codes = data.examples(torch.arange(400), torch.full((400,), 10)).y.codes
    counts = torch.bincount(codes, minlength=len(data.vocabulary.categories))
    assert len(counts) == len(data.vocabulary.categories)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_own_largest_numbers():
    assert [kind().most for kind in KINDS] == [16, 8, 16]
    assert [kind(most=3).most for kind in KINDS] == [3, 3, 3]


# Draws of given parts


@every
def test_draws_of_given_parts_vary_in_all_but_the_parts(kind):
    data = kind()
    pieces = data.examples(torch.arange(3), torch.tensor([2, 4, 3])).y
    x = data.wholes_of(pieces, seed=1, n=5)
    assert x.shape == (3, 5, *data.shape)
    assert torch.equal(data.wholes_of(pieces, seed=1, n=5), x)
    torch.testing.assert_close(data.wholes_of(pieces, seed=1, n=2), x[:, :2], **NEAR)
    assert not torch.equal(data.wholes_of(pieces, seed=2, n=5), x)
    first = Pieces(pieces.codes[:2], pieces.places[:2], pieces.sizes[:1])
    torch.testing.assert_close(data.wholes_of(first, seed=1, n=5), x[:1], **NEAR)
    assert data.wholes_of(pieces, seed=1).shape == (3, 1, *data.shape)
    assert (x.std(1).flatten(1).amax(1) > 1e-3).sum() >= 2  # one colour may be all there is


def test_draws_are_those_of_the_data():
    """Given the parts, draws have the moments of wholes with those parts."""
    data = Sines(most=1)
    pieces = Pieces(torch.tensor([2]), torch.zeros(1, 0), torch.tensor([1]))
    ours = data.wholes_of(pieces, seed=0, n=2000)[0].flatten(1)
    found = data.examples(torch.arange(20_000))
    theirs = found.x[found.y.codes == 2].flatten(1)
    torch.testing.assert_close(ours.mean(0), theirs.mean(0), atol=0.08, rtol=0)
    torch.testing.assert_close(ours.std(0), theirs.std(0), atol=0.05, rtol=0)


# What a data set is


@every
def test_data_sets_are_described(kind):
    data = kind.read("auto", "test", None, most=5, seed=3)
    assert (data.part, data.most, data.seed) == ("test", 5, 3)
    assert data.count == ENDLESS
    assert data.facts() == {
        "wholes": "endless",
        "parts": "1 to 5",
        "kinds of parts": {Sines: 10, Sites: 5, Loads: 8}[kind],
        "size": {Sines: "200 x 1", Sites: "32 x 32", Loads: "96 x 1"}[kind],
    }
    assert kind.resolved("auto") == kind.resolved("generated") == "generated"
    assert kind.real == (kind is not Sites)
    assert data.to("meta").device == torch.device("meta")


def test_the_mean_is_that_of_many_wholes():
    data = Loads(most=2)
    mean = data.examples(torch.arange(4000)).x.mean(0)
    torch.testing.assert_close(data.mean(), mean, atol=0.1, rtol=0)


# What goes wrong


def test_an_odd_batch_is_refused():
    with pytest.raises(UsageError, match=r"`size=5` must be even: .* in pairs. Take 6."):
        Sines().batch(0, 5)


@every
@pytest.mark.parametrize("most", [-1, 0])
def test_a_whole_has_parts(kind, most):
    with pytest.raises(UsageError, match=rf"`most={most}` must be at least 1"):
        kind().batch(0, 4, most=most)
    if most:
        with pytest.raises(UsageError, match=rf"`most={most}` must be at least 1"):
            kind(most=most)


@every
def test_an_unknown_part_is_named(kind):
    with pytest.raises(UsageError, match=r"`part='tests'` is not known; .* Did you mean 'test'"):
        kind("tests")


@every
def test_an_unknown_source_is_named(kind):
    with pytest.raises(UsageError, match=r"`source='files'` is not known; expected 'generated'"):
        kind.read("files", "train")


# On a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every
def test_a_gpu_draws_what_a_cpu_draws(kind):
    ours, theirs = kind().batch(3, 64), kind().to("cuda").batch(3, 64)
    assert same(ours.y, theirs.y.to("cpu"))
    torch.testing.assert_close(theirs.x.cpu(), ours.x, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@every
def test_a_batch_can_be_captured(kind):
    """Replayed with another step, a graph gives another batch: that of the step."""
    data, step = kind().to("cuda"), torch.zeros((), dtype=torch.int64, device="cuda")
    data.batch(step, 32, count=2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = data.batch(step, 32, count=2)
    for number in (5, 9):
        step.fill_(number)
        graph.replay()
        wanted = data.batch(number, 32, count=2)
        assert same(found.y, wanted.y)
        torch.testing.assert_close(found.x, wanted.x, **NEAR)
