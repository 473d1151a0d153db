import contextlib
import random
import struct
import time

import numpy as np
import pytest

from mindseye.data import inert
from mindseye.data.csr import Csr
from mindseye.data.inert import inert_of, read_inert
from mindseye.errors import DataError

MATRIX = np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], np.float32)


def read(data):
    return inert_of(data, "some.graph")


def test_neighbours_come_back_as_a_plain_dictionary(old):
    neighbours = {0: [1, 70_000], 1: [0], 2: [], -1: [2]}
    found = read(old.file(old.graph(neighbours)))
    assert found == neighbours
    assert type(found) is dict


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "b1"])
def test_arrays_of_numbers_come_back(old, kind):
    array = np.arange(6).reshape(2, 3).astype(kind)
    found = read(old.file(old.array(array)))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_an_array_by_columns_comes_back(old):
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    written = old.file(old.array(array.T.copy()))  # the same bytes, said to be by columns
    shape = old.whole(3) + old.whole(2), old.whole(2) + old.whole(3)
    found = read(written.replace(*shape).replace(b"\x89T", b"\x88T"))
    assert np.array_equal(found, array)


def test_a_sparse_matrix_comes_back_as_its_parts(old):
    found = read(old.file(old.csr(MATRIX)))
    assert isinstance(found, Csr)
    assert found.shape == (3, 3)
    assert found.indptr.tolist() == [0, 1, 1, 3]
    assert found.indices.tolist() == [1, 0, 2]
    assert found.data.tolist() == [1.0, 2.0, 3.0]


def test_what_is_remembered_is_the_same_thing():
    """`BINPUT` before a list is filled, `BINGET` after it."""
    one, other = read(b"\x80\x02](]q\x01(K\x01K\x02eh\x01e.")
    assert one == other == [1, 2]
    assert one is other


@pytest.mark.parametrize("name", ["ind.cora.graph", "ind.citeseer.graph"])
def test_the_real_files_link_both_ends(real, name):
    graph = read_inert(real(name))
    assert sorted(graph) == list(range(len(graph)))
    assert all(node in graph[other] for node, others in graph.items() for other in others)


# What must not run


@pytest.mark.parametrize(
    ("name", "rest"),
    [
        (b"os\nsystem", b"U\x05touch\x85R."),
        (b"posix\nsystem", b"U\x05touch\x85R."),
        (b"__builtin__\neval", b"U\x011\x85R."),
        (b"subprocess\nPopen", b"U\x05touch\x85R."),
        (b"copy_reg\n_reconstructor", b"."),
        (b"numpy.core.multiarray\nfrombuffer", b"."),
        (b"numpy\nload", b"."),
    ],
)
def test_a_name_that_is_not_plain_data_is_refused(name, rest):
    with pytest.raises(DataError, match=r"some\.graph: byte 2: the name '.*' is not one of plain"):
        read(b"\x80\x02c" + name + b"\n" + rest)


def test_a_planted_command_does_not_run(tmp_path):
    """What Python's own reader would do with this file is make another one."""
    victim = tmp_path / "ran"
    command = f"touch {victim}".encode()
    for name in (b"os\nsystem", b"posix\nsystem", b"nt\nsystem"):
        planted = b"\x80\x02c" + name + b"\nU" + bytes([len(command)]) + command + b"\x85R."
        with pytest.raises(DataError, match="system' is not one of plain data"):
            read(planted)
    assert not victim.exists()


@pytest.mark.parametrize(
    "step",
    [b"i", b"o", b"d", b"l", b"S", b"I", b"F", b"V", b"X", b"P", b"Q", b"\x82", b"\x8a", b"\x8c",
     b"\x92", b"\x93", b"\x95", b"0", b"2", b"s"],
)  # fmt: skip
def test_other_instructions_are_named_with_their_place(step):
    with pytest.raises(DataError, match=r"byte 3: the instruction b.* is not one of plain data"):
        read(b"\x80\x02N" + step + b"os\nsystem\n.")


def test_allowed_names_are_called_with_nothing_else(old):
    for call in (
        b"ccollections\ndefaultdict\n)R.",
        b"ccollections\ndefaultdict\nccollections\ndefaultdict\n\x85R.",
        b"c__builtin__\nlist\n)R.",
        b"cscipy.sparse.csr\ncsr_matrix\n)R.",
        b"cnumpy\ndtype\n)R.",
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\ndtype\nK\x00\x85U\x01b\x87R.",
    ):
        with pytest.raises(DataError, match="is called with arguments that it never has"):
            read(b"\x80\x02" + call)
    with pytest.raises(DataError, match="an object is made that is not a sparse matrix"):
        read(b"\x80\x02c__builtin__\nlist\n)\x81.")
    with pytest.raises(DataError, match="something is called that is not a name"):
        read(b"\x80\x02" + old.array(np.arange(3)) + b")R.")


@pytest.mark.parametrize("kind", [b"O8", b"V8", b"S8", b"U8", b"M8", b"O", b"c8", b"i4,i4"])
def test_arrays_of_other_things_than_numbers_are_refused(old, kind):
    data = old.file(old.array(np.arange(3, dtype=np.int64)))
    data = data.replace(b"U\x02i8", old.text(kind))
    with pytest.raises(DataError, match=r"an array holds b'.*'; expected plain numbers"):
        read(data)


