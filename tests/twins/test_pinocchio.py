"""Every function against Pinocchio, given the same numbers, with external forces."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from condyle import Dynamics, ModelWarning, Robot
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.functions.contacts import CONSTRAINED
from condyle.functions.dynamics import DRIVE_FORCES
from condyle.model.robot import Joint
from condyle.specification.integrators import PAPERS
from tests.accuracies import allowed
from tests.laws.robots import States, changed, robot_named, states
from tests.processor import slow
from tests.twins.compare import error
from tests.zoo import TYPES

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
import pinocchio as pin

from tests.twins.pinocchio_twin import FileTwin, Twin

N = 5


def massless_bodies() -> Robot:
    """On a floating base: inertias without mass, as some files have them, between bodies and at an end."""
    builder = condyle.Builder().body("base", mass=5.0, com=(0.1, 0.0, 0.05), inertia=np.diag([0.2, 0.3, 0.25]))
    builder.body("rotor", inertia=np.diag([0.02, 0.03, 0.04]))
    builder.body("arm", mass=1.5, com=(0.1, 0.2, 0.3), inertia=np.diag([0.1, 0.2, 0.25]))
    builder.body("wheel", com=(0.3, 0.1, 0.0), inertia=((0.01, 0.002, 0), (0.002, 0.02, 0.001), (0, 0.001, 0.015)))
    turns = {"xyz": (0.1, 0.1, 0.2), "rpy": (0.3, 0.2, 0.7)}
    builder.joint("a", parent="base", child="rotor", type="revolute", axis=(0, 1, 0), xyz=(0.1, 0.0, 0.2))
    builder.joint("b", parent="rotor", child="arm", type="revolute", axis=(1, 1, 0), **turns)
    builder.joint("c", parent="arm", child="wheel", type="continuous", axis=(0, 0.6, 0.8), **turns)
    with pytest.warns(ModelWarning, match="an inertia but no mass"):
        return builder.build(floating_base=True)


ROBOTS = {
    **{name: lambda name=name: condyle.load(name, snap=0.0) for name in PAPERS},
    "hyq_floating": lambda: condyle.load("hyq", snap=0.0, floating_base=True, gravity=(0.5, -1.0, -3.0)),
    "atlas_floating": lambda: condyle.load("atlas", snap=0.0, floating_base=True),
    "massless_bodies": massless_bodies,
    "iiwa14_with_rotors": lambda: changed(condyle.load("iiwa14", snap=0.0), armature=True),
    **{name: lambda name=name: robot_named(name) for name in ("zoo", "zoo_floating", "chain", "tree-1", "floating-3")},
}


@cache
def robot(name: str) -> Robot:
    return ROBOTS[name]()


@cache
def twin(name: str) -> Twin:
    return Twin(robot(name))


@cache
def compiled(name: str, target: str, dtype: str) -> Dynamics:
    return robot(name).compile(target=target, dtype=dtype)


def condition(other: Twin, given: States) -> float:
    return max(float(np.linalg.cond(other.m(q))) for q in given.q)


def some_frames(name: str) -> tuple[str, ...]:
    """The first, one between and the last: of the world, of a body, at a tip."""
    names = tuple(robot(name).frames)
    return tuple(dict.fromkeys((names[0], names[len(names) // 2], names[-1])))


ON_A_MANIFOLD = ("integrate", "difference")
"""Pinocchio's angles are wrapped, ours are not: these are held to `Robot`'s own in tests/laws/test_functions.py."""


IN_TIME = ("step", "dstep")
"""Held to Pinocchio's aba and integrate, and to crocoddyl, in tests/cli/rivals/test_steps.py."""
HELD = tuple(one.name for one in (*CONSTRAINED, *DRIVE_FORCES))
"""Functions of contacts are held to Pinocchio's in test_pinocchio_contacts.py, drives to MuJoCo in tests/drives."""


@pytest.mark.parametrize("forces", [False, True], ids=["no_forces", "f_ext"])
@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in (*ON_A_MANIFOLD, *IN_TIME, *HELD)])
@pytest.mark.parametrize("name", ROBOTS)
def test_reference(name: str, function: str, forces: bool) -> None:
    if forces and not FUNCTIONS[function].takes_f_ext:
        return
    given, frames = states(robot(name), N, seed=2), some_frames(name)
    dyn = robot(name).compile(target="numpy", frames=frames)
    found = error(dyn, twin(name).asked(frames), function, given, forces)
    assert found < allowed(function, "float64", 0.0)


