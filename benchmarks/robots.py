"""The robots that the benchmarks run on: the bundled ones, and three of the example-robot-data wheel if there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import condyle

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}


@dataclass(frozen=True)
class Case:
    """A robot under the name that results files use."""

    name: str
    robot: condyle.Robot


def bundled() -> Iterator[Case]:
    yield Case("iiwa14", condyle.load("iiwa14"))
    yield Case("hyq", condyle.load("hyq"))
    yield Case("hyq-floating", condyle.load("hyq", floating_base=True))
    yield Case("atlas", condyle.load("atlas"))
    yield Case("atlas-floating", condyle.load("atlas", floating_base=True))


def wheel() -> Iterator[Case]:
    """Robots whose files are not ours to bundle; none where the wheel is missing."""
    folder = wheel_folder()
    if folder is None:
        return
    warnings.simplefilter("ignore", condyle.ModelWarning)  # these files are as they are
    yield Case("panda", condyle.load(str(folder / "panda_description/urdf/panda.urdf")).lock(FINGERS))
    yield Case("hyq-wheel", condyle.load(str(folder / "hyq_description/robots/hyq_no_sensors.urdf")))
    yield Case("talos-reduced", condyle.load(str(folder / "talos_data/robots/talos_reduced.urdf")))


def wheel_folder() -> Path | None:
    """The folder of the wheel's robot descriptions; the wheel has data only, nothing to import."""
    folders = (Path(entry) / "cmeel.prefix/share/example-robot-data/robots" for entry in sys.path)
    return next((folder for folder in folders if folder.is_dir()), None)


def chosen(names: list[str]) -> Iterator[Case]:
    """The cases of these names; all of them for an empty list."""
    for case in (*bundled(), *wheel()):
        if not names or case.name in names:
            yield case
