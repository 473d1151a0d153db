"""One digit or two, and a sentence: what is said is where the ink is."""

import pytest
import torch
from scipy import stats

from mindseye.data import CaptionedMnist, CaptionedPairs, Data
from mindseye.data.batch import ENDLESS
from mindseye.data.captioned_mnist import PAIR_SENTENCE, SENTENCE, pairs_of, render
from mindseye.data.sources import Sources
from mindseye.data.splits import combinations, compositional_split
from mindseye.errors import UsageError
from mindseye.labels import decode
from mindseye.randomness import keys, uniforms

N = 4000
SPLIT = ("train", "validation", "test")
KINDS = pytest.mark.parametrize("kind", [CaptionedMnist, CaptionedPairs])


def white(count=300):
    """Sources that fill their boxes, the digits taking turns."""
    images = torch.full((count, 28, 28), 255, dtype=torch.uint8)
    return Sources(images, torch.arange(count) % 10)


def barcodes(count=300):
    """Sources that tell their digit: as many bright rows, from the top, as it says and one."""
    digits = torch.arange(count) % 10
    images = 255 * (torch.arange(28) <= digits[:, None]).byte()
    return Sources(images[:, :, None].expand(-1, 28, 28), digits)


def numbered(count):
    """Sources that tell their number, in base 256 by their first two pixels."""
    images = torch.zeros(count, 28, 28, dtype=torch.uint8)
    number = torch.arange(count)
    images[:, 0, 0], images[:, 0, 1] = (number // 256).byte(), (number % 256).byte()
    return Sources(images, number % 10)


def boxes(kind, codes, seed=0):
    """Where the digits of captions are put."""
    u = uniforms(keys(seed, torch.arange(len(codes)), "tests"), kind.numbers)
    return kind.placed(codes, u)


def captions(kind, n=N):
    """All captions, one after the other, many times."""
    every = combinations(kind.vocabulary.sizes)
    return every[torch.arange(n) % len(every)]


def numbers(codes, sizes):
    """Captions as numbers below how many there are."""
    weight = torch.tensor(sizes).flip(0).cumprod(0).roll(1).flip(0)
    weight[-1] = 1
    return codes @ weight


# What can be said


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("4 top left", "the digit four is at the top left of the image"),
        ("0 in the upper right corner", "the digit zero is at the top right of the image"),
        ("lower-left", "the digit * is at the bottom left of the image"),
        ("a nine", "the digit nine is at the * of the image"),
    ],
)  # fmt: skip
def test_one_digit_is_spoken_of_in_many_words(said, text):
    caption = SENTENCE.parse(said)
    assert str(caption) == text
    assert SENTENCE.parse(text) == caption


@pytest.mark.parametrize(
    ("said", "relation"),
    [
        ("left of", "to the left of"),
        ("left from", "to the left of"),
        ("on the left of", "to the left of"),
        ("right", "to the right of"),
        ("to the right of", "to the right of"),
        ("over", "above"),
        ("on top of", "above"),
        ("beneath", "below"),
        ("under", "below"),
    ],
)
def test_a_relation_is_said_in_many_words(said, relation):
    caption = PAIR_SENTENCE.parse(f"a 3 is {said} the 7")
    assert str(caption) == f"the digit three is {relation} the digit seven"
    assert PAIR_SENTENCE.parse(str(caption)) == caption


def test_a_word_that_is_no_relation_is_refused():
    with pytest.raises(UsageError, match=r"'beside' is not a word here; expected .*'below'"):
        PAIR_SENTENCE.parse("a 3 beside a 7")


@KINDS
def test_every_caption_is_read_back(kind):
    every = decode(kind.vocabulary, kind(white()).examples(torch.arange(60)).y)
    for caption in every:
        assert caption.level == len(kind.vocabulary)
        assert kind.vocabulary.parse(str(caption)) == caption


# What is drawn: labels


@KINDS
def test_all_captions_are_equally_likely(kind):
    images, digits = white()
    uneven = Sources(images, digits * (torch.arange(300) % 3 > 0))  # many of digit 0
    codes = kind(uneven).examples(torch.arange(2 * N)).y
    assert codes.observed.all()
    sizes = kind.vocabulary.sizes
    cells = torch.bincount(numbers(codes.codes, sizes), minlength=len(combinations(sizes)))
    assert stats.chisquare(cells).pvalue > 1e-3


@KINDS
def test_every_source_of_a_digit_is_drawn_as_often(kind):
    data = kind(numbered(100))
    source = data._source_of(torch.full((N, 1), 4), uniforms(keys(0, torch.arange(N)), 1))
    assert (data.digits[source] == 4).all()
    counts = torch.bincount(source.flatten(), minlength=len(data.digits))[data.digits == 4]
    assert stats.chisquare(counts).pvalue > 1e-3


