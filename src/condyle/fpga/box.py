"""The box: how large the inputs of a task may be, as given by the user and for each entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import Task
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.target import Word as Numbers
from condyle.fpga.rtl.target import format_for
from condyle.functions.dynamics import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, MASS_MATRIX_INVERSE
from condyle.functions.kinematics import INTEGRATE
from condyle.functions.steps import STEP
from condyle.model.joints.base import JointType
from condyle.model.parts import Joint
from condyle.model.robot import Robot
from condyle.model.state import usual_ranges
from condyle.model.tree import tree_of
from condyle.specification import UNBOUND, Function, MinusProduct
from condyle.specification.integrators import METHODS
from condyle.text import printable
from condyle.trace.reference import evaluate

Reals = NDArray[np.float64]
Box: TypeAlias = Mapping[str, "float | Reals"]
"""By name the largest absolute value: one for all entries, or one for each (nv,)."""
SPEED = 10.0
"""Default velocity of the box in rad/s or m/s, for a joint without a usable velocity limit."""
FASTEST = 50.0
"""A larger velocity limit, such as 1000, means "no limit" in most model files."""
RISE = 0.1
"""Seconds in which a joint reaches the box's velocity from rest: its acceleration is v / RISE."""
LEAST, MOST = 1e-6, 1e6
"""The least and the largest number of a box. Beyond them, a sum with gravity loses all digits of one summand."""
ANGLE = 31.0
"""The largest bound of an angle [rad]. Sines and cosines are right below 32 rad in every word."""
TURN = np.pi
"""The default bound of the angle of a revolute joint, whatever its limits are."""
FORCE = "f_ext"
"""The box has this entry too if tasks have external forces."""
RATES = ("v", "a", "tau")
"""What has an entry for each degree of freedom."""
RULE = f"give q, v, a or tau, for all joints or for one (v.joint_3), from {LEAST:g} to {MOST:g} in SI units"
ANGLES = f"an angle is at most {ANGLE:g} rad: subtract whole turns on the host"


def box_of(robot: Robot, said: object, f_ext: float | None) -> Box:
    """The box of this robot: the numbers of the user, and defaults for the rest.

    q: TURN for angles of revolute joints; the usual range of other coordinates. v: the velocity limit of each joint in
    the model file; SPEED if there is none, or one above FASTEST. a: v / RISE. tau: no bound; the torques that states of
    the box need.

    said: q (for all angles), v, a, tau, each a number, or by joint a number or a list of its entries; v, a and tau also
    an array (nv,). "v.joint_3" is for that joint, and has priority over a number for all. UnsupportedError names what
    is wrong and what is allowed.
    """
    sizes = dict.fromkeys(RATES, robot.nv) | {"q": robot.nq}
    found = {name: np.full(n, np.nan) for name, n in sizes.items()}
    angles = np.flatnonzero(_entries(robot, lambda kind, k: k in kind.angles))
    for key, value in sorted(flat(said).items(), key=lambda pair: "." in pair[0]):
        name, dot, joint = key.partition(".")
        if name not in sizes:
            more = "; the option f_ext is for external forces" if name == FORCE else ""
            raise UnsupportedError(f"box: there is no {printable(key)!r} in a box: {RULE}{more}")
        one = _joint(robot, key, joint) if dot else None
        if name == "q":
            places = angles if one is None else _coordinates(key, one)
            found[name][places] = _numbers(key, value, 1 if one is None else one.nq)
        else:
            entries = slice(0, robot.nv) if one is None else one.v_slice
            found[name][entries] = _numbers(key, value, entries.stop - entries.start)
    for k in angles[found["q"][angles] > ANGLE]:
        raise UnsupportedError(f"box: q_{k}={found['q'][k]:g} is out of range: {ANGLES}")
    v = _else(found["v"], usual_speeds(robot))
    a = _else(found["a"], np.minimum(np.maximum(v / RISE, LEAST), MOST))
    box: dict[str, float | Reals] = {
        "q": _bounds_said(robot, found["q"]),
        "v": _scalar_if_equal(v),
        "a": _scalar_if_equal(a),
    }
    if np.isfinite(found["tau"]).any():
        box["tau"] = _scalar_if_equal(_else(found["tau"], np.full(robot.nv, np.inf)))
    return box if f_ext is None else {**box, FORCE: f_ext}


def bounds_of_q(robot: Robot, q: float | Reals) -> Reals:
    """The largest absolute value of each entry of q (nq,). q: of the box; one number is for revolute joints."""
    if isinstance(q, np.ndarray):
        return q
    return np.where(_entries(robot, lambda kind, _: kind.is_periodic), q, np.maximum(*np.abs(usual_ranges(robot))))


