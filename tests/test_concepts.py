"""What can be said, how it is read and printed, and the lattice it forms."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import string
import timeit
from itertools import combinations
from random import Random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mindseye.concepts import Attribute, Concept, Lattice, Vocabulary
from mindseye.errors import UsageError

MNIST_A = Vocabulary(
    [
        Attribute("digit", [str(digit) for digit in range(10)]),
        Attribute("size", ["big", "small"]),
        Attribute("orientation", ["clockwise", "upright", "anticlockwise"]),
        Attribute("location", ["top-left", "top-right", "bottom-left", "bottom-right"]),
    ]
)

FACES = Vocabulary(
    [
        Attribute("Bald", ["yes", "no"]),
        Attribute("Wearing_Hat", ["yes", "no"]),
        Attribute("hair", ["dark", "any colour"]),
    ]
)


def for_all(*strategies: st.SearchStrategy, n: int = 100):
    """Check a claim on `n` random examples, however slow the machine is."""
    return lambda claim: settings(max_examples=n, deadline=None)(given(*strategies)(claim))


# ---- Random vocabularies, with words that are hard to print.

odd = st.sampled_from(
    ["a, b", "x=1", "k:v", 'say "hi"', "it's", "5 - 10", " big ", "a\\", "-1", "ß"]
)
letters = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
word = odd | st.text(alphabet="ab -_*\"'\\,;=:", min_size=1, max_size=5)
word |= st.text(alphabet=letters, min_size=1, max_size=8)


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    words = st.lists(word, min_size=1, max_size=3)
    pairs = draw(st.lists(st.tuples(word, words), min_size=1, max_size=4))
    try:
        return Vocabulary([Attribute(name, values) for name, values in pairs])
    except UsageError:  # a reserved or repeated word
        assume(False)
        raise


@st.composite
def concepts(draw: st.DrawFn, vocabulary: Vocabulary | None = None) -> Concept:
    vocabulary = vocabulary or draw(vocabularies())
    codes = [draw(st.none() | st.integers(0, size - 1)) for size in vocabulary.sizes]
    return vocabulary.from_codes(codes)


known = concepts(MNIST_A)


# ---- Reading and printing.


@pytest.mark.parametrize(
    "text",
    [
        "digit=4, size=big",
        "4, big",
        "big 4",
        "4; big;",
        "size:big digit : 4",
        "  DIGIT = 4 ,, Size=BIG ",
        "'4' \"big\"",
        "digit='4', size=\"big\"",
        "digit=4, digit=4, 4, big",
        "digit=4, size=big, orientation=*, location=any",
        "4, digit=*, big, *",
    ],
)
def test_spellings_of_one_concept_are_equal(text: str):
    assert MNIST_A.parse(text) == MNIST_A.concept(digit=4, size="big")


@pytest.mark.parametrize("text", ["", "  ", "*", "any", "ANY", "* *", ",", "size=*", "size = any;"])
def test_open_words_say_nothing(text: str):
    assert MNIST_A.parse(text) == MNIST_A.root
    assert str(MNIST_A.root) == "*"


@pytest.mark.parametrize(
    "text",
    [
        "top-left",
        "top left",
        "Top_Left",
        "location=top left",
        "location:'TOP  left'",
        "top-left, *",
    ],
)
def test_spaces_hyphens_and_underscores_join_words_alike(text: str):
    assert MNIST_A.parse(text).values == {"location": "top-left"}


def test_the_longest_phrase_wins_among_bare_words():
    assert str(MNIST_A.parse("4 top left big")) == "digit=4, size=big, location=top-left"
    nested = Vocabulary(
        [Attribute("row", ["top"]), Attribute("side", ["left"]), Attribute("place", ["top left"])]
    )
    assert str(nested.parse("top left")) == "place=top left"
    assert str(nested.parse("top, left")) == "row=top, side=left"
    assert str(nested.parse("row=top left")) == "row=top, side=left"


def test_a_phrase_before_an_equals_sign_is_a_name():
    words = Vocabulary([Attribute("hue", ["red", "red size"]), Attribute("size", ["4", "5"])])
    assert words.parse("hue=red size=4").values == {"hue": "red", "size": "4"}
    assert words.parse("red size = 5").values == {"hue": "red", "size": "5"}
    assert words.parse("hue=red size, size=4").values == {"hue": "red size", "size": "4"}


def test_names_of_two_words_are_read():
    bald = FACES.concept(Bald="no", Wearing_Hat="yes")
    assert FACES.parse("bald=no wearing hat=yes") == bald
    assert FACES.parse("'wearing hat'=YES; bald:no") == bald
    assert FACES.concept(wearing_hat="yes", bald="no", hair=None) == bald


def test_a_value_may_begin_with_an_open_word():
    assert FACES.parse("hair=any colour").values == {"hair": "any colour"}
    assert FACES.parse("hair=any") == FACES.root


def test_an_apostrophe_inside_a_word_is_a_letter():
    words = Vocabulary([Attribute("shadow", ["five o'clock", "none"])])
    assert words.parse("five o'clock") == words.parse(r"'five o\'clock'") == words.from_codes([0])
    assert str(words.from_codes([0])) == 'shadow="five o\'clock"'


def test_printing_quotes_only_what_needs_it():
    words = Vocabulary([Attribute("a name", ["two words", "a,b", 'say "x"', "c=d", "-1", "x\\"])])
    assert [str(concept) for concept in words.concepts(1)] == [
        "a name=two words",
        'a name="a,b"',
        'a name="say \\"x\\""',
        'a name="c=d"',
        "a name=-1",
        "a name=x\\",
    ]


@for_all(concepts(), n=300)
def test_parsing_what_was_printed_gives_the_concept_back(concept: Concept):
    assert concept.vocabulary.parse(str(concept)) == concept


@for_all(known, st.randoms())
def test_order_and_case_of_bare_words_make_no_difference(concept: Concept, random):
    words = list(concept.values.values())
    random.shuffle(words)
    assert MNIST_A.parse(" ".join(words).upper()) == concept


def test_every_concept_of_a_large_vocabulary_is_printed_within_the_limit():
    words = Vocabulary([Attribute(f"{k:03}" + '"' * 97, ['"' * 100]) for k in range(100)])
    concept = words.from_codes([0] * 100)
    assert len(str(concept)) > 10_000
    assert words.parse(str(concept)) == concept


fragments = st.sampled_from(
    [
        "digit",
        "size",
        "=",
        ":",
        ",",
        ";",
        "4",
        "big",
        "top",
        "left",
        "*",
        "any",
        '"',
        "'",
        "\\",
        " ",
    ]
)


def parsed(text: str) -> Concept | None:
    """The concept of a text, `None` where it is refused as it should be."""
    with contextlib.suppress(UsageError):
        return MNIST_A.parse(text)
    return None


def seconds(text: str) -> float:
    """Shortest of three times that parsing takes."""
    return min(timeit.repeat(lambda: parsed(text), number=1, repeat=3))


@example('"' + "\\" * 999)
@example("digit=" * 999)
@for_all(st.text(max_size=200) | st.lists(fragments, max_size=60).map("".join), n=500)
def test_arbitrary_text_is_read_or_refused(text: str):
    concept = parsed(text)
    assert concept is None or parsed(str(concept)) == concept


def test_a_text_takes_under_a_millisecond_on_average():
    random = Random(0)
    texts = [str(concept) for concept in MNIST_A.concepts(4)]
    texts += ["".join(random.choices(string.printable, k=100)) for _ in range(200)]
    pieces = ["digit=4", "size", "big", "any", ",", "top left", "x"]
    texts += [" ".join(random.choices(pieces, k=20)) for _ in range(200)]
    assert sum(map(seconds, texts)) / len(texts) < 1e-3


@pytest.mark.parametrize(
    "piece",
    ["4 ", "digit=4 ", "x", "x ", '"', "'\\", "''", "=", "top ", "-", "- ", "\t", "top left,"],
)
def test_parsing_time_grows_linearly(piece: str):
    short, long = (piece * (n // len(piece)) for n in (1_000, 10_000))
    assert seconds(long) < 40 * seconds(short) + 5e-3


# ---- Mistakes in a text.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "size=bigg",
            r"^`size='bigg'` is not a value of `size`; expected 'big' or 'small'\. "
            r"Did you mean 'big'\?$",
        ),
        ("size=BIGG 4", r"`size='BIGG'` is not .* Did you mean 'big'\?$"),
        ("location=top rigt", r"`location='top rigt'` is not .* Did you mean 'top-right'\?$"),
        ("size=bigg digit=4", r"`size='bigg'` is not a value"),
        ("size=zzz", r"expected 'big' or 'small'\.$"),
        (
            "sise=big",
            r"^`sise` is not an attribute; expected 'digit', 'size', 'orientation' or 'location'\. "
            r"Did you mean 'size'\?$",
        ),
        ("4=digit", r"^`4` is not an attribute"),
        (
            "4, smal",
            r"^'smal' is not a word here; expected a value of 'digit', 'size', 'orientation' or "
            r"'location'\. Did you mean 'small'\?$",
        ),
        ("bottm left", r"^'bottm left' is not a word here.* Did you mean 'bottom-left'\?$"),
        ("smal 4", r"^'smal' is not a word here"),
        ("''", r"^'' is not a word here"),
        ("\x1b[31m", r"^'\\x1b\[31m' is not a word here"),
        ("x" * 999, r"^'x{57}\.\.\.' is not a word here"),
        ("digit=4, digit=5", r"^`digit='4'` and `digit='5'` contradict each other; keep one"),
        ("4 big 5", r"^`digit='4'` and `digit='5'` contradict each other"),
        ("size", r"^`size` has no value; write 'size=big' or 'size=small'\.$"),
        ("digit 4", r"^`digit` has no value; write 'digit=0', "),
        ("size=", r"^`size=` has no value; expected 'big', 'small' or '\*'\.$"),
        ("size=, 4", r"^`size=` has no value"),
        ("size==big", r"^`size=` has no value"),
        ("= 4", r"^`=` has no attribute before it; write 'name=value'\.$"),
        ("4, 'big", r"^The quote before 'big' is not closed\.$"),
        ("4 " * 5_001, r"^`text` has 10002 characters; at most 10000 are read\.$"),
    ],
)
def test_mistakes_in_a_text_are_explained(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        MNIST_A.parse(text)


def test_an_ambiguous_word_names_its_attributes():
    with pytest.raises(
        UsageError,
        match=r"^'yes' is a value of several attributes; write 'Bald=yes' or 'Wearing_Hat=yes'\.$",
    ):
        FACES.parse("yes")


def test_long_lists_of_expected_words_are_cut():
    words = Vocabulary([Attribute("letter", [chr(97 + i) * 3 for i in range(26)])])
    with pytest.raises(UsageError, match=r"'kkk', 'lll' or 14 others\.$"):
        words.concept(letter="?")


def test_only_strings_are_parsed():
    with pytest.raises(UsageError, match=r"^`text` \(=4\) must be a string\.$"):
        MNIST_A.parse(4)  # pyright: ignore[reportArgumentType]


def test_mistakes_in_words_are_explained_as_in_a_text():
    with pytest.raises(UsageError, match=r"`size='bigg'` is not .* Did you mean 'big'\?"):
        MNIST_A.concept(size="bigg")
    with pytest.raises(UsageError, match=r"`sise` is not .* Did you mean 'size'\?"):
        MNIST_A.concept(sise="big")
    with pytest.raises(UsageError, match=r"`orient` is not an attribute"):
        MNIST_A.attribute("orient")
    with pytest.raises(UsageError, match=r"`digit='4'` and `digit='5'` contradict"):
        MNIST_A.concept(digit=4, Digit=5)


# ---- Vocabularies.


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("size", [], r"^`values` is empty; give at least one\.$"),
        ("size", ["big", "big"], r"^`values` has 'big' and 'big', which are the same word\.$"),
        ("size", ["very-big", "Very big"], r"`values` has 'very-big' and 'Very big', which are"),
        ("size", ["big", "*"], r"^`values` has '\*', which stands for nothing said\.$"),
        ("size", ["Any"], r"^`values` has 'Any', which stands for nothing said\.$"),
        ("size", [""], r"^`values` has '', which stands for nothing said\.$"),
        ("size", ["  "], r"^`values` has '  ', which stands for nothing said\.$"),
        ("size", [1, 2], r"^`values` has 1; write it as a string\.$"),
        ("size", "big", r"^`values` \(='big'\) must be a list of strings\.$"),
        ("size", None, r"^`values` \(=None\) must be a list of strings\.$"),
        ("size", ["a\nb"], r"^`values` has 'a\\nb', with control characters\.$"),
        ("size", ["x" * 101], r"^`values` has 'x{57}\.\.\.', longer than 100 characters\.$"),
        ("any", ["big"], r"^`name` has 'any', which stands for nothing said\.$"),
        (4, ["big"], r"^`name` has 4; write it as a string\.$"),
    ],
)
def test_bad_attributes_are_refused(name, values, message: str):
    with pytest.raises(UsageError, match=message):
        Attribute(name, values)


def test_without_attributes_nothing_can_be_said():
    silent = Vocabulary([])
    assert silent.parse("") == silent.parse("*") == silent.root
    assert (silent.sizes, silent.root.level, silent.count(0)) == ((), 0, 1)
    with pytest.raises(UsageError, match=r"^`big` cannot be said: this model knows no words\."):
        silent.parse("big")


def test_bad_vocabularies_are_refused():
    size = Attribute("size", ["big", "small"])
    with pytest.raises(
        UsageError, match=r"^`attributes` has 'size' and 'Size', which are the same"
    ):
        Vocabulary([size, Attribute("Size", ["1"])])
    with pytest.raises(UsageError, match=r"^`attributes` has a str; expected each to be an Attr"):
        Vocabulary(["size"])  # pyright: ignore[reportArgumentType]


def test_vocabularies_are_values():
    twin = Vocabulary([Attribute(a.name, list(a.values)) for a in MNIST_A])
    assert twin == MNIST_A
    assert hash(twin) == hash(MNIST_A)
    assert twin.parse("4") == MNIST_A.parse("4")
    assert copy.deepcopy(MNIST_A.parse("4")) == MNIST_A.parse("4")
    assert len({twin.parse("4"), MNIST_A.parse("4"), MNIST_A.parse("5")}) == 2
    with pytest.raises(AttributeError):
        MNIST_A.attributes = ()  # pyright: ignore[reportAttributeAccessIssue]


def test_a_vocabulary_lists_its_attributes():
    assert MNIST_A.names == ("digit", "size", "orientation", "location")
    assert MNIST_A.sizes == (10, 2, 3, 4)
    assert [attribute.name for attribute in MNIST_A] == list(MNIST_A.names)
    assert len(MNIST_A) == 4
    assert MNIST_A.attribute("SIZE").values == ("big", "small")


# ---- Concepts.


def test_a_concept_knows_what_is_said_and_what_is_open():
    concept = MNIST_A.parse("small, digit=4")
    assert concept.values == {"digit": "4", "size": "small"}
    assert concept.observed == ("digit", "size")
    assert concept.missing == ("orientation", "location")
    assert concept.codes == (4, 1, None, None)
    assert concept.level == 2
    assert repr(concept) == "Concept('digit=4, size=small')"


@for_all(known)
def test_codes_words_and_json_describe_the_same_concept(concept: Concept):
    assert MNIST_A.from_codes(concept.codes) == concept
    assert MNIST_A.concept(**concept.values) == concept
    assert MNIST_A.concept(**json.loads(json.dumps(concept.to_json()))) == concept


@for_all(vocabularies())
def test_a_vocabulary_survives_json(vocabulary: Vocabulary):
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


@pytest.mark.parametrize("data", [None, [], 4, "x", {}, {"attributes": [{"name": "a"}]}])
def test_json_that_is_no_vocabulary_is_refused(data):
    with pytest.raises(UsageError, match=r"^`data` is not a vocabulary; expected the form {\"attr"):
        Vocabulary.from_json(data)


def test_bad_codes_are_refused():
    with pytest.raises(UsageError, match=r"^`codes` has 1 entries; expected 4\.$"):
        MNIST_A.from_codes([1])
    for code in (10, -1):
        with pytest.raises(UsageError, match=rf"^`codes` has {code} for `digit`; expected 0 to 9"):
            MNIST_A.from_codes([code, None, None, None])


def test_saying_replaces_and_dropping_opens():
    four = MNIST_A.parse("4, big")
    assert four.say("digit", 5) == MNIST_A.parse("5, big")
    assert four.say("location", "top left") == MNIST_A.parse("4, big, top-left")
    assert four.say("size", "*") == four.drop("size") == MNIST_A.parse("4")
    assert four.drop("location") == four
    with pytest.raises(UsageError, match=r"`sise` is not an attribute"):
        four.drop("sise")


# ---- The lattice.


def test_levels_of_mnist_a_have_the_sizes_of_the_closed_form():
    assert [MNIST_A.count(level) for level in range(5)] == [1, 19, 116, 284, 240]
    assert sum(MNIST_A.count(level) for level in range(5)) == math.prod(
        n + 1 for n in (10, 2, 3, 4)
    )


@for_all(vocabularies())
def test_counts_are_sums_over_subsets_of_products_of_sizes(vocabulary: Vocabulary):
    for level in range(len(vocabulary) + 1):
        found = list(vocabulary.concepts(level))
        closed_form = sum(math.prod(subset) for subset in combinations(vocabulary.sizes, level))
        assert vocabulary.count(level) == closed_form == len(found) == len(set(found))
        assert {concept.level for concept in found} == {level}


def test_counts_of_a_huge_lattice_are_exact_and_fast():
    binary = Vocabulary([Attribute(f"a{k}", ["yes", "no"]) for k in range(40)])
    assert binary.count(20) == math.comb(40, 20) * 2**20
    assert str(next(binary.concepts(40))).startswith("a0=yes, a1=yes")


def test_concepts_of_a_level_come_in_the_order_of_the_vocabulary():
    texts = [str(concept) for concept in MNIST_A.concepts(2)]
    assert texts[:3] == ["digit=0, size=big", "digit=0, size=small", "digit=1, size=big"]
    assert texts[-1] == "orientation=anticlockwise, location=bottom-right"


@pytest.mark.parametrize("level", [-1, 5, 1.0, "1"])
def test_levels_outside_the_lattice_are_refused(level):
    message = r"^`level` \(=.*\) must be a whole number, 0 to 4\.$"
    with pytest.raises(UsageError, match=message):
        MNIST_A.concepts(level)
    with pytest.raises(UsageError, match=message):
        MNIST_A.count(level)


@for_all(known)
def test_parents_and_children_are_inverse(concept: Concept):
    assert all(concept in parent.children() for parent in concept.parents())
    assert all(concept in child.parents() for child in concept.children())
    assert len(concept.parents()) == concept.level
    open_sizes = [len(MNIST_A.attribute(name).values) for name in concept.missing]
    assert len(concept.children()) == sum(open_sizes)


@for_all(known, known, known)
def test_generalizing_is_a_partial_order(a: Concept, b: Concept, c: Concept):
    assert a.generalizes(a)
    assert not (a.generalizes(b) and b.generalizes(a)) or a == b
    assert not (a.generalizes(b) and b.generalizes(c)) or a.generalizes(c)
    assert MNIST_A.root.generalizes(a)


@for_all(known, known)
def test_generalizing_is_inclusion_of_words(a: Concept, b: Concept):
    assert a.generalizes(b) == (a.values.items() <= b.values.items())


@for_all(known)
def test_dropping_a_word_generalizes_and_adding_one_never_does(concept: Concept):
    assert all(parent.generalizes(concept) for parent in concept.parents())
    assert not any(child.generalizes(concept) for child in concept.children())


def test_the_whole_lattice_has_every_concept_and_every_step():
    lattice = MNIST_A.lattice()
    assert [node.level for node in lattice.nodes] == sorted(node.level for node in lattice.nodes)
    assert len(set(lattice.nodes)) == 660
    assert len(set(lattice.edges)) == sum(level * MNIST_A.count(level) for level in range(5))
    assert all(parent in child.parents() for child, parent in lattice.edges)


def test_a_lattice_can_begin_at_a_concept_and_end_at_a_depth():
    top = MNIST_A.parse("4, big")
    below = MNIST_A.lattice(top)
    assert len(below.nodes) == (3 + 1) * (4 + 1)
    assert all(top.generalizes(node) for node in below.nodes)
    assert set(MNIST_A.lattice(top, depth=1).nodes) == {top, *top.children()}
    assert MNIST_A.lattice(depth=0) == Lattice((MNIST_A.root,))


@for_all(known)
def test_the_neighbourhood_is_parents_self_and_children(concept: Concept):
    near = concept.around()
    assert near.nodes == (*concept.parents(), concept, *concept.children())
    ups = {(concept, parent) for parent in concept.parents()}
    assert set(near.edges) == ups | {(child, concept) for child in concept.children()}


@for_all(known)
def test_all_ancestors_are_the_subsets_of_the_words(concept: Concept):
    ancestors = concept.around(up=4, down=0)
    assert len(ancestors.nodes) == 2**concept.level
    assert all(node.generalizes(concept) for node in ancestors.nodes)


def test_a_lattice_as_json_refers_to_nodes_by_position():
    data = json.loads(json.dumps(MNIST_A.parse("4, big").around(down=0).to_json()))
    assert data["nodes"] == ["size=big", "digit=4", "digit=4, size=big"]
    assert data["edges"] == [[2, 0], [2, 1]]


def test_a_huge_lattice_is_refused_at_once():
    binary = Vocabulary([Attribute(f"a{k}", ["yes", "no"]) for k in range(40)])
    with pytest.raises(
        UsageError,
        match=r"^The lattice has more than `limit` \(=10000\) concepts\. Show fewer levels, ",
    ):
        binary.lattice()
    assert len(binary.lattice(depth=2).nodes) == 1 + 80 + 4 * math.comb(40, 2)
    assert len(MNIST_A.lattice(limit=660).nodes) == 660
    with pytest.raises(UsageError, match=r"`limit` \(=659\)"):
        MNIST_A.lattice(limit=659)


def test_bad_ranges_of_a_lattice_are_refused():
    for option in ("up", "down", "limit"):
        with pytest.raises(UsageError, match=rf"`{option}` \(=-1\) must be a whole number, 0 or"):
            MNIST_A.root.around(**{option: -1})


def test_concepts_of_other_vocabularies_are_refused():
    with pytest.raises(UsageError, match=r"^`other` \(='\*'\) is a concept of another vocabulary"):
        MNIST_A.root.generalizes(FACES.root)
    with pytest.raises(UsageError, match=r"^`top` \(='\*'\) is a concept of another vocabulary"):
        MNIST_A.lattice(FACES.root)
