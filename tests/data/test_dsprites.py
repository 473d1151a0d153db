import math

import numpy as np
import pytest
import torch
from scipy import stats

from mindseye.data import Data
from mindseye.data.dsprites import FILE, VOCABULARY, DSprites, _drawn, codes_of_row, row_of_codes
from mindseye.data.packed import bits_of, packed, unpacked
from mindseye.data.sprites import SIZES, render
from mindseye.errors import DataError, UsageError


def codes(*rows):
    return torch.tensor(rows, dtype=torch.int64)


def some_codes(count=200, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(n, (count,), generator=generator) for n in SIZES], 1)


# The renderer


def test_pictures_are_float_and_binary():
    x = render(some_codes())
    assert x.shape == (200, 1, 64, 64)
    assert x.dtype == torch.float32
    assert set(x.unique().tolist()) == {0.0, 1.0}


def test_areas_are_those_of_the_shapes():
    """Over all places a pixel is inside with the share of the plane that the shape covers."""
    heart = 180 * math.pi * 9.5938 / 16 * 0.66221  # of the curve with unit scales: 180 π
    areas = [(2 * 9.598) ** 2, math.pi * 12.7657 * 7.2132, heart]
    places = torch.cartesian_prod(torch.arange(32), torch.arange(32))
    for shape, area in enumerate(areas):
        for scale in (0, 5):
            rows = torch.tensor([shape, scale, 7]).expand(1024, 3)
            found = render(torch.cat([rows, places], 1)).sum((1, 2, 3)).mean().item()
            assert found == pytest.approx(area * (0.5 + scale / 10) ** 2, rel=2e-3)


def test_sprites_lie_where_they_are_placed():
    x = render(codes([0, 5, 0, 0, 0], [0, 5, 0, 31, 0], [0, 5, 0, 0, 31], [1, 2, 0, 31, 31]))
    grid = torch.arange(64) + 0.5
    mass = x[:, 0].sum((1, 2))
    column = (x[:, 0].sum(1) * grid).sum(1) / mass
    row = (x[:, 0].sum(2) * grid).sum(1) / mass
    assert column.tolist() == pytest.approx([16, 48, 16, 48], abs=0.01)
    assert row.tolist() == pytest.approx([16, 16, 48, 48], abs=0.01)


def test_a_heart_stands_on_its_tip_and_is_symmetric():
    (heart,) = render(codes([2, 5, 0, 0, 0]))[:, 0]
    assert torch.equal(heart, torch.cat([heart[:, :32].flip(1), heart[:, 32:]], 1))
    widths = heart.sum(1)
    lines = widths.nonzero()[:, 0]
    assert widths[lines[-1]] <= 2
    assert widths.argmax() < lines.float().mean()


def test_a_whole_turn_returns_the_picture():
    for shape in range(3):
        first, last = render(codes([shape, 3, 0, 5, 5], [shape, 3, 39, 5, 5]))
        assert torch.equal(first, last)


def test_turning_leaves_the_size():
    rows = torch.tensor([[2, 5, j, 16, 16] for j in range(40)])
    area = render(rows).sum((1, 2, 3))
    assert (area - area.mean()).abs().max() < 10
    assert area.mean().item() == pytest.approx(224.6, abs=2)


def test_pictures_are_the_same_alone_and_together():
    rows = some_codes(600)
    together = render(rows)
    assert torch.equal(render(rows[531:532])[0], together[531])


def test_real_frames_are_drawn_again(real):
    with np.load(real("dsprites_readme_frames.npz"), allow_pickle=False) as file:
        frames = torch.from_numpy(file["imgs"]).bool()
        rows = torch.from_numpy(file["latents_classes"].astype(np.int64))[:, 1:]
    wrong = (render(rows)[:, 0].bool() != frames).sum((1, 2))
    assert frames.sum() == 77_010
    assert wrong[rows[:, 0] < 2].sum() == 0  # squares and ellipses
    assert wrong.sum() == 8
    assert (wrong > 0).sum() == 4


# Rows, numbers and codes


def test_rows_are_those_of_the_published_file():
    expected = np.indices(SIZES).reshape(5, -1).T
    row = torch.tensor([0, 1, 31, 32, 1024, 40_960, 245_760, 737_279])
    assert codes_of_row(row).tolist() == expected[row.numpy()].tolist()
    assert torch.equal(row_of_codes(codes_of_row(row)), row)


