"""Parts: how they are read, printed, added and taken away."""

import contextlib
import copy
import math
import timeit
from fractions import Fraction
from itertools import count, repeat

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mindseye.errors import UsageError
from mindseye.parts import Kit, Part, Parts

KIT = Kit([f"f{i}" for i in range(1, 11)])
COLOURS = Kit(["red", "green", "blue", "white", "black"], axes=("x", "y"))
ODD = Kit(["x", "x2", "e5", "Android", "nano", "top-left", "ß", "c++"], axes=("h",), high=1e9)

numbers = st.floats(-1, 1)
plain = st.lists(st.sampled_from(KIT.names).map(Part), max_size=12)
placed = st.lists(
    st.builds(Part, st.sampled_from(COLOURS.names), st.tuples(numbers, numbers)), max_size=8
)
heights = st.one_of(st.floats(-1, 1e9), st.sampled_from([0.0, -0.0, 1e9, 5e-324, -1.0, 1e-7]))
strange = st.lists(st.builds(Part, st.sampled_from(ODD.names), st.tuples(heights)), max_size=8)
wholes = st.one_of(plain.map(KIT.parts), placed.map(COLOURS.parts), strange.map(ODD.parts))
pairs = st.one_of(
    st.tuples(items.map(kit.parts), items.map(kit.parts))
    for kit, items in ((KIT, plain), (COLOURS, placed), (ODD, strange))
)


def for_all(*strategies: st.SearchStrategy):
    """Check a claim on random examples, however slow the machine is."""
    return lambda claim: settings(deadline=None)(given(*strategies)(claim))


# Texts


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3×f2, f7", "3×f2, f7"),
        ("3*f2", "3×f2"),
        ("3xf2", "3×f2"),
        ("3x f2", "3×f2"),
        ("3 x f2 and 2 X f7", "3×f2, 2×f7"),
        ("3 × f2; 2 * f7", "3×f2, 2×f7"),
        ("f2 f2 f2", "3×f2"),
        ("f7, f2, f10, f2", "2×f2, f7, f10"),
        ("F7\nf2\n", "f2, f7"),
        ("f2, and f7 AND f1,", "f1, f2, f7"),
        ("1×f2 +2×f2 003×f2", "6×f2"),
        (" ;f2 ,, f7; ", "f2, f7"),
    ],
)
def test_counts_and_separators_may_be_written_in_many_ways(text, meant):
    assert str(KIT.parse(text)) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("red@0.2,-0.5; blue@0.6,0.1", "red@0.2,-0.5; blue@0.6,0.1"),
        ("blue@0.6,0.1, red@0.2,-0.5", "red@0.2,-0.5; blue@0.6,0.1"),
        ("red@(0.2, -0.5) and blue @ ( 0.6 , 0.1 )", "red@0.2,-0.5; blue@0.6,0.1"),
        ("red@0.2 -0.5\nblue@0.6 0.1", "red@0.2,-0.5; blue@0.6,0.1"),
        ("Red@.2,−5e-1 blue@+0.6,1E-1", "red@0.2,-0.5; blue@0.6,0.1"),
        ("red@1,-1, 3×blue@0,0, 2xwhite@1.,1.0", "red@1,-1; 3×blue@0,0; 2×white@1,1"),
        ("red@1,-1 3 x blue@0,-0.0", "red@1,-1; 3×blue@0,0"),
        ("red@0.5,0; red@-0.5,0; red@0.5,0", "red@-0.5,0; 2×red@0.5,0"),
    ],
)
def test_a_comma_inside_a_place_does_not_end_the_part(text, meant):
    assert str(COLOURS.parse(text)) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("x@1 x2@1 nano@1, infra@1", "x@1; x2@1; nano@1; infra@1"),
        ("3xx@1, 2xx2@1", "3×x@1; 2×x2@1"),
        ("android@1 and infra@1", "infra@1; Android@1"),
    ],
)
def test_names_that_look_like_other_things_are_names(text, meant):
    kit = Kit(["x", "x2", "nano", "infra", "Android"], axes=["h"])
    assert str(kit.parse(text)) == meant


@for_all(wholes.filter(len))
def test_what_is_printed_is_read_back(whole):
    assert whole.kit.parse(str(whole)) == whole


