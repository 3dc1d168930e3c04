"""The screenshots of docs/how-to/viewer.md: the page with a trotting HyQ and with a leg of rods, in headless Chromium.

pip install 'condyle[view]' playwright && playwright install chromium
python -m benchmarks.viewer_figure [--chromium /usr/bin/chromium]     writes docs/figures/viewer*.png
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks.results import ROOT
from benchmarks.robot_figures import FOLDER, LEGS, feet, lowest_foot
from condyle.ground import Plane
from condyle.view import View

SHOWN = 60
LEG = ROOT / "examples" / "leg.xml"
TROT_LAYERS = ("bodies", "links", "axes", "com", "contacts", "ground", "forces")
LEG_LAYERS = ("links", "axes", "com", "contacts")
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""WebGL without a GPU."""


def trot() -> View:
    """HyQ moves its legs in diagonal pairs; those that bear weight carry half of it each."""
    robot = condyle.load("hyq", floating_base=True)
    t = np.linspace(0.0, 2.0 * np.pi, 201)
    q = np.repeat(robot.neutral()[None], len(t), axis=0)
    q[:, 2] = 0.58
    forces = np.zeros((len(t), len(LEGS), 3))
    for k, leg in enumerate(LEGS):
        sign, phase = (1.0 if leg.endswith("f") else -1.0), (0.0 if leg in ("lf", "rh") else np.pi)
        q[:, 7 + 3 * k] = -0.15
        q[:, 8 + 3 * k] = 0.75 * sign + 0.25 * np.sin(t + phase)
        q[:, 9 + 3 * k] = -1.5 * sign - 0.2 * sign * np.cos(t + phase)
        bears = np.sin(t + phase)[:, None] > 0.0
        forces[:, k] = np.where(bears, -0.5 * robot.mass * robot.gravity, 0.0)
    ground = Plane(offset=min(lowest_foot(robot, state) for state in q[::10]))
    marks = {"contacts": feet(), "contact_forces": forces, "ground": ground}
    page = robot.show(trajectory=q, layers=TROT_LAYERS, browser=False, **marks)
    assert page is not None
    return page


def leg() -> View:
    """The leg of examples/16_linkage.py with the capsules of its file; its loops are open in this state."""
    robot = condyle.load(LEG)
    page = robot.show(robot.neutral() + 0.3 * np.eye(7)[2], meshes=LEG, layers=LEG_LAYERS, browser=False)
    assert page is not None
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", help="the program, by default Playwright's own")
    parser.add_argument("--out", type=Path, default=FOLDER, help="a folder")
    arguments = parser.parse_args()
    playwright = import_module("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=arguments.chromium, args=list(SOFTWARE))
        for make, shown, name in ((trot, SHOWN, "viewer.png"), (leg, 0, "viewer-leg.png")):
            with make() as page:
                photograph(browser.new_page(viewport={"width": 900, "height": 560}), page, shown, arguments.out / name)
        browser.close()


def photograph(tab: Any, page: View, shown: int, file: Path) -> None:
    """The page at one of its states, once everything has arrived."""
    tab.goto(page.address)
    tab.wait_for_selector("text=bodies")
    time.sleep(6.0)
    page.time = shown
    close = tab.locator(".mantine-Notification-closeButton")  # of the note that there is no GPU
    if close.count():
        close.first.click()
    time.sleep(4.0)
    tab.screenshot(path=file)
    tab.close()


if __name__ == "__main__":
    main()