def test_numbers_and_codes_are_each_others_inverse():
    data = DSprites()
    assert data.count == math.prod(SIZES) == 737_280
    index = torch.arange(0, data.count, 997)
    assert torch.equal(data.index_of(data.codes_of(index)), index)
    rows = some_codes()
    assert torch.equal(data.codes_of(data.index_of(rows)), rows)
    assert torch.equal(data.examples(data.index_of(rows)).x, data.pictures(rows))


def test_the_first_pictures_are_a_fair_sample():
    found = DSprites().codes_of(torch.arange(5000))
    for k, size in enumerate(SIZES):
        assert stats.chisquare(found[:, k].bincount(minlength=size)).pvalue > 1e-3


def test_batches_are_uniform_and_described():
    data = DSprites()
    x, y = data.batch(3, 100, 2)
    assert torch.equal(x, render(y.codes))
    assert y.observed.all()
    assert torch.equal(x, torch.cat([data.batch(3, 100).x, data.batch(4, 100).x]))
    assert not torch.equal(DSprites(seed=1).batch(3, 100).y.codes, y.codes[:100])
    assert torch.equal(data.batch(torch.tensor(3), 100).y.codes, y.codes[:100])


def test_a_share_is_described_and_always_the_same():
    index = torch.arange(3000)
    observed = DSprites(labelled=0.25).examples(index).y.observed
    assert (observed.all(1) == observed.any(1)).all()
    assert observed[:, 0].double().mean().item() == pytest.approx(0.25, abs=0.03)
    assert torch.equal(DSprites(labelled=0.25, seed=5).examples(index).y.observed, observed)


def test_pictures_of_a_concept_have_its_factors():
    data = DSprites()
    concept = VOCABULARY.parse("shape=square, scale=1.0, orientation=0, x=0")
    pictures = data.pictures_of(concept, 20, seed=1)
    columns = pictures[:, 0].sum(1)
    assert (columns[:, 7:25] > 0).all()
    assert columns[:, 26:].sum() == 0
    rows = (pictures[:, 0].sum(2) * torch.arange(64)).sum(1)
    assert len(rows.unique()) > 10  # y is left open
    both = data.pictures_of_each([VOCABULARY.root, concept], 20, [0, 1])
    assert torch.equal(both[1], pictures)


def test_the_mean_picture_is_bright_amid():
    mean = DSprites().mean()
    assert mean.shape == (1, 64, 64)
    assert mean[0, 0, 0] == 0
    expected = (4 * 9.598**2 + math.pi * 12.7657 * 7.2132 + 224.6) / 3 * 0.5917 / 4096
    assert mean.mean().item() == pytest.approx(expected, rel=0.03)


def test_drawing_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    assert DSprites().to("meta").batch(3, 64).x.shape == (64, 1, 64, 64)


# The published file

SMALL = (3, 2, 4, 3, 2)


def published(path, **changes):
    """A file of the published form with fewer pictures, and the pictures."""
    rows = np.indices((1, *SMALL)).reshape(6, -1).T
    images = np.random.default_rng(0).integers(0, 2, (len(rows), 64, 64)).astype(np.uint8)
    arrays = {"imgs": images, "latents_classes": rows, "latents_values": rows / 2.0}
    arrays["metadata"] = np.array({"never": "unpickled"}, object)
    np.savez_compressed(path, **(arrays | changes))
    return images


def test_packed_pictures_come_back(tmp_path):
    images = published(tmp_path / FILE)
    bits = packed(tmp_path / FILE, tmp_path / "cache", SMALL)
    assert bits.shape == (144, 512)
    assert torch.equal(unpacked(bits), torch.from_numpy(images).float()[:, None])


def test_the_file_is_packed_once(tmp_path, monkeypatch):
    published(tmp_path / FILE)
    first = packed(tmp_path / FILE, tmp_path / "cache", SMALL).clone()
    monkeypatch.setattr("mindseye.data.packed._bits", None)  # to pack again would fail
    assert torch.equal(packed(tmp_path / FILE, tmp_path / "cache", SMALL), first)
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_another_file_is_packed_anew(tmp_path):
    published(tmp_path / FILE)
    packed(tmp_path / FILE, tmp_path / "cache", SMALL)
    white = np.ones((144, 64, 64), np.uint8)
    published(tmp_path / FILE, imgs=white)
    assert (packed(tmp_path / FILE, tmp_path / "cache", SMALL) == 255).all()


