"""The screenshot of a page in docs/how-to/viewer.md, that of `condyle explain`, in headless Chromium.

python -m benchmarks.page_figures [--chromium /usr/bin/chromium]     writes docs/figures/page-explain.png

Needs Chromium, and Pillow, which Matplotlib brings.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.robot_figures import FOLDER

SIZE = "800,1080"
COMMANDS = {
    "explain": ("explain", "iiwa14", "fd"),
}
"""Each takes --html FILE."""


def shot(chromium: str, page: Path, name: str) -> None:
    into = FOLDER / f"page-{name}.png"
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}")
    command = [chromium, *flags, f"--screenshot={into}", page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    image = import_module("PIL.Image")
    image.open(into).convert("RGB").quantize(256).save(into, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default="chromium", help="the program, by default the one on the path")
    chromium = parser.parse_args().chromium
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            page = Path(folder) / f"{name}.html"
            subprocess.run([sys.executable, "-m", "condyle", *words, "--html", str(page)], check=True)
            shot(chromium, page, name)


if __name__ == "__main__":
    main()
