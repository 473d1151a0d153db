import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats

from mindseye.concepts import Concept
from mindseye.data import mnist_a
from mindseye.data.mnist_a import VOCABULARY, Geometry, MnistA, place, render
from mindseye.data.sources import Sources, digits
from mindseye.data.splits import combinations, compositional_split
from mindseye.errors import UsageError
from mindseye.randomness import keys

BIG, SMALL = 0, 1
CLOCKWISE, UPRIGHT, ANTICLOCKWISE = 0, 1, 2
BICUBIC = Image.Resampling.BICUBIC
N = 10_000


def bar():
    """A vertical bar through the middle."""
    image = torch.zeros(28, 28, dtype=torch.uint8)
    image[5:23, 12:16] = 255
    return image


def bars(count=300):
    """Sources that all show a bar, the digits taking turns."""
    return Sources(bar().expand(count, 28, 28), torch.arange(count) % 10)


def numbered(count):
    """Sources that tell their number: one bright pixel, its place the number in base 28."""
    images = torch.zeros(count, 28 * 28, dtype=torch.uint8)
    images[torch.arange(count), torch.arange(count)] = 255
    return Sources(images.view(-1, 28, 28), torch.arange(count) % 10)


def geometries(n=N, seed=0, size=None, orientation=None, location=None):
    """Attributes, some of them fixed, and the geometry drawn for them."""
    codes = combinations(VOCABULARY.sizes)[torch.arange(n) * 7919 % 240].clone()
    for column, code in enumerate((size, orientation, location), start=1):
        if code is not None:
            codes[:, column] = code
    return codes, place(codes, keys(seed, torch.arange(n)))


def box(geometry):
    """The side of the digit's box, by the authors' steps: rotate, grow, scale, cut to pixels."""
    turn = np.deg2rad(geometry.angle.numpy())
    corner = 14 * (np.abs(np.cos(turn)) + np.abs(np.sin(turn)))
    return np.floor(2 * np.ceil(corner - 1e-9) * geometry.scale.numpy())


def ink(pictures):
    return pictures.double().sum((1, 2, 3))


def moments(pictures):
    """The mean position of ink `(B, 2)`, right and down, and its covariance `(B, 2, 2)`."""
    side = pictures.shape[-1]
    middle = torch.arange(side, dtype=torch.float64) + 0.5
    points = torch.stack(torch.meshgrid(middle, middle, indexing="xy"), -1).view(-1, 2)
    weights = pictures.double().flatten(1) / ink(pictures)[:, None]
    mean = weights @ points
    away = points - mean[:, None]
    return mean, torch.einsum("bp,bpi,bpj->bij", weights, away, away)


def axis(covariance):
    """The angle of a vertical bar in degrees, anticlockwise positive, -90 to 90."""
    spread, tilt = covariance[:, 1, 1] - covariance[:, 0, 0], covariance[:, 0, 1]
    return torch.rad2deg(torch.atan2(2 * tilt, spread)) / 2


# What is drawn: labels


def test_labels_are_uniform_and_independent():
    data = MnistA(bars())
    codes = data.examples(torch.arange(N)).y.codes
    for code in codes.T[1:]:
        assert stats.chisquare(torch.bincount(code)).pvalue > 1e-3
    cells = torch.bincount(codes @ torch.tensor([24, 12, 4, 1]), minlength=240)
    digit = torch.bincount(codes[:, 0])  # as often as sources have it
    assert stats.chisquare(cells, digit.repeat_interleave(24) / 24).pvalue > 1e-3


def test_the_digit_is_that_of_the_source():
    data = MnistA(bars())
    index = torch.arange(1000)
    assert torch.equal(data.examples(index).y.codes[:, 0], data.digits[index % len(data.digits)])


# What is drawn: geometry


