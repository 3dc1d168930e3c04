"""The states that an accelerator is made for, and the answers of the reference in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from condyle.fpga.box import FORCE, TURN, Box, bounds_of_q, box_of
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.tasks import Task
from condyle.functions.dynamics import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, MASS_MATRIX_INVERSE
from condyle.functions.kinematics import INTEGRATE
from condyle.functions.steps import STEP
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.specification import UNBOUND, Function, MinusProduct
from condyle.specification.integrators import METHODS
from condyle.trace.reference import evaluate

Reals = NDArray[np.float64]


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
