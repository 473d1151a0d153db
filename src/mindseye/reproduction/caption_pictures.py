"""The pictures of captions: Figures 1 and 3 to 7 of Cremer and Kushman (2018), and our world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from mindseye.charts import Series, split_chart
from mindseye.data import Batch, Data
from mindseye.data.places import find, places
from mindseye.files import read_json
from mindseye.holes import holes_plane
from mindseye.imagine import Mind
from mindseye.labels import Labels, decode
from mindseye.reproduction.drawing import Labelled, Picture
from mindseye.runs import Run
from mindseye.sheets import row_sheet
from mindseye.wordsheets import Place, Shown, Telling, word_sheet

__all__ = ["holes", "imagined", "inference", "surgery", "told", "worlds"]

SPENT = {
    "KL(q(z|x), q(z))": "from q(z): tells pictures apart",
    "KL(q(z), p)": "of q(z) from p(z): lost",
}
"""What the rate is spent on, by the names of the measures."""

ASKED = {
    "two-objects": (
        "large red rubber cube left small blue metal sphere",
        "small yellow metal cylinder front large green rubber sphere",
        "large purple metal sphere behind large gray rubber cylinder",
        "* red * cube left * * * sphere",
    ),
    "celeba-words": (
        "male smiling black-hair - - - - - -",
        "female blond-hair wavy-hair heavy-makeup smiling - - - -",
        "male bald eyeglasses - - - - - -",
        "female wearing-hat",
    ),
}
"""What is imagined of every data set; the last leaves words open."""


TITLES = {"two-objects": "Two Objects", "celeba-words": "CelebA"}

UNTOLD = {
    "two-objects": "Which object comes first is not in the latent: the first words are uncertain.",
    "celeba-words": "The order of the words is not in the latent: every place is uncertain.",
}
"""What the captions of a data set say and its pictures do not."""

PRIVATE = ("celeba-words",)
"""Data sets whose pictures may not be handed on: their reconstructions are shown alone."""


def told(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Figures 3 and 5: pictures, reconstructions and draws of the prior, with their words."""
    for label, run in _models(runs):
        mind, batch = _mind(run, device), _test(run, data, 2)
        rows, name = [], run.recipe.data.name
        for i, caption in enumerate(decode(mind.vocabulary, batch.y)):
            z = mind.read(batch.x[i : i + 1]).mean
            if name in PRIVATE:
                rows.append(_telling(mind, "reconstruction", z, i, note=f"of {caption}"))
                continue
            original = Shown("test picture", batch.x[i].numpy(), str(caption))
            rows.append(_telling(mind, "reconstruction", z, i, original))
        noise = torch.randn(2, mind.model.latent, generator=torch.Generator().manual_seed(0))
        rows += [_telling(mind, "prior", z[None].to(mind.device), i) for i, z in enumerate(noise)]
        shown = "Reconstructions"
        if name not in PRIVATE:
            shown = "Test pictures with their captions, reconstructions"
        caption = (
            f"{shown} and draws from p(z). A chart shows the chances of the words of a place after "
            f"the words before it; the drawn word is black. {UNTOLD[name]}"
        )
        figure = "Words told, Figure 3" if name == "two-objects" else "Words told, Figure 5"
        yield Picture(f"told-{name}", figure, caption, word_sheet(rows, title=label))


def imagined(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 6
) -> Iterator[Picture]:
    """Figures 4 and 6: pictures of captions by the true and by the aggregate posterior."""
    flows = [
        (label, run)
        for label, run in runs
        if run.recipe.model.flow and not run.recipe.data.compositional
    ]
    for name, asked in ASKED.items():
        rows = []
        for text in asked:
            for _, run in [each for each in flows if each[1].recipe.data.name == name]:
                mind, fit = _mind(run, device), run.recipe.objectives[0]
                drawn = mind.imagined(text, n)
                words = [str(caption) for caption in mind.tell(drawn.latents).captions]
                rows.append((f"{text}\n{fit}", drawn.means.cpu().numpy(), words, None))
        if rows:
            figure = "Captions imagined, Figure 4" if name == "two-objects" else "Figure 6"
            caption = (
                "Draws of q(z|y) fitted to the true posterior and to the aggregate posterior; "
                "under every picture stands the caption that the same latent writes. The last "
                "caption leaves words open."
            )
            sheet = row_sheet(rows, title=TITLES[name])
            yield Picture(f"imagined-{name}", figure, caption, sheet)


