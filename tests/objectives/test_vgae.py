"""The bound of graphs against the formula of its authors' code, its limits and its estimates."""

import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import binary_cross_entropy_with_logits

from mindseye.data.own_graph import OwnGraph
from mindseye.graphs import Pairs, graph_of
from mindseye.models import GraphVAE
from mindseye.objectives import gae, vgae


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    return OwnGraph(graph_of(torch.randint(30, (120, 2), generator=generator), 30))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GraphVAE(30, latent=4, hidden=8).eval()


def written_as_the_authors_do(z, links, nodes):
    """The weighted cross entropy of all entries of A + I, in their words."""
    label = torch.eye(nodes)
    label[links[:, 0], links[:, 1]] = label[links[:, 1], links[:, 0]] = 1
    edges = 2 * len(links)
    weight = torch.tensor((nodes**2 - edges) / edges)
    norm = nodes**2 / ((nodes**2 - edges) * 2)
    return norm * binary_cross_entropy_with_logits(z @ z.T, label, pos_weight=weight)


def test_the_auto_encoder_maximises_what_its_authors_do(model, data):
    batch = data.batch(0, 1)
    found = gae(model, batch.x, batch.y)
    expected = written_as_the_authors_do(model.q(batch.x).mean, data.train, 30)
    assert found.value.shape == (30,)
    assert -found.value.mean().item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_bound_is_that_of_the_authors_with_their_divergence(model, data):
    batch = data.batch(0, 1)
    q = model.q(batch.x)
    torch.manual_seed(3)
    z = q.rsample()
    torch.manual_seed(3)
    found = vgae(model, batch.x, batch.y)
    divergence = kl_divergence(Normal(q.mean, q.stddev), Normal(0, 1)).sum(-1).mean() / 30
    expected = written_as_the_authors_do(z, data.train, 30) + divergence
    assert -found.value.mean().item() == pytest.approx(expected.item(), rel=1e-5)


def test_without_noise_and_divergence_it_is_the_auto_encoder(model, data, monkeypatch):
    batch = data.batch(0, 1)
    monkeypatch.setattr(type(model.q(batch.x)), "rsample", lambda self: self.mean)
    torch.testing.assert_close(
        vgae(model, batch.x, batch.y, beta=0.0).value, gae(model, batch.x, batch.y).value
    )


def test_drawn_pairs_estimate_what_all_pairs_are_worth(model):
    generator = torch.Generator().manual_seed(0)
    graph = graph_of(torch.randint(200, (900, 2), generator=generator), 200)
    data = OwnGraph(graph)
    wide = GraphVAE(200, latent=4, hidden=8).eval()
    seen = data.batch(0, 1).x
    drawn = OwnGraph(graph, masked=0.5)
    terms = [gae(wide, seen, drawn.batch(step, 1).y).terms for step in range(60)]
    z = wide.q(seen).mean
    logits = z @ z.T
    label = torch.zeros(200, 200)
    label[data.train[:, 0], data.train[:, 1]] = label[data.train[:, 1], data.train[:, 0]] = 1
    apart = (1 - label - torch.eye(200)).bool()
    log = torch.nn.functional.logsigmoid
    for name, expected in (
        ("log_p_linked", log(logits[label.bool()])),
        ("log_p_apart", log(-logits[apart])),
    ):
        found = torch.stack([each[name].mean() for each in terms]).mean()
        assert found.item() == pytest.approx(0.5 * expected.mean().item(), rel=0.01)


def test_a_heavier_divergence_lowers_the_bound_by_its_weight(model, data):
    batch = data.batch(0, 1)
    values = []
    for beta in (1.0, 5.0):
        torch.manual_seed(1)
        values.append(vgae(model, batch.x, batch.y, beta=beta))
    kl = values[0].terms["kl_qz_p"].mean()
    difference = (values[0].value - values[1].value).mean()
    assert difference.item() == pytest.approx(4 * kl.item() / 30, rel=1e-4)


def test_gradients_reach_all_that_is_used_and_nothing_else(data):
    model = GraphVAE(30, latent=4, hidden=8)
    batch = data.batch(0, 1)
    gae(model, batch.x, batch.y).value.mean().backward()
    means, scales = model.encoder.last.grad.chunk(2, 1)
    assert means.abs().min() > 0
    assert torch.equal(scales, torch.zeros_like(scales))  # GAE has no deviation
    model.zero_grad()
    vgae(model, batch.x, batch.y).value.mean().backward()
    assert all(p.grad.abs().max() > 0 for p in model.parameters())
    assert model.encoder.last.grad.chunk(2, 1)[1].abs().min() > 0


def test_the_order_of_pairs_does_not_matter(model, data):
    seen, asked = OwnGraph(data.graph, masked=0.5).batch(0, 1)
    order = torch.randperm(len(asked.linked))
    one = gae(model, seen, asked).value.mean()
    other = gae(model, seen, Pairs(asked.linked[order].flip(1), asked.apart[order])).value.mean()
    assert one.item() == pytest.approx(other.item(), rel=1e-6)
