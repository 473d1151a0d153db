"""Pictures of the studio for README and docs, taken in a headless Chromium.

Models are trained for some views first: one of two latents for Latents, which takes half a minute,
and one of Cora for Graph, which takes two minutes.
One that paints, and who judges it, take a quarter of an hour, unless they are in runs/ already.

python docs/screenshots.py                            # into docs/pictures
python docs/screenshots.py /tmp/shots                 # into another folder
python docs/screenshots.py /tmp/shots studio-latents  # some of them
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
FOUR = "description=digit%3D4%2C+size%3Dbig&seed=7"
SHOTS = {
    "studio-imagine": f"?view=imagine&{FOUR}&theme=light",
    "studio-imagine-dark": f"?view=imagine&{FOUR}&theme=dark",
    "studio-captions": "?view=captions&model=two-objects&seed=7&theme=light"
    "&description=large+red+cube+left+sphere&place=first+colour&word=blue",
    "studio-paint": "?view=captions&model=painter&seed=7&stroke=6&place=digit&word=five&theme=light"
    "&description=the+digit+seven+is+at+the+top+left+of+the+image",
    "studio-hierarchy": f"?view=hierarchy&{FOUR}&theme=light",
    "studio-experts": "?view=experts&description=digit%3D4%2C+location%3Dtop-left&theme=light",
    "studio-describe": "?view=describe&seed=7&theme=light",
    "studio-between": "?view=between&description=digit%3D3&end=digit%3D8&seed=1&theme=light",
    "studio-latents": "?view=latents&model=00000-mnist-vae-lean&point=draw&seed=3&theme=light",
    "studio-parts": "?view=parts&model=loads&description=3×family, electric-car, 2×solar"
    "&before=3×family, electric-car&seed=3&theme=light",
    "studio-parts-sites": "?view=parts&model=sites&seed=3&theme=light"
    "&description=red@-0.6,-0.5; green@-0.4,0.6; blue@0.5,0.4; white@0.5,-0.5",
    "studio-graph": "?view=graph&model=cora&node=733&known=1&theme=light",
    "studio-runs": "?view=runs&theme=light",
}
MINDSEYE = [sys.executable, "-c", "from mindseye.cli import main; main()"]
TWO = ["--set", "latent=2", "--set", "steps=3000"]
LITTLE = ["--draws", "200", "--pictures", "1000"]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    names = sys.argv[2:] or list(SHOTS)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        if "studio-latents" in names:
            called(home, "train", "mnist/vae-lean", *TWO)
            called(home, "evaluate", "0", *LITTLE)
        if "studio-paint" in names:
            trained(home, "captioned-mnist/observer-lean")
            trained(home, "captioned-mnist-comp/align-lean")
            _renamed(home, "captioned-mnist-comp-align-lean", "painter")
        if "studio-graph" in names:
            called(home, "train", "cora/masked")
            _renamed(home, "cora-masked", "cora")
            called(home, "evaluate", "cora")
            called(home, "plane", "cora")
        tables = str(Path("reproduced").resolve())
        with subprocess.Popen(
            [*MINDSEYE, "studio", "--no-browser", "--port", "0", "--tables", tables],
            cwd=home,
            stdout=subprocess.PIPE,
            text=True,
        ) as studio:
            assert studio.stdout
            address = studio.stdout.readline().split()[-1]
            try:
                take(address, folder, names)
            finally:
                studio.terminate()


def called(home: str, *words: str) -> None:
    """A command in a folder."""
    subprocess.run([*MINDSEYE, *words], cwd=home, check=True)


def trained(home: str, recipe: str) -> None:
    """A run of a recipe: a finished one of the folder runs, or a new one."""
    for run in sorted(Path("runs").glob(f"*-{recipe.replace('/', '-')}")):
        if (run / "weights.safetensors").exists():
            shutil.copytree(run, Path(home) / "runs" / run.name)
            return
    called(home, "train", recipe)


def _renamed(home: str, ending: str, name: str) -> None:
    """Call the run of a recipe something short."""
    (run,) = Path(home).glob(f"runs/*-{ending}")
    run.rename(run.with_name(name))


def take(address: str, folder: Path, names: Collection[str]) -> None:
    """The views of some names, at the size of a laptop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name in names:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address + SHOTS[name])
            page.wait_for_load_state("networkidle")
            if SHOTS[name].split("&")[0] not in page.url:
                print(f"No model that is open has the view of {name}: left out")
                page.close()
                continue
            if name == "studio-describe":
                page.get_by_role("button", name="a big 4, top left").click()
            if name == "studio-paint":
                page.get_by_role("button", name="Look for them").click()
                page.get_by_text("The best of 64 test pictures").wait_for()
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / f"{name}.png")
            print(f"Wrote {folder / name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