def inference(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Figure 7: what the words of a reconstruction are drawn from, by either inference."""
    chosen = {
        run.recipe.model.inference: run
        for _, run in runs
        if run.recipe.model.kind == "vlvae"
        and run.recipe.data.name == "two-objects"
        and not (run.recipe.model.flow or run.recipe.data.compositional)
    }
    if len(chosen) < 2:
        return
    batch, rows = _test(chosen["marginal"], data, 2), []
    for i in range(2):
        original = Shown("test picture", batch.x[i].numpy(), _captions(batch)[i])
        one = Batch(batch.x[i : i + 1], type(batch.y)(*(each[i : i + 1] for each in batch.y)))
        for name, run in chosen.items():
            mind = _mind(run, device)
            x, y = one.x.to(mind.device), one.y.to(mind.device)
            with torch.no_grad():
                z = mind.model.q_xy(x, y).mean  # pyright: ignore[reportAttributeAccessIssue]
            rows.append(_telling(mind, f"{name} inference", z, i, original))
    caption = (
        "Inferred from the picture alone, the latent does not know which object the caption "
        "begins with, nor its relation; inferred from the caption too, it does."
    )
    sheet = word_sheet(rows, title="Joint and marginal inference")
    yield Picture("inference", "Joint and marginal inference, Figure 7", caption, sheet)


def holes(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Figure 1: true posteriors of two captions, and the aggregates of their pictures."""
    for _, run in runs:
        if run.recipe.data.name != "one-object" or run.recipe.model.latent != 2:
            continue
        mind = _mind(run, device)
        train = run.recipe.data.open("validation", folder=data)
        captions = [mind.vocabulary.parse(text) for text in ("large blue", "small red")]
        pictures = [train.pictures_of(each, 400, seed=0) for each in captions]
        image = holes_plane(mind, captions, pictures)
        caption = (
            "Lines: 50 and 90 % of the true posterior p(z|y) of two captions. Filled: the mean of "
            "q(z|x) over 400 pictures of each. Where a line encloses no colour there is a hole: a "
            "latent that fits the words and belongs to no picture."
        )
        yield Picture("holes", "Holes of the aggregate, Figure 1", caption, image)


def surgery(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None
) -> Iterator[Picture]:
    """Equations 17 and 18: what the rate of a bound is spent on."""
    series = []
    for label, run in runs:
        file = run.path / "captions.json"
        found = read_json(file)["values"] if file.is_file() else {}
        if all(name in found for name in SPENT):
            series.append(Series(label, [found[name]["mean"] for name in SPENT]))
    if series:
        chart = split_chart(series, list(SPENT.values()), "KL(q(z|x), p(z)), split", "nats")
        caption = (
            "The divergence of q(z|x) from the prior is that from the aggregate q(z), which tells "
            "pictures apart, and that of the aggregate from the prior, which is lost: eq. 17, "
            "estimated with the flow q(z)."
        )
        yield Picture("surgery", "What the rate is spent on, eq. 17", caption, chart)


def worlds(
    runs: Sequence[Labelled], device: torch.device | str, data: str | None, n: int = 8
) -> Iterator[Picture]:
    """Ours beside i-CLEVR, of the same captions."""
    if not find(["iclevr_index.npz"], places(data, "iclevr")):
        return
    theirs = Data("iclevr").open("test", folder=data).examples(torch.arange(n))
    height = theirs.x.shape[-1]
    ours = Data("two-objects", source="wide", side=2 * height).open("test")
    concepts = decode(ours.vocabulary, theirs.y)
    said = [each.say("first size", "large").say("second size", "large") for each in concepts]
    said = [each.say("first material", "rubber").say("second material", "rubber") for each in said]
    drawn = torch.cat([ours.pictures_of(each, 1, seed=i) for i, each in enumerate(said)])
    rows = [
        ("i-CLEVR", _wide(theirs.x, height), [str(each) for each in concepts], None),
        ("ours", _wide(drawn, height), [str(each) for each in said], None),
    ]
    caption = "Renders of i-CLEVR, and ours of the same words."
    yield Picture("worlds", "Two worlds", caption, row_sheet(rows))


def _telling(
    mind: Mind, label: str, z: Tensor, seed: int, *before: Shown, note: str = ""
) -> Telling:
    """A latent `(1, D)`: its expected picture, perhaps after another one, and its words."""
    found = mind.tell(z, seed)
    chances = [each[0].tolist() for each in found.words.by_attribute()]
    code = found.captions[0].codes
    places = [
        Place(attribute.values, probs, chosen or 0)
        for attribute, probs, chosen in zip(mind.vocabulary, chances, code, strict=True)
    ]
    picture = mind.expected(z)[0].cpu().numpy()
    return Telling([*before, Shown(label, picture, note)], places)


def _wide(pictures: Tensor, height: int) -> Tensor:
    """Pictures that were squeezed into a square, of a height, at the width they had."""
    size = (height, round(height * 4 / 3))
    resized = torch.nn.functional.interpolate(pictures, size, mode="bilinear", antialias=True)
    return resized.clamp(0, 1)


def _captions(batch: Batch[Labels]) -> list[str]:
    sentence = Data("two-objects").vocabulary
    return [str(caption) for caption in decode(sentence, batch.y)]


def _models(runs: Sequence[Labelled]) -> list[Labelled]:
    """The models by marginal inference that flows were fitted to, the last of every data set."""
    found = {
        run.recipe.data.name: (label, run)
        for label, run in runs
        if run.recipe.model.kind == "vlvae"
        and run.recipe.model.inference == "marginal"
        and run.recipe.data.name in ASKED
        and not (run.recipe.model.flow or run.recipe.data.compositional)
    }
    return list(found.values())


def _test(run: Run, data: str | None, n: int) -> Batch[Labels]:
    return run.recipe.data.open("test", folder=data).examples(torch.arange(n))


def _mind(run: Run, device: torch.device | str) -> Mind:
    mind = run.mind()
    mind.model.to(device)
    return mind
