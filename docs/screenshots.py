"""Pictures of the studio for README and docs, taken in a headless Chromium.

python docs/screenshots.py            # into docs/pictures
python docs/screenshots.py /tmp/shots
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
FOUR = "description=digit%3D4%2C+size%3Dbig&seed=7"
SHOTS = {
    "studio-imagine": f"?view=imagine&{FOUR}&theme=light",
    "studio-imagine-dark": f"?view=imagine&{FOUR}&theme=dark",
    "studio-hierarchy": f"?view=hierarchy&{FOUR}&theme=light",
    "studio-experts": "?view=experts&description=digit%3D4%2C+location%3Dtop-left&theme=light",
    "studio-describe": "?view=describe&seed=7&theme=light",
    "studio-between": "?view=between&description=digit%3D3&end=digit%3D8&seed=1&theme=light",
    "studio-runs": "?view=runs&theme=light",
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from mindseye.cli import main; main()"]
    with subprocess.Popen(
        [*command, "studio", "--no-browser", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as studio:
        assert studio.stdout
        address = studio.stdout.readline().split()[-1]
        try:
            take(address, folder)
        finally:
            studio.terminate()


def take(address: str, folder: Path) -> None:
    """Every view, at the size of a laptop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, link in SHOTS.items():
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(address + link)
            page.wait_for_load_state("networkidle")
            if name == "studio-describe":
                page.get_by_role("button", name="a big 4, top left").click()
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / f"{name}.png")
            print(f"Wrote {folder / name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