@for_all(wholes.filter(len))
def test_case_and_line_breaks_say_nothing(whole):
    lines = "\n".join(str(part) for part in whole)
    assert whole.kit.parse(lines.upper()) == whole


@for_all(st.text(max_size=40))
@example("3×")
@example("red@")
@example("red@(0,0")
def test_any_text_is_read_or_refused(text):
    for kit in (KIT, COLOURS, ODD):
        with contextlib.suppress(UsageError):
            assert len(kit.parse(text)) > 0


@for_all(st.text(alphabet="f1 3x×*@,;().-+e\nnaid", max_size=20))
def test_any_text_of_these_signs_is_read_back_or_refused(text):
    for kit in (Kit(["f1", "x", "d"]), Kit(["f1", "x", "d"], axes=("a",), low=-9, high=9)):
        with contextlib.suppress(UsageError):
            whole = kit.parse(text)
            assert kit.parse(str(whole)) == whole


# Multisets


@for_all(wholes, st.randoms(use_true_random=False))
def test_the_order_says_nothing(whole, random):
    items = list(whole)
    random.shuffle(items)
    other = whole.kit.parts(items)
    assert other == whole
    assert hash(other) == hash(whole)
    assert str(other) == str(whole)
    assert other.codes == whole.codes
    assert other.places == whole.places


@for_all(wholes)
def test_parts_are_in_the_order_of_the_kit_then_of_their_places(whole):
    keys = list(zip(whole.codes, whole.places, strict=True))
    assert keys == sorted(keys)
    assert [part.category for part in whole] == [whole.kit.names[code] for code in whole.codes]
    assert len(whole) == len(whole.codes) == len(whole.places)


@for_all(pairs)
def test_what_was_added_can_be_taken_away(pair):
    a, b = pair
    assert a + b - b == a
    assert a + b == b + a
    assert len(a + b) == len(a) + len(b)
    assert len(a - a) == 0


@for_all(pairs)
def test_counts_add_up(pair):
    a, b = pair
    assert sum(a.counts().values()) == len(a)
    assert all((part in a) and a.count(part) == n > 0 for part, n in a.counts().items())
    assert all((a + b).count(part) == a.count(part) + b.count(part) for part in b)


def test_a_whole_has_parts_and_repeats_them():
    whole = KIT.parse("f7, 3×f2")
    assert repr(whole) == "Parts('3×f2, f7')"
    assert list(whole) == [Part("f2"), Part("f2"), Part("f2"), Part("f7")]
    assert whole.counts() == {Part("f2"): 3, Part("f7"): 1}
    assert (whole.count("F2"), whole.count(Part("f1"))) == (3, 0)
    assert "f7" in whole
    assert Part("f1") not in whole
    assert whole.codes == (1, 1, 1, 6)
    assert whole.places == ((), (), (), ())


def test_parts_are_added_as_parts_as_one_part_or_as_text():
    whole = KIT.parse("f2")
    added = {whole + KIT.parse("f7"), whole + Part("F7"), whole + "f7"}
    assert added == {KIT.parse("f2, f7")}
    taken = {KIT.parse("f2, f7") - each for each in (KIT.parse("f7"), Part("f7"), "f7")}
    assert taken == {whole}


def test_adding_and_taking_away_leave_the_whole_as_it_was():
    whole = KIT.parse("f2, f7")
    _ = whole + "f2", whole - "f2", whole.replaced("f2", "f3")
    assert str(whole) == "f2, f7"
    with pytest.raises(AttributeError):
        whole.items = ()


def test_one_part_is_replaced_and_the_others_stay():
    assert str(KIT.parse("3×f2").replaced("f2", "f7")) == "2×f2, f7"
    colours = COLOURS.parse("red@0,0; blue@1,1")
    assert str(colours.replaced("red@0,0", "white@0,0")) == "blue@1,1; white@0,0"


def test_one_part_is_moved_and_the_others_stay():
    whole = COLOURS.parse("2×red@0,0; blue@1,1")
    assert str(whole.moved("red@0,0", 0.5, -0.5)) == "red@0,0; red@0.5,-0.5; blue@1,1"
    assert str(whole.moved(Part("blue", (1, 1)), -1, 0)) == "2×red@0,0; blue@-1,0"