def _entries(robot: Robot, is_meant: Callable[[JointType, int], bool]) -> NDArray[np.bool_]:
    """Which entries of q (nq,) are meant, by the type of their joint and their place in it."""
    kinds = [joint.kind for joint in robot.joints if joint.mimic is None]
    return np.array([is_meant(kind, k) for kind in kinds for k in range(kind.nq)], np.bool_)


def _bounds_said(robot: Robot, said: Reals) -> float | Reals:
    """One number if it is that of all revolute joints, and nothing else is said; else a number for each entry of q."""
    revolute = _entries(robot, lambda kind, _: kind.is_periodic)
    bounds = _else(said, bounds_of_q(robot, TURN))
    if len(set(bounds[revolute].tolist())) <= 1 and np.isnan(said[~revolute]).all():
        return float(bounds[revolute][0]) if revolute.any() else TURN
    return bounds


def _coordinates(key: str, joint: Joint) -> slice:
    """The entries of a joint in q."""
    if joint.kind.has_quaternion:
        raise UnsupportedError(
            f"box: {printable(key)!r}: the orientation of this {joint.type} joint is a unit quaternion, which has no "
            "range: leave it out"
        )
    return joint.q_slice


def usual_speeds(robot: Robot) -> Reals:
    """The default velocities (nv,) of a box [rad/s, m/s]."""
    return np.where((robot.velocity >= LEAST) & (robot.velocity <= FASTEST), robot.velocity, SPEED)


def _else(said: Reals, default: Reals) -> Reals:
    """The user's numbers, else the defaults."""
    return np.where(np.isnan(said), default, said)


def check_held(limits: Mapping[Word, float], numbers: Numbers) -> None:
    """UnsupportedError if the box does not fit a word with a fixed point."""
    for word, bound in limits.items():
        format = format_for(numbers, bound)
        most = float(format.to_real(np.array(format.limit)))
        if bound > most:
            raise UnsupportedError(
                f"box: {word} may be {bound:g}, but word {numbers.name!r} ends at {most:g}: choose a smaller box, or a "
                "word with a scale for each signal, such as 27x18"
            )


def flat(said: object) -> dict[str, object]:
    """The box as one mapping: {"v": {"j": 2}} is {"v.j": 2}; arrays are lists, which can be compared."""
    if not isinstance(said, Mapping):
        raise UnsupportedError(f"box={said!r} is not a mapping such as {{'v': 10, 'a': 100}}: {RULE}")
    found: dict[str, object] = {}
    for name, value in cast("Mapping[object, object]", said).items():
        by_joint = cast("Mapping[object, object]", value).items() if isinstance(value, Mapping) else ()
        pairs = [(f"{name}.{joint}", one) for joint, one in by_joint] if isinstance(value, Mapping) else [(name, value)]
        found |= {str(key): one.tolist() if isinstance(one, np.ndarray) else one for key, one in pairs}
    return found


def _joint(robot: Robot, key: str, name: str) -> Joint:
    """The moving joint of that name."""
    joints = {joint.name: joint for joint in robot.joints}
    if name not in joints or joints[name].mimic is not None:
        there = ", ".join(printable(joint.name) for joint in robot.joints if joint.mimic is None)
        what = "follows another joint" if name in joints else "names no moving joint"
        raise UnsupportedError(f"box: {printable(key)!r} {what}: the joints are {there}")
    return joints[name]