# What is damaged


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "byte 0: the file ends too early"),
        (b"\x80\x02", "byte 2: the file ends too early"),
        (b"\x80\x03N.", "the file is of version 3; expected 2"),
        (b"\x80\x02.", "a value is missing"),
        (b"\x80\x02(.", "a value is missing"),
        (b"\x80\x02NN.", "the file does not end after one value"),
        (b"\x80\x02N.N", "the file does not end after one value"),
        (b"\x80\x02t.", "a mark is missing"),
        (b"\x80\x02h\x05.", "nothing is remembered as 5"),
        (b"\x80\x02Na.", "a value is missing"),
        (b"\x80\x02NNa.", "something is put into what is not a list"),
        (b"\x80\x02N(u.", "something is put into what is not a dictionary"),
        (b"\x80\x02}(Nu.", "the keys of a dictionary are not numbers or texts"),
        (b"\x80\x02}()Nu.", "the keys of a dictionary are not numbers or texts"),
        (b"\x80\x02NNb.", "something is filled that is filled already"),
        (b"\x80\x02c" + 500 * b"x", "a name has no end"),
        (b"\x80\x02](c__builtin__\nlist\ne.", "ends before its value is whole"),
        (b"\x80\x02c__builtin__\nlist\n.", "ends before its value is whole"),
        (b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81.", "ends before its value is whole"),
        (b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}b.", "lacks an array of its three"),
        (b"\x80\x02T\xff\xff\xff\xffabc.", "the file ends too early"),
    ],
)
def test_damaged_files_say_what_is_wrong_and_where(data, message):
    with pytest.raises(DataError, match=message):
        read(data)


def test_an_array_that_claims_too_much_takes_no_memory(old):
    data = old.file(old.array(np.arange(3, dtype=np.int64)))
    huge = data.replace(old.whole(3) + b"t", old.whole(2**31 - 1) + b"t")
    with pytest.raises(DataError, match=r"an array of \(2147483647,\) does not hold 24 bytes"):
        read(huge)
    with pytest.raises(DataError, match="an array has no shape"):
        read(data.replace(old.whole(3) + b"t", old.whole(-3) + b"t"))


def test_a_file_of_many_instructions_ends_early(monkeypatch):
    monkeypatch.setattr(inert, "STEPS", 1000)
    with pytest.raises(DataError, match="there are more than 1,000 instructions"):
        read(b"\x80\x02" + 2000 * b"N" + b".")


def test_a_large_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(inert, "LARGEST", 1000)
    (tmp_path / "a").write_bytes(b"\x80\x02K\x05.")
    (tmp_path / "b").write_bytes(bytes(1001))
    assert read_inert(tmp_path / "a") == 5
    with pytest.raises(DataError, match="b has more than 1,000 bytes"):
        read_inert(tmp_path / "b")
    with pytest.raises(DataError, match="c: No such file"):
        read_inert(tmp_path / "c")


def test_a_tower_of_tuples_is_harmless():
    """Each holds the one below twice: walking through them, or asking for a hash, never ends."""
    tower = b"K\x01" + 10_000 * b"q\x01h\x01\x86"
    assert len(read(b"\x80\x02" + tower + b".")) == 2
    for rest in (b"K\x00u.", b"R.", b"\x81.", b"b."):
        with pytest.raises(DataError):
            read(b"\x80\x02}(" + tower + rest)


def test_filling_one_thing_again_and_again_does_not_take_long():
    blank = b"cscipy.sparse.csr\ncsr_matrix\n)\x81"
    places = b"".join(b"r" + struct.pack("<I", i) for i in range(20_000))
    began = time.process_time()
    with pytest.raises(DataError):
        read(b"\x80\x02" + blank + places + 20_000 * (b"h\x01" + b"}b"))
    assert time.process_time() - began < 2


def test_changed_files_give_a_value_or_an_error_of_ours(old):
    goods = [
        old.file(old.graph({0: [1, 2], 1: [0], 2: [0]})),
        old.file(old.array(np.eye(3, dtype=np.int32))),
        old.file(old.csr(MATRIX)),
        b"\x80\x02" + old.graph({0: [1]}) + old.array(np.arange(2)) + old.csr(MATRIX) + b"\x87.",
    ]
    steps = b"(.)NKMJUTqrhjteabucR}]\x80\x81\x85\x86\x87\x88\x89"
    rng = random.Random(0)
    read_well = 0
    for i in range(4000):
        data = bytearray(goods[i % 4])
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(2, len(data) - 1)
            new = [rng.randbytes(1), bytes(rng.choices(steps)), bytes(rng.choices(steps, k=3)), b""]
            data[place : place + rng.randint(0, 1)] = rng.choice(new)
        with contextlib.suppress(DataError):
            assert is_plain(read(bytes(data)))
            read_well += 1
    assert 200 < read_well < 3500


def is_plain(value):
    if isinstance(value, dict):
        return all(map(is_plain, [*value, *value.values()]))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return value is None or type(value) in (bool, int, bytes)
