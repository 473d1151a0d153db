"""Plain data out of old Python files, read and never run.

The files of Planetoid were written by the object writer of Python 2: a row of instructions for a
small machine with a stack and a memory. Python's own reader of them calls whatever a file names.
This one knows the few instructions that plain data needs, and a name in a file is only ever
compared with the names below: nothing is imported, and nothing that a file names is called.

What comes out are dictionaries, lists, tuples, numbers, texts as bytes, arrays of plain numbers,
and sparse matrices as their parts. Work and memory are bounded by the size of the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from mindseye.data.csr import Csr
from mindseye.errors import DataError
from mindseye.files import explained

__all__ = ["STEPS", "inert_of", "read_inert"]

LARGEST = 64 * 2**20
"""The most bytes of a file."""

STEPS = 2_000_000
"""The most instructions of a file; the longest one of Planetoid's has 25 000."""

LONGEST_NAME = 200

CSR = "scipy.sparse.csr csr_matrix"
ARRAY, NDARRAY = "numpy.core.multiarray _reconstruct", "numpy ndarray"
DTYPE = "numpy dtype"
DICT, LIST = "collections defaultdict", "__builtin__ list"
NAMES = {CSR, ARRAY, NDARRAY, DTYPE, DICT, LIST}
"""The names a file may say."""

NUMBERS = {b"b1", b"i1", b"u1", b"i2", b"u2", b"i4", b"u4", b"i8", b"u8", b"f4", b"f8"}
"""The kinds of numbers an array may hold."""

AGAIN = "It may be truncated: fetch it again."
OTHER = "Only files of plain data are read: check where it comes from."


def read_inert(path: Path) -> Any:
    """What a file holds."""
    with explained(path), path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError(f"{path} has more than {LARGEST:,} bytes; expected a small file.")
    return inert_of(data, path)


def inert_of(data: bytes, path: str | Path) -> Any:
    """What the bytes of a file hold; `path` is what it is called."""
    machine = _Machine(data)
    try:
        return machine.run()
    except _Refusal as error:
        raise DataError(f"{path}: byte {machine.start:,}: {error}.", error.hint) from error


class _Refusal(Exception):
    """Why a file is not read on."""

    def __init__(self, message: str, hint: str = OTHER):
        super().__init__(message)
        self.hint = hint


class _Name(NamedTuple):
    """A name that a file says, one of those allowed."""

    text: str


class _Blank:
    """Something that is named and not yet filled, and where it is remembered."""

    def __init__(self, kind: str, number: bytes = b""):
        self.kind = kind
        self.number = number
        self.places: list[int] = []


