"""Joint forces, actuators and steps that take them at their end, beside the same written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import condyle
from condyle.calls.dynamics import Dynamics
from condyle.functions.dynamics import FORWARD_DYNAMICS
from condyle.functions.steps import STEP
from tests.zoo import every_joint

Array = NDArray[np.float64]
STATES, H = 5, 0.01
W, (K, AHEAD, BLEND) = 0.02, (800.0, 0.02, 0.05)
OPTIONS: dict[str, Any] = {"joint_forces": ("all",), "friction_velocity": W, "stops": (K, AHEAD, BLEND)}


def driven(robot: condyle.Robot) -> condyle.Robot:
    """Damping and friction at every degree of freedom but those of a free joint, springs where there may be some."""
    drives = {
        joint.name: condyle.Drive(
            rotor_inertia=joint.armature,
            damping=0.3 + 0.1 * np.arange(joint.kind.nv),
            friction=0.2 + 0.1 * np.arange(joint.kind.nv),
            stiffness=2.0 if joint.kind.nv == 1 else 0.0,
            spring_reference=0.1 if joint.kind.nv == 1 else 0.0,
        )
        for joint in robot.joints
        if joint.type != "free"
    }
    return robot.with_drives(drives)


def actuated(robot: condyle.Robot, names: list[str]) -> condyle.Robot:
    """One of each kind; some clipped; the tendon lies across two joints."""
    a, b, c, d, e, f = names[:6]
    one = condyle.Actuator
    return robot.with_actuators(
        (
            one("motor", {a: 10.0}, control=(-0.5, 0.5)),
            one("servo", {b: 2.0}, "position", gain=30.0, bias=(1.0, -30.0, -3.0), force=(-8.0, 8.0)),
            one("tendon", {c: 1.0, d: -0.5}, "position", gain=20.0, bias=(0.5, -20.0, -2.0)),
            one("speed", {e: 1.5}, "velocity", gain=4.0),
            one("brake", {f: 1.0}, "damper", gain=3.0, control=(0.0, 0.7)),
        )
    )


def hyq() -> condyle.Robot:
    return driven(condyle.load("hyq", floating_base=True))


def hyq_actuated() -> condyle.Robot:
    """The tendon lies across two legs, which no chain of bodies but the free base links."""
    names = [joint.name for joint in condyle.load("hyq").joints]
    return actuated(hyq(), [names[k] for k in (0, 1, 2, 5, 6, 9)])


def panda_actuated() -> condyle.Robot:
    robot = driven(condyle.load("panda"))
    return actuated(robot, [joint.name for joint in robot.joints])


ROBOTS: dict[str, Callable[[], condyle.Robot]] = {
    "every joint": lambda: driven(condyle.Robot.from_data(every_joint())),
    "hyq": hyq,
    "hyq actuated": hyq_actuated,
    "panda actuated": panda_actuated,
}


class Case:
    """A robot with all its forces, the same without, and states in and beyond its limits."""

    def __init__(self, robot: condyle.Robot) -> None:
        self.robot, self.actuators = robot, bool(robot.actuators)
        self.dyn = self.compiled("numpy")
        self.bare = robot.compile("numpy")
        state = robot.random_state(STATES, 3)
        rng = np.random.default_rng(4)
        self.q, self.v = state.q.copy(), 0.2 * rng.standard_normal(state.v.shape)
        self.u = rng.uniform(-1.0, 1.0, (STATES, self.dyn.sizes["nu"] if self.actuators else robot.nv))
        self.positions = {
            joint.v_index: joint.q_index for joint in robot.joints if joint.nv == 1 and joint.mimic is None
        }
        for at in self.positions.values():
            low, high = robot.lower[at], robot.upper[at]
            if np.isfinite(low) and np.isfinite(high):
                self.q[:, at] = rng.uniform(low - 0.1, high + 0.1, STATES)

    def compiled(self, target: str, **options: Any) -> Dynamics:
        return self.robot.compile(target, actuators=self.actuators, **{**OPTIONS, **options})

    def actuator_force(self, q: Array, v: Array, u: Array) -> Array:
        """By the formula of the docstring, state by state."""
        out = np.zeros_like(v)
        for k, one in enumerate(self.robot.actuators):
            gears = [(joint, gear) for joint, gear in one.transmission.items()]
            places = [self.robot.joints[self.robot.joint_names.index(name)] for name, _ in gears]
            length = sum(g * q[:, j.q_index] for j, (_, g) in zip(places, gears, strict=True))
            rate = sum(g * v[:, j.v_index] for j, (_, g) in zip(places, gears, strict=True))
            control, (b0, b1, b2) = np.clip(u[:, k], *one.control), one.bias or (0.0, 0.0, 0.0)
            force = -one.gain * control * rate if one.kind == "damper" else one.gain * control
            force = np.clip(force + b0 + b1 * length + b2 * rate, *one.force)
            for joint, (_, gear) in zip(places, gears, strict=True):
                out[:, joint.v_index] += gear * force
        return out

    def joint_force(self, q: Array, v: Array) -> Array:
        robot = self.robot
        out = -robot.damping * v - robot.friction * v / np.sqrt(v * v + W * W)
        for k, at in self.positions.items():
            ahead = q[:, at] + AHEAD * v[:, k]
            e = ahead - np.clip(ahead, robot.lower[at], robot.upper[at])
            size = np.abs(e)
            ramp = np.where(size < 2.0 * BLEND, size**2 / (4.0 * BLEND), size - BLEND)
            out[:, k] -= robot.stiffness[k] * (q[:, at] - robot.spring_reference[k]) + K * np.sign(e) * ramp
        return out

    def pushed(self, q: Array, v: Array, u: Array) -> Array:
        """The whole force, by the formulas."""
        return self.joint_force(q, v) + (self.actuator_force(q, v, u) if self.actuators else u)

    def D(self) -> Array:
        """- dF/dv by differences, for dry friction f / sqrt(v^2 + w^2)."""
        robot, v = self.robot, self.v
        slopes = -difference(lambda x: self.pushed(self.q, x, self.u), v, lambda x, dx: x + dx)
        root = np.sqrt(v * v + W * W)
        return slopes + (robot.friction / root - robot.friction * W * W / root**3)[:, :, None] * np.eye(robot.nv)

    def moved(self, q: Array, dq: Array) -> Array:
        return self.bare.integrate(q, np.broadcast_to(dq, self.v.shape))


def difference(f: Callable[[Array], Array], x: Array, move: Callable[[Array, Array], Array], size: int = 0) -> Array:
    """df/dx, (..., outputs, inputs), by central differences of 1e-6."""
    n = size or x.shape[-1]
    steps = 1e-6 * np.eye(n)
    return np.stack([(f(move(x, dx)) - f(move(x, -dx))) / 2e-6 for dx in steps], axis=-1)


LONG = {"hyq", "hyq actuated"}
CASES = [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in ROBOTS]


@pytest.fixture(scope="module", params=CASES, ids=lambda name: name.replace(" ", "_"))
def case(request: pytest.FixtureRequest) -> Case:
    return Case(ROBOTS[request.param]())


def test_forces_are_those_of_the_formulas(case: Case) -> None:
    """To rounding: 1e-12 of the largest."""
    force = case.joint_force(case.q, case.v)
    np.testing.assert_allclose(case.dyn.joint_forces(case.q, case.v), force, rtol=1e-12, atol=1e-12 * np.max(force))
    if case.actuators:
        push = case.actuator_force(case.q, case.v, case.u)
        np.testing.assert_allclose(case.dyn.actuator_forces(case.q, case.v, case.u), push, rtol=1e-12, atol=1e-12)


def test_they_act_beside_tau(case: Case) -> None:
    """Forward dynamics is that of the bodies under the whole force, and inverse dynamics gives back what pushed."""
    q, v, u = case.q, case.v, case.u
    a = case.dyn.forward_dynamics(q, v, u)
    np.testing.assert_allclose(a, case.bare.forward_dynamics(q, v, case.pushed(q, v, u)), rtol=1e-9, atol=1e-9)
    push = case.actuator_force(q, v, u) if case.actuators else u
    scale = np.max(np.abs(case.pushed(q, v, u)))
    np.testing.assert_allclose(case.dyn.inverse_dynamics(q, v, a), push, atol=1e-10 * scale)


def test_every_route(case: Case) -> None:
    """Every route to forward dynamics and to a step gives what the first one gives, to rounding."""
    for function in (FORWARD_DYNAMICS, STEP):
        names = function.route_names(any(joint.mimic for joint in case.robot.joints))
        answers: list[Array] = []
        for name in names:
            dyn = case.compiled("numpy", routes={function.name: name})
            more = (H,) if function is STEP else ()
            answer = dyn.function(function)(case.q, case.v, case.u, *more)
            answers.append(answer[1] if isinstance(answer, tuple) else answer)
        for one, other in pairwise(answers):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.max(np.abs(other)))


def test_a_step_takes_at_its_end_what_depends_on_v(case: Case) -> None:
    """(M + h D) a + c = F; D by differences, so to 1e-6. A step that is asked for at its beginning has M alone."""
    q, v, u = case.q, case.v, case.u
    left = case.pushed(q, v, u) - case.bare.nonlinear_effects(q, v)
    M, more = case.bare.mass_matrix(q), {True: H * case.D(), False: 0.0}
    for implicit in (True, False):
        dyn = case.compiled("numpy", implicit=implicit, integrator="euler")
        plain = case.bare.forward_dynamics(q, v, case.pushed(q, v, u))
        a = np.linalg.solve(M + more[implicit], left[..., None])[..., 0]
        after = case.robot.compile("numpy", integrator="euler").step(q, v, case.bare.inverse_dynamics(q, v, a), H).v
        np.testing.assert_allclose(dyn.step(q, v, u, H).v, after, rtol=1e-6, atol=1e-6 * np.max(np.abs(after)))
        tiny = (dyn.step(q, v, u, 1e-9).v - v) / 1e-9
        turned = case.robot.compile("numpy", integrator="euler").step(q, v, case.pushed(q, v, u), 1e-9).v
        np.testing.assert_allclose(tiny, (turned - v) / 1e-9, rtol=1e-4, atol=1e-4 * np.max(np.abs(plain)))


def test_derivatives_of_forward_and_inverse_dynamics(case: Case) -> None:
    """Beside central differences, whose error is 1e-6 of the largest slope: stops are stiff."""
    q, v, u, dyn = case.q, case.v, case.u, case.dyn
    add: Callable[[Array, Array], Array] = lambda x, dx: x + dx  # noqa: E731
    slopes = dyn.forward_dynamics_derivatives(q, v, u)
    expected = (
        difference(lambda x: dyn.forward_dynamics(x, v, u), q, case.moved, case.robot.nv),
        difference(lambda x: dyn.forward_dynamics(q, x, u), v, add),
        difference(lambda x: dyn.forward_dynamics(q, v, x), u, add),
    )
    for one, other in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=3e-6 * np.max(np.abs(other)))
    a = dyn.forward_dynamics(q, v, u)
    by_q, by_v = dyn.inverse_dynamics_derivatives(q, v, a)
    expected_q = difference(lambda x: dyn.inverse_dynamics(x, v, a), q, case.moved, case.robot.nv)
    np.testing.assert_allclose(by_q, expected_q, atol=3e-6 * np.max(np.abs(expected_q)))
    expected_v = difference(lambda x: dyn.inverse_dynamics(q, x, a), v, add)
    np.testing.assert_allclose(by_v, expected_v, atol=3e-6 * np.max(np.abs(expected_v)))


def test_derivatives_of_a_step(case: Case) -> None:
    """A and B of the implicit step, D's own slopes with them, beside central differences."""
    q, v, u, dyn, n = case.q, case.v, case.u, case.dyn, case.robot.nv
    after = dyn.step(q, v, u, H)

    def state(q: Array, v: Array, u: Array) -> Array:
        moved = dyn.step(q, v, u, H)
        return np.concatenate([dyn.difference(after.q, moved.q), moved.v], axis=-1)

    add: Callable[[Array, Array], Array] = lambda x, dx: x + dx  # noqa: E731
    A = [
        difference(lambda x: state(x, v, u), q, case.moved, n),
        difference(lambda x: state(q, x, u), v, add),
    ]
    slopes, expected = dyn.step_derivatives(q, v, u, H), np.concatenate(A, axis=-1)
    np.testing.assert_allclose(slopes.A, expected, atol=3e-6 * np.max(np.abs(expected)))
    B = difference(lambda x: state(q, v, x), u, add)
    np.testing.assert_allclose(slopes.B, B, atol=3e-6 * np.max(np.abs(B)))