@pytest.mark.parametrize(("size", "mean"), [(BIG, 0.9), (SMALL, 0.6)])
def test_scale_is_a_truncated_gaussian(size, mean):
    scale = geometries(size=size)[1].scale
    law = stats.truncnorm((0.4 - mean) / 0.1, (1 - mean) / 0.1, mean, 0.1)
    assert stats.kstest(scale, law.cdf).pvalue > 1e-3
    assert scale.mean() == pytest.approx(law.mean(), abs=4 * law.std() / N**0.5)
    assert scale.std() == pytest.approx(law.std(), rel=0.03)
    assert 0.4 <= scale.min() < scale.max() <= 1


@pytest.mark.parametrize(("orientation", "mean"), [(CLOCKWISE, -45), (ANTICLOCKWISE, 45)])
def test_angle_is_a_truncated_gaussian(orientation, mean):
    angle = geometries(orientation=orientation)[1].angle
    law = stats.truncnorm((-90 - mean) / 10, (90 - mean) / 10, mean, 10)
    assert stats.kstest(angle, law.cdf).pvalue > 1e-3
    assert angle.mean() == pytest.approx(law.mean(), abs=4 * law.std() / N**0.5)
    assert angle.std() == pytest.approx(law.std(), rel=0.03)


def test_upright_is_not_turned_at_all():
    assert (geometries(orientation=UPRIGHT)[1].angle == 0).all()


