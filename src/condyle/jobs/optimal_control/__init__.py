"""Optimal control: a trajectory of least cost within limits, for many problems at once, as one native call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.calls.dynamics import Dynamics
from condyle.compile.options import bound_of, whole
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.dynamics import INVERSE_DYNAMICS
from condyle.functions.riccati import Turning
from condyle.jobs.optimal_control.iteration import Knot
from condyle.jobs.optimal_control.problem import NOTHING, TAKEN, TORQUE, Rules, Side, Written, written
from condyle.jobs.optimal_control.scheduled import Input, Job
from condyle.jobs.optimal_control.solver import Plan as Plan
from condyle.jobs.optimal_control.solver import Solver as Solver
from condyle.model.parts import say_unapplied, without_notes
from condyle.model.robot import Robot
from condyle.specification import Bound
from condyle.specification.ports import ACTIVE, RISING
from condyle.trace.straight import sizes
from condyle.user.ports import Sizes, inputs_of, names_asked

Reals = NDArray[np.float64]
Limits = bool | tuple[ArrayLike, ArrayLike]
RUNNING = ("residual", "cost", "equal", "below")


class OptimalControl:
    """A problem of optimal control of a robot over N knots: `compile` makes a solver of it.

    least    sum of l(x_k, u_k) for k = 0 .. N - 1, plus l_N(x_N)
    with     x_(k+1) = step(x_k, u_k, dt), x_0 given, within bounds and limits,

    x = (q, v). See docs/how-to/optimal_control.md.
    """

    def __init__(
        self,
        robot: Robot,
        running: Callable[..., Any],
        last: Callable[..., Any] | None = None,
        *,
        knots: int,
        dt: float,
        integrator: str = "semi_implicit_euler",
        inputs: Mapping[str, Any] | None = None,
        by_knot: Sequence[str] = (),
        bounds: Mapping[str, Limits] | None = None,
        dynamics: Callable[..., Any] | None = None,
        controls: int | None = None,
        impacts: bool = True,
        **options: Any,
    ) -> None:
        """running(at, u, inputs), last(at, inputs): users' functions of one knot (docs/how-to/your-functions.md), which
        answer some of "residual" r: adds r^T r / 2, taken by Gauss-Newton; "cost": a number, taken by its Hessian, made
        positive; "equal": = 0; "below": <= 0. Each takes u and inputs by the names of its arguments.

        knots: N, intervals of dt [s]. integrator: as in `Robot.compile`. inputs: {name: size} of numbers that change
        from call to call. by_knot: names of those with a value for each knot, (N + 1, *size); "active", flags of
        contacts, has (N, n_contacts). bounds: of "u", "q", "v": True is those of the model (effort or control range,
        limits, velocity), or (lower, upper), or False; by default {"u": True}. impacts: whether there is an impact
        where a flag of "active" rises. Without, contacts of gains (kp, 1 / dt) stop a foot in a step as well, which
        compiles sooner. dynamics: f(at, u, inputs) -> {"q", "v"} of the next knot, in place of the robot's step;
        controls: its number of u. options: those of `Robot.function`, such as `contacts`, `joint_forces`, `actuators`,
        `reference_frame`.
        Errors: UnsupportedError, ShapeError.
        """
        self.robot, self.knots = robot, whole("knots", knots, 1)
        if not (np.isfinite(dt) and dt > 0.0):
            raise UnsupportedError(f"OptimalControl: dt={dt!r}, expected seconds above 0")
        self.dt = float(dt)
        self._options: dict[str, Any] = {**options, "integrator": integrator}
        bound = bound_of(robot, **self._options)
        self.nu, self._root = self._controls(bound, dynamics, controls)
        self.inputs = self._inputs(bound, inputs or {}, by_knot, impacts)
        every: dict[str, Any] = {item.name: item.shape or () for item in self.inputs}
        state = {"q": "nq", "v": "nv"}
        at_knot = {**state, "u": self.nu, **every}
        at_end = {**state, **{name: size for name, size in every.items() if name not in (ACTIVE.name, RISING.name)}}
        self._sides = self._bounds(bound, {"u": True} if bounds is None else dict(bounds))
        self.by_acceleration = dynamics is None and self._is_driven(bound) and not self._holds_a_control()
        names = names_asked("OptimalControl", "running", running, at_knot)
        if self.by_acceleration:
            running, dynamics = partial(self._by_acceleration, running, names), self._move
        moves = names_asked("OptimalControl", "dynamics", dynamics or self._step, at_knot)
        all_names = dict.fromkeys((*names, "u")) if self.by_acceleration else names
        allowed = (*RUNNING, TORQUE) if self.by_acceleration else RUNNING
        self._running = written(robot, bound, "running", running, at_knot, tuple(all_names), allowed)
        names = () if last is None else names_asked("OptimalControl", "last", last, at_end)
        self._last = NOTHING if last is None else written(robot, bound, "last", last, at_end, names, RUNNING)
        self._motion = written(robot, bound, "dynamics", dynamics or self._step, at_knot, moves, ("q", "v"))
        self._is_step = self._motion.dt == self.dt and integrator == "semi_implicit_euler"
        frames = dict.fromkeys((*self._running.frames, *self._last.frames, *self._motion.frames))
        self._bound = bound._replace(frames=tuple(frames))
        self._options["frames"] = self._bound.frames
        self._taken = at_knot, at_end

    def __repr__(self) -> str:
        kind = "accelerations" if self.by_acceleration else "controls"
        return f"<OptimalControl of {self.robot.name}: {self.knots} knots of {self.dt:g} s, variables are {kind}>"

    def compile(self, target: str = "cpu", dtype: DTypeLike = "float64", threads: int | None = None) -> Solver:
        """Return the solver; options as in `Robot.compile`. It is compiled at its first call.

        With target "cuda" all problems of a batch are computed together (not run on a GPU yet); arrays are in the
        processor's memory.
        """
        robot: Any = self.robot  # a `condyle.Robot`
        if any(side.quantity == "q" for side in self._sides):  # limits are applied here
            say_unapplied(robot, ("limits",), self._bound.drives)
            robot = without_notes(robot)
        dynamics: Dynamics = robot.compile(target, dtype, threads, **self._options)
        return Solver(self, dynamics)

    def export(
        self,
        target: str,
        out: str | os.PathLike[str],
        name: str | None = None,
        dtype: str = "float64",
        shift: int = 1,
        embedded: bool = False,
        part: str | None = None,
        flash: int | None = None,
        stack: int | None = None,
    ) -> list[Path]:
        """Write a project in C with NAME_solve and NAME_step for one problem, without allocation; return its files.

        target: "c". shift: knots by which a step moves the plan on. name, embedded, part, flash, stack: as in
        `condyle.export`. The header says what each array is. Errors: UnsupportedError.
        """
        from condyle.jobs.optimal_control.exported import export  # at first use

        return export(self, target, out, name, dtype, shift, embedded, part=part, flash=flash, stack=stack)

    @property
    def bound(self) -> Bound:
        """The options of the robot's functions."""
        return self._bound

    @property
    def columns(self) -> tuple[int, ...]:
        """Of the matrices of the Riccati recursion, whose columns stand side by side."""
        nv = self.robot.nv
        return (nv + 1,) if self.by_acceleration else (2 * nv + 1, self.nu)

    def job(self, dtype: str, lanes: int) -> Job:
        """The functions and schedules of this problem for a number type."""
        eps, bound, (at_knot, at_end) = float(np.finfo(dtype).eps), self._bound, self._taken
        sides = tuple(side for side in self._sides if side.quantity != "u")
        names = tuple(item.name for item in self.inputs)
        end = tuple(name for name in names if name in at_end)
        motion = self._motion.part(self.robot, bound, at_knot, ("q", "v"))
        nv = self.robot.nv
        every, linear = self._sides, self.by_acceleration
        if linear:
            every = tuple(side._replace(quantity=TORQUE) if side.quantity == "u" else side for side in every)
        steps = self._turning if self._is_step and not linear else None
        own = self._rules(self._running, every, at_knot)
        running = Knot(nv, self.nu, lanes, own, motion, names, eps, linear, steps, self.dt)
        rules = self._rules(self._last, sides, at_end)
        last = Knot(nv, self.nu, lanes, rules, None, end, eps, linear, steps, self.dt)
        drives = self._torques if self.by_acceleration else None
        return Job(self.robot, bound, running, last, self.inputs, self.knots, self.dt, drives)

    def _rules(self, part: Written, sides: tuple[Side, ...], inputs: Mapping[str, Any]) -> Rules:
        """The rules of a knot. At the last one there is no u, and no state is given."""
        robot, bound, running = self.robot, self._bound, "u" in inputs
        torque = (TORQUE,) if any(side.quantity == TORQUE for side in sides) else ()
        asked = ("residual", "cost"), ("cost",), ("equal", "below", *torque)
        costs, curvature, limits = (part.part(robot, bound, inputs, names) for names in asked)
        below = (*part.of_state.get("below", ()), *(side.quantity in ("q", "v") for side in sides))
        equal = part.of_state.get("equal", ())
        return Rules(costs, curvature, limits, sides, part.lengths, below if running else (), equal if running else ())

    # Where every joint is driven, the accelerations are the variables and the torques follow from them: the motion is
    # linear, and each step of the method keeps to it.

    def _is_driven(self, bound: Bound) -> bool:
        """Whether torques follow from accelerations."""
        plain = not bound.drives.forces and not bound.drives.actuators and not bound.contacts
        plain = plain and all(joint.kind.is_flat for joint in self.robot.joints)
        return plain and not self._root and self._options["integrator"] == "semi_implicit_euler"

    def _holds_a_control(self) -> bool:
        """Whether both bounds of some u are one number: then torques, which can keep to it, are the variables."""
        controls = [(side.entry, side.limit) for side in self._sides if side.quantity == "u"]
        return len(set(controls)) < len(controls)

    def _move(self, state: Any, u: Any) -> Any:
        after = state.stepped(state.v + self.dt * u, self.dt)
        return {"q": after.q, "v": after.v}

    def _by_acceleration(
        self, running: Callable[..., Any], names: Sequence[str], state: Any, u: Any, **inputs: Any
    ) -> Any:
        """What a user's function answers, and torques, for their bounds; u: accelerations."""
        tau = state.inverse_dynamics(u)
        more = {"u": tau} if "u" in names else {}
        answers: Any = running(state, **more, **inputs)
        return {**cast("dict[str, Any]", answers), TORQUE: tau} if isinstance(answers, dict) else answers

    def _torques(self, call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """Torques by accelerations, within their bounds to the last bit."""
        (tau,) = call(INVERSE_DYNAMICS, values["q"], values["v"], values["u"])
        entries = [tau[k] for k in range(self.nu)]
        for side in (side for side in self._sides if side.quantity == "u"):
            clip = np.minimum if side.sign > 0.0 else np.maximum
            entries[side.entry] = clip(entries[side.entry], side.limit)
        return {"torque": np.stack(entries)}

    @property
    def _turning(self) -> Turning | None:
        """First coordinate and size of each free and spherical joint; None where others turn."""
        joints = [joint for joint in self.robot.joints if not joint.kind.is_flat]
        if any(
            not (joint.kind.is_free or (joint.nv == joint.kind.nv == 3 and joint.kind.has_quaternion))
            for joint in joints
        ):
            return None
        return tuple((joint.v_index, joint.nv) for joint in joints)

    def _step(self, state: Any, u: Any, **inputs: Any) -> Any:
        """The robot's step."""
        tau = np.concatenate([np.zeros(self._root), u]) if self._root else u
        flags = {name: inputs[name] for name in (ACTIVE.name, RISING.name) if name in inputs}
        after = state.step(tau, self.dt, **flags)
        return {"q": after.q, "v": after.v}

    def _controls(self, bound: Bound, dynamics: object, controls: int | None) -> tuple[int, int]:
        """The number of u, and of the entries of tau that are not of u."""
        if dynamics is not None:
            if controls is None:
                raise UnsupportedError("OptimalControl: dynamics= needs controls=, the number of entries of u")
            return whole("controls", controls, 1), 0
        if controls is not None:
            raise UnsupportedError("OptimalControl: controls= goes with dynamics=; leave it out")
        if bound.drives.actuators:
            return len(bound.drives.actuators), 0
        root = sum(joint.nv for joint in self.robot.joints if joint.kind.is_free)
        if self.robot.nv == root:
            raise UnsupportedError(f"OptimalControl: robot {self.robot.name!r} has no joint to control")
        return self.robot.nv - root, root

    def _inputs(
        self, bound: Bound, inputs: Mapping[str, Any], by_knot: Sequence[str], impacts: bool
    ) -> tuple[Input, ...]:
        """Inputs with their shapes and rows."""
        known = sizes_of(self.robot, bound)
        ports = inputs_of(inputs, Sizes.joined(known, None)) if inputs else ()
        names = [port.name for port in ports]
        wrong = next((name for name in names if TAKEN.fullmatch(name) or name == RISING.name), None)
        if wrong is not None:
            raise UnsupportedError(f"OptimalControl: inputs: {wrong!r} is taken: choose another name")
        missing = next((name for name in by_knot if name not in names), None)
        if missing is not None:
            raise UnsupportedError(
                f"OptimalControl: by_knot: {missing!r} is no input; there are {', '.join(names) or 'none'}"
            )
        items = list[Input]()
        for port in ports:
            rows = self.knots + 1 if port.name in by_knot else 1
            if port.name == ACTIVE.name:
                if port.name not in by_knot:
                    raise UnsupportedError("OptimalControl: 'active' is an input by knot: by_knot=('active',)")
                rows = self.knots
            items.append(Input(port.name, port.shape(known), rows))
            if port.name == ACTIVE.name and impacts:
                items.append(Input(RISING.name, port.shape(known), rows))
        return tuple(items)

    def _bounds(self, bound: Bound, bounds: Mapping[str, Limits]) -> tuple[Side, ...]:
        """Bounds as sides."""
        robot, wrong = self.robot, next((name for name in bounds if name not in ("u", "q", "v")), None)
        if wrong is not None:
            raise UnsupportedError(f"OptimalControl: bounds: {wrong!r}; allowed are 'u', 'q' and 'v'")
        flat = [joint for joint in robot.joints if joint.kind.is_flat]
        entries = {
            "u": [(k, k) for k in range(self.nu)],
            "v": [(k, k) for k in range(robot.nv)],
            "q": [(j.q_index + k, j.v_index + k) for j in flat for k in range(j.nq)],
        }
        sides = list[Side]()
        for name, value in bounds.items():
            if value is False:
                continue
            size = {"u": self.nu, "q": robot.nq, "v": robot.nv}[name]
            lower, upper = self._model_bounds(bound, name) if value is True else self._asked_bounds(name, value, size)
            for entry, tangent in entries[name]:
                sides += _sides(name, entry, tangent, float(lower[entry]), float(upper[entry]))
        return tuple(sides)

    def _model_bounds(self, bound: Bound, name: str) -> tuple[Reals, Reals]:
        robot, drives = self.robot, bound.drives
        if name == "q":
            return robot.lower, robot.upper
        if name == "v":
            return -robot.velocity, robot.velocity
        if drives.actuators:
            pairs = np.array([drive.control for drive in drives.actuators])
            return pairs[:, 0], pairs[:, 1]
        return -robot.effort[self._root :], robot.effort[self._root :]

    def _asked_bounds(self, name: str, value: Any, size: int) -> tuple[Reals, Reals]:
        try:
            lower, upper = (np.broadcast_to(np.asarray(x, np.float64), (size,)) for x in value)
        except (TypeError, ValueError):
            raise ShapeError(
                f"bounds: {name}: give True, False or (lower, upper), each ({size},) or a number"
            ) from None
        if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
            raise UnsupportedError(f"bounds: {name}: a lower bound is above the upper one, or is no number")
        return lower, upper

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs that callers give."""
        return tuple(item.name for item in self.inputs if item.name != RISING.name)

    @property
    def signature(self) -> Signature:
        """Of inputs."""
        return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in self.names])


def _sides(name: str, entry: int, tangent: int, lower: float, upper: float) -> list[Side]:
    """The bounds of one entry; in units of half of the range, where there are two."""
    width = 0.5 * (upper - lower)
    finite = [x for x in (lower, upper) if np.isfinite(x)]
    scale = width if np.isfinite(width) and width > 0.0 else max([1.0, *map(abs, finite)])
    sides = [Side(name, entry, tangent, 1.0, upper, scale)] if np.isfinite(upper) else []
    return [*sides, *([Side(name, entry, tangent, -1.0, lower, scale)] if np.isfinite(lower) else [])]


def sizes_of(robot: Robot, bound: Bound) -> Mapping[str, int]:
    """Sizes by name."""
    from condyle.model.tree import tree_of

    return sizes(tree_of(robot, bound))
