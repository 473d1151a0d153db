"""Captions as running words: which are spoken, in which order, and which are not there."""

import torch

from mindseye.captions import Sentence
from mindseye.concepts import Attribute
from mindseye.data.captioned_mnist import PAIR_SENTENCE, SENTENCE
from mindseye.data.celeba import SENTENCE as FACE
from mindseye.data.mnist_a import VOCABULARY
from mindseye.labels import encode
from mindseye.models.listening import Listener, spoken, words_spoken


def said(sentence, *texts: str) -> list[str]:
    rows = words_spoken(sentence, encode([sentence.parse(text) for text in texts]))
    return [" ".join(word for word in row if word) for row in rows]


def test_a_caption_is_spoken_in_the_words_of_its_pattern():
    assert said(SENTENCE, "3, bottom left") == [
        "the digit three is at the bottom left of the image"
    ]
    assert said(PAIR_SENTENCE, "6 right 1", "six above one") == [
        "the digit six is to the right of the digit one",
        "the digit six is above the digit one",
    ]


def test_what_is_open_is_not_spoken():
    assert said(SENTENCE, "3", "* top right") == [
        "the digit three is at the of the image",
        "the digit is at the top right of the image",
    ]


def test_blanks_are_not_spoken():
    assert said(FACE, "male smiling - - - - - - -") == ["male smiling"]


def test_plain_concepts_are_spoken_value_by_value():
    assert said(VOCABULARY, "4, small") == ["4 small"]


def test_one_word_has_one_number_wherever_it_stands():
    words = spoken(PAIR_SENTENCE, encode([PAIR_SENTENCE.parse("six above six")])).words[0].tolist()
    spelt = words_spoken(PAIR_SENTENCE, encode([PAIR_SENTENCE.parse("six above six")]))[0]
    at = [k for k, word in enumerate(spelt) if word == "six"]
    assert len(at) == 2
    assert words[at[0]] == words[at[1]]
    the = [k for k, word in enumerate(spelt) if word == "the"]
    assert len({words[k] for k in the}) == 1


def test_other_captions_of_a_batch_say_nothing():
    torch.manual_seed(0)
    listener = Listener(PAIR_SENTENCE, 4)
    one = encode([PAIR_SENTENCE.parse("six above one")])
    both = encode([PAIR_SENTENCE.parse(text) for text in ("six above one", "two right of three")])
    alone, beside = listener(one), listener(both)
    torch.testing.assert_close(alone.whole[0], beside.whole[0])
    torch.testing.assert_close(alone.states[0], beside.states[0])


def test_the_order_of_words_is_heard():
    torch.manual_seed(0)
    listener = Listener(PAIR_SENTENCE, 4)
    a, b = listener(
        encode([PAIR_SENTENCE.parse(text) for text in ("six above one", "one above six")])
    ).whole
    assert (a - b).abs().max() > 1e-3


def test_a_sentence_of_no_words_is_heard_as_nothing():
    sentence = Sentence([Attribute("hue", ["red", "blue"])])
    torch.manual_seed(0)
    heard = Listener(sentence, 4)(encode([sentence.root]))
    assert not heard.present.any()
    assert heard.whole.abs().max() == 0
