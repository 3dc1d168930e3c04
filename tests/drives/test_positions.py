"""implicit="positions": springs and servos push by the positions at the end of a step."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Actuator, Drive, Robot
from condyle.errors import UnsupportedError
from condyle.ground import Plane
from tests.contacts.test_friction import FEET
from tests.ground.robots import quadruped, standing

H = 5e-3
Array = np.ndarray


@cache
def arm(force: tuple[float, float] = (-np.inf, np.inf)) -> Robot:
    """With a servo at every joint, one of two joints, a spring, and efforts that are not reached."""
    bare = condyle.load("iiwa14")
    names = bare.joint_names
    drives = {name: Drive(stiffness=40.0, damping=1.0, rotor_inertia=0.05, effort=1e9) for name in names}
    servos = [Actuator(name, {name: 1.0}, "position", 800.0, (0.0, -800.0, -20.0), force=force) for name in names]
    both = Actuator("both", {names[0]: 1.0, names[2]: 0.5}, "position", 300.0, (0.0, -300.0, -2.0))
    return bare.with_drives(drives).with_actuators([*servos, both])


def compiled(robot: Robot, **options: Any) -> Any:
    forces = {"joint_forces": ("damping", "springs"), "actuators": True, "implicit": "positions"}
    return robot.compile(**{"target": "numpy", **forces, **options})


def states(n: int) -> tuple[Array, Array, Array]:
    robot, rng = arm(), np.random.default_rng(0)
    q, v = robot.random_state(n, 3)
    return q, v, np.column_stack([q, q[:, 0]]) + 0.3 * rng.normal(size=(n, 8))


def test_the_forces_are_those_at_the_end_of_the_step() -> None:
    """M (v' - v) / h + c = joint forces and actuators at q + h v' and v', to rounding."""
    dyn, (q, v, u) = compiled(arm()), states(20)
    end = dyn.step(q, v, u, H)
    np.testing.assert_allclose(end.q, q + H * end.v, rtol=0, atol=1e-14)
    bare = arm().compile("numpy")
    inertial = np.einsum("nij,nj->ni", dyn.mass_matrix(q), (end.v - v) / H) + bare.nonlinear_effects(q, v)
    acting = dyn.joint_forces(end.q, end.v) + dyn.actuator_forces(end.q, end.v, u)
    np.testing.assert_allclose(inertial, acting, rtol=0, atol=1e-11 * np.abs(acting).max())


@pytest.mark.parametrize("most", [np.inf, 50.0])
def test_derivatives_are_those_of_the_step(most: float) -> None:
    """A, B, and the tangents by stiffness and gains, against central differences; with forces that clip, too."""
    robot, (q, v, u), rng, e = arm((-most, most)), states(4), np.random.default_rng(1), 1e-6
    dyn = compiled(robot)
    A, B = dyn.step_derivatives(q, v, u, H)
    dq, dv, du = (rng.normal(size=x.shape) for x in (q, v, u))
    ends = [np.column_stack(dyn.step(q + s * dq, v + s * dv, u + s * du, H)) for s in (e, -e)]
    along = np.einsum("nij,nj->ni", A, np.column_stack([dq, dv])) + np.einsum("nij,nj->ni", B, du)
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2.0 * e), rtol=0, atol=1e-7 * np.abs(along).max())
    opened = compiled(robot, inputs=("stiffness", "actuator_gains"))
    k, gains = np.full((4, 7), 30.0), np.tile([800.0, 0.0, -800.0, -20.0], (4, 8, 1))
    dk, dgains = rng.normal(size=k.shape), rng.normal(size=gains.shape)
    moved = opened.jvp("step")(
        q, v, u, H, dq, dv, du, 1e-3 * H, stiffness=k, actuator_gains=gains, dstiffness=dk, dactuator_gains=dgains
    )
    ends = [
        opened.step(
            q + s * dq,
            v + s * dv,
            u + s * du,
            H + s * 1e-3 * H,
            stiffness=k + s * dk,
            actuator_gains=gains + s * dgains,
        )
        for s in (e, -e)
    ]
    np.testing.assert_allclose(
        moved[1], (ends[0].v - ends[1].v) / (2.0 * e), rtol=0, atol=1e-7 * np.abs(moved[1]).max()
    )


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-11), ("float32", 1e-4)])
def test_compiled_steps_are_those_of_the_reference(dtype: str, close: float) -> None:
    q, v, u = states(20)
    found = compiled(arm(), target="cpu", dtype=dtype).step(*(np.asarray(x, dtype) for x in (q, v, u, H)))
    wanted = compiled(arm()).step(q, v, u, H)
    np.testing.assert_allclose(found.v, wanted.v, rtol=0, atol=close * np.abs(wanted.v).max())


