import io
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from mindseye.data import ENDLESS, Data, bsds
from mindseye.data.bsds import Bsds, patches, read_images
from mindseye.errors import DataError, UsageError
from mindseye.papers import get_table
from mindseye.reproduction import make_ledger_plan, reproduce_ledger


def some_images(seed=0, shapes=((20, 30), (30, 20), (8, 8))):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.integers(0, 256, shape).astype(np.uint8)) for shape in shapes]


def jpg(seed, size=(20, 16)):
    rng = np.random.default_rng(seed)
    file = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (*size, 3)).astype(np.uint8)).save(file, "JPEG")
    return file.getvalue()


FILES = {
    f"BSDS300/images/{half}/{1000 + i}.jpg": jpg(i + 500 * (half == "test"))
    for half, count in (("train", 200), ("test", 100))
    for i in range(count)
}


def archive(folder, files=FILES):
    with zipfile.ZipFile(folder / "BSDS300-images.zip", "w") as written:
        for name, data in files.items():
            written.writestr(name, data)
    return folder


# Patches


def test_a_patch_is_noisy_pixels_without_their_mean():
    """Added up and rounded down, the numbers are pixels of an image, up to one grey value."""
    images = some_images()
    data = Bsds(images)
    x = data.examples(torch.arange(200)).x
    assert x.shape == (200, 63, 1, 1)
    assert x.dtype == torch.float32
    windows = torch.cat([i.unfold(0, 8, 1).unfold(1, 8, 1).reshape(-1, 64) for i in images])
    centred = (windows.double() + 0.5) - (windows.double() + 0.5).mean(1, keepdim=True)
    found = 256 * patches(x).flatten(1).double()
    distance = (found[:, None] - centred[None]).abs().amax(2)  # (200, places)
    assert (distance.min(1).values < 1).all()  # noise is within half a grey value, twice


def test_every_place_of_every_image_is_drawn():
    images = some_images(shapes=[(9, 10), (10, 9), (8, 12)])
    data = Bsds(images)
    assert data.places == 2 * 3 + 3 * 2 + 1 * 5
    grey = data._grey(torch.arange(data.places)).view(-1, 8, 8)
    expected = torch.cat([i.unfold(0, 8, 1).unfold(1, 8, 1).reshape(-1, 8, 8) for i in images])
    assert torch.equal(grey, expected)


def test_noise_is_uniform_and_of_its_own():
    data = Bsds([torch.zeros(8, 8, dtype=torch.uint8)])
    noise = 256 * data.examples(torch.arange(4000)).x.flatten(1).double()
    assert noise.var().item() == pytest.approx(63 / 64 / 12, rel=0.02)
    correlation = torch.corrcoef(noise.T) - torch.eye(63)
    assert correlation.abs().max() < 0.1


def test_the_last_pixel_makes_the_mean_zero():
    x = Bsds(some_images()).examples(torch.arange(50)).x
    whole = patches(x)
    assert whole.shape == (50, 1, 8, 8)
    assert whole.mean((1, 2, 3)).abs().max() < 1e-6
    assert torch.equal(whole.flatten(1)[:, :63], x[:, :, 0, 0])
    assert torch.equal(patches(x[:, :, 0, 0]), whole)


def test_a_patch_is_the_same_alone_and_together():
    data = Bsds(some_images(), "test")
    index = torch.arange(100)
    together = data.examples(index).x
    assert torch.equal(data.examples(index.flip(0)).x.flip(0), together)
    assert torch.equal(data.examples(index[7:8]).x[0], together[7])
    assert not torch.equal(Bsds(some_images(), "test", seed=1).examples(index).x, together)


def test_batches_at_once_are_the_batches_one_by_one():
    data = Bsds(some_images())
    alone = torch.cat([data.batch(k, 16).x for k in (4, 5, 6)])
    assert torch.equal(data.batch(torch.tensor(4), 16, 3).x, alone)
    assert len(alone.flatten(1).unique(dim=0)) == 48


def test_nothing_is_said_of_patches():
    data = Bsds(some_images())
    assert data.examples(torch.arange(3)).y.codes.shape == (3, 0)
    root = data.vocabulary.root
    both = data.pictures_of_each([root, root], 5, [3, 4])
    assert both.shape == (2, 5, 63, 1, 1)
    assert torch.equal(data.pictures_of(root, 5, seed=4), both[1])


def test_drawing_never_waits_for_a_number():
    """On the meta device there are no numbers: to look at one would fail."""
    assert Bsds(some_images()).to("meta").batch(3, 64).x.shape == (64, 63, 1, 1)


# Files


@pytest.fixture
def folder(nowhere):
    return archive(nowhere)


