import pytest
import torch

from mindseye.data import Data
from mindseye.data.mnist_dynamic import VOCABULARY, Mnist
from mindseye.data.sources import Sources
from mindseye.errors import UsageError


def ramps(count):
    """Digits in every shade of grey, taking turns; the first row tells the digit."""
    shades = torch.arange(28 * 28).mul(255).div(783).round().view(28, 28)
    images = shades.to(torch.uint8).repeat(count, 1, 1)
    digits = torch.arange(count) % 10
    images[:, 0, :10] = 255 * torch.nn.functional.one_hot(digits, 10).to(torch.uint8)
    return Sources(images, digits)


def numbered(count, first=0):
    """Pictures that tell their number: each has one white pixel of its own."""
    images = torch.zeros(count, 28 * 28, dtype=torch.uint8)
    images[torch.arange(count), first + torch.arange(count)] = 255
    return Sources(images.view(-1, 28, 28), torch.arange(count) % 10)


def opened(part="train", train=500, **options):
    return Mnist(ramps(train), ramps(50), part, validation=40, **options)


def numbers(x):
    return x.flatten(1).argmax(1)


# Parts


def test_parts_share_no_picture_and_make_up_the_whole():
    whole = (numbered(500), numbered(50, first=500))
    found = [
        numbers(Mnist(*whole, part, validation=40).examples(torch.arange(n)).x)
        for part, n in (("train", 460), ("validation", 40), ("test", 50))
    ]
    assert torch.equal(torch.cat(found[:2]).sort().values, torch.arange(500))
    assert torch.equal(found[2], torch.arange(500, 550))


def test_the_split_seed_chooses_the_validation_pictures():
    whole = (numbered(500), numbered(50, first=500))
    sets = [
        set(numbers(Mnist(*whole, "validation", validation=40, split_seed=s)
                    .examples(torch.arange(40)).x).tolist())
        for s in (0, 0, 1)
    ]  # fmt: skip
    assert sets[0] == sets[1] != sets[2]


def test_real_mnist_is_divided_as_by_the_authors_of_iwae(real):
    real("train-images-idx3-ubyte*")
    counts = {part: Data("mnist").open(part).count for part in Mnist.parts}
    assert counts == {"train": 59_600, "validation": 400, "test": 10_000}
    x, y = Data("mnist", binarise="none").open("test").examples(torch.arange(10_000))
    assert y.codes[:5, 0].tolist() == [7, 2, 1, 0, 4]  # MNIST's own test set, in its order
    assert x.mean().item() == pytest.approx(0.1325, abs=1e-4)


def test_small_digits_are_divided_offline(nowhere):
    pytest.importorskip("sklearn")
    parts = {part: Data("mnist").open(part) for part in Mnist.parts}
    assert {part: data.count for part, data in parts.items()} == {
        "train": 1397,
        "validation": 100,
        "test": 300,
    }
    assert parts["train"].facts()["source"] == "digits"
    assert Data("mnist").resolved().source == "digits"
    flat = torch.cat([data.images.flatten(1) for data in parts.values()])
    assert len(flat.unique(dim=0)) == len(flat)


# Epochs


def test_an_epoch_shows_every_picture_once():
    data = Mnist(numbered(500), numbered(50, 500), validation=40)
    seen = numbers(data.batch(0, 20, count=23).x)
    assert len(seen.unique()) == 460
    again = numbers(data.batch(23, 20, count=23).x)
    assert torch.equal(seen.sort().values, again.sort().values)
    assert (seen == again).sum() < 10


def test_batches_at_once_are_the_batches_one_by_one():
    data = opened()
    together = data.batch(5, 32, count=4)
    alone = [data.batch(5 + k, 32) for k in range(4)]
    assert torch.equal(together.x, torch.cat([each.x for each in alone]))
    assert torch.equal(together.y.codes, torch.cat([each.y.codes for each in alone]))


def test_a_step_may_be_a_tensor():
    data = opened()
    assert torch.equal(data.batch(torch.tensor(9), 32, 2).x, data.batch(9, 32, 2).x)


def test_labels_describe_the_picture():
    x, y = opened().batch(0, 460)
    assert torch.equal(x[:, 0, 0, :10].argmax(1), y.codes[:, 0])
    assert y.observed.all()


# Binarising