class _Machine:
    """The instructions of a file, one after the other."""

    def __init__(self, data: bytes):
        self.data = data
        self.start = self.next = 0  # of the instruction, and of what is not read yet
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memory: dict[int, Any] = {}

    def run(self) -> Any:
        for _ in range(STEPS):
            self.start = self.next
            step = self.take(1)
            if step == b".":
                return self.result()
            if step not in _STEPS:
                raise _Refusal(f"the instruction {step!r} is not one of plain data")
            _STEPS[step](self)
        raise _Refusal(f"there are more than {STEPS:,} instructions")

    def result(self) -> Any:
        value = self.pop()
        if self.stack or self.marks or self.next < len(self.data):
            raise _Refusal("the file does not end after one value", AGAIN)
        if any(type(each) in (_Name, _Blank) for each in _within(value)):
            raise _Refusal("the file ends before its value is whole", AGAIN)
        return value

    # Bytes, stack and memory

    def take(self, count: int) -> bytes:
        begin, self.next = self.next, self.next + count
        if self.next > len(self.data):
            raise _Refusal("the file ends too early", AGAIN)
        return self.data[begin : self.next]

    def number(self, layout: str) -> int:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.popped(1)[0]

    def popped(self, count: int) -> list[Any]:
        """The last values, none of which stood there before the last mark."""
        begin = len(self.stack) - count
        if begin < (self.marks[-1] if self.marks else 0):
            raise _Refusal("a value is missing", AGAIN)
        values = self.stack[begin:]
        del self.stack[begin:]
        return values

    def since_mark(self) -> list[Any]:
        if not self.marks:
            raise _Refusal("a mark is missing", AGAIN)
        begin = self.marks.pop()
        values = self.stack[begin:]
        del self.stack[begin:]
        return values

    def top(self, kind: type) -> Any:
        """The last value, which stays where it is."""
        value = self.pop()
        if type(value) is not kind:
            wanted = {list: "a list", dict: "a dictionary"}[kind]
            raise _Refusal(f"something is put into what is not {wanted}")
        self.push(value)
        return value

    def put(self, place: int) -> None:
        value = self.pop()
        self.push(value)
        self.memory[place] = value
        if isinstance(value, _Blank):
            value.places.append(place)

    def get(self, place: int) -> None:
        if place not in self.memory:
            raise _Refusal(f"nothing is remembered as {place}", AGAIN)
        self.push(self.memory[place])

    # Values

    def name(self) -> None:
        end = self.data.find(b"\n", self.next, self.next + LONGEST_NAME)
        end = self.data.find(b"\n", end + 1, end + LONGEST_NAME) if end >= 0 else -1
        if end < 0:
            raise _Refusal("a name has no end", AGAIN)
        said = self.take(end - self.next).decode("latin-1").replace("\n", " ")
        self.take(1)
        if said not in NAMES:
            raise _Refusal(f"the name {said!r} is not one of plain data")
        self.push(_Name(said))

    def tuple_of(self, count: int) -> None:
        self.push(tuple(self.popped(count)))

    def extend(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def set_items(self) -> None:
        pairs = self.since_mark()
        items = self.top(dict)
        if len(pairs) % 2 or not all(type(key) in (int, bytes) for key in pairs[::2]):
            raise _Refusal("the keys of a dictionary are not numbers or texts")
        items.update(zip(pairs[::2], pairs[1::2], strict=True))

    def called(self) -> None:
        """Calls that plain data needs, each known by its name and exactly these arguments."""
        name, given = self.popped(2)
        if type(name) is not _Name or type(given) is not tuple:
            raise _Refusal("something is called that is not a name")
        if name.text == DICT and _same(given, (_Name(LIST),)):
            self.push({})
        elif name.text == ARRAY and _same(given, (_Name(NDARRAY), (0,), b"b")):
            self.push(_Blank(ARRAY))
        elif name.text == DTYPE and _same(given[1:], (0, 1)):
            self.push(_Blank(DTYPE, self.known_number(given[0])))
        else:
            raise _Refusal(f"{name.text!r} is called with arguments that it never has")

    def known_number(self, kind: Any) -> bytes:
        if type(kind) is not bytes or kind not in NUMBERS:
            said = repr(kind[:20]) if type(kind) is bytes else "something else"
            raise _Refusal(f"an array holds {said}; expected plain numbers")
        return kind

    def made(self) -> None:
        name, given = self.popped(2)
        if not _same(name, _Name(CSR)) or not _same(given, ()):
            raise _Refusal("an object is made that is not a sparse matrix")
        self.push(_Blank(CSR))

    def filled(self) -> None:
        """What was named is filled, wherever it is remembered."""
        blank, state = self.popped(2)
        if type(blank) is not _Blank:
            raise _Refusal("something is filled that is filled already")
        value = {CSR: _csr, ARRAY: _array, DTYPE: _dtype}[blank.kind](blank, state)
        for place in blank.places:
            if self.memory[place] is blank:
                self.memory[place] = value
        blank.places.clear()  # so that no place is looked at twice
        self.push(value)


def _csr(blank: _Blank, state: Any) -> Csr:
    parts = state if _is(state, dict) else {}
    data, indices, indptr = (parts.get(key) for key in (b"data", b"indices", b"indptr"))
    if not (_is_row(data) and _is_row(indices) and _is_row(indptr)):
        raise _Refusal("a sparse matrix lacks an array of its three")
    shape = parts.get(b"_shape")
    if not _is_shape(shape) or len(shape) != 2:
        raise _Refusal("a sparse matrix lacks its two lengths")
    return Csr(data, indices, indptr, (shape[0], shape[1]))


def _array(blank: _Blank, state: Any) -> np.ndarray:
    if not _is(state, tuple) or len(state) != 5:
        raise _Refusal("an array has not the five parts of one")
    version, shape, dtype, by_columns, data = state
    if not _is(version, int) or version != 1 or not _is_shape(shape) or not _is(by_columns, bool):
        raise _Refusal("an array has no shape")
    if not isinstance(dtype, np.dtype) or not _is(data, bytes):
        raise _Refusal("an array has no plain numbers")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise _Refusal(f"an array of {shape} does not hold {len(data):,} bytes", AGAIN)
    numbers = np.frombuffer(data, dtype)
    return numbers.reshape(shape, order="F" if by_columns else "C")


def _dtype(blank: _Blank, state: Any) -> np.dtype:
    order = state[1] if _is(state, tuple) and len(state) > 1 else None
    plain = (3, order, None, None, None, -1, -1, 0)
    if not _is(order, bytes) or order not in (b"<", b">", b"|") or not _same(state, plain):
        raise _Refusal("a kind of numbers is not a plain one")
    return np.dtype((order + blank.number).decode("ascii"))


def _within(value: Any) -> Iterator[Any]:
    """A value and all that is in it, each thing once however often it is there."""
    seen, left = {id(value)}, [value]
    while left:
        each = left.pop()
        yield each
        inner = each.values() if _is(each, dict) else each if type(each) in (list, tuple) else ()
        new = {id(other): other for other in inner if id(other) not in seen}
        seen |= new.keys()
        left += new.values()


def _is(value: Any, kind: type) -> bool:
    """Whether a value is of exactly this type."""
    return type(value) is kind


def _same(found: Any, plain: Any) -> bool:
    """Whether a value is this plain one; as deep as the plain one is, and no deeper."""
    if type(found) is not type(plain):
        return False
    if isinstance(plain, tuple):
        return len(found) == len(plain) and all(map(_same, found, plain))
    return found == plain


def _is_row(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a value is an array of one axis."""
    return isinstance(value, np.ndarray) and value.ndim == 1


def _is_shape(value: Any) -> TypeGuard[tuple[int, ...]]:
    """Whether a value is the shape of an array of one or two axes."""
    sound = _is(value, tuple) and 1 <= len(value) <= 2
    return sound and all(_is(n, int) and 0 <= n < 2**31 for n in value)


_STEPS: dict[bytes, Callable[[_Machine], Any]] = {
    b"\x80": lambda m: _version(m.take(1)),
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"K": lambda m: m.push(m.number("<B")),
    b"M": lambda m: m.push(m.number("<H")),
    b"J": lambda m: m.push(m.number("<i")),
    b"U": lambda m: m.push(m.take(m.number("<B"))),
    b"T": lambda m: m.push(m.take(m.number("<I"))),
    b"q": lambda m: m.put(m.number("<B")),
    b"r": lambda m: m.put(m.number("<I")),
    b"h": lambda m: m.get(m.number("<B")),
    b"j": lambda m: m.get(m.number("<I")),
    b")": lambda m: m.push(()),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"t": lambda m: m.push(tuple(m.since_mark())),
    b"]": lambda m: m.push([]),
    b"a": lambda m: m.extend([m.pop()]),
    b"e": lambda m: m.extend(m.since_mark()),
    b"}": lambda m: m.push({}),
    b"u": _Machine.set_items,
    b"c": _Machine.name,
    b"R": _Machine.called,
    b"\x81": _Machine.made,
    b"b": _Machine.filled,
}
"""What each instruction does; all but the last three only move data."""


def _version(said: bytes) -> None:
    if said != b"\x02":
        raise _Refusal(f"the file is of version {said[0]}; expected 2")