def test_a_hundred_and_eighty_images_are_to_train_on(folder):
    facts = {part: Data("bsds").open(part, folder=str(folder)).facts() for part in Bsds.parts}
    assert [facts[part]["images"] for part in Bsds.parts] == [180, 20, 100]
    assert [facts[part]["patches"] for part in Bsds.parts] == ["endless", 1000, 1_000_000]
    assert Data("bsds").open("train", folder=str(folder)).count == ENDLESS
    assert Data("bsds").resolved(str(folder)).source == "files"


def test_parts_share_no_image(folder):
    parts = [Data("bsds").open(part, folder=str(folder)) for part in ("train", "validation")]
    images = torch.cat([data.pixels.view(-1, 20 * 16) for data in parts])
    assert len(images.unique(dim=0)) == 200
    other = Data("bsds", split_seed=1).open("validation", folder=str(folder))
    assert not torch.equal(other.pixels, parts[1].pixels)


@pytest.mark.parametrize("inside", ["BSDS300/images", "images", "BSDS300"])
def test_a_folder_holds_what_the_zip_file_does(nowhere, inside):
    (nowhere / "zip").mkdir()
    archive(nowhere / "zip")
    for name, data in FILES.items():
        path = nowhere / "loose" / inside / name.split("images/")[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    zipped, loose = (
        Data("bsds").open("test", folder=str(nowhere / place)) for place in ("zip", "loose")
    )
    assert torch.equal(zipped.pixels, loose.pixels)


def test_images_become_grey_as_pillow_makes_them(folder):
    image = read_images(folder / "BSDS300-images.zip", "train")[0]
    with Image.open(io.BytesIO(FILES["BSDS300/images/train/1000.jpg"])) as first:
        assert np.array_equal(image.numpy(), np.asarray(first.convert("L")))


def test_a_gaussian_fits_real_patches_as_well_as_is_known(real):
    """Papamakarios et al. (2017, Table 1) report 96.67 ± 0.25 nats for one Gaussian."""
    real("BSDS300-images.zip")
    train, test = (
        Data("bsds").open(part).examples(torch.arange(60_000)).x.flatten(1).double()
        for part in ("train", "test")
    )
    normal = torch.distributions.MultivariateNormal(train.mean(0), torch.cov(train.T))
    assert normal.log_prob(test).mean().item() == pytest.approx(96.67, abs=2.0)


# What goes wrong


def test_missing_files_are_named(nowhere):
    with pytest.raises(DataError, match=r"BSDS300 was not found in .*Put BSDS300-images\.zip or"):
        Data("bsds").open("train")


def test_missing_images_are_counted(nowhere):
    archive(nowhere, {name: data for name, data in FILES.items() if "1007" not in name})
    with pytest.raises(DataError, match="has 199 jpg images of `train`; expected 200"):
        Data("bsds").open("train", folder=str(nowhere))


def test_a_damaged_image_is_named(nowhere):
    name = "BSDS300/images/train/1007.jpg"
    archive(nowhere, FILES | {name: FILES[name][:200]})
    with pytest.raises(DataError, match=rf"{name} is not a whole jpg image"):
        Data("bsds").open("train", folder=str(nowhere))


def test_a_truncated_zip_file_is_named(folder):
    path = folder / "BSDS300-images.zip"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"BSDS300-images\.zip is not a whole zip file"):
        Data("bsds").open("train", folder=str(folder))


def test_an_image_too_large_is_not_unzipped(nowhere, monkeypatch):
    monkeypatch.setattr(bsds, "LARGEST", 100)
    with pytest.raises(DataError, match="is too large for an image of BSDS300"):
        Data("bsds").open("train", folder=str(archive(nowhere)))


def test_images_smaller_than_a_patch_are_refused():
    with pytest.raises(UsageError, match="needs images of at least 8 by 8 pixels"):
        Bsds([torch.zeros(7, 20, dtype=torch.uint8)])


def test_other_numbers_than_sixty_three_are_refused():
    with pytest.raises(UsageError, match=r"`x` has the shape \(2, 64\); expected 63 numbers"):
        patches(torch.zeros(2, 64))


def test_an_unknown_source_is_named(folder):
    with pytest.raises(UsageError, match=r"`source='mnist'` is not known; expected 'files'"):
        Data("bsds", source="mnist").open("train", folder=str(folder))


# The table


def test_the_table_of_patches_is_made_in_small(folder, tmp_path):
    settings = {"steps": "4", "log_every": "2"}
    plan = make_ledger_plan(
        get_table("burda-bsds"), size="tiny", seeds=1, settings=settings, data=str(folder)
    )
    result = reproduce_ledger(plan, tmp_path / "made", data=str(folder))
    for entry in result["entries"]:
        ours = {name: cell["mean"] for name, cell in entry["ours"].items()}
        assert ours["bits"] == pytest.approx(ours["log likelihood"] / (63 * np.log(2)))
        assert ours["log likelihood"] >= ours["elbo"] - 1e-6
    assert [picture["figure"] for picture in result["pictures"]] == ["Patches", "Active units"]
