"""The guide's programs for users of Pinocchio, on real robots with mimic and continuous joints."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import ModelError, ModelWarning
from tests.twins.example_robots import loaded, path_of

pin = pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "coming-from.md"
NEAR = 1e-8  # of the largest torque: angles within `snap` of a quarter turn are moved by up to 1e-9 rad


def programs() -> list[str]:
    """The blocks of the guide's section: for q that is permuted, and for cos, sin."""
    section = GUIDE.read_text().split("## Coming from Pinocchio", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def run(path: Path, *blocks: str) -> dict[str, object]:
    """The names after these blocks ran with another file in the place of arm.urdf."""
    names: dict[str, object] = {"condyle": condyle}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # published files are often doubtful
        exec("\n".join(blocks).replace("arm.urdf", str(path)), names)
    return names


def check(names: dict[str, object]) -> None:
    g, there = names["g"], names["g_pin"][names["p"].v]  # type: ignore[index, attr-defined]
    assert np.abs(g - there).max() < NEAR * np.abs(there).max()


def test_panda_whose_second_finger_follows(tmp_path: Path) -> None:
    path = tmp_path / "panda.urdf"
    path.write_text(condyle.load("panda").to_urdf())
    check(run(path, *programs()))
    with pytest.raises(ModelError, match="'panda_finger_joint2': mimics another joint here and has entries"):
        condyle.load("panda").permutation(pin.buildModelFromUrdf(str(path)))


@pytest.mark.twins_data
def test_baxter_whose_fingers_follow() -> None:
    check(run(path_of("baxter"), programs()[0]))


@pytest.mark.twins_data
@pytest.mark.parametrize("name", ["baxter", "talos_full"])
def test_pinocchios_default_model_has_entries_for_mimic_joints(name: str) -> None:
    """It is refused, and so are its names; or both have the entries. Of talos_full Pinocchio builds no other model."""
    path = path_of(name)
    default, robot = pin.buildModelFromUrdf(str(path)), loaded(name, mimic="exact")
    with pytest.raises(ModelError, match=r"mimics another joint here and has entries of its own there: load"):
        robot.permutation(default)
    with pytest.raises(ModelError, match="mimic joints among the names"):
        robot.permutation(default.names[1:])
    program = programs()[0].replace(", mimic=True)", ")")
    check(run(path, program.replace('load("arm.urdf"', 'load("arm.urdf", mimic="independent"')))


@pytest.mark.twins_data
@pytest.mark.parametrize("name", ["kinova", "tiago_pro"])
def test_robots_with_continuous_joints(name: str) -> None:
    """tiago_pro has mimic joints too."""
    path = path_of(name)
    with pytest.raises(ModelError, match="has cos and sin of its angle in q there"):
        run(path, programs()[0])
    without = [line for line in programs()[0].splitlines() if not line.startswith(("p = ", "g = ", "assert "))]
    check(run(path, *without, programs()[1]))