@pytest.mark.parametrize("reference_frame", ["world", "local_world_aligned"])
@pytest.mark.parametrize("name", ROBOTS)
def test_reference_frames(name: str, reference_frame: str) -> None:
    given, frames = states(robot(name), N, seed=2), some_frames(name)
    dyn = robot(name).compile(target="numpy", frames=frames, reference_frame=reference_frame)
    other = twin(name).asked(frames, reference_frame)
    for function in ("fv", "jac", "djac", *(("fa",) if reference_frame != "world" else ())):
        assert error(dyn, other, function, given, False) < allowed(function, "float64", 0.0), function


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", DEFAULT)
@pytest.mark.parametrize("target", ["cpu", slow("c")])
@pytest.mark.parametrize("name", ["iiwa14", slow("hyq_floating")])
def test_compiled(name: str, target: str, function: str, dtype: str) -> None:
    given = states(robot(name), N, seed=2)
    found = error(compiled(name, target, dtype), twin(name), function, given, forces=False)
    assert found < allowed(function, dtype, condition(twin(name), given))


@pytest.mark.slow  # the C compiler takes seconds for each
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", ["id", "m", "fd"])
def test_compiled_atlas(function: str, dtype: str) -> None:
    given = states(robot("atlas"), N, seed=2)
    found = error(compiled("atlas", "c", dtype), twin("atlas"), function, given, forces=False)
    assert found < allowed(function, dtype, condition(twin("atlas"), given))


@pytest.mark.parametrize("function", ["id", "did"])
@pytest.mark.parametrize("target", ["cpu", slow("c")])
def test_compiled_with_forces(target: str, function: str) -> None:
    given = states(robot("iiwa14"), N, seed=2)
    found = error(compiled("iiwa14", target, "float64"), twin("iiwa14"), function, given, forces=True)
    assert found < allowed(function, "float64", 0.0)


@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", PAPERS)
def test_urdf_that_we_write_means_the_robot_it_was_written_from(name: str, floating_base: bool) -> None:
    """Angles snapped to quarter turns are written as such; Pinocchio reads them back."""
    ours = condyle.load(name, floating_base=floating_base)
    other = FileTwin(ours, ours.to_urdf(), floating_base)
    given = states(ours, N, seed=2)
    for function in ("id", "m", "did", "dfd"):
        found = error(ours.compile(target="numpy"), other, function, given, FUNCTIONS[function].takes_f_ext)
        assert found < allowed(function, "float64", 0.0), function


def test_locked_and_rerooted_robots() -> None:
    """They are robots like any other."""
    whole = condyle.load("hyq", snap=0.0, floating_base=True)
    for other in (whole.lock({"lf_hfe_joint": 0.4, "rh_haa_joint": -0.2}), whole.reroot("lf_lowerleg")):
        given = states(other, N, seed=2)
        for function in ("id", "m", "did", "dfd"):
            dyn = other.compile(target="numpy")
            found = error(dyn, Twin(other), function, given, FUNCTIONS[function].takes_f_ext)
            assert found < allowed(function, "float64", 0.0), function


def test_unit_wrenches_make_a_jacobian() -> None:
    """As docs/how-to/coming-from.md says: of a frame that hangs off its body, in a batch."""
    ours = condyle.load("hyq", snap=0.0, floating_base=True).lock({"lf_kfe_joint": -0.7})
    other, foot = FileTwin(ours, ours.to_urdf(), floating_base=True), "lf_lowerleg"
    q, rest = states(ours, N, seed=2).q, np.zeros(ours.nv)
    dyn = ours.compile(target="numpy")
    unit = ours.f_ext({foot: np.eye(6)})
    J = dyn.inverse_dynamics(q[:, None], rest, rest) - dyn.inverse_dynamics(q[:, None], rest, rest, f_ext=unit)
    assert J.shape == (N, 6, ours.nv)
    id = other.model.getFrameId(foot)
    for one, at in zip(J, q, strict=True):
        wanted = pin.computeFrameJacobian(other.model, other.data, other.q(at), id, pin.LOCAL) @ other.G
        assert np.abs(one - wanted).max() < 1e-11  # gravity's part, some 1e3 N, cancels


def test_the_twin_holds_every_joint_type_of_the_zoo() -> None:
    def types(joints: tuple[Joint, ...]) -> set[str]:
        return {joint.type for joint in joints}

    assert types(robot("zoo").joints) == TYPES