def test_parts_are_given_in_many_ways():
    items = [Part("RED", (0, 1)), ("red", 0, 1.0), ["Red", Fraction(0), 1], "red@0,1"]
    items += [("red", np.float32(0), np.int64(1)), ("red", -0.0, 1)]
    assert str(COLOURS.parts(items)) == "6×red@0,1"
    assert COLOURS.parts(iter(items)) == Parts(COLOURS, (Part("red", (0.0, 1.0)),) * 6)
    assert all(isinstance(value, float) for place in COLOURS.parts(items).places for value in place)


def test_no_parts_are_a_whole_that_cannot_be_read():
    nothing = KIT.parts([])
    assert (len(nothing), str(nothing), repr(nothing)) == (0, "", "Parts('')")
    assert nothing == KIT.parse("f2") - "f2"
    assert nothing + "f2" == KIT.parse("f2")


def test_the_same_parts_of_different_kits_differ():
    assert Kit(["f2"]).parse("f2") != KIT.parse("f2")
    assert KIT.parse("f2") != "f2"


def test_copies_of_kits_and_wholes_are_equal():
    whole = COLOURS.parse("red@0,0")
    assert copy.deepcopy(whole) == whole
    assert Kit(list(COLOURS.names), ["x", "y"], -1, 1) == COLOURS
    assert hash(Kit(list(COLOURS.names), ["x", "y"], -1, 1)) == hash(COLOURS)


def test_a_kit_knows_its_names():
    assert COLOURS.names == ("red", "green", "blue", "white", "black")
    assert [COLOURS.index(name.upper()) for name in COLOURS.names] == [0, 1, 2, 3, 4]
    assert Kit(["top-left"]).index("Top_Left") == 0


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"The text names no part\. Say at least one part, such as 'f1'\."),
        (" ;,\n and", r"The text names no part\."),
        ("f22", r"'f22' is not a part here; expected 'f1', .* or 'f10'\. Did you mean 'f2'\?"),
        ("0×f2", r"`0×f2` needs a whole count, 1 to 1000\. Write '3×f2'\."),
        ("-3×f2", r"`-3×f2` needs a whole count"),
        ("2.5×f2", r"`2\.5×f2` needs a whole count"),
        ("3.0xf2", r"`3\.0×f2` needs a whole count"),
        ("1e3×f2", r"`1e3×f2` needs a whole count"),
        ("1000000×f2", r"With `1000000×f2` there are more than 1000 parts, the most that are read"),
        ("600×f2, 401×f1", r"With `401×f1` there are more than 1000 parts.* Say fewer, or raise"),
        ("f2 " * 1001, r"With `f2` there are more than 1000 parts"),
        ("9" * 5000 + "×f2", r"With `9{57}\.\.\.×f2` there are more than 1000 parts"),
        ("f2@0.2", r"`f2` has a place; parts have none here\. Write 'f2'\."),
        ("f2@", r"'@' cannot be read\. Write parts as in '3×f1, f10'\."),
        ("f7, 3 f2", r"'3 f2' cannot be read\. Write parts as in '3×f1, f10'\."),
        ("×f2", "'×f2' cannot be read"),
        ("f2×3", "'×3' cannot be read"),
        ("3×", "'3×' cannot be read"),
        ("f" * 100_001, "`text` has 100001 characters; at most 100000 are read. Write"),
        (7, r"`text` \(=7\) must be a string\. Write parts as in '3×f1, f10'\."),
        (None, r"`text` \(=None\) must be a string"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises(UsageError, match=message):
        KIT.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("red", r"`red` has no place; expected 2: x, y\. Write 'red@0\.2,-0\.5'\."),
        ("red@0.1", r"`red` has a place of length 1; expected 2: x, y\. Write 'red@0\.2,-0\.5'\."),
        ("blue@0.1,0,1", r"`blue` has a place of length 3; .* Write 'blue@0\.2,-0\.5'\."),
        ("red@0.1;0.2", r"`red` has a place of length 1"),
        ("red@1.5,0", r"`x` of `red` \(=1\.5\) must be a number from -1 to 1\. Write 'red@0"),
        ("red@0,-1.01", r"`y` of `red` \(=-1\.01\) must be a number from -1 to 1"),
        ("red@nan,0", r"`x` of `red` \(=nan\) must be a number from -1 to 1"),
        ("red@0,-Infinity", r"`y` of `red` \(=-inf\) must be a number from -1 to 1"),
        ("red@1e999,0", r"`x` of `red` \(=inf\) must be a number from -1 to 1"),
        ("gren@0,0", r"'gren' is not a part here; .* or 'black'\. Did you mean 'green'\?"),
        ("red@(0,0", r"'@\(0,0' cannot be read\. Write parts as in '3×red@0\.2,-0\.5; black@"),
        ("red@here", "'@here' cannot be read"),
        ("red@0,0blue@0,0", "'blue@0,0' cannot be read"),
        ("@0,0", "'@0,0' cannot be read"),
        ("0×red@0,1", r"`0×red@0,1` needs a whole count, 1 to 1000\. Write '3×red@0,1'\."),
        ("", r"Say at least one part, such as 'red@0\.2,-0\.5'\."),
    ],
)
def test_a_place_that_cannot_be_meant_is_named(text, message):
    with pytest.raises(UsageError, match=message):
        COLOURS.parse(text)