def test_machine_code_is_the_reference(case: Case) -> None:
    dyn, q, v, u = case.compiled("cpu"), case.q, case.v, case.u
    calls: list[Callable[[Dynamics], Any]] = [
        lambda d: d.forward_dynamics(q, v, u),
        lambda d: d.forward_dynamics_derivatives(q, v, u),
        lambda d: d.step(q, v, u, H),
        lambda d: d.step_derivatives(q, v, u, H),
        lambda d: d.joint_forces(q, v),
    ]
    for call in calls:
        got, expected = ([x] if isinstance(x, np.ndarray) else list(x) for x in (call(dyn), call(case.dyn)))
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9 * np.max(np.abs(other)))


def slide(**numbers: Any) -> condyle.Robot:
    """1 kg that slides along x from -1 to 1 m."""

    builder = condyle.Builder("slide").body("box", mass=1.0, inertia=0.01 * np.eye(3))
    builder.joint("x", parent="world", child="box", type="prismatic", axis=(1, 0, 0), lower=-1.0, upper=1.0, **numbers)
    return builder.build()


def test_dry_friction_never_turns_a_motion_round() -> None:
    """However long the step: 100 N on 1 kg at 0.1 m/s, steps of 0.1 s."""
    dyn = slide(friction=100.0).compile("numpy", joint_forces=("friction",))
    q, v = np.zeros(1), np.array([0.1])
    for _ in range(20):
        q, v = dyn.step(q, v, np.zeros(1), 0.1)
        assert 0.0 <= v[0] < 0.1
    assert v[0] < 1e-12


