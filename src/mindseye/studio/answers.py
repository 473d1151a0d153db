"""Pictures, verdicts and scores on their way to the page."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Sequence
from io import BytesIO

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from mindseye.concepts import Concept
from mindseye.errors import DataError
from mindseye.figures import Verdict
from mindseye.imagine import Mind, Query
from mindseye.metrics import glance
from mindseye.pictures import png_bytes, read_picture, to_uint8
from mindseye.studio import schemas
from mindseye.studio.engine import Seen

__all__ = [
    "LINK",
    "READING",
    "command",
    "description_of",
    "imagined",
    "judged",
    "lines",
    "picture_link",
    "picture_of",
    "reading",
    "scored",
    "sprite",
]

LINK = 32_768
"""The longest picture in a link, in characters."""


def sprite(pictures: Tensor, columns: int = 8) -> schemas.Sprite:
    """Pictures `(n, C, H, W)` in one PNG file."""
    levels = to_uint8(pictures.cpu().numpy())
    count, channels, height, width = levels.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    sheet = np.zeros((rows * columns, channels, height, width), np.uint8)
    sheet[:count] = levels
    grid = sheet.reshape(rows, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    flat = grid.reshape(rows * height, columns * width, channels)
    buffer = BytesIO()
    Image.fromarray(flat[..., 0] if channels == 1 else flat).save(buffer, "PNG", compress_level=1)
    return schemas.Sprite(
        png=base64.b64encode(buffer.getvalue()).decode(),
        width=width,
        height=height,
        columns=columns,
        count=count,
    )


def judged(verdicts: Sequence[Verdict] | None) -> list[schemas.Verdict] | None:
    """What the observer sees, as plain data."""
    if verdicts is None:
        return None
    return [schemas.Verdict(seen=dict(v.seen.values), wrong=list(v.wrong)) for v in verdicts]


def scored(mind: Mind, said: Concept, verdicts: Sequence[Verdict] | None) -> schemas.Scores:
    """How good the pictures are, beside the best and the worst that can be expected."""
    if verdicts is None:
        return schemas.Scores(correctness=None, coverage=None)
    found = glance(said, [verdict.seen for verdict in verdicts], mind.observer.accuracy)
    right, even = (score and schemas.Bounded(**score._asdict()) for score in found)
    return schemas.Scores(correctness=right, coverage=even)


def description_of(concept: Concept) -> str:
    """A description as people write it; nothing where nothing is said."""
    return str(concept) if concept.level else ""


def command(*words: str | int | float, **options: str | float | bool | None) -> str:
    """A command line; options that are not set are left out.

    >>> command("imagine", "digit=4", seed=7, product=True, model=None)
    'mindseye imagine digit=4 --seed 7 --product'
    """
    parts = ["mindseye", *(shlex.quote(str(word)) for word in words)]
    for name, value in options.items():
        if value is True:
            parts.append(f"--{name}")
        elif value is not None and value is not False:
            parts += [f"--{name}", shlex.quote(str(value))]
    return " ".join(parts)


def lines(
    mind: Mind,
    words: Sequence[str | int],
    python: str,
    *imports: str,
    **options: str | float | bool | None,
) -> schemas.Lines:
    """The command line and the Python lines that make what a mind has just made.

    Arguments:
        mind: Who made it.
        words: The command and its arguments; nothing where no command does it.
        python: What is done with `mind`.
        imports: Lines that Python needs first.
        options: Options of the command.
    """
    chosen = None if mind.source == "mnist-a" else mind.source
    head = "\n".join(["import mindseye", *imports])
    return schemas.Lines(
        command=command(*words, model=chosen, **options) if words else "",
        python=f"{head}\n\nmind = mindseye.load({mind.source!r})\n{python}",
    )


READING = ("import torch", "from mindseye.pictures import read_picture")
"""What Python imports to read a picture file."""


def reading(file: str) -> str:
    """The line that reads a picture file as a mind sees it.

    >>> reading("'picture.png'")
    "x = torch.from_numpy(read_picture('picture.png', mind.model.shape))"
    """
    return f"x = torch.from_numpy(read_picture({file}, mind.model.shape))"


def imagined(
    mind: Mind, asked: Query, seen: Seen, seconds: schemas.Seconds, *, samples: bool = False
) -> schemas.Imagined:
    """One query and its pictures, as an answer."""
    concept = asked.concept
    return schemas.Imagined(
        model=mind.name,
        description=description_of(concept),
        said=dict(concept.values),
        open=list(concept.missing),
        n=asked.n,
        seed=asked.seed,
        pictures=sprite(seen.imagined.samples if samples else seen.imagined.means),
        verdicts=judged(seen.verdicts),
        scores=scored(mind, concept, seen.verdicts),
        lines=_imagine_lines(mind, concept, asked, samples=samples),
        seconds=seconds,
    )


def _imagine_lines(mind: Mind, concept: Concept, asked: Query, *, samples: bool) -> schemas.Lines:
    said, warm = description_of(concept), asked.temperature != 1
    changed = [
        "" if samples else ", mean=True",
        "" if asked.fill else ", fill=False",
        f", temperature={asked.temperature:g}" if warm else "",
    ]
    return lines(
        mind,
        ("imagine", said),
        f"pictures = mind.imagine({said!r}, n={asked.n}, seed={asked.seed}{''.join(changed)})",
        n=asked.n,
        seed=asked.seed,
        samples=samples,
        product=not asked.fill,
        temperature=f"{asked.temperature:g}" if warm else None,
    )


def picture_link(picture: np.ndarray) -> str:
    """A picture `(C, H, W)` as text that can stand in a link."""
    text = base64.urlsafe_b64encode(png_bytes(picture)).decode().rstrip("=")
    if len(text) > LINK:
        raise DataError(f"The picture is too detailed for a link: {len(text)} of {LINK}.")
    return text


def picture_of(text: str, shape: tuple[int, int, int]) -> Tensor:
    """The picture in a link, `(C, H, W)`."""
    if len(text) > LINK:
        raise DataError(f"The picture in the link has {len(text)} characters; {LINK} is the limit.")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
    except ValueError:
        raise DataError("The picture in the link is not base64url.") from None
    return torch.from_numpy(read_picture(data, shape, max_pixels=2**22, arrays=False))