def test_examples_in_errors_lie_between_the_bounds():
    with pytest.raises(UsageError, match=r"Write 'a@0\.6,0\.25,0\.6'\."):
        Kit(["a"], axes=("x", "y", "z"), low=0).parse("a")


@pytest.mark.parametrize(
    ("whole", "other", "message"),
    [
        ("3×f2, f7", "f8", r"`f8` cannot be taken away: `3×f2, f7` has none of it\. Did you mean"),
        ("3×f2, f7", "5×f2", r"`5×f2` .*: `3×f2, f7` has 3 of it\. Take away at most '3×f2'\."),
        ("f2", "f2, f2", r"`2×f2` .*: `f2` has 1 of it\. Take away at most 'f2'\."),
        ("f2", 7, r"7 is not a part\. Write parts as in '3×f1, f10'\."),
        ("f2", "", "The text names no part"),
        ("f2", COLOURS.parse("red@0,0"), "'red@0,0' are parts of another kit"),
    ],
)
def test_what_cannot_be_taken_away_is_named(whole, other, message):
    with pytest.raises(UsageError, match=message):
        _ = KIT.parse(whole) - other


def test_nothing_can_be_taken_from_nothing():
    for kit, text in ((KIT, "f2"), (COLOURS, "red@0,0")):
        with pytest.raises(UsageError, match=f"`{text}` cannot be taken away: nothing is there"):
            _ = kit.parts([]) - text


