"""Pictures that carry their codes in the pixels, so that an observer can read them exactly."""

import pytest
import torch

from mindseye.concepts import Attribute, Vocabulary

WORDS = Vocabulary(
    [
        Attribute("digit", [str(digit) for digit in range(10)]),
        Attribute("size", ["big", "small"]),
        Attribute("orientation", ["clockwise", "upright", "counter-clockwise"]),
        Attribute("location", ["top-left", "top-right", "bottom-left", "bottom-right"]),
    ]
)


def as_pictures(codes):
    return codes.to(torch.float32)[:, None, None, :]  # (B, 1, 1, K)


@pytest.fixture
def each():
    """An imaginer of many concepts, made of one that imagines them one by one."""

    def together(imagine):
        return lambda concepts, n, seeds: torch.stack(
            [imagine(concept, n, seed) for concept, seed in zip(concepts, seeds, strict=True)]
        )

    return together


@pytest.fixture
def words():
    return WORDS


@pytest.fixture
def observer():
    return lambda pictures: pictures[:, 0, 0, :].to(torch.int64)


@pytest.fixture
def perfect(each):
    """Say what was said, draw the rest uniformly."""

    def imagine(concept, n, seed):
        generator = torch.Generator().manual_seed(seed)
        columns = [
            torch.randint(size, (n,), generator=generator)
            if code is None
            else torch.full((n,), code)
            for size, code in zip(concept.vocabulary.sizes, concept.codes, strict=True)
        ]
        return as_pictures(torch.stack(columns, dim=-1))

    return each(imagine)


@pytest.fixture
def wrong(perfect, each):
    """Show the next value of everything that was said."""

    def imagine(concept, n, seed):
        sizes = concept.vocabulary.sizes
        codes = perfect([concept], n, [seed])[0, :, 0, 0, :].to(torch.int64)
        said = torch.tensor([code is not None for code in concept.codes])
        return as_pictures(torch.where(said, (codes + 1) % torch.tensor(sizes), codes))

    return each(imagine)