def _numbers(key: str, value: object, n: int) -> Reals:
    """One number, or n of them."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0)
    if found.dtype.kind not in "iuf" or found.shape not in ((), (n,)):
        also = f" or a list of {n}" if n > 1 else ""
        raise UnsupportedError(f"box: {printable(key)}={printable(repr(value))} is not a number{also}: {RULE}")
    if not ((found >= LEAST) & (found <= MOST)).all():
        raise UnsupportedError(f"box: {printable(key)}={printable(repr(value))} is out of range: {RULE}")
    return found.astype(np.float64)


def _scalar_if_equal(sizes: Reals) -> float | Reals:
    """One number if all entries are equal."""
    return float(sizes[0]) if len(set(sizes.tolist())) == 1 else sizes


# The states that an accelerator is made for, and the answers of the reference in float64.


def sampled(robot: Robot, n: int, seed: int, box: Box | None = None) -> dict[str, Reals]:
    """q, v, a and, where the box has any, f_ext, (n, size) each; a quarter of them at the corners of v and a.

    box: None is the robot's where nothing is said.
    """
    box = box_of(robot, {}, None) if box is None else box
    rng = np.random.default_rng(seed)
    q = robot.random_state(n, rng).q
    bounds, usual = (bounds_of_q(robot, of) for of in (box["q"], TURN))
    for joint in robot.joints:
        for k in range(joint.q_index, joint.q_index + joint.nq):
            if joint.kind.is_periodic or bounds[k] != usual[k]:
                q[:, k] = rng.uniform(-bounds[k], bounds[k], n)
    v, a = (rng.uniform(-box[name], box[name], (n, robot.nv)) for name in "va")
    v[: n // 4], a[: n // 4] = box["v"] * np.sign(v[: n // 4]), box["a"] * np.sign(a[: n // 4])
    states = {"q": q, "v": v, "a": a}
    if FORCE in box:
        states[FORCE] = rng.uniform(-box[FORCE], box[FORCE], (n, 6 * len(robot.bodies)))
    return states


def limits(robot: Robot, box: Box) -> dict[Word, float]:
    """The largest absolute value of every word of q, v, a, tau and f_ext that has one in the box."""
    sizes = {name: np.broadcast_to(box[name], robot.nv).tolist() for name in ("v", "a", "tau") if name in box}
    found = {Word(name, k): x for name, entries in sizes.items() for k, x in enumerate(entries) if np.isfinite(x)}
    found.update({Word("q", k): bound for k, bound in enumerate(bounds_of_q(robot, box["q"]).tolist())})
    if FORCE in box:
        found.update({Word(FORCE, k): float(box[FORCE]) for k in range(6 * len(robot.bodies))})
    return found


def consistent(robot: Robot, states: Mapping[str, Reals], box: Box | None = None) -> dict[str, Reals]:
    """The states with their tau, within its bound in the box, and their Minv."""
    (tau,), (inverse,) = (exact(robot, function, states) for function in (INVERSE_DYNAMICS, MASS_MATRIX_INVERSE))
    most = (box or {}).get("tau", np.inf)
    return {**states, "tau": np.minimum(np.maximum(tau, np.negative(most)), most), "Minv": inverse}


def answer_of(robot: Robot, task: Task, states: Mapping[str, Reals], h: float) -> list[Reals]:
    """The outputs of a task's function in float64, flat (n, size). h: the step of integration steps."""
    if task.method:
        return _stepped(robot, task.method, states, h)
    return _of_a_given_base(robot, task, states) if task.base_given else exact(robot, task.function, states)


def exact(robot: Robot, function: Function, states: Mapping[str, Reals], integrator: str = "") -> list[Reals]:
    """The reference's answers, with the external forces of the states, where they have any."""
    tree = tree_of(robot, UNBOUND._replace(integrator=integrator) if integrator else UNBOUND)
    taken = function.taking(FORCE) if FORCE in states else function
    route = function.route_names(tree.has_shared_coordinates)[0]
    inputs = {port.name: states[port.name] for port in taken.inputs}
    return [np.asarray(answer, np.float64) for answer in evaluate(tree, taken, route, inputs)]


def _stepped(robot: Robot, method: str, states: Mapping[str, Reals], h: float) -> list[Reals]:
    if METHODS[method].order == 1:  # of accelerators: q + h v, v + h a
        (a,), moving = exact(robot, FORWARD_DYNAMICS, states), {"q": states["q"], "dv": h * states["v"]}
        return [*exact(robot, INTEGRATE, moving), states["v"] + h * a]
    return exact(robot, STEP, {**states, "dt": np.full((1, 1), h)}, method)


def _of_a_given_base(robot: Robot, task: Task, states: Mapping[str, Reals]) -> list[Reals]:
    """The composition, with the inverse of the mass matrix of the joints alone; entries of the base are zero."""
    base, n = robot.joints[0].nv, len(states["q"])
    (mass,) = exact(robot, MASS_MATRIX, states)
    square, joints = (n, robot.nv, robot.nv), np.arange(robot.nv) >= base
    inverse: Reals = np.zeros(square)
    inverse[:, base:, base:] = np.linalg.inv(np.reshape(mass, square)[:, base:, base:])
    known = {**states, "a": np.where(joints, 0.0, states["a"])}
    for step in task.composition:
        if isinstance(step, MinusProduct):
            known[step.gives] = -inverse @ known[step.right]
        elif step.function == FORWARD_DYNAMICS:
            (c,) = exact(robot, INVERSE_DYNAMICS, known)
            a = (inverse @ (states["tau"] - c)[..., None])[..., 0]
            known |= dict.fromkeys(step.gives, a) | {"a": np.where(joints, a, states["a"])}
        elif step.function == MASS_MATRIX_INVERSE:
            known |= dict.fromkeys(step.gives, inverse)
        else:
            answers = exact(robot, step.function, known)
            known |= {name: np.reshape(by, square) for name, by in zip(step.gives, answers, strict=True)}
    answers = {**known, "a": np.where(joints, known["a"], 0.0)}
    return [np.reshape(answers[port.name], (n, -1)) for port in task.function.outputs]