@pytest.mark.parametrize("location", range(4))
def test_centre_is_a_truncated_gaussian_in_whole_pixels(location):
    """Against the exact law: P(k) ∝ Φ(k + 1) - Φ(k) for the pixels k that hold the box."""
    _, geometry = geometries(location=location)
    side = box(geometry)
    half = side // 2 + 1
    spread = np.random.default_rng(0).random((2, N))
    for coordinate, far, u in zip(
        (geometry.row, geometry.column), divmod(location, 2), spread, strict=True
    ):
        pixel = coordinate.numpy() + 1 - side % 2 / 2  # counted from 1
        assert (pixel == np.round(pixel)).all()
        assert (pixel >= 1 + half).all()
        assert (pixel <= 64 - half).all()
        below, low, high, above = (
            stats.norm.cdf(edge, 12 + 40 * far, 4)
            for edge in (1 + half, pixel, pixel + 1, 65 - half)
        )
        rank = (low + u * (high - low) - below) / (above - below)
        assert stats.kstest(rank, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("size", [BIG, SMALL])
@pytest.mark.parametrize("orientation", [CLOCKWISE, UPRIGHT])
def test_draws_are_those_of_a_loop_that_draws_until_one_fits(size, orientation):
    _, ours = geometries(2000, size=size, orientation=orientation, location=0)
    theirs = drawn_until_it_fits(2000, size, orientation)
    for name in Geometry._fields:
        a, b = getattr(ours, name).numpy(), getattr(theirs, name).numpy()
        assert stats.kstest(a, b).pvalue > 1e-3, name


def drawn_until_it_fits(n, size, orientation):
    """The authors' procedure for a digit at the top left; rows and columns fit independently."""
    rng = np.random.default_rng(0)

    def fitting(mean, std, low, high):
        value = rng.normal(mean, std, n)
        while (outside := ~((low <= value) & (value < high))).any():
            value = np.where(outside, rng.normal(mean, std, n), value)
        return torch.from_numpy(value)

    scale = fitting(0.9 - 0.3 * size, 0.1, 0.4, 1)
    angle = fitting(45 * (orientation - 1), 10, -90, 90) * (orientation != UPRIGHT)
    side = torch.from_numpy(box(Geometry(scale, angle, scale, scale)))
    low, high = 2 + side // 2, 64 - side // 2
    row, column = (fitting(12, 4, low.numpy(), high.numpy()).floor() for _ in range(2))
    return Geometry(scale, angle, row - 1 + side % 2 / 2, column - 1 + side % 2 / 2)


# What is seen: geometry measured from pixels


def test_pixels_show_the_scale_the_angle_and_the_centre():
    _, geometry = geometries(600)
    pictures = render(bar().expand(600, 28, 28), geometry)
    mean, covariance = moments(pictures)
    assert torch.allclose(mean, torch.stack([geometry.column, geometry.row], 1), atol=1e-3)
    assert torch.allclose(axis(covariance), geometry.angle, atol=0.5)
    scale = (ink(pictures) / (18 * 4)).sqrt()
    cut = geometry.scale - scale  # by less than a pixel of a box of 28 or more
    assert (cut > -0.015).all()
    assert (cut < 1 / 28 + 0.015).all()


def test_clockwise_turns_the_top_to_the_right():
    dot = torch.zeros(1, 28, 28, dtype=torch.uint8)
    dot[:, 4:8, 12:16] = 255
    for orientation, side in ((CLOCKWISE, 1), (UPRIGHT, 0), (ANTICLOCKWISE, -1)):
        _, geometry = geometries(200, orientation=orientation)
        mean, _ = moments(render(dot.expand(200, 28, 28), geometry))
        right = mean[:, 0] - geometry.column
        if side:
            assert (right * side > 1).all()
        else:
            assert torch.allclose(right, torch.zeros(200, dtype=torch.float64), atol=0.1)


@pytest.mark.parametrize(
    ("words", "low", "left"),
    [("top-left", 0, 0), ("top-right", 0, 1), ("bottom-left", 1, 0), ("bottom-right", 1, 1)],
)
def test_a_location_is_where_it_says(words, low, left):
    pictures = MnistA(bars()).pictures_of(VOCABULARY.parse(words), 500, seed=0)
    mean, _ = moments(pictures)
    assert ((mean > 32) == torch.tensor([bool(left), bool(low)])).all()


@pytest.mark.parametrize(("words", "sign"), [("clockwise", -1), ("anticlockwise", 1)])
def test_an_orientation_is_what_it_says(words, sign):
    _, covariance = moments(MnistA(bars()).pictures_of(VOCABULARY.parse(words), 500, seed=0))
    angle = axis(covariance) * sign
    assert angle.mean() == pytest.approx(45, abs=2)
    assert (angle > 0).all()


def test_big_is_bigger_than_small():
    data = MnistA(bars())
    big, small = (
        ink(data.pictures_of(VOCABULARY.parse(words), 2000, seed=0)) for words in ("big", "small")
    )
    first, second = (stats.truncnorm((0.4 - m) / 0.1, (1 - m) / 0.1, m, 0.1) for m in (0.9, 0.6))
    assert big.mean() / small.mean() == pytest.approx(first.moment(2) / second.moment(2), rel=0.05)


# What is seen: all of the digit


def extremes():
    """Every attribute at the ends of every distribution, and in the middle."""
    u = torch.tensor([2.0**-53, 0.5, 1 - 2.0**-53], dtype=torch.float64)
    u = torch.cartesian_prod(u, u, u, u)
    codes = combinations([1, 2, 3, 4])
    return mnist_a._placed(codes.repeat_interleave(len(u), 0), u.repeat(len(codes), 1))


def test_the_box_is_on_the_canvas_even_at_the_extremes():
    for geometry in (extremes(), geometries()[1]):
        side = torch.from_numpy(box(geometry))
        assert side.max() <= 40
        for coordinate in (geometry.row, geometry.column):
            assert (coordinate - side / 2 >= 0).all()
            assert (coordinate + side / 2 <= 64).all()


def test_a_white_source_loses_nothing_at_the_edges(monkeypatch):
    """A canvas three times as large, the digit at the same place of its middle, has no more ink."""
    geometry = extremes()
    white = torch.full((len(geometry.row), 28, 28), 255, dtype=torch.uint8)
    pictures = render(white, geometry)
    monkeypatch.setattr(mnist_a, "CANVAS", 192)
    larger = render(white, geometry._replace(row=geometry.row + 64, column=geometry.column + 64))
    assert torch.allclose(larger[..., 64:128, 64:128], pictures, atol=1e-4)
    assert torch.allclose(ink(larger), ink(pictures), rtol=1e-6)


def test_ink_grows_with_the_square_of_the_scale():
    geometry = extremes()
    white = torch.full((len(geometry.row), 28, 28), 255, dtype=torch.uint8)
    ratio = ink(render(white, geometry)) / (28 * mnist_a._whole_scale(geometry)) ** 2
    upright = geometry.angle == 0
    assert torch.allclose(ratio[upright], torch.ones_like(ratio[upright]), atol=1e-4)
    assert (ratio - 1).abs().max() < 0.06  # the edges of a turned square fall between pixels


def test_grey_values_are_probabilities():
    grey = render(digits().images[:500], geometries(500)[1])
    assert grey.dtype == torch.float32
    assert 0 <= grey.min() < grey.max() <= 1


# The authors' renderings


def pillow(image, scale, angle, row, column):
    """The authors' procedure: rotate and grow, shrink, paste."""
    turned = Image.fromarray(image.numpy()).rotate(float(angle), BICUBIC, expand=True)
    side = int(turned.width * float(scale))
    turned.thumbnail((side, side), BICUBIC)
    canvas = Image.new("L", (64, 64))
    canvas.paste(turned, (int(column) - side // 2, int(row) - side // 2))
    return torch.from_numpy(np.asarray(canvas) / np.float32(255))[None]


def test_renderings_agree_with_pillow():
    _, geometry = geometries(300)
    images = digits().images[torch.arange(300) * 5]
    theirs = torch.stack([pillow(*case) for case in zip(images, *geometry, strict=True)])
    apart = ink((render(images, geometry) - theirs).abs()) / ink(theirs)
    assert apart.mean() < 0.025
    assert apart.max() < 0.08


def test_boxes_are_those_of_pillow():
    image = Image.new("L", (28, 28))
    angle = torch.arange(-90, 90.1, 0.37, dtype=torch.float64)
    theirs = [image.rotate(a, BICUBIC, expand=True).width for a in angle.tolist()]
    assert mnist_a._grown(angle).tolist() == theirs


# One picture is one picture


def test_a_picture_is_the_same_alone_in_a_batch_and_in_another_order():
    data = MnistA(bars())
    index = torch.arange(700)  # more than are drawn at once
    together = data.examples(index)
    order = torch.randperm(700, generator=torch.Generator().manual_seed(0))
    shuffled = data.examples(order)
    assert torch.equal(shuffled.x, together.x[order])
    assert torch.equal(shuffled.y.codes, together.y.codes[order])
    for i in range(0, 700, 70):
        assert torch.equal(data.examples(index[i : i + 1]).x[0], together.x[i])


def test_grey_pictures_are_the_same_alone_too():
    _, geometry = geometries(300)
    images = digits().images[:300]
    together = render(images, geometry)
    for i in range(0, 300, 30):
        alone = render(images[i : i + 1], Geometry(*(field[i : i + 1] for field in geometry)))
        assert torch.equal(alone[0], together[i])


def test_a_training_batch_depends_on_its_number_only():
    first, again = MnistA(bars(), seed=3), MnistA(bars(), seed=3)
    first.batch(0, 16)
    assert torch.equal(first.batch(5, 16).x, again.batch(5, 16).x)
    assert not torch.equal(first.batch(5, 16).x, first.batch(6, 16).x)


def test_other_indices_seeds_and_parts_give_other_pictures():
    source = bars()
    index = torch.arange(50)
    pictures = [
        MnistA(source).examples(index).x,
        MnistA(source).examples(index + 10_000).x,
        MnistA(source, seed=1).examples(index).x,
        MnistA(source, "test").examples(index).x,
    ]
    flat = torch.cat(pictures).flatten(1)
    assert len(flat.unique(dim=0)) == len(flat)


def test_pictures_are_float_and_binary():
    x, y = MnistA(bars()).batch(0, 64)
    assert x.shape == (64, 1, 64, 64)
    assert x.dtype == torch.float32
    assert set(x.unique().tolist()) == {0.0, 1.0}
    assert y.codes.dtype == torch.int64
    assert y.observed.dtype == torch.bool


def test_binary_pixels_have_the_grey_values_as_means():
    n = 4000
    _, geometry = geometries(1, size=SMALL, orientation=CLOCKWISE)
    same = Geometry(*(field.expand(n) for field in geometry))
    image = digits().images[:1].expand(n, 28, 28)
    grey = render(image[:1], geometry)[0, 0].double()
    mean = render(image, same, keys(0, torch.arange(n))).double().mean(0)[0]
    assert (mean[grey == 0] == 0).all()
    assert (mean[grey == 1] == 1).all()
    open_ = (grey > 0.01) & (grey < 0.99)
    score = ((mean - grey) / (grey * (1 - grey) / n).sqrt())[open_]
    assert open_.sum() > 50
    assert score.abs().max() < 4.5
    assert score.square().mean() == pytest.approx(1, abs=0.3)


def test_rendering_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    data = MnistA(bars()).to("meta")
    x, y = data.batch(3, 300)
    assert x.shape == (300, 1, 64, 64)
    assert y.codes.shape == y.observed.shape == (300, 4)


# Who sees what


@pytest.mark.parametrize("seed", range(4))
def test_training_never_shows_a_held_out_combination(seed):
    train = MnistA(bars(), compositional=True, split_seed=seed)
    seen = {tuple(row) for row in train.examples(torch.arange(4000)).y.codes.tolist()}
    parts = ("train", "validation", "test")
    own, *held_out = (
        {tuple(row) for row in compositional_split(VOCABULARY.sizes, part, seed).tolist()}
        for part in parts
    )
    assert seen == own
    assert not seen & set.union(*held_out)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_held_out_parts_show_their_own_combinations(part):
    data = MnistA(bars(3000), part, compositional=True)
    seen = {tuple(row) for row in data.examples(torch.arange(2000)).y.codes.tolist()}
    assert seen == {tuple(r) for r in compositional_split(VOCABULARY.sizes, part).tolist()}


def test_the_observer_sees_every_combination():
    data = MnistA(bars(1000), "observer", compositional=True)
    assert len(data.examples(torch.arange(4000)).y.codes.unique(dim=0)) == 240


def test_parts_share_no_source():
    numbers = [
        MnistA(numbered(700), part).images.flatten(1).argmax(1)
        for part in ("train", "validation", "test", "observer")
    ]
    assert [len(n) for n in numbers] == [425, 25, 50, 200]
    assert torch.equal(torch.cat(numbers).sort().values, torch.arange(700))


def test_ten_replications_are_ten_pictures_of_every_source():
    data = MnistA(bars(30), replications=10)
    assert data.count == 10 * len(data.images) == 180
    every = {picture.numpy().tobytes() for picture in data.examples(torch.arange(180)).x}
    seen = {picture.numpy().tobytes() for step in range(40) for picture in data.batch(step, 64).x}
    assert len(every) == 180
    assert seen == every


def test_without_replications_no_picture_comes_twice():
    pictures = torch.cat([MnistA(bars(30)).batch(step, 500).x for step in range(2)])
    assert len(pictures.flatten(1).unique(dim=0)) == 1000


def test_a_tenth_labelled_hides_nine_tenths():
    observed = MnistA(bars(), labelled=0.1).examples(torch.arange(4000)).y.observed
    assert (observed.all(1) == observed.any(1)).all()  # a description is known or it is not
    assert observed[:, 0].double().mean() == pytest.approx(0.1, abs=4 * (0.09 / 4000) ** 0.5)
    assert MnistA(bars()).batch(0, 500).y.observed.all()
    assert not MnistA(bars(), labelled=0.0).batch(0, 500).y.observed.any()


def test_hiding_labels_changes_no_picture():
    assert torch.equal(MnistA(bars(), labelled=0.1).batch(0, 32).x, MnistA(bars()).batch(0, 32).x)


# Real pictures of a concept


def test_pictures_of_a_digit_show_that_digit():
    images = bars().images * (torch.arange(300) % 10 == 4)[:, None, None]  # only fours have ink
    data = MnistA(Sources(images, torch.arange(300) % 10))
    assert (ink(data.pictures_of(VOCABULARY.parse("digit=4"), 200, seed=0)) > 0).all()
    assert (ink(data.pictures_of(VOCABULARY.parse("digit=5"), 200, seed=0)) == 0).all()


def test_what_a_concept_leaves_open_is_uniform():
    mean, covariance = moments(MnistA(bars()).pictures_of(VOCABULARY.root, 3000, seed=0))
    quadrant = (mean > 32).long() @ torch.tensor([1, 2])
    turned = (axis(covariance) / 22.5).round().clamp(-1, 1).long() + 1
    for counts in (torch.bincount(quadrant), torch.bincount(turned)):
        assert stats.chisquare(counts).pvalue > 1e-3


def test_pictures_of_a_concept_are_those_of_their_seed():
    data, concept = MnistA(bars()), VOCABULARY.parse("big")
    some = data.pictures_of(concept, 8, seed=1)
    assert torch.equal(data.pictures_of(concept, 20, seed=1)[:8], some)
    assert not torch.equal(data.pictures_of(concept, 8, seed=2), some)


@pytest.mark.parametrize("compositional", [False, True])
def test_pictures_of_many_concepts_are_those_of_each(compositional):
    data = MnistA(bars(), compositional=compositional)
    held_out = compositional_split(VOCABULARY.sizes, "test")[0].tolist()
    concepts = [*map(VOCABULARY.parse, ["", "4, big", "top-left"]), VOCABULARY.from_codes(held_out)]
    seeds = [3, 2**52 + 1, 0, 7]
    together = data.pictures_of_each(concepts, 9, seeds)
    assert together.shape == (4, 9, 1, 64, 64)
    for pictures, concept, seed in zip(together, concepts, seeds, strict=True):
        assert torch.equal(pictures, data.pictures_of(concept, 9, seed))


def test_a_split_shows_its_own_pictures_of_an_open_concept():
    test = MnistA(bars(1000), "test", compositional=True)
    own = {tuple(row) for row in test.every.tolist()}
    every = combinations(VOCABULARY.sizes)
    (fits,) = test._fitting([VOCABULARY.parse("big")], every)
    fitting = {tuple(row) for row in every[fits].tolist()}
    assert fitting == {row for row in own if row[1] == BIG}


def test_a_split_can_show_a_combination_it_holds_out():
    train = MnistA(bars(), compositional=True)
    held_out = compositional_split(VOCABULARY.sizes, "test")[0].tolist()
    concept: Concept = VOCABULARY.from_codes(held_out)
    mean, _ = moments(train.pictures_of(concept, 50, seed=0))
    down, right = divmod(held_out[3], 2)
    assert ((mean > 32) == torch.tensor([bool(right), bool(down)])).all()


# What goes wrong


def test_an_unknown_part_is_named():
    with pytest.raises(UsageError, match=r"`part='tets'` is not known; expected .*test"):
        MnistA(bars(), "tets")


def test_a_part_without_sources_is_named():
    with pytest.raises(UsageError, match=r"`part='validation'` has no source digits"):
        MnistA(bars(2), "validation")


def test_a_digit_without_sources_is_named():
    data = MnistA(Sources(bars().images, torch.zeros(300, dtype=torch.int64)))
    with pytest.raises(UsageError, match=r"`part='train'` has no source of digit 4"):
        data.pictures_of(VOCABULARY.parse("digit=4"), 3, seed=0)


# On a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_draws_what_a_cpu_draws():
    index = torch.arange(2000)
    ours = MnistA(bars()).examples(index)
    theirs = MnistA(bars()).to("cuda").examples(index.cuda())
    assert torch.equal(ours.y.codes, theirs.y.codes.cpu())
    assert (ours.x != theirs.x.cpu()).double().mean() < 1e-5


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_rendering_can_be_captured():
    data = MnistA(bars()).to("cuda")
    index = torch.arange(64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        data.examples(index)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = data.examples(index)
    index += 1000
    graph.replay()
    assert torch.equal(captured.x, data.examples(index).x)