def test_a_packed_file_cut_short_is_made_again(tmp_path):
    images = published(tmp_path / FILE)
    packed(tmp_path / FILE, tmp_path / "cache", SMALL)
    (made,) = (tmp_path / "cache").iterdir()
    made.write_bytes(made.read_bytes()[:-1])
    bits = packed(tmp_path / FILE, tmp_path / "cache", SMALL)
    assert torch.equal(unpacked(bits)[-1, 0], torch.from_numpy(images[-1]).float())


def test_what_is_written_to_the_bits_does_not_reach_the_file(tmp_path):
    published(tmp_path / FILE)
    packed(tmp_path / FILE, tmp_path / "cache", SMALL).fill_(0)
    assert packed(tmp_path / FILE, tmp_path / "cache", SMALL).any()


def test_stored_pictures_are_those_of_their_codes():
    """Bits of the whole data set, few of them set: row r has the bit of r modulo 4096."""
    bits = torch.zeros(math.prod(SIZES), 512, dtype=torch.uint8)
    row = torch.arange(len(bits))
    bits[row, row % 4096 // 8] = (128 >> row % 8).to(torch.uint8)
    data = DSprites(bits)
    rows = some_codes()
    assert torch.equal(data.pictures(rows).flatten(1).argmax(1), row_of_codes(rows) % 4096)
    assert data.facts()["source"] == "the published file"
    x, y = data.batch(0, 50)
    assert torch.equal(x.flatten(1).argmax(1), row_of_codes(y.codes) % 4096)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"imgs": np.full((144, 64, 64), 255, np.uint8)}, "`imgs` has other pixels than 0 and 1"),
        ({"imgs": np.zeros((143, 64, 64), np.uint8)}, r"`imgs` is \(143, 64, 64\); expected \(144"),
        ({"imgs": np.zeros((144, 64, 64))}, "`imgs` holds float64"),
        ({"latents_classes": np.zeros((144, 6), int)}, "is not in the order of the published"),
        ({"latents_classes": np.zeros((144, 5), int)}, r"`latents_classes` is \(144, 5\)"),
    ],
)
def test_damaged_arrays_are_refused_and_leave_nothing(tmp_path, changes, message):
    published(tmp_path / FILE, **changes)
    with pytest.raises(DataError, match=message):
        packed(tmp_path / FILE, tmp_path / "cache", SMALL)
    assert not list(tmp_path.rglob("*.bits*"))


def test_a_truncated_file_is_named(nowhere):
    published(nowhere / FILE)
    (nowhere / FILE).write_bytes((nowhere / FILE).read_bytes()[:-1000])
    with pytest.raises(DataError, match=rf"{FILE} is not a whole npz file .*fetch it again"):
        Data("dsprites").open(folder=str(nowhere))


# Sources


def test_auto_draws_where_there_is_no_file(nowhere):
    assert Data("dsprites").resolved().source == "rendered"
    assert Data("dsprites").open("test").facts()["source"] == "rendered, a reconstruction"
    (nowhere / FILE).touch()
    assert Data("dsprites").resolved(str(nowhere)).source == "file"


def test_the_file_can_be_insisted_on(nowhere):
    with pytest.raises(DataError, match=rf"dSprites was not found in .* Put {FILE} there"):
        Data("dsprites", source="file").open("train")
    with pytest.raises(UsageError, match=r"`source='files'` is not known.* Did you mean 'file'"):
        Data("dsprites", source="files").open("train")


def test_pictures_that_are_kept_as_bits_are_those_that_are_drawn():
    data, count = DSprites(), 5000
    data.drawn = _drawn(torch.device("cpu"), count)
    assert data.drawn.shape == (count, 512)
    codes = codes_of_row(torch.arange(0, count, 7))
    assert torch.equal(data.pictures(codes), render(codes))
    flat = render(codes).byte().flatten(1).numpy()
    assert torch.equal(bits_of(render(codes)), torch.from_numpy(np.packbits(flat, axis=1)))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_draws_the_same_pictures_also_inside_a_graph():
    here, there = DSprites(), DSprites().to("cuda")
    step = torch.tensor(3, device="cuda")
    there.batch(step, 64, 2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = there.batch(step, 64, 2)
    for number in (3, 50):
        step.fill_(number)
        graph.replay()
        assert torch.equal(drawn.x.cpu(), here.batch(number, 64, 2).x)