# What is drawn: geometry


@pytest.mark.parametrize("corner", range(4))
def test_a_corner_has_nine_rows_and_nine_columns_all_equally_likely(corner):
    codes = captions(CaptionedMnist)
    codes[:, 1] = corner
    found = boxes(CaptionedMnist, codes)
    assert torch.equal(found.digit, codes[:, :1])
    for begins, far in zip((found.row, found.column), divmod(corner, 2), strict=True):
        counts = torch.bincount(begins[:, 0] - 24 * far)
        assert len(counts) == 9
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("relation", range(4), ids=PAIR_SENTENCE.attributes[1].values)
def test_a_pair_is_apart_along_its_axis_and_near_across_it(relation):
    codes = captions(CaptionedPairs, 10_000)
    codes[:, 1] = relation
    found = boxes(CaptionedPairs, codes)
    along, across = (found.column, found.row) if relation < 2 else (found.row, found.column)
    for begins, low in zip(along.T, (0, 30), strict=True):
        counts = torch.bincount(begins - low)
        assert len(counts) == 3
        assert stats.chisquare(counts).pvalue > 1e-3
    assert (along[:, 0] + 28 <= along[:, 1]).all()
    assert (across.min(), across.max()) == (0, 32)
    apart = (across[:, 0] - across[:, 1]).abs()
    expected = torch.tensor([13 - i if i == 0 else 2 * (13 - i) for i in range(13)]) / 169
    assert stats.chisquare(torch.bincount(apart), 10_000 * expected.double()).pvalue > 1e-3
    law = torch.tensor([min(13, i + 1, 33 - i) for i in range(33)]).double() / 273
    assert stats.chisquare(torch.bincount(across[:, 0]), 10_000 * law).pvalue > 1e-3


@KINDS
def test_a_white_source_fills_its_box_and_nothing_else(kind):
    codes = captions(kind, 500)
    found, n = boxes(kind, codes), kind.many
    images = white(500 * n).images.view(500, n, 28, 28)
    pictures = render(images, found.row, found.column, keys(0, torch.arange(500)))
    assert (pictures.sum((1, 2, 3)) == n * 28**2).all()  # boxes are on the canvas, and apart
    for picture, rows, columns in zip(pictures, found.row, found.column, strict=True):
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            assert picture[0, row : row + 28, column : column + 28].all()


def test_the_extremes_are_reached_and_not_passed():
    ends = torch.tensor([2.0**-53, 1 - 2.0**-53], dtype=torch.float64)
    one = CaptionedMnist.placed(torch.tensor([[0, 0], [0, 3]]), ends[:, None].expand(2, 2))
    assert (one.row.tolist(), one.column.tolist()) == ([[0], [32]], [[0], [32]])
    two = CaptionedPairs.placed(torch.tensor([[0, 0, 0], [0, 2, 0]]), ends[:, None].expand(2, 5))
    assert two.row.tolist() == [[0, 0], [2, 32]]
    assert two.column.tolist() == [[0, 30], [32, 32]]


# What is seen


