"""Equal numbers, equal fingerprints; another number, another one."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.builder import Builder
from condyle.model.robot import Robot
from tests.zoo import every_joint

BOX = np.diag([0.1, 0.2, 0.25])


def robot(gravity: tuple[float, float, float] = (0.0, 0.0, -9.81), prefix: str = "", **more: object) -> Robot:
    a, b = f"{prefix}a", f"{prefix}b"
    builder = Builder(f"{prefix}r", gravity=gravity).body(a, mass=1.0, inertia=BOX)
    builder.body(b, mass=2.0, com=more.pop("com", (0.0, 0.1, 0.0)), inertia=BOX)  # type: ignore[arg-type]
    builder.joint(f"{prefix}j", parent="world", child=a, type="revolute")
    arguments: dict[str, object] = {"type": "helical", "axis": (0, 1, 0), "pitch": 0.1, "xyz": (0, 0, 0.3)} | more
    return builder.joint(f"{prefix}k", parent=a, child=b, **arguments).build()  # type: ignore[arg-type]


def test_names_limits_damping_and_signs_of_zero_do_not_count() -> None:
    first = robot()
    assert len(first.fingerprint) == 64
    others = [
        robot(prefix="x"),
        robot(lower=-1.0, upper=1.0, effort=3.0, velocity=2.0, damping=0.5, friction=0.1),
        robot(axis=(-0.0, 2.0, -0.0), xyz=(-0.0, 0.0, 0.3), rpy=(-0.0, 0.0, -0.0)),
        robot(gravity=(-0.0, 0.0, -9.81)),
    ]
    assert {other.fingerprint for other in others} == {first.fingerprint}


@pytest.mark.parametrize(
    "more",
    [
        {"gravity": (0.0, 0.0, -9.8)},
        {"pitch": 0.2},
        {"axis": (0, 0, 1)},
        {"xyz": (0, 0, 0.4)},
        {"rpy": (0, 0, 0.4)},
        {"armature": 0.1},
        {"com": (0.0, 0.1 + 1e-16, 0.0)},
        {"type": "revolute"},
        {"mimic": "j"},
        {"mimic": ("j", 1.0, 0.1)},
    ],
)
def test_every_other_number_counts(more: dict[str, object]) -> None:
    assert robot(**more).fingerprint != robot().fingerprint  # type: ignore[arg-type]


def test_it_does_not_change_between_releases() -> None:
    assert every_joint().fingerprint == every_joint().fingerprint != every_joint(floating_base=True).fingerprint


@pytest.mark.parametrize("master", ["a", "b"])
def test_a_joint_that_a_mimic_holds_still_is_not_a_free_one(master: str) -> None:
    def chain(**more: object) -> str:
        builder = Builder("r")
        for parent, child in (("world", "a"), ("a", "b"), ("b", "c")):
            given = more if child == "c" else {}
            builder.body(child, mass=1.0, inertia=BOX)
            builder.joint(child, parent=parent, child=child, type="revolute", **given)  # type: ignore[arg-type]
        return builder.build().fingerprint

    assert chain(mimic=(master, 0.0, 0.0)) != chain()