@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_a_stop_holds_and_never_pulls(h: float) -> None:
    """1 kg at 2 m/s into the stop comes to rest there: within 5 cm, without going back faster than it came."""
    dyn = slide().compile("numpy", joint_forces=("limits",))
    q, v = np.array([0.9]), np.array([2.0])
    for _ in range(round(2.0 / h)):
        assert dyn.joint_forces(q, v)[0] <= 0.0
        q, v = dyn.step(q, v, np.zeros(1), h)
        assert q[0] < 1.05
        assert abs(v[0]) <= 2.0
    assert dyn.joint_forces(np.array([0.5]), np.array([1.0]))[0] == 0.0  # exactly nothing within the limits


def test_only_what_is_asked_for_acts() -> None:
    robot = driven(condyle.load("panda"))
    bare, state = robot.compile("numpy"), robot.random_state(4, 0)
    for law, expected in (
        ("damping", -robot.damping * state.v),
        ("friction", -robot.friction * state.v / np.sqrt(state.v**2 + 1e-4)),
        ("springs", -robot.stiffness * (state.q - robot.spring_reference)),
    ):
        dyn = robot.compile("numpy", joint_forces=law)
        np.testing.assert_allclose(dyn.joint_forces(state.q, state.v), expected, rtol=1e-12)
        for name in ("mass_matrix", "generalized_gravity", "kinetic_energy"):
            arguments = (state.q, state.v) if name == "kinetic_energy" else (state.q,)
            np.testing.assert_array_equal(getattr(dyn, name)(*arguments), getattr(bare, name)(*arguments))
        np.testing.assert_array_equal(dyn.nonlinear_effects(state.q, state.v), bare.nonlinear_effects(state.q, state.v))


