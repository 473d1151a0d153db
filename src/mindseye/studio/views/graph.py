"""Graph: the nodes of a graph in a plane, and whom a model expects to be linked to whom."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from torch import Tensor

from mindseye.errors import MindseyeError, UsageError
from mindseye.graphsheets import Drawn, drawn
from mindseye.layouts import MOST
from mindseye.linking import Likely, Linker
from mindseye.runs import spelled
from mindseye.studio import schemas
from mindseye.studio.answers import command
from mindseye.studio.engine import Late
from mindseye.studio.house import ERRORS, House, ModelName, TheHouse, Watch
from mindseye.studio.linkscores import LinkScores, link_scores_of
from mindseye.studio.shelf import Opened
from mindseye.studio.views.view import View

__all__ = ["VIEW"]

MOST_LIKELY = 100
"""Links of one answer."""

WHILE = 1.0
"""Seconds that a request waits for a plane that is being laid out."""

Layout = Literal["near", "straight"]
Place = tuple[float, float]

router = APIRouter()


class Nodes(schemas.Answer):
    """The nodes that are drawn; every list has an entry for each."""

    numbers: list[int] = Field(description="Counted from 0, as in the graph.")
    names: list[str]
    classes: list[int] = Field(description="The class of each; empty where there are none.")
    links: list[int] = Field(description="How many links of the graph each has.")
    places: list[Place] = Field(description="In the straight layout.")


class Graph(schemas.Answer):
    """A graph as it is drawn: all of it, or a sample of a large one."""

    model: str
    count: int = Field(description="Nodes of the graph.")
    links: int = Field(description="Links of the graph.")
    trained: int = Field(description="Links that the model was trained on.")
    features: int = Field(description="Features of a node; 0 where there are none.")
    classes: list[str]
    nodes: Nodes
    drawn: list[tuple[int, int]] = Field(
        description="Training links among the nodes that are drawn, by their places in the lists."
    )
    near: bool = Field(description="Whether the graph is small enough for the other layout.")
    scores: LinkScores | None
    missing: str = Field(description="How to get the scores, or what is the matter with them.")
    lines: schemas.Lines
    seconds: schemas.Seconds


class Plane(schemas.Answer):
    """Where the nodes are that are drawn, once that is known."""

    model: str
    layout: Layout
    places: list[Place] | None = Field(description="Null while they are being laid out.")
    done: int = Field(description="Steps of laying out.")
    steps: int = Field(description="Of so many; 0 while that waits for another.")
    lines: schemas.Lines
    seconds: schemas.Seconds


class Node(schemas.Answer):
    """A node, wherever it is in the straight layout."""

    number: int
    name: str
    class_: int | None = Field(alias="class", description="The number of its class, if it has one.")
    at: Place


class LikelyNode(Node):
    """A node that another may be linked to."""

    probability: float
    known: Literal["new", "held out", "training"] = Field(
        description="Whether it is a link of the graph, and whether the model was told."
    )


class LikelyLinks(schemas.Answer):
    """A node, and the nodes that it is most likely linked to."""

    model: str
    node: Node
    links: int = Field(description="Of the node, in the graph.")
    trained: int = Field(description="Those of them that the model was trained on.")
    likely: list[LikelyNode] = Field(description="The likeliest first.")
    lines: schemas.Lines
    seconds: schemas.Seconds


@router.get("/api/graph", responses=ERRORS)
async def graph(house: TheHouse, model: ModelName = "") -> Graph:
    """The nodes of a graph with their classes, its training links, and what the model is worth."""
    watch, linker, opened = Watch(), await house.linker(model), house.opened(model)

    def looked() -> tuple[Drawn, Nodes]:
        shown = drawn(linker)
        return shown, _nodes(linker, shown.nodes)

    found = await house.engine.run(looked)
    shown, nodes = found.value
    whole, (scores, missing) = linker.graph, _scores(house, opened)
    return Graph(
        model=opened.name,
        count=whole.nodes,
        links=len(whole.links),
        trained=len(linker.data.train),
        features=whole.features.width if whole.features else 0,
        classes=list(whole.classes),
        nodes=nodes,
        drawn=shown.links.tolist(),
        near=whole.nodes <= MOST,
        scores=scores,
        missing=missing,
        lines=_plane_lines(opened, "straight"),
        seconds=watch.seconds(found.seconds),
    )


@router.get("/api/graph/plane", responses=ERRORS)
async def plane(
    house: TheHouse,
    model: ModelName = "",
    layout: Annotated[
        Layout,
        Query(
            description="straight: principal components, at once; near: near ones stay near, which"
            " takes seconds the first time. Ask again while there are no places."
        ),
    ] = "near",
) -> Plane:
    """Where the nodes are that are drawn, or how far laying them out is."""
    watch, linker, opened = Watch(), await house.linker(model), house.opened(model)
    if layout == "near" and linker.graph.nodes > MOST:
        raise UsageError(
            f"the graph has {linker.graph.nodes:,} nodes; near ones stay near among {MOST:,} and"
            " fewer.",
            "Ask for `layout=straight`.",
        )
    straight, done, steps = layout == "straight", 0, 0
    if not straight and (await house.engine.run(linker.laid_out)).value is None:
        name = f"{opened.name} {id(linker)}"
        work = house.layouts.begin(name, lambda tell: linker.plane(progress=tell))
        try:
            await work.within(WHILE)
        except Late:
            return Plane(
                model=opened.name,
                layout=layout,
                places=None,
                done=work.done,
                steps=work.steps,
                lines=_plane_lines(opened, layout),
                seconds=watch.seconds(0),
            )
        done, steps = work.done, work.steps
    found = await house.engine.run(
        lambda: _places(linker.plane(straight=straight)[drawn(linker).nodes])
    )
    return Plane(
        model=opened.name,
        layout=layout,
        places=found.value,
        done=done,
        steps=steps,
        lines=_plane_lines(opened, layout),
        seconds=watch.seconds(found.seconds),
    )


@router.get("/api/graph/links", responses=ERRORS)
async def links(
    house: TheHouse,
    node: Annotated[
        str,
        Query(
            min_length=1,
            max_length=200,
            description="Its name, or its number where nodes have no names.",
        ),
    ],
    model: ModelName = "",
    n: Annotated[int, Query(ge=1, le=MOST_LIKELY, description="How many links, at most.")] = 10,
    known: Annotated[bool, Query(description="Also links that the model was trained on.")] = False,
) -> LikelyLinks:
    """A node, and the nodes that it is most likely linked to."""
    watch, linker, opened = Watch(), await house.linker(model), house.opened(model)

    def asked() -> tuple[int, list[Likely], Tensor]:
        found = linker.graph.node(node)
        return found, linker.likeliest(node, n, known=known), linker.plane(straight=True)

    found = await house.engine.run(asked)
    number, likely, places = found.value
    every, trained = linker.degrees[number].tolist()
    return LikelyLinks(
        model=opened.name,
        node=Node(**_node(linker, number, places)),
        links=every,
        trained=trained,
        likely=[
            LikelyNode(
                **_node(linker, each.other, places),
                probability=each.probability,
                known=each.known,  # pyright: ignore[reportArgumentType]
            )
            for each in likely
        ],
        lines=_links_lines(opened, node, n, known),
        seconds=watch.seconds(found.seconds),
    )


def _nodes(linker: Linker, numbers: Tensor) -> Nodes:
    """What is told of the nodes that are drawn."""
    whole = linker.graph
    return Nodes(
        numbers=numbers.tolist(),
        names=[whole.name(number) for number in numbers.tolist()],
        classes=[] if whole.labels is None else whole.labels[numbers].tolist(),
        links=linker.degrees[numbers, 0].tolist(),
        places=_places(linker.plane(straight=True)[numbers]),
    )


def _node(linker: Linker, number: int, places: Tensor) -> dict[str, Any]:
    """What is told of one node."""
    whole = linker.graph
    return {
        "number": number,
        "name": whole.name(number),
        "class": None if whole.labels is None else int(whole.labels[number]),
        "at": _places(places[number : number + 1])[0],
    }


def _places(at: Tensor) -> list[Place]:
    """Places in few digits; none of them is -0."""
    return [(round(x, 4) + 0.0, round(y, 4) + 0.0) for x, y in at.tolist()]


def _scores(house: House, opened: Opened) -> tuple[LinkScores | None, str]:
    """What the model is worth; where that is not known, why and what to do."""
    try:
        found = link_scores_of(opened.run)
    except MindseyeError as error:
        return None, house.shelf.without_folders(f"{error.message} {error.hint}")
    measure = command("evaluate", spelled(opened.run))
    return found, "" if found else f"It was not measured yet. `{measure}` does it."


def _linker(opened: Opened, python: str) -> str:
    """Python lines that begin with the run."""
    head = "from mindseye.runs import find"
    return f"{head}\n\nlinker = find({spelled(opened.run)!r}).linker()\n{python}"


def _plane_lines(opened: Opened, layout: Layout) -> schemas.Lines:
    straight = layout == "straight"
    asked = "straight=True" if straight else ""
    return schemas.Lines(
        command=command("plane", spelled(opened.run), straight=straight),
        python=_linker(opened, f"at = linker.plane({asked})"),
    )


def _links_lines(opened: Opened, node: str, n: int, known: bool) -> schemas.Lines:
    source, asked = spelled(opened.run), f", n={n}{', known=True' if known else ''}"
    typed = command("links", source, node, n=n, known=known)
    if node.startswith("-"):  # a name, and no option
        typed = f"{command('links', source, n=n, known=known)} -- {shlex.quote(node)}"
    return schemas.Lines(
        command=typed, python=_linker(opened, f"links = linker.likeliest({node!r}{asked})")
    )


VIEW = View(
    "graph",
    "Graph",
    "The nodes of a graph in a plane: point at one, and see whom it is likely linked to.",
    router,
    lambda mind: True,
    shows_graphs=True,
)