def test_pixels_are_drawn_anew_in_every_epoch_and_never_in_one():
    data = opened()
    index = torch.arange(100)
    first, second = data.examples(index).x, data.examples(index + data.count).x
    assert not torch.equal(first, second)
    assert torch.equal(first, data.examples(index).x)
    assert set(first.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("part", ["validation", "test"])
def test_held_out_pictures_are_the_same_every_time(part):
    index = torch.arange(40)
    some = opened(part).examples(index).x
    assert torch.equal(opened(part).examples(index.flip(0)).x.flip(0), some)
    assert torch.equal(opened(part).examples(index[7:8]).x[0], some[7])
    assert not torch.equal(opened(part, seed=1).examples(index).x, some)


def test_the_mean_of_many_drawings_is_the_grey_picture():
    data, n = opened(), 3000
    drawn = data.examples(torch.arange(n) * data.count).x.double().mean(0)[0]
    grey = data.images[0].double() / 255
    score = (drawn - grey) / (grey * (1 - grey) / n).sqrt().clamp(min=1e-9)
    assert score[(grey > 0.01) & (grey < 0.99)].abs().max() < 4.5
    assert torch.equal(drawn[(grey == 0) | (grey == 1)], grey[(grey == 0) | (grey == 1)])


def test_static_pixels_are_drawn_once_whatever_the_seed():
    index = torch.arange(100)
    data = opened(binarise="static", seed=1)
    some = data.examples(index).x
    assert set(some.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(data.examples(index + data.count).x, some)
    assert torch.equal(opened(binarise="static", seed=2).examples(index).x, some)
    other = opened(binarise="static", split_seed=1).examples(index).x
    assert not torch.equal(other, some)


def test_grey_pictures_are_left_as_they_are():
    data = opened(binarise="none")
    x = data.examples(torch.arange(460)).x
    assert torch.equal(x[:, 0], data.images.float() / 255)


def test_the_mean_picture_is_that_of_the_grey_pictures():
    data = Mnist(numbered(500), numbered(50, 500), validation=40)
    assert data.mean().shape == data.shape == (1, 28, 28)
    assert data.mean().dtype == torch.float32
    assert data.mean().sum().item() == pytest.approx(1)  # one white pixel a picture
    assert data.mean().max().item() == pytest.approx(1 / 460)


# Descriptions


def test_a_hundred_labels_are_ten_of_each_digit_in_every_epoch():
    data = opened(labels=100)
    y = data.examples(torch.arange(460)).y
    assert y.observed.sum() == data.known.sum() == data.facts()["described"] == 100
    assert y.codes[y.observed].bincount().tolist() == [10] * 10
    assert torch.equal(data.examples(torch.arange(460) + 7 * 460).y.observed, y.observed)
    assert torch.equal(opened(labels=100, seed=9).known, data.known)


def test_held_out_pictures_are_all_described(nowhere):
    pytest.importorskip("sklearn")
    data = Data("mnist", source="digits", labels=20)
    assert data.open("train").facts()["described"] == 20
    assert data.open("validation").facts()["described"] == 100


def test_a_share_of_labels_is_exact():
    assert opened(labelled=0.5).known.sum() == 230


def test_pictures_of_a_concept_show_its_digit():
    pictures = opened("test").pictures_of(VOCABULARY.parse("4"), 50, seed=0)
    assert (pictures[:, 0, 0, :10].argmax(1) == 4).all()
    both = opened("test").pictures_of_each([VOCABULARY.parse("4"), VOCABULARY.root], 50, [0, 3])
    assert torch.equal(both[0], pictures)
    assert len(both[1][:, 0, 0, :10].argmax(1).unique()) > 5


def test_drawing_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    step = torch.tensor(3, device="meta")
    assert opened().to("meta").batch(step, 64, 2).x.shape == (128, 1, 28, 28)


# What goes wrong


def test_there_is_no_observer():
    message = r"`part='observer'` is not known; expected 'train', 'validation' or 'test'"
    with pytest.raises(UsageError, match=message):
        Data("mnist", source="digits").open("observer")


def test_an_unknown_way_is_corrected():
    with pytest.raises(UsageError, match=r"`binarise='dynamik'` .* Did you mean 'dynamic'"):
        opened(binarise="dynamik")


def test_too_few_pictures_cannot_be_divided():
    with pytest.raises(UsageError, match="40 of 30 pictures cannot be set apart"):
        opened(train=30)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_draws_the_same_pictures_also_inside_a_graph():
    here, there = opened(), opened().to("cuda")
    step = torch.tensor(3, device="cuda")
    there.batch(step, 64, 2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = there.batch(step, 64, 2)
    for number in (3, 50):
        step.fill_(number)
        graph.replay()
        assert torch.equal(drawn.x.cpu(), here.batch(number, 64, 2).x)
        assert torch.equal(drawn.y.codes.cpu(), here.batch(number, 64, 2).y.codes)
