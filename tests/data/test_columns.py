import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindseye.data.columns import two_columns


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*2 * [st.integers(0, 10**18 - 1)]), min_size=1, max_size=50),
    st.sampled_from(",;\t "),
    st.sampled_from(["\n", " \n", "\n\n", "\n# a, b; c\td\n"]),
)
def test_pairs_come_back(pairs, separator, end):
    text = "".join(f"{a}{separator}{b}{end}" for a, b in pairs).encode()
    assert two_columns(text, separator).tolist() == [list(pair) for pair in pairs]


@pytest.mark.parametrize("text", [b"", b"\n", b"# a\n", b"\n  \n#\n", b",\n, ,\n"])
def test_nothing_is_said_by_blanks_and_comments(text):
    assert two_columns(text, ",").shape == (0, 2)


@pytest.mark.parametrize(
    "line", [b"1", b"1,", b",1", b",1,2", b"1,,2", b"1 2,3", b"1,2 3", b"1,2 #", b"1,x", b"x,1",
             b"-1,2", b"1,2.0", b"1,1e3", b'"1",2', b"1;2", b"1,9999999999999999999", b"\xd9\xa1,2"]
)  # fmt: skip
def test_a_line_that_is_unusual_makes_nothing_of_all(line):
    assert two_columns(b"0,1\n" + line + b"\n2,3\n", ",") is None
