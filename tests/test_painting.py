"""The verbs of models that paint: the same picture whoever asks, words flipped, pictures found."""

import math

import pytest
import torch
from torch.testing import assert_close

from mindseye.captions import Sentence
from mindseye.concepts import Attribute
from mindseye.data import Batch
from mindseye.data.captioned_mnist import SENTENCE
from mindseye.distributions import Pixels
from mindseye.distributions.normal import DiagonalNormal
from mindseye.errors import UsageError
from mindseye.imagine import Query
from mindseye.labels import Labels, encode
from mindseye.models import CaptionedVAE, Draw, Painted
from mindseye.models.draw import Drawn
from mindseye.painting import Painter, swapped

SHAPE = (1, 12, 12)
SAID = "the digit three is at the top left of the image"


def painter(hearing: str = "align", **how) -> Painter:
    torch.manual_seed(0)
    model = Draw(SENTENCE, SHAPE, 3, 4, 8, 4, 4, hearing)
    return Painter(Painted(model), name="mine", fits=frozenset({"q_y"}), **how)


def at_once() -> Painter:
    torch.manual_seed(0)
    return Painter(Painted(CaptionedVAE(SENTENCE, SHAPE, 3, "dense", 8, 8, 4)), name="mine")


@pytest.mark.parametrize("mind", [painter(), painter("noalign"), at_once()])
def test_what_is_painted_is_what_is_imagined(mind):
    painting, imagined = mind.paint(SAID, 3, seed=5), mind.imagined(SAID, 3, seed=5)
    assert torch.equal(painting.pictures, imagined.means)
    assert_close(painting.canvases[:, -1], imagined.means)
    assert painting.canvases.shape == (3, mind.strokes, *SHAPE)


def test_a_picture_is_the_same_alone_or_in_a_crowd():
    mind = painter()
    crowd = mind.imagined(SAID, 19, seed=5).means
    assert torch.equal(mind.imagined(SAID, 1, seed=5).means[0], crowd[0])
    assert torch.equal(mind.imagined(SAID, 8, seed=5).means[7], crowd[7])
    both = mind.answer([Query(SENTENCE.parse("9"), 5, 1), Query(SENTENCE.parse(SAID), 2, 5)])
    assert torch.equal(both[1].means, crowd[:2])


def test_attention_is_over_the_words_that_were_told():
    painting = painter().paint("three", 3, seed=1)
    assert_close(painting.attention.sum(-1), torch.ones(3, 4))
    for caption, words in zip(painting.captions, painting.words, strict=True):
        assert " ".join(words) == str(caption)
        assert caption.values["digit"] == "three"
    assert painting.attention.shape[-1] == len(painting.words[0])


def test_models_that_hear_no_words_by_themselves_have_no_attention():
    for mind in (painter("noalign"), painter("alone"), at_once()):
        assert not mind.listens
        assert mind.paint(SAID, 2).attention.shape[-1] == 0


def test_a_word_is_flipped_with_everything_else_the_same():
    mind = painter()
    one, other = (mind.imagined(text, 2, seed=3) for text in ("three top left", "five top left"))
    said = mind.painted.said
    assert_close(one.latents[:, said:], other.latents[:, said:], rtol=0, atol=0)
    assert (one.latents[:, 0] - other.latents[:, 0]).round().abs().tolist() == [2, 2]


def test_temperature_0_has_no_noise():
    a, b = (painter().imagined(SAID, 1, seed=seed, temperature=0).means for seed in (1, 2))
    assert torch.equal(a, b)


def test_a_word_is_swapped_wherever_it_stands():
    concept = SENTENCE.parse(SAID)
    assert str(swapped(concept, "top left", "bottom right")).endswith("bottom right of the image")
    assert str(swapped(concept, "digit", "nine")).startswith("the digit nine")
    assert swapped(concept, "three", "*").missing == ("digit",)
    with pytest.raises(UsageError, match="'five' is not said in"):
        swapped(concept, "five", "three")
    with pytest.raises(UsageError, match="is not a value of `digit`"):
        swapped(concept, "three", "twelve")


class Oracle(torch.nn.Module):
    """It knows how pictures come about: the first pixel is on with a chance that a word says."""

    noise, strokes, factorised = 1, 1, False
    CHANCES = torch.tensor([0.1, 0.6, 0.9])

    def __init__(self, sentence: Sentence):
        super().__init__()
        self.vocabulary, self.shape = sentence, (1, 1, 1)
        self.unused = torch.nn.Parameter(torch.zeros(1))
        self.likelihood = Pixels
        self.likelihood.kind = "bernoulli"

    def drawn(self, x, y, noise=None):
        standard = DiagonalNormal(torch.zeros(len(x), 1), torch.ones(len(x), 1))
        odds = self.CHANCES[y.codes[:, 0]].logit().view(-1, 1, 1, 1)
        return Drawn(standard, standard, Pixels(odds), standard.rsample())


