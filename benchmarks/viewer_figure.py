"""The screenshot of docs/viewer.md: the page with a trotting HyQ, in headless Chromium.

pip install 'condyle[view]' playwright && playwright install chromium
python -m benchmarks.viewer_figure [--chromium /usr/bin/chromium]     writes docs/figures/viewer.png
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path

import numpy as np

import condyle
from benchmarks.robot_figures import FOLDER, FOOT, LEGS
from condyle.view import View

SHOWN = 60
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""WebGL without a GPU."""


def trot() -> View:
    """HyQ moves its legs in diagonal pairs; those that bear weight carry half of it each."""
    robot = condyle.load("hyq", floating_base=True)
    t = np.linspace(0.0, 2.0 * np.pi, 201)
    q = np.repeat(robot.neutral()[None], len(t), axis=0)
    q[:, 2] = 0.58
    forces = {}
    for k, leg in enumerate(LEGS):
        sign, phase = (1.0 if leg.endswith("f") else -1.0), (0.0 if leg in ("lf", "rh") else np.pi)
        q[:, 7 + 3 * k] = -0.15
        q[:, 8 + 3 * k] = 0.75 * sign + 0.25 * np.sin(t + phase)
        q[:, 9 + 3 * k] = -1.5 * sign - 0.2 * sign * np.cos(t + phase)
        bears = np.sin(t + phase)[:, None] > 0.0
        forces[f"{leg}_lowerleg"] = np.where(bears, -0.5 * robot.mass * robot.gravity, 0.0)
    page = robot.show(trajectory=q, forces=forces, points=dict.fromkeys(forces, FOOT), browser=False)
    assert page is not None
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", help="the program, by default Playwright's own")
    parser.add_argument("--out", type=Path, default=FOLDER / "viewer.png")
    arguments = parser.parse_args()
    playwright = import_module("playwright.sync_api")
    with trot() as page, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=arguments.chromium, args=list(SOFTWARE))
        tab = browser.new_page(viewport={"width": 900, "height": 560})
        tab.goto(page.address)
        tab.wait_for_selector("text=Play")
        time.sleep(6.0)
        page.time = SHOWN
        close = tab.locator(".mantine-Notification-closeButton")  # of the note that there is no GPU
        if close.count():
            close.first.click()
        time.sleep(4.0)
        tab.screenshot(path=arguments.out)
        browser.close()


if __name__ == "__main__":
    main()