def test_errors() -> None:
    robot = condyle.load("iiwa14")
    with pytest.raises(condyle.UnsupportedError, match="joint_forces='dumping': allowed is 'damping'"):
        robot.compile("numpy", joint_forces=("dumping",))
    with pytest.raises(condyle.UnsupportedError, match=r"has no actuators; robot\.with_actuators"):
        robot.compile("numpy", actuators=True)
    with pytest.raises(condyle.UnsupportedError, match=r"friction_velocity=0.0: give a number above 0"):
        robot.compile("numpy", friction_velocity=0.0)
    with pytest.raises(condyle.UnsupportedError, match=r"stops=\(1.0, 2.0\): give 3 numbers above 0"):
        robot.compile("numpy", stops=(1.0, 2.0))  # type: ignore[arg-type]
    with pytest.raises(condyle.UnsupportedError, match=r"compile\(joint_forces=\('all',\)\) has all"):
        robot.compile("numpy").joint_forces(np.zeros(7), np.zeros(7))
    with pytest.raises(condyle.UnsupportedError, match=r"compile\(actuators=True\)"):
        robot.compile("numpy").actuator_forces(np.zeros(7), np.zeros(7), np.zeros(7))
    one = robot.with_actuators((condyle.Actuator("m", {robot.joint_names[0]: 1.0}),)).compile("numpy", actuators=True)
    with pytest.raises(condyle.ShapeError, match="u has shape"):
        one.forward_dynamics(np.zeros(7), np.zeros(7), np.zeros(7))