@pytest.mark.parametrize(
    ("text", "near"),
    [("red@0.2,0.1", "red@0,0"), ("red@0.6,0.9", "red@0.5,0.5"), ("green@0.9,0.9", "blue@1,1")],
)
def test_the_nearest_part_of_the_same_category_is_suggested(text, near):
    with pytest.raises(UsageError, match=f"has none of it. Did you mean '{near}'?"):
        _ = COLOURS.parse("red@0,0; red@0.5,0.5; blue@1,1; blue@0.2,0.1") - text


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (lambda: KIT.parts("f2"), r"`items` is a text; .* Use `parse\(text\)`"),
        (lambda: KIT.parts(3), r"`items` \(=3\) must be a list of parts"),
        (lambda: KIT.parts([3]), r"3 is not a part\. Write parts as in"),
        (lambda: KIT.parts([()]), r"\(\) is not a part"),
        (lambda: KIT.parts([(3,)]), r"`name` \(=3\) must be a string"),
        (lambda: KIT.parts(["2×f2"]), r"'2×f2' must be one part\. Write 'f1'\."),
        (lambda: KIT.parts([("f2", 0.1)]), "`f2` has a place; parts have none here"),
        (lambda: COLOURS.parts([("red", "a", 0)]), r"`x` of `red` \(=a\) must be a number"),
        (lambda: COLOURS.parts([("red", True, 0)]), r"`x` of `red` \(=True\) must be a number"),
        (lambda: COLOURS.parts([("red", 0, 10**400)]), r"`y` of `red` \(=10+\.\.\.\) must be"),
        (lambda: COLOURS.parts([("red", 0, math.nan)]), r"`y` of `red` \(=nan\) must be a number"),
        (lambda: COLOURS.parts([Part("red", 0.5)]), "`red` has a place of length 1"),
        (lambda: COLOURS.parts([Part("red")]), "`red` has no place; expected 2: x, y"),
        (lambda: "f2 f7" in KIT.parse("f2"), r"'f2 f7' must be one part\. Write 'f1'\."),
        (lambda: "f99" in KIT.parse("f2"), "'f99' is not a part here"),
        (lambda: KIT.parse("f2").count(""), "'' must be one part"),
        (lambda: KIT.parse("f2").moved("f2", 0.1), "`f2` has a place; parts have none here"),
        (lambda: COLOURS.parse("red@0,0").moved("red@0,0", 0), "`red` has a place of length 1"),
        (lambda: COLOURS.parse("red@0,0").moved("red@0,0", 0, 2), r"`y` of `red` \(=2\) must be"),
        (lambda: KIT.parse("f2") + "1000×f3", "There are more than 1000 parts, the most that are"),
    ],
)
def test_what_is_not_a_part_is_named(claim, message):
    with pytest.raises(UsageError, match=message):
        claim()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"categories": []}, "`categories` is empty; give at least one"),
        ({"categories": "red"}, r"`categories` \(=red\) must be a list of strings"),
        ({"categories": 3}, r"`categories` \(=3\) must be a list of strings"),
        ({"categories": [3]}, "`categories` has 3; write it as a string"),
        ({"categories": [""]}, "`categories` has '', which stands for nothing said"),
        ({"categories": ["a", "A"]}, "`categories` has 'a' and 'A', which are the same word"),
        ({"categories": ["dark red"]}, "`categories` has 'dark red', which a text could not name"),
        ({"categories": ["a,b"]}, "'a,b', which a text could not name. Use one word, not 'and'"),
        ({"categories": ["a@b"]}, "'a@b', which a text could not name"),
        ({"categories": ["And"]}, "'And', which a text could not name"),
        ({"categories": ["NaN"]}, "'NaN', which a text could not name"),
        ({"categories": ["7"]}, "'7', which a text could not name"),
        ({"categories": ["3d"]}, "'3d', which a text could not name"),
        ({"categories": ["-a"]}, "'-a', which a text could not name"),
        ({"axes": "xy"}, r"`axes` \(=xy\) must be a list of strings"),
        ({"axes": ["x", "X"]}, "`axes` has 'x' and 'X', which are the same word"),
        ({"axes": ["1"]}, "`axes` has '1', which a text could not name"),
        ({"low": 1}, r"`low` \(=1\) and `high` \(=1\.0\) must be two finite numbers, the second"),
        ({"low": math.nan}, r"`low` \(=nan\) and `high` \(=1\.0\) must be two finite numbers"),
        ({"high": math.inf}, r"`high` \(=inf\) must be two finite numbers"),
        ({"high": "1"}, r"`high` \(=1\) must be two finite numbers"),
        ({"most": 0}, r"`most` \(=0\) must be a whole number, 1 to 1000000"),
        ({"most": 2.0}, r"`most` \(=2\.0\) must be a whole number, 1 to 1000000"),
        ({"most": True}, r"`most` \(=True\) must be a whole number"),
    ],
)
def test_a_kit_that_could_not_be_read_from_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        Kit(**{"categories": ["a"], **arguments})


# Limits


def test_a_million_parts_are_refused_before_they_are_built():
    def refuse():
        with pytest.raises(UsageError, match="more than 1000 parts"):
            KIT.parse("1000000000×f2")

    assert timeit.timeit(refuse, number=10) < 1


def test_parts_without_end_are_refused():
    for endless in (repeat("f2"), (Part("f2") for _ in count())):
        with pytest.raises(UsageError, match="There are more than 1000 parts"):
            KIT.parts(endless)


def test_a_kit_may_read_fewer_or_more_parts():
    assert len(Kit(["a"], most=2000).parse("2000×a")) == 2000
    with pytest.raises(UsageError, match="more than 2 parts"):
        Kit(["a"], most=2).parse("a a a")


@pytest.mark.parametrize(
    "text",
    [
        "red@" + "1," * 49_000,
        "red@0,0" + " " * 99_000 + "!",
        "red @ " * 16_000,
        "red@(" + "0 " * 49_000,
        "and " * 25_000,
        "1" * 100_000,
        "3×" * 50_000,
        "0.1" * 33_000,
    ],
)
def test_no_text_takes_long_to_refuse(text):
    def refuse():
        with pytest.raises(UsageError):
            COLOURS.parse(text)

    assert timeit.timeit(refuse, number=1) < 2
