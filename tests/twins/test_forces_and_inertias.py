"""Forces in the world's axes, inertial parameters and payloads against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.specification.integrators import BUNDLED, PAPERS
from tests.accuracies import DIFFERENCES, FLOAT64, ROUNDING
from tests.laws.robots import Array, relative, robot_named, states
from tests.processor import slow

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
import pinocchio as pin

from tests.twins.pinocchio_twin import FileTwin, Twin, se3

N = 4
WORLD = "local_world_aligned"


def named(name: str) -> Robot:
    if name in BUNDLED:
        return condyle.load(name, snap=0.0, floating_base=name == "hyq")
    return robot_named(name)


def turned(twin: Twin, q: Array, f_ext: Array) -> Array:
    """Forces in the axes of their bodies, as Pinocchio says that these stand."""
    pin.forwardKinematics(twin.model, twin.data, twin.q(q))
    axes = [(twin.data.oMi[id] * place).rotation for id, place in twin.bodies]
    return np.stack([np.concatenate((R.T @ f[:3], R.T @ f[3:])) for R, f in zip(axes, f_ext, strict=True)])


@pytest.mark.parametrize("name", ["iiwa14", "hyq", "zoo", "zoo_floating", "floating-3"])
def test_forces_in_the_axes_of_the_world(name: str) -> None:
    robot = named(name)
    twin, (q, v, a, f_ext) = Twin(robot), states(robot, N, seed=4)
    dyn = robot.compile(target="numpy", force_frame=WORLD)
    local = [turned(twin, *of) for of in zip(q, f_ext, strict=True)]
    for function in ("id", "fd"):
        want = np.stack([getattr(twin, function)(*of) for of in zip(q, v, a, local, strict=True)])
        assert relative(dyn.function(function)(q, v, a, f_ext=f_ext), want) < FLOAT64[function]


@pytest.mark.parametrize("name", ["iiwa14", slow("hyq"), "floating-3"])
def test_derivatives_with_them(name: str) -> None:
    """Central differences of Pinocchio's inverse dynamics, its forces turned anew at each state."""
    robot, step = named(name), 1e-6
    twin, (q, v, a, f_ext) = Twin(robot), states(robot, 1, seed=4)

    def torques(at: Array) -> Array:
        return twin.id(at, v[0], a[0], turned(twin, at, f_ext[0]))

    columns = [
        (torques(robot.integrate(q[0], step * e)) - torques(robot.integrate(q[0], -step * e))) / (2 * step)
        for e in np.eye(robot.nv)
    ]
    found = robot.compile(target="numpy", force_frame=WORLD).inverse_dynamics_derivatives(q, v, a, f_ext=f_ext)
    assert relative(found.dtau_dq, np.stack(columns, axis=-1)[None]) < DIFFERENCES


@pytest.mark.parametrize("name", [*PAPERS, "zoo", "chain"])
def test_parameters_are_dynamic_parameters(name: str) -> None:
    robot = named(name)
    for body, row in zip(robot.bodies, robot.inertias, strict=True):
        theirs = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia)).toDynamicParameters()
        assert np.abs(row - theirs).max() < ROUNDING, body.name


def test_their_parameters_make_our_robot() -> None:
    robot = named("iiwa14")
    other = FileTwin(robot, robot.to_urdf(), floating_base=False)
    theirs = np.stack([other.model.inertias[id].toDynamicParameters() for id, _ in other.bodies])
    assert np.abs(robot.with_inertias(theirs).inertias - robot.inertias).max() < ROUNDING


def test_a_payload_is_a_body_appended_to_the_joint() -> None:
    robot = named("hyq")
    twin, (q, v, a, _) = Twin(robot), states(robot, N, seed=4)
    frame, mass, com, inertia = "lf_lowerleg", 1.5, np.array([0.1, 0.02, -0.3]), np.diag([0.02, 0.03, 0.04])
    body, place = robot.frames[frame]
    id, at = twin.bodies[body]
    twin.model.appendBodyToJoint(id, pin.Inertia(mass, com, inertia), at * se3(place))
    twin.data = twin.model.createData()
    want = np.stack([twin.id(*of) for of in zip(q, v, a, strict=True)])
    found = robot.attach(frame, mass, com, inertia).compile(target="numpy").inverse_dynamics(q, v, a)
    assert relative(found, want) < FLOAT64["id"]