@pytest.fixture
def oracle() -> Painter:
    sentence = Sentence(
        [Attribute("word", ["rarely", "often", "mostly"]), Attribute("other", ["a", "b"])]
    )
    return Painter(Painted(Oracle(sentence)), name="oracle")


@pytest.fixture
def pair() -> torch.Tensor:
    return torch.tensor([1.0, 0.0]).view(2, 1, 1, 1)


@pytest.mark.parametrize("draws", [1, 5])
def test_bounds_are_the_evidence_where_strokes_say_nothing(oracle, pair, draws):
    said = Labels.full(torch.tensor([[2, 0], [0, 1]]))
    bounds = oracle.bounds(pair, said, draws=draws)
    assert_close(bounds, torch.tensor([0.9, 0.9]).log())


def test_describing_is_bayes_over_all_captions(oracle, pair):
    on, off = (oracle.describe(picture) for picture in pair)
    chances = Oracle.CHANCES
    for name, value in zip(("rarely", "often", "mostly"), chances / chances.sum(), strict=True):
        assert on["word"][name] == pytest.approx(value.item(), abs=1e-5)
    assert off["word"]["rarely"] == pytest.approx(0.9 / 1.4, abs=1e-5)
    assert on["other"] == pytest.approx({"a": 0.5, "b": 0.5}, abs=1e-5)


def test_finding_is_by_how_much_a_caption_makes_a_picture_likelier(oracle, pair):
    found = oracle.found("mostly", pair)
    average = Oracle.CHANCES.mean().item()
    expected = [math.log(0.9 / average), math.log(0.1 / (1 - average))]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_words_left_open_are_averaged_over(oracle, pair):
    assert_close(oracle.found("* a", pair), torch.zeros(2), rtol=0, atol=1e-5)


def test_finding_needs_something_said(oracle, pair):
    with pytest.raises(UsageError, match="nothing is said"):
        oracle.found("", pair)


def test_pictures_are_retrieved_best_first_and_say_whether_they_fit(oracle, pair):
    told = Labels.full(torch.tensor([[0, 0], [2, 1], [2, 0]]))
    batch = Batch(torch.cat([pair[1:], pair]), told)  # off, on, off
    found = oracle.retrieved("mostly", batch)
    assert found.order[0] == 1
    assert_close(found.nats, oracle.found("mostly", batch.x)[found.order])
    assert found.fits.tolist() == [bool(told.codes[i, 0] == 2) for i in found.order]


def test_free_words_are_set_against_captions_that_were_said(oracle, pair):
    told = Labels.full(torch.tensor([[2, 0]] * 2))
    assert oracle.rivals(told) is None
    free = Painter(oracle.model, name="free", fills=False)
    assert torch.equal(free.rivals(told).codes, told.codes)
    found = free.retrieved("mostly", Batch(pair, told))  # likelier than what all say? as likely
    assert_close(found.nats, torch.zeros(2), rtol=0, atol=1e-5)
    assert found.fits.all()


def test_too_many_captions_are_not_all_asked(pair):
    sentence = Sentence([Attribute(f"place {k}", list("abcdefgh")) for k in range(4)])
    many = Painter(Painted(Oracle(sentence)), name="many")
    many.model.model.CHANCES = torch.linspace(0.1, 0.9, 8)
    with pytest.raises(UsageError, match="more than 1000"):
        many.describe(pair[0])
    found = many.found("a b c d", pair)  # beside 64 captions at random
    assert found[0] < 0 < found[1]


@pytest.mark.parametrize("draws", [1, 3])
def test_the_bound_of_a_picture_is_the_same_alone_or_in_a_crowd(draws):
    mind = painter()
    x = torch.rand(5, *SHAPE, generator=torch.Generator().manual_seed(0)).round()
    y = encode([SENTENCE.parse(SAID)] * 5)
    before = torch.get_rng_state()
    together = mind.bounds(x, y, seed=4, draws=draws)
    alone = mind.bounds(x[3:4], Labels(y.codes[:1], y.observed[:1]), seed=4, draws=draws)
    assert_close(alone[0], together[3])
    assert torch.equal(before, torch.get_rng_state())
    assert (mind.bounds(x, y, seed=5, draws=draws) != together).any()


def test_noise_that_is_given_is_where_strokes_are_drawn():
    model = painter().painted.model
    x, y = torch.rand(2, *SHAPE).round(), encode([SENTENCE.parse(SAID)] * 2)
    noise = torch.randn(2, model.noise)
    drawn = model.drawn(x, y, noise)
    assert_close(drawn.z, drawn.q.mean + drawn.q.stddev * noise)


@pytest.mark.parametrize("text", ["the digit twelve", "three " * 500, "thre"])
def test_words_that_are_not_known_are_refused(text):
    with pytest.raises(UsageError):
        painter().paint(text)