def test_a_digit_is_seen_in_its_corner():
    x, y = CaptionedMnist(barcodes()).examples(torch.arange(300))
    for picture, (digit, corner) in zip(x[:, 0], y.codes.tolist(), strict=True):
        rows, columns = (picture.amax(axis).nonzero()[:, 0] for axis in (1, 0))
        assert len(rows) == digit + 1
        assert len(columns) == 28
        assert (int(rows[0]) // 24, int(columns[0]) // 24) == divmod(corner, 2)


def test_both_captions_of_a_pair_agree_with_where_ink_is():
    x, y = CaptionedPairs(barcodes()).examples(torch.arange(400))
    seen = set()
    for picture, (first, relation, second) in zip(x[:, 0], y.codes.tolist(), strict=True):
        ink = torch.nonzero(picture).tolist()
        axis = 1 if relation < 2 else 0
        sides = [[at for at in ink if (at[axis] >= 30) == far] for far in (False, True)]
        near, far = (len(side) // 28 - 1 for side in sides)
        assert (near, far) == ((first, second) if relation % 2 == 0 else (second, first))
        both = torch.tensor(
            [[near, 2 * (relation // 2), far], [far, 2 * (relation // 2) + 1, near]]
        )
        assert [first, relation, second] in both.tolist()
        assert len(pairs_of(both).unique(dim=0)) == 1
        seen.add(relation)
    assert seen == {0, 1, 2, 3}


def test_mirrored_captions_have_the_same_pictures():
    data = CaptionedPairs(barcodes())
    for one, other in (("3 left of 7", "7 right of 3"), ("3 above 7", "7 below 3")):
        pictures = data.pictures_of_each([*map(PAIR_SENTENCE.parse, (one, other))], 20, [5, 5])
        assert torch.equal(pictures[0], pictures[1])
    assert not torch.equal(pictures[0], data.pictures_of(PAIR_SENTENCE.parse("3 below 7"), 20, 5))


@KINDS
def test_binary_pixels_have_the_grey_values_as_means(kind):
    n = kind.many
    ramp = torch.arange(28 * 28).remainder(256).byte().view(1, 1, 28, 28).expand(N, n, 28, 28)
    found = boxes(kind, captions(kind, 1))
    row, column = found.row.expand(N, n), found.column.expand(N, n)
    grey = render(ramp[:1], row[:1], column[:1])[0, 0].double()
    mean = render(ramp, row, column, keys(0, torch.arange(N))).double().mean(0)[0]
    inked = grey.flatten().sort().values[-n * 28**2 :]
    assert torch.allclose(inked, ramp[0].flatten().sort().values.double() / 255)
    assert (mean[grey == 0] == 0).all()
    assert (mean[grey == 1] == 1).all()
    open_ = (grey > 0) & (grey < 1)
    score = ((mean - grey) / (grey * (1 - grey) / N).sqrt())[open_]
    assert score.square().mean() == pytest.approx(1, abs=0.15)


# One picture is one picture


@KINDS
def test_picture_7_is_the_same_alone_or_together(kind):
    data = kind(barcodes())
    index = torch.arange(600)  # more than are drawn at once
    together = data.examples(index)
    assert torch.equal(data.examples(torch.tensor([7])).x[0], together.x[7])
    backwards = kind(barcodes()).examples(index.flip(0))
    assert torch.equal(backwards.x.flip(0), together.x)
    assert torch.equal(backwards.y.codes.flip(0), together.y.codes)
    assert torch.equal(data.batch(2, 6).x, data.batch(0, 6, 4).x[12:18])


@KINDS
def test_other_indices_seeds_and_parts_give_other_pictures(kind):
    grey = Sources(white(1000).images // 2, torch.arange(1000) % 10)
    index = torch.arange(20)
    pictures = [
        kind(grey).examples(index).x,
        kind(grey).examples(index + 2**39).x,
        kind(grey, seed=1).examples(index).x,
        kind(grey, "test").examples(index).x,
    ]
    flat = torch.cat(pictures).flatten(1)
    assert len(flat.unique(dim=0)) == len(flat)


@KINDS
def test_replications_make_an_end_of_pictures(kind):
    data = kind(Sources(white(100).images // 2, torch.arange(100) % 10), replications=6)
    assert data.count == data.facts()["pictures"] == 6 * len(data.images) == 360
    every = {picture.numpy().tobytes() for picture in data.examples(torch.arange(360)).x}
    seen = {picture.numpy().tobytes() for step in range(5) for picture in data.batch(step, 64).x}
    assert len(every) == 360
    assert seen <= every
    assert kind(white()).count == ENDLESS


@KINDS
def test_rendering_never_waits_for_a_number(kind):
    """On the meta device there are no numbers: to look at one would fail."""
    x, y = kind(white()).to("meta").batch(3, 300)
    assert x.shape == (300, 1, 60, 60)
    assert y.codes.shape == y.observed.shape == (300, len(kind.vocabulary))


# Who sees what


@KINDS
def test_parts_share_no_source(kind):
    first = [kind(numbered(2100), part).images[:, 0, :2].long() for part in kind.parts]
    found = [pixels @ torch.tensor([256, 1]) for pixels in first]
    assert [len(n) for n in found] == [1275, 75, 150, 600]
    assert torch.equal(torch.cat(found).sort().values, torch.arange(2100))


@pytest.mark.parametrize(
    ("kind", "counts"), [(CaptionedMnist, [34, 2, 4]), (CaptionedPairs, [340, 20, 40])]
)
@pytest.mark.parametrize("seed", range(3))
def test_a_compositional_split_divides_the_captions(kind, counts, seed):
    own = [kind.held_out(part, seed) for part in SPLIT]
    assert [len(each) for each in own] == counts
    assert torch.equal(torch.cat(own).unique(dim=0), combinations(kind.vocabulary.sizes))
    for part, codes in zip(SPLIT, own, strict=True):
        data = kind(white(3000), part, compositional=True, split_seed=seed)
        assert torch.equal(data.every, codes)
        assert torch.equal(data.examples(torch.arange(N)).y.codes.unique(dim=0), codes)
    assert len(kind(white(), "observer", compositional=True).every) == sum(counts)


@pytest.mark.parametrize("seed", range(3))
def test_parts_share_no_mirrored_pair(seed):
    pairs = [pairs_of(CaptionedPairs.held_out(part, seed)) for part in SPLIT]
    own = [compositional_split((2, 10, 10), part, seed) for part in SPLIT]
    assert [len(each) for each in own] == [170, 10, 20]
    for found, expected in zip(pairs, own, strict=True):
        rows, times = found.unique(dim=0, return_counts=True)
        assert torch.equal(rows, expected)
        assert (times == 2).all()  # both of its captions


# Real pictures of a caption


@pytest.mark.parametrize("compositional", [False, True])
def test_pictures_of_a_caption_show_what_it_says(compositional):
    data = CaptionedMnist(barcodes(), compositional=compositional)
    for picture in data.pictures_of(SENTENCE.parse("4 bottom right"), 50, seed=0)[:, 0]:
        rows, columns = (picture.amax(axis).nonzero()[:, 0] for axis in (1, 0))
        assert len(rows) == 5
        assert min(rows[0], columns[0]) >= 24


def test_what_a_caption_leaves_open_is_uniform():
    data = CaptionedPairs(barcodes())
    pictures = data.pictures_of(PAIR_SENTENCE.parse("3 left of"), 1000, seed=0)[:, 0]
    assert (pictures[:, :, :30].sum((1, 2)) == 4 * 28).all()
    second = (pictures[:, :, 30:].sum((1, 2)) / 28 - 1).long()
    assert stats.chisquare(torch.bincount(second, minlength=10)).pvalue > 1e-3


def test_a_split_shows_its_own_pictures_of_an_open_caption():
    test = CaptionedPairs(barcodes(3000), "test", compositional=True)
    relation = int(test.every[0, 1])
    open_ = PAIR_SENTENCE.from_codes([None, relation, None])
    codes = test._drawn([open_], uniforms(keys(0, torch.arange(1)), 400))[0]
    own = test.every[test.every[:, 1] == relation]
    assert torch.equal(codes.unique(dim=0), own)


@KINDS
def test_pictures_of_many_captions_are_those_of_each(kind):
    data, words = kind(barcodes()), kind.vocabulary
    concepts = [words.root, words.parse("4"), words.from_codes([3] * len(words))]
    seeds = [3, 2**52 + 1, 7]
    together = data.pictures_of_each(concepts, 9, seeds)
    assert together.shape == (3, 9, 1, 60, 60)
    for pictures, concept, seed in zip(together, concepts, seeds, strict=True):
        assert torch.equal(pictures, data.pictures_of(concept, 9, seed))


# Which digits, and what goes wrong


@KINDS
def test_small_digits_are_drawn_where_there_is_no_mnist(kind, nowhere):
    pytest.importorskip("sklearn")
    name = {CaptionedMnist: "captioned-mnist", CaptionedPairs: "captioned-pairs"}[kind]
    data = Data(name).resolved()
    assert (data.source, data.shape) == ("digits", (1, 60, 60))
    opened = data.open("test")
    mean = opened.mean()
    assert mean.mean().item() == pytest.approx(opened.batch(0, 1000).x.mean().item(), rel=0.1)
    assert list(opened.facts()) == ["sources", "combinations", "pictures", "sources of each digit"]
    assert opened.facts()["combinations"] == len(combinations(kind.vocabulary.sizes))


@KINDS
def test_an_unknown_part_is_named(kind):
    with pytest.raises(UsageError, match=r"`part='tets'` is not known; .* Did you mean 'test'"):
        kind(white(), "tets")
    with pytest.raises(UsageError, match=r"`part='observe'` is not known"):
        kind(white(), "observe", compositional=True)


@KINDS
def test_a_part_needs_every_digit(kind):
    with pytest.raises(UsageError, match=r"`part='validation'` has no source digits"):
        kind(white(2), "validation")
    eights = Sources(white().images, torch.arange(300) % 9)
    with pytest.raises(UsageError, match=r"`part='train'` has no source of digit 9\."):
        kind(eights)


@pytest.mark.parametrize("name", ["captioned-mnist", "captioned-pairs"])
def test_a_field_that_means_nothing_is_refused(name):
    with pytest.raises(UsageError, match=rf"`data.labelled=0.5` means nothing for '{name}'"):
        Data(name, labelled=0.5).open()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@KINDS
def test_a_gpu_draws_what_a_cpu_draws_and_can_capture_it(kind):
    index = torch.arange(1000)
    here, there = kind(barcodes()), kind(barcodes()).to("cuda")
    ours, theirs = here.examples(index), there.examples(index.cuda())
    assert torch.equal(ours.y.codes, theirs.y.codes.cpu())
    assert torch.equal(ours.x, theirs.x.cpu())
    graph, some = torch.cuda.CUDAGraph(), index[:64].cuda()
    with torch.cuda.graph(graph):
        captured = there.examples(some)
    some += 500
    graph.replay()
    assert torch.equal(captured.x, there.examples(some).x)
