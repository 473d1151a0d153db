"""Links measured: a perfect model, what needs no training, and a run with its files."""

import json

import pytest
import torch

from mindseye.data.own_graph import OwnGraph
from mindseye.errors import UsageError
from mindseye.evaluation.links import evaluate_links, heuristics, links_report
from mindseye.graphs import graph_of
from mindseye.layouts import principal
from mindseye.models import GraphVAE
from mindseye.papers import get_recipe, get_table
from mindseye.reproduction import make_ledger_plan, reproduce_ledger
from mindseye.runs import create
from mindseye.sparse import Sparse


def cliques(count: int = 6, size: int = 8, features: bool = True):
    """Groups in which all know each other; features say the group."""
    nodes = count * size
    every = torch.combinations(torch.arange(nodes))
    links = every[every[:, 0] // size == every[:, 1] // size]
    each = torch.arange(nodes)
    known = Sparse.of(each, each // size, (nodes, count)) if features else None
    return graph_of(links, nodes, features=known)


class Knowing(GraphVAE):
    """A model that places the nodes of a group together, or does the opposite."""

    def __init__(self, sign: float = 1.0):
        super().__init__(6, latent=6, hidden=4)
        self.sign = sign

    def q(self, x):
        from mindseye.distributions.normal import DiagonalNormal

        z = x.features.dense()
        return DiagonalNormal(z, torch.ones_like(z))

    def p_links(self, z):
        from mindseye.distributions.links import Links

        return Links(z, score=lambda one, other: self.sign * (one * other).sum(-1))


@pytest.fixture
def data():
    return OwnGraph(cliques(), "test")


def test_who_knows_the_groups_finds_every_link(data):
    report = links_report(Knowing(), data)
    assert {name: found.mean for name, found in report.scores.items()} == {
        "auc": 1.0,
        "ap": 1.0,
        "hits@10": 1.0,
    }
    assert report.scores["auc"].low == 1.0


def test_who_is_always_wrong_finds_none(data):
    report = links_report(Knowing(-1.0), data)
    assert report.scores["auc"].mean == 0
    assert report.scores["hits@10"].mean == 0


def test_shared_neighbours_and_like_features_find_the_links_of_cliques(data):
    found = heuristics(data)
    assert found["shared neighbours"]["auc"] > 0.99
    assert found["like features"]["auc"] == 1.0


def test_without_features_nothing_is_said_of_them():
    assert list(heuristics(OwnGraph(cliques(features=False), "test"))) == ["shared neighbours"]


def test_what_a_model_is_not_shown_is_not_set_beside_it():
    unseen = OwnGraph(cliques(), "test", featureless=True)
    assert list(heuristics(unseen)) == ["shared neighbours"]


def test_shared_neighbours_are_those_of_adamic_and_adar():
    networkx = pytest.importorskip("networkx")
    from mindseye.data.surroundings import Neighbours
    from mindseye.evaluation.links import _shared

    generator = torch.Generator().manual_seed(0)
    graph = graph_of(torch.randint(30, (90, 2), generator=generator), 30)
    neighbours = Neighbours.of(graph.links, 30)
    matrix = Sparse(neighbours.starts, neighbours.nodes, torch.ones(len(neighbours.nodes)), 30)
    degrees = neighbours.starts.diff().float()
    pairs = torch.randint(30, (40, 2), generator=generator)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    found = _shared(matrix, pairs, 1 / degrees.clamp_min(2).log())
    other = networkx.Graph(graph.links.tolist())
    other.add_nodes_from(range(30))
    theirs = networkx.adamic_adar_index(other, pairs.tolist())
    torch.testing.assert_close(found, torch.tensor([score for _, _, score in theirs]))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = create(get_recipe("graph/vgae-tiny"), tmp_path_factory.mktemp("graph") / "runs")
    list(made.train())
    return made


def test_a_run_is_measured_and_its_report_is_kept(run):
    report = evaluate_links(run, part="validation")
    kept = json.loads((run.path / "links-validation.json").read_text())
    assert kept["scores"]["auc"]["mean"] == report.scores["auc"].mean
    assert kept["part"] == "validation"
    assert kept["chance"] == {"auc": 0.5, "ap": 0.5}
    text, page = report.to_text(), report.to_markdown()
    assert f"{100 * report.scores['ap'].mean:.2f}" in text
    assert "| AUC |" in page
    assert (run.path / "samples.png").stat().st_size > 1000


def test_a_resumed_run_is_the_same_to_the_bit(tmp_path):
    whole, cut = (create(get_recipe("graph/masked-tiny"), tmp_path / name) for name in "ab")
    list(whole.train())
    records = cut.train()
    for record in records:
        if record.step >= 3:
            break
    records.close()
    list(cut.train())
    weights = [run.weights_file.read_bytes() for run in (whole, cut)]
    assert weights[0] == weights[1]


def test_other_models_know_nothing_of_links(tmp_path):
    made = create(get_recipe("sines/compvae-tiny"), tmp_path)
    list(made.train())
    with pytest.raises(UsageError, match="knows nothing of links"):
        made.linker()
    with pytest.raises(UsageError, match="knows nothing of links"):
        evaluate_links(made)


def test_a_model_of_a_graph_imagines_no_pictures(run):
    with pytest.raises(UsageError, match="knows the links of a graph, and no pictures"):
        run.mind()


# The table


def write_planetoid(folder, name, nodes, columns):
    """A graph of groups, as npz files of Planetoid's keys, with as many nodes and words."""
    import numpy as np

    generator = np.random.default_rng(0)
    group = np.arange(nodes) % 3
    links = generator.integers(0, nodes, (6 * nodes, 2))
    links = links[(group[links[:, 0]] == group[links[:, 1]]) & (links[:, 0] < links[:, 1])]
    np.savez(
        folder / f"{name}.npz",
        feat_data=np.ones(nodes, np.float32),
        feat_indices=group.astype(np.int32),
        feat_indptr=np.arange(nodes + 1, dtype=np.int32),
        feat_shape=np.array([nodes, columns], np.int32),
        edges=np.unique(links, axis=0).astype(np.int32),
        labels=group.astype(np.int16),
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kipf")
    write_planetoid(folder, "cora", 2708, 1433)
    plan = make_ledger_plan(
        get_table("kipf-vgae"),
        size="tiny",
        seeds=2,
        rows=["cora-gae", "cora-vgae-featureless", "cora-masked"],
        data=str(folder),
    )
    with pytest.MonkeyPatch.context() as patch:  # near ones stay near in half a minute
        patch.setattr("mindseye.linking.neighbourly", lambda z, progress: principal(z))
        return plan, reproduce_ledger(plan, folder / "made", data=str(folder))


def test_a_seed_is_another_division_too(table):
    plan, _ = table
    recipes = [plan.recipe(plan.rows[0], seed) for seed in plan.seeds]
    assert [recipe.data.split_seed for recipe in recipes] == [0, 1]
    assert [recipe.training.seed for recipe in recipes] == [0, 1]


def test_the_spread_of_the_table_is_the_standard_error(table):
    _, result = table
    cell = result["entries"][0]["ours"]["auc"]
    one, two = cell["seeds"].values()
    assert cell["deviation"] == pytest.approx(abs(one - two) / 2)
    assert result["spread"] == "standard error"


def test_the_table_has_what_needs_no_training_below(table):
    _, result = table
    limits = {row["label"]: row["ours"]["auc"]["mean"] for row in result["limits"]}
    assert set(limits) == {"Cora, shared neighbours", "Cora, like features"}
    assert limits["Cora, like features"] > 80  # a third of the pairs apart are of one group


def test_the_table_holds_what_was_printed():
    rows = {row.family: row.published for row in get_table("kipf-vgae").rows}
    assert rows["cora-vgae"] == {"auc": "91.4 (92.1)", "ap": "92.6 (92.8)"}
    assert rows["citeseer-gae-featureless"] == {"auc": "78.7 (76.9)", "ap": "84.1 (82.6)"}
    assert rows["citeseer-masked"] == {}


def test_sizes_and_seeds_that_the_table_does_not_have_are_refused():
    with pytest.raises(UsageError, match="`size='lean'` is not one of kipf-vgae's"):
        make_ledger_plan(get_table("kipf-vgae"), size="lean")
    with pytest.raises(UsageError, match="`split_seed` cannot be set"):
        make_ledger_plan(get_table("kipf-vgae"), size="paper", settings={"split_seed": "3"})
