import pytest
import torch
from scipy import stats

from mindseye.data.mnist_2bit import VOCABULARY, Mnist2Bit, codes_of
from mindseye.data.sources import Sources
from mindseye.errors import UsageError


def ramps(count=700):
    """Sources in every shade of grey, the digits taking turns; pixel 0 tells the digit."""
    shades = torch.arange(28 * 28).mul(255).div(783).round().view(28, 28)
    images = shades.to(torch.uint8).repeat(count, 1, 1)
    digits = torch.arange(count) % 10
    images[:, 0, :10] = 255 * torch.nn.functional.one_hot(digits, 10).to(torch.uint8)
    return Sources(images, digits)


def shown(pictures):
    """The digits that pictures of `ramps` show."""
    return pictures[:, 0, 0, :10].argmax(1)


def test_attributes_are_parity_and_magnitude():
    for digit, codes in enumerate(codes_of(torch.arange(10)).tolist()):
        concept = VOCABULARY.from_codes(codes)
        assert concept.values["parity"] == ("odd" if digit % 2 else "even")
        assert concept.values["magnitude"] == ("large" if digit >= 5 else "small")


def test_labels_describe_the_picture():
    x, y = Mnist2Bit(ramps()).batch(0, 500)
    assert torch.equal(y.codes, codes_of(shown(x)))
    assert y.observed.all()


def test_sources_are_drawn_evenly():
    x, _ = Mnist2Bit(ramps()).batch(0, 5000)
    data = Mnist2Bit(ramps())
    expected = torch.bincount(data.digits).double()
    assert stats.chisquare(torch.bincount(shown(x)), expected * 5000 / expected.sum()).pvalue > 1e-3


def test_pictures_are_float_and_binary():
    x, y = Mnist2Bit(ramps()).batch(0, 64)
    assert x.shape == (64, 1, 28, 28)
    assert x.dtype == torch.float32
    assert set(x.unique().tolist()) == {0.0, 1.0}
    assert y.codes.shape == y.observed.shape == (64, 2)


def test_binary_pixels_have_the_grey_values_as_means():
    n = 5000
    data = Mnist2Bit(ramps())
    index = torch.arange(n) * len(data.images)  # one source, again and again
    mean = data.examples(index).x.double().mean(0)[0]
    grey = data.images[0].double() / 255
    assert (mean[grey == 0] == 0).all()
    assert (mean[grey == 1] == 1).all()
    open_ = (grey > 0.01) & (grey < 0.99)
    score = ((mean - grey) / (grey * (1 - grey) / n).sqrt())[open_]
    assert score.abs().max() < 4.5
    assert score.square().mean() == pytest.approx(1, abs=0.2)


def test_a_picture_is_the_same_alone_in_a_batch_and_in_another_order():
    data = Mnist2Bit(ramps())
    index = torch.arange(100)
    together = data.examples(index).x
    assert torch.equal(data.examples(index.flip(0)).x, together.flip(0))
    assert torch.equal(data.examples(index[7:8]).x[0], together[7])


def test_other_indices_seeds_and_parts_give_other_pictures():
    index = torch.arange(50)
    pictures = [
        Mnist2Bit(ramps()).examples(index).x,
        Mnist2Bit(ramps()).examples(index + 10_000).x,
        Mnist2Bit(ramps(), seed=1).examples(index).x,
        Mnist2Bit(ramps(), "test").examples(index).x,
    ]
    flat = torch.cat(pictures).flatten(1)
    assert len(flat.unique(dim=0)) == len(flat)


def test_parts_share_no_source():
    images = torch.zeros(700, 28 * 28, dtype=torch.uint8)
    images[torch.arange(700), torch.arange(700)] = 255
    every = Sources(images.view(-1, 28, 28), torch.arange(700) % 10)
    numbers = [
        Mnist2Bit(every, part).images.flatten(1).argmax(1)
        for part in ("train", "validation", "test", "observer")
    ]
    assert [len(n) for n in numbers] == [425, 25, 50, 200]
    assert torch.equal(torch.cat(numbers).sort().values, torch.arange(700))


def test_replications_are_so_many_pictures_of_every_source():
    data = Mnist2Bit(ramps(30), replications=3)
    assert data.count == 3 * len(data.images) == 54
    every = {picture.numpy().tobytes() for picture in data.examples(torch.arange(54)).x}
    seen = {picture.numpy().tobytes() for step in range(20) for picture in data.batch(step, 64).x}
    assert len(every) == 54
    assert seen == every


def test_a_tenth_labelled_hides_nine_tenths():
    observed = Mnist2Bit(ramps(), labelled=0.1).examples(torch.arange(4000)).y.observed
    assert (observed.all(1) == observed.any(1)).all()  # a description is known or it is not
    assert observed[:, 0].double().mean() == pytest.approx(0.1, abs=4 * (0.09 / 4000) ** 0.5)


@pytest.mark.parametrize(
    ("words", "digits"),
    [("even, large", {6, 8}), ("odd", {1, 3, 5, 7, 9}), ("small", {0, 1, 2, 3, 4})],
)
def test_pictures_of_a_concept_show_its_digits(words, digits):
    pictures = Mnist2Bit(ramps()).pictures_of(VOCABULARY.parse(words), 300, seed=0)
    assert set(shown(pictures).tolist()) == digits


def test_pictures_of_a_concept_are_those_of_their_seed():
    data, concept = Mnist2Bit(ramps()), VOCABULARY.parse("odd")
    some = data.pictures_of(concept, 8, seed=1)
    assert torch.equal(data.pictures_of(concept, 20, seed=1)[:8], some)
    assert not torch.equal(data.pictures_of(concept, 8, seed=2), some)


def test_pictures_of_many_concepts_are_those_of_each():
    data, concepts = Mnist2Bit(ramps()), [VOCABULARY.parse(w) for w in ("odd", "", "even, large")]
    together = data.pictures_of_each(concepts, 9, [3, 0, 2**52 + 1])
    for pictures, concept, seed in zip(together, concepts, [3, 0, 2**52 + 1], strict=True):
        assert torch.equal(pictures, data.pictures_of(concept, 9, seed))


def test_drawing_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    assert Mnist2Bit(ramps()).to("meta").batch(3, 64).x.shape == (64, 1, 28, 28)


# What goes wrong


def test_four_concepts_cannot_be_divided():
    with pytest.raises(UsageError, match=r"four concepts; `compositional` must be false"):
        Mnist2Bit(ramps(), compositional=True)


def test_an_unknown_part_is_named():
    with pytest.raises(UsageError, match=r"`part='tets'` is not known; expected .*test"):
        Mnist2Bit(ramps(), "tets")


def test_a_part_without_sources_is_named():
    with pytest.raises(UsageError, match=r"`part='validation'` has no source digits"):
        Mnist2Bit(ramps(2), "validation")


def test_a_concept_without_sources_is_named():
    fours = Sources(ramps().images, torch.full((700,), 4))
    with pytest.raises(UsageError, match=r"`part='train'` has no source of .*odd"):
        Mnist2Bit(fours).pictures_of(VOCABULARY.parse("odd"), 3, seed=0)