def test_a_light_joint_under_a_stiff_servo_comes_to_rest() -> None:
    """1e-3 kg m² under kp 1600 and kd 0.6: h omega is 6. With the spring at the beginning of a step it is thrown."""
    builder = condyle.Builder(gravity=(0.0, 0.0, 0.0))
    builder.body("rotor", mass=0.1, inertia=1e-3 * np.eye(3))
    builder.joint("axle", parent="world", child="rotor", type="continuous", axis=(0.0, 0.0, 1.0))
    robot = builder.build().with_actuators([Actuator("servo", {"axle": 1.0}, "position", 1600.0, (0.0, -1600.0, -0.6))])
    ends = {}
    for implicit in (True, "positions"):
        dyn = robot.compile("numpy", actuators=True, implicit=implicit)
        q, v = np.array([0.1]), np.zeros(1)
        for _ in range(100):
            q, v = dyn.step(q, v, np.zeros(1), H)
        ends[implicit] = abs(q[0])
    assert ends["positions"] < 1e-12 and ends[True] > 1e3


def test_a_robot_stands_with_soft_and_stiff_gains() -> None:
    """Steps of 5 ms by contact_solve, kp 25 to 1600, kd 0.6 to 20: after 2 s the joints are at rest."""
    bare, rest = quadruped(), standing()
    names = bare.joint_names[1:]
    servos = [Actuator(name, {name: 1.0}, "position", 1.0, (0.0, -1.0, -1.0)) for name in names]
    robot = bare.with_drives({name: Drive(rotor_inertia=0.002) for name in names}).with_actuators(servos)
    light = bare.inertias * (8.0 / bare.mass)  # so that its legs carry it with the softest gains

    def step(at: Any, impulse: Any, kp: Any, kd: Any) -> dict[str, Any]:
        gains = np.stack([np.stack([kp, 0.0, -kp, -kd])] * 12)
        numbers = {"impulse0": impulse, "inertias": light, "actuator_gains": gains}
        solved = Plane().contact_solve(at, rest[7:], H, 0.8, **numbers)
        after = at.stepped(solved.v, H)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse}

    options: dict[str, Any] = {"contacts": FEET, "sweeps": 12, "actuators": True, "implicit": "positions"}
    sizes = {"q": "nq", "v": "nv", "impulse": (4, 3), "kp": (), "kd": ()}
    kp, kd = (x.ravel() for x in np.meshgrid([25.0, 100.0, 400.0, 1600.0], [0.6, 2.0, 6.0, 20.0]))
    run = robot.function(step, sizes, **options).compile()
    path = run.rollout(rest, np.zeros(18), np.zeros((4, 3)), kp, kd, steps=400)
    late = np.abs(path.v[:, -50:, 6:]).max(axis=(1, 2))
    assert np.all(late < 0.25), late  # rad/s; 0.2 of the softest, which still swings by its own frequency
    assert np.all(late[(kp >= 400.0)] < 0.01) and np.all(path.q[:, -1, 2] > 0.5)


def test_what_cannot_be_is_refused() -> None:
    for integrator in ("euler", "rk4"):
        with pytest.raises(UnsupportedError, match="positions at the end"):
            compiled(arm(), integrator=integrator)
    with pytest.raises(UnsupportedError, match="implicit='position': give 'positions', True or False"):
        compiled(arm(), implicit="position")
