"""Which forces depend on v, so that a step takes them at its end, and which couple joints that M does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Actuator, Drive
from condyle.algorithms.drives import at_end, couples, has_rates
from condyle.algorithms.unrolled import Unrolled
from condyle.compile.options import bound_of
from condyle.model.tree import Tree, tree_of

NONE: dict[str, Any] = {"q": [0.0] * 2, "v": [0.0] * 2, "dt": [0.01]}


def tree(drive: Drive | None = None, *actuators: Actuator, limits: Mapping[str, float] = {}, **options: Any) -> Tree:
    """Two hinges; the second has these numbers."""
    builder, parent = condyle.Builder(), "world"
    for name in ("a", "b"):
        builder.body(name, mass=1.0, inertia=0.1 * np.eye(3))
        bound = limits if name == "b" else {}
        builder.joint(f"{name}_joint", parent=parent, child=name, type="revolute", **bound)  # type: ignore[arg-type]
        parent = name
    robot = builder.build()
    robot = robot if drive is None else robot.with_drives({"b_joint": drive})
    robot = robot.with_actuators(actuators) if actuators else robot
    return tree_of(robot, bound_of(robot, actuators=bool(actuators), **options))


ALL, SERVO = ("all",), {"gain": 3.0, "bias": (0.0, -3.0, 0.0)}
CASES: dict[str, tuple[dict[str, Any], tuple[str, ...], bool]] = {
    "nothing": ({"joint_forces": ALL}, (), False),
    "damping": ({"drive": Drive(damping=0.1), "joint_forces": ("damping",)}, (), True),
    "damping that does not act": ({"drive": Drive(damping=0.1), "joint_forces": ("friction",)}, (), False),
    "damping as an input": ({}, ("damping",), True),
    "friction": ({"drive": Drive(friction=0.1), "joint_forces": ("friction",)}, (), True),
    "friction that does not act": ({"drive": Drive(friction=0.1), "joint_forces": ("damping",)}, (), False),
    "friction as an input": ({}, ("dry_friction",), True),
    "a lower limit": ({"limits": {"lower": -1.0}, "joint_forces": ("limits",)}, (), True),
    "an upper limit": ({"limits": {"upper": 1.0}, "joint_forces": ("limits",)}, (), True),
    "a limit that does not act": ({"limits": {"lower": -1.0}, "joint_forces": ("friction",)}, (), False),
    "no limit": ({"joint_forces": ("limits",)}, (), False),
    "springs": ({"drive": Drive(stiffness=1.0), "joint_forces": ("springs",)}, (), False),
    "springs at the end": ({"drive": Drive(stiffness=1.0), "joint_forces": ALL, "implicit": "positions"}, (), True),
    "no springs at the end": ({"joint_forces": ("springs",), "implicit": "positions"}, (), False),
    "springs that do not act": (
        {"drive": Drive(stiffness=1.0), "joint_forces": ("friction",), "implicit": "positions"},
        (),
        False,
    ),
    "stiffness as an input": ({}, ("stiffness",), False),
    "stiffness as an input at the end": ({"implicit": "positions"}, ("stiffness",), True),
}


@pytest.mark.parametrize("name", CASES)
def test_forces_that_depend_on_v_are_taken_at_the_end(name: str) -> None:
    options, inputs, wanted = CASES[name]
    driven, given = tree(**options), {**NONE, **{key: [0.1, 0.1] for key in inputs}}
    assert has_rates(driven, given) == wanted
    assert at_end(driven, given) == ({**given, "implicit": [0.01]} if wanted else given)


ACTUATORS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], bool]] = {
    "motor": ({}, {}, ("u",), False),
    "motor with open gains": ({}, {}, ("u", "actuator_gains"), True),
    "motor by tau": ({"kind": "damper", "control": (0.0, 1.0)}, {}, (), False),
    "damper": ({"kind": "damper", "control": (0.0, 1.0)}, {}, ("u",), True),
    "speed": ({"kind": "velocity"}, {}, ("u",), True),
    "servo": ({"kind": "position", **SERVO}, {}, ("u",), False),
    "servo at the end": ({"kind": "position", **SERVO}, {"implicit": "positions"}, ("u",), True),
    "motor at the end": ({}, {"implicit": "positions"}, ("u",), False),
}


@pytest.mark.parametrize("name", ACTUATORS)
def test_actuators_that_depend_on_v(name: str) -> None:
    """They couple joints if they lie across two."""
    law, options, inputs, wanted = ACTUATORS[name]
    given = {**NONE, **{key: [1.0] * (4 if key == "actuator_gains" else 1) for key in inputs}}
    for gears in ({"b_joint": 2.0}, {"a_joint": 1.0, "b_joint": 2.0}):
        driven = tree(None, Actuator("own", gears, **law), **options)
        assert has_rates(driven, given) == wanted
        stepping = Unrolled(driven, {**given, "implicit": [0.01]})
        assert couples(stepping) == (wanted and len(gears) > 1) and not couples(Unrolled(driven, given))


def test_steps_of_higher_order_take_no_force_at_their_end() -> None:
    for options, wanted in (
        ({}, True),
        ({"integrator": "rk4"}, False),
        ({"integrator": "euler"}, True),
        ({"implicit": False}, False),
    ):
        driven = tree(Drive(damping=0.1), joint_forces=ALL, **options)
        assert ("implicit" in at_end(driven, NONE)) == wanted
