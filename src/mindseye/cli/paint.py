"""`mindseye paint`: pictures of a caption, stroke by stroke."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mindseye.cli.options import Caption, Device, Json, Model, Seed, chosen_device
from mindseye.cli.output import answer, file_stem, print_json, sheet_path
from mindseye.errors import UsageError

if TYPE_CHECKING:
    from mindseye.concepts import Concept
    from mindseye.painting import Painter, Painting

__all__ = ["BUILT_IN", "paint", "painter"]

BUILT_IN = "captioned-mnist"
"""The model of the package that paints."""

FILMS = {".gif": "gif", ".apng": "png"}
"""Files that are films, and in which format."""


def paint(
    description: Caption = "",
    model: Model = BUILT_IN,
    n: Annotated[int, typer.Option("-n", "--n", min=1, max=16, help="How many pictures.")] = 3,
    seed: Seed = 0,
    flip: Annotated[
        list[str] | None,
        typer.Option(help="Paint it again with one word for another, OLD=NEW; as often as given."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="File or folder to write to (.gif or .apng: a film); imagined/ if none."),
    ] = None,
    strokes: Annotated[int, typer.Option(min=1, max=64, help="The most canvases of a strip.")] = 12,
    temperature: Annotated[float, typer.Option(help="Spread of the noise; 0 is typical.")] = 1.0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Paint pictures of a caption, stroke by stroke.

    A strip shows the canvas after every stroke with a frame where it was written, and under it how
    much each word was listened to. With --flip the same noise is painted again with another word:
    what differs is what the word does. A film shows all of it moving.

    \b
    mindseye paint "the digit three is at the top left of the image"
    mindseye paint "three, top left" --flip three=five --flip "top left=bottom right"
    mindseye paint "three" -n 6 --out threes.gif
    mindseye paint "six, right of, one" --model runs/00003-captioned-pairs-align-lean
    """
    from mindseye.painting import swapped

    mind = painter(model)
    mind.model.to(chosen_device(device))
    concept = mind.concept(description)
    said = [concept]
    for text in flip or []:
        old, equals, new = text.partition("=")
        if not equals:
            raise UsageError(f"`--flip {text}` has no second word.", "Write --flip OLD=NEW.")
        said.append(swapped(said[0], _spelt(mind, old.strip()), _spelt(mind, new.strip())))
    paintings = [mind.paint(each, n, seed, temperature=temperature) for each in said]
    path = _written(mind, paintings, concept, seed, out, strokes)
    if json:
        return print_json(_report(mind, paintings, said, seed, path))
    answer(f"{said[0]}: {mind.strokes} strokes, {n} pictures")
    for each in said[1:]:
        answer(f"{each}: the same noise")
    answer(f"Wrote {path}")


def painter(model: str) -> Painter:
    """The model of a run that paints captions."""
    from mindseye.painting import Painter
    from mindseye.runs import find

    mind = find(model).mind()
    if not isinstance(mind, Painter):
        raise UsageError(
            f"`{mind.name}` paints no captions.", f"Leave --model out: {BUILT_IN} does."
        )
    return mind


def _spelt(mind: Painter, word: str) -> str:
    """A word as the model knows it: a figure or another name becomes the word it stands for."""
    names = {name.casefold(): name for name in mind.vocabulary.names}
    if word.casefold() in names or word in ("*", ""):
        return names.get(word.casefold(), word)
    (said,) = [*mind.concept(word).values.values()][:1] or [word]
    return said


def _written(
    mind: Painter,
    paintings: list[Painting],
    concept: Concept,
    seed: int,
    out: str | None,
    strokes: int,
) -> Path:
    """A sheet or a film of paintings, and where it is."""
    from mindseye.files import write_bytes
    from mindseye.paintsheets import painting_film, painting_sheet
    from mindseye.pictures import save_picture

    kind = FILMS.get(Path(out).suffix.lower()) if out else None
    if out and kind:
        write_bytes(Path(out), painting_film(paintings, window=mind.window, kind=kind))
        return Path(out)
    stem = file_stem(str(concept) if concept.level else "anything", seed)
    path = sheet_path(out, f"{stem}-strokes")
    save_picture(path, painting_sheet(paintings, window=mind.window, most=strokes))
    return path


def _report(
    mind: Painter, paintings: list[Painting], said: list[Concept], seed: int, path: Path
) -> dict[str, Any]:
    return {
        "model": mind.name,
        "seed": seed,
        "strokes": mind.strokes,
        "paintings": [
            {
                "description": str(concept),
                "captions": [str(caption) for caption in painting.captions],
                "words": painting.words,
                "attention": painting.attention.tolist(),
                "places": painting.places.tolist(),
            }
            for concept, painting in zip(said, paintings, strict=True)
        ],
        "files": [str(path)],
    }
