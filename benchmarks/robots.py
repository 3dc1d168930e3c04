"""The robots that the benchmarks run on: the bundled ones, and two of the example-robot-data wheel if it is there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import condyle

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
WHEEL = Path("cmeel.prefix/share/example-robot-data/robots")
PANDA, TALOS = "panda_description/urdf/panda.urdf", "talos_data/robots/talos_reduced.urdf"


@dataclass(frozen=True)
class Case:
    """A robot under the name that results files use. source: a bundled name, or a file of the wheel."""

    name: str
    source: str
    floating: bool = False
    locked: bool = False

    @property
    def path(self) -> str | None:
        """What `condyle.load` takes; None where the wheel is missing (it has data only, nothing to import)."""
        if not self.source.endswith(".urdf"):
            return self.source
        places = (Path(entry) / WHEEL / self.source for entry in sys.path)
        return next((str(place) for place in places if place.is_file()), None)

    def load(self) -> condyle.Robot:
        path = self.path
        if path is None:
            raise condyle.UnsupportedError(f"{self.name}: pip install 'condyle[twins-data]'")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", condyle.ModelWarning)  # these files are as they are
            robot = condyle.load(path, floating_base=self.floating)
            return robot.lock(FINGERS) if self.locked else robot


CASES = (
    Case("iiwa14", "iiwa14"),
    Case("panda", PANDA, locked=True),
    Case("hyq", "hyq"),
    Case("hyq-floating", "hyq", floating=True),
    Case("atlas", "atlas"),
    Case("atlas-floating", "atlas", floating=True),
    Case("talos-reduced", TALOS),
    Case("talos-reduced-floating", TALOS, floating=True),
)


def chosen(names: Sequence[str] = ()) -> list[Case]:
    """The cases of these names, by default all; those of the wheel only where it is installed."""
    known = {case.name: case for case in CASES}
    if unknown := [name for name in names if name not in known]:
        raise condyle.UnsupportedError(f"no robot {unknown[0]!r}; there are {', '.join(known)}")
    return [case for case in CASES if case.path is not None and (not names or case.name in names)]
