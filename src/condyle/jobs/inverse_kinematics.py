"""Inverse kinematics: configurations in which frames of a robot stand where they are wanted.

An iteration is a function of one state, made of what users' functions have, and is repeated until it is done:

    dq = z + J^T (J J^T + mu I)^-1 (e - J z),    mu = 0.03 |e|^2 + 1e-6 m^2,

with e what is missing, J the Jacobian, both times the weights, and z a part of the way to the posture at rest. A joint
that is at a limit and would leave it does not take part: its column of J is zero. The error of a rotation is
2 sin(angle / 2) times the axis, which grows up to half a turn. After `PATIENCE` iterations an attempt starts again,
from the next point of a Kronecker sequence in the joints' ranges: the same points for every target.

Sources: the damping, with which no step is taken back: Sugihara 2011. The posture: Liegeois 1977.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.compile.options import bound_of, whole
from condyle.errors import ModelError, ShapeError, StateError, UnsupportedError
from condyle.functions.repeat import iterate
from condyle.model.array import dtype_name
from condyle.model.robot import Robot
from condyle.model.state import configurations, usual_ranges
from condyle.symbolic.linear import solve_symmetric
from condyle.text import few
from condyle.user import CompiledFunction, UserFunction

Reals = NDArray[np.float64]
where: Any = np.where  # of symbols, which NumPy's types do not know

DAMPING, LEAST = 0.03, 1e-6
"""mu by |e|^2, and what is added [m^2]."""
PATIENCE, SETTLING, SHARE = 14.0, 30.0, 0.8
"""Iterations of an attempt; of one with a posture at rest; the middle part of the ranges, where attempts start."""
PULL, FADE, SETTLED = 0.7, 0.2, 1e-2
"""The part of the way to the posture at rest that the first iteration takes, how fast it becomes less, and how little
the last one moves [rad, m]."""
NEAR, ROTATION = 1e-6, 1e-3
"""|R - goal|^2 of a rotation that is reached; how far R^T R of a goal may be from the identity."""
LAST, LAST_SEEDS, FOREVER = 60, 8, -1e9
"""The search for the least error of a target that was not reached: iterations, attempts, and their age: none ends."""


class Solution(NamedTuple):
    """q (..., nq); error (..., K, 6): what is missing of each frame, [m; 2 sin(angle / 2) axis] in world axes, 0 where
    the weight is 0; iterations (...); solved (...): every entry of error is below the tolerance, and q within limits.
    """

    q: Any
    error: Any
    iterations: Any
    solved: Any


class InverseKinematics:
    """The inverse kinematics of some frames of a robot: `compile` makes it fast."""

    def __init__(
        self,
        robot: Robot,
        function: Callable[..., UserFunction],
        frames: Sequence[str],
        position: float | Sequence[float],
        rotation: float | Sequence[float],
        limits: bool,
        rest: ArrayLike | None,
        tolerance: float,
        most: int,
    ) -> None:
        """function: `Robot.function` of the robot; the others are those of `Robot.inverse_kinematics`."""
        self.robot, self._function = robot, function
        self.frames, self.most = bound_of(robot, frames).frames, whole("most", most, 1)
        fixed = [name for name in self.frames if robot.frames[name].body < 0]
        if fixed or not self.frames or not robot.nv:
            wrong = f"{fixed[0]!r} is fixed to the world" if fixed else "give a name, such as ('tool0',)"
            raise UnsupportedError(f"inverse_kinematics: frames={frames!r}: {wrong}; the robot has nv {robot.nv}")
        if not (np.isfinite(tolerance) and tolerance > 0.0):
            raise UnsupportedError(f"inverse_kinematics: tolerance={tolerance!r}, expected a number above 0 [m, rad]")
        self.tolerance = float(tolerance)
        self.weights = np.stack([self._weights("position", position), self._weights("rotation", rotation)], axis=1)
        if not self.weights.any():
            raise UnsupportedError("inverse_kinematics: no weight is above 0: give one to a position or a rotation")
        self.lower, self.upper = self._limits() if limits else (np.full(robot.nq, x) for x in (-np.inf, np.inf))
        self.rest: Reals | None = None
        if rest is not None:
            robot.check_state(rest)
            self.rest = self.clipped(configurations(robot, rest)[0])
        self.low, self.width = self._ranges()

    def compile(
        self, target: str = "cpu", dtype: DTypeLike = "float64", threads: int | None = None
    ) -> CompiledInverseKinematics:
        """Return what is called with targets; options as in `Robot.compile`. It is compiled at its first call."""
        return CompiledInverseKinematics(self, target, dtype, threads)

    def iteration(self, posed: bool) -> UserFunction:
        """One iteration, a function of one state. posed: whether rotations are goals."""
        nv, frames = self.robot.nv, len(self.frames)
        inputs: dict[str, Any] = {"q": "nq", "start": nv, "age": (), "damping": (), "translation": (frames, 3)}
        inputs |= {"rotation": (frames, 3, 3)} if posed else {}
        inputs |= {} if self.is_flat else {"home": "nq"}
        return self._function(self.inverse_kinematics, inputs, reference_frame="local_world_aligned")

    def inverse_kinematics(
        self, state: Any, start: Any, age: Any, damping: Any, translation: Any, rotation: Any = None, home: Any = None
    ) -> dict[str, Any]:
        """An iteration at one state: q, where the next attempt starts, the age of this one, `done`, and the error.

        damping [m^2]: is added to mu. home (nq): where quaternions of the next attempt start.
        """
        q = self._within(state.q)
        state = state.moved_to(q, 0.0 * start)
        error, e, J, done = self._errors(state, translation, rotation)
        mu = DAMPING * (e @ e) + damping + LEAST
        if self.rest is None:
            dq = damped(J * self._free(q, J.T @ e), e, mu)
        else:
            way = PULL * np.exp(-FADE * np.abs(age)) * state.difference(q, self.rest)
            free = self._free(q, way + damped(J, e - J @ way, mu))
            dq = free * way + damped(J * free, e - J @ (free * way), mu)
            done = done & (np.abs(dq) < SETTLED).all()
        is_old = age + 1.0 >= (PATIENCE if self.rest is None else SETTLING)
        ahead = start + self.move
        ahead = where(ahead > self.low + self.width, ahead - self.width, ahead)
        again = ahead if home is None else state.moved_to(home * self._turned, start).integrate(ahead)
        return {
            "q": where(done, q, where(is_old, again, state.integrate(dq))),
            "start": ahead,
            "age": where(is_old, 0.0, age + 1.0),
            "done": where(done, 1.0, 0.0),
            "error": error,
        }

    def _errors(self, state: Any, translation: Any, rotation: Any) -> tuple[Any, Any, Any, Any]:
        """What is missing (K, 6); its rows with a weight, and how v reduces them, times the weights; whether all is
        below the tolerance. A matrix that is no rotation is never reached.
        """
        errors, rows, slopes = list[Any](), list[Any](), list[Any]()
        done: Any = True
        for k, (name, weights) in enumerate(zip(self.frames, self.weights, strict=True)):
            tip, shift, turn = state.frame(name), np.zeros(3), np.zeros(3)
            if weights[0]:
                shift = translation[k] - tip.translation
                rows.append(weights[0] * shift)
                slopes.append(weights[0] * tip.jacobian[:3])
            if weights[1] and rotation is not None:
                R = rotation[k] @ tip.rotation.T
                sine = 0.5 * np.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
                turn = sine * (2.0 / np.sqrt(np.maximum(1.0 + np.trace(R), 1e-8)))
                rows.append(weights[1] * turn)
                slopes.append(weights[1] * tip.jacobian[3:])
                done = done & (((tip.rotation - rotation[k]) ** 2).sum() < NEAR)
            errors.append(np.concatenate([shift, turn]))
        error = np.stack(errors)
        return error, np.concatenate(rows), np.concatenate(slopes), done & (np.abs(error) < self.tolerance).all()

    def _within(self, q: Any) -> Any:
        """The nearest configuration within the limits."""
        entries = [q[k] for k in range(self.robot.nq)]
        for k, _ in self._limited:
            entries[k] = np.maximum(entries[k], self.lower[k]) if np.isfinite(self.lower[k]) else entries[k]
            entries[k] = np.minimum(entries[k], self.upper[k]) if np.isfinite(self.upper[k]) else entries[k]
        return np.stack(entries)

    def _free(self, q: Any, way: Any) -> Any:
        """1 for each degree of freedom, 0 for one that is at a limit and would leave it; way (nv): where it goes."""
        free: list[Any] = [1.0] * self.robot.nv
        for k, i in self._limited:
            if np.isfinite(self.lower[k]):
                free[i] = where((q[k] <= self.lower[k]) & (way[i] < 0.0), 0.0, free[i])
            if np.isfinite(self.upper[k]):
                free[i] = where((q[k] >= self.upper[k]) & (way[i] > 0.0), 0.0, free[i])
        return np.stack(free)

    # Numbers of the robot, which become constants of the iteration.

    @cached_property
    def is_flat(self) -> bool:
        """Whether q is a plain vector, as without quaternions."""
        return not self._turned.any()

    @cached_property
    def _turned(self) -> Reals:
        """1 for the entries of q of joints whose q is no plain vector, (nq,)."""
        return np.array([float(not joint.kind.is_flat) for joint in self.robot.joints for _ in range(joint.nq)])

    @cached_property
    def _limited(self) -> list[tuple[int, int]]:
        """Of each entry of q with a limit its number in q and in v."""
        plain = [joint for joint in self.robot.joints if joint.kind.is_flat]
        pairs = [(joint.q_index + k, joint.v_index + k) for joint in plain for k in range(joint.nq)]
        return [(k, i) for k, i in pairs if np.isfinite(self.lower[k]) or np.isfinite(self.upper[k])]

    @property
    def move(self) -> Reals:
        """By how much the next start moves in an iteration, (nv,)."""
        return self.width * (spread(self.robot.nv, 0.3) / PATIENCE)

    @cached_property
    def length(self) -> float:
        """Of all links together, about [m]."""
        places = [joint.placement for joint in self.robot.joints] + [
            self.robot.frames[k].placement for k in self.frames
        ]
        return sum(float(np.linalg.norm(place.translation)) for place in places)

    def clipped(self, q: Any) -> Any:
        """The nearest configurations within the limits, of numbers."""
        return np.minimum(np.maximum(q, self.lower), self.upper)

    def starts(self, seeds: int) -> tuple[Reals, Reals]:
        """Where so many attempts start: q (seeds, nq), and the tangent vectors (seeds, nv) before their next starts.

        Tangent vectors are from 0 of plain vectors and from the neutral configuration of the others.
        """
        start = self.low + self.width * ((0.5 + np.arange(seeds)[:, None] * spread(self.robot.nv, 0.37)) % 1.0)
        q = np.asarray(self.robot.integrate(self.robot.neutral() * self._turned, start), np.float64)
        if self.rest is not None:
            q[0] = self.rest
        return q, start

    def _ranges(self) -> tuple[Reals, Reals]:
        """The lowest start, and the width of the starts, (nv,)."""
        low, high = (self.clipped(x) for x in usual_ranges(self.robot))
        middle, half = np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        for joint in self.robot.joints:
            entries, rates = joint.q_slice, joint.v_slice
            if joint.kind.is_flat:
                middle[rates], half[rates] = 0.5 * (low + high)[entries], 0.5 * SHARE * (high - low)[entries]
            elif not joint.kind.is_free:  # a floating base starts again where it started first
                half[rates] = [np.pi * any(angular) for _, angular in joint.kind.subspace(0.0)]
        return middle - half, 2.0 * half

    def _weights(self, what: str, value: float | Sequence[float]) -> Reals:
        """One weight a frame."""
        weights, frames = np.asarray(value, np.float64), len(self.frames)
        if weights.shape not in ((), (frames,)) or not (np.isfinite(weights) & (weights >= 0.0)).all():
            allowed = f"a number, 0 or more, or one for each of {frames} frames"
            raise UnsupportedError(f"inverse_kinematics: {what}={value!r}: give {allowed}")
        return np.broadcast_to(weights, (frames,))

    def _limits(self) -> tuple[Reals, Reals]:
        """The limits of each entry of q, infinite where there are none; ModelError for what no q can keep."""
        quaternions = np.array([joint.kind.has_quaternion for joint in self.robot.joints for _ in range(joint.nq)])
        lower, upper = np.where(quaternions, -np.inf, self.robot.lower), np.where(quaternions, np.inf, self.robot.upper)
        wrong = [repr(joint.name) for joint in self.robot.joints if (lower > upper)[joint.q_slice].any()]
        if wrong:
            raise ModelError(
                f"inverse_kinematics: no q keeps the limits of {few(wrong, 3)}: the lower one is above the upper one; "
                "correct them, or give limits=False"
            )
        return lower, upper


def damped(J: Any, e: Any, mu: Any) -> Any:
    """J^T (J J^T + mu I)^-1 e, by the smaller of the two matrices that give it."""
    rows, columns = J.shape
    if rows <= columns:
        return J.T @ solve_symmetric(J @ J.T + mu * np.eye(rows), e)
    return solve_symmetric(J.T @ J + mu * np.eye(columns), J.T @ e)


def spread(n: int, rate: float) -> Reals:
    """n numbers in [0, 1), no one a sum of multiples of the others: steps of a Kronecker sequence."""
    return np.exp(rate * np.arange(1, n + 1)) % 1.0


class CompiledInverseKinematics:
    """The inverse kinematics of a robot on one target, called with targets."""

    def __init__(self, problem: InverseKinematics, target: str, dtype: DTypeLike, threads: int | None) -> None:
        self._problem, self.dtype = problem, np.dtype(dtype_name(dtype))
        least = 10.0 * float(np.finfo(self.dtype).eps)
        if problem.tolerance < least:
            too_small = f"tolerance={problem.tolerance:g} is less than {self.dtype} resolves"
            raise UnsupportedError(f"inverse_kinematics: {too_small}: give {least:.0e} or more")
        neutral = np.asarray(problem.robot.neutral(), self.dtype)
        self._home, self._zero = () if problem.is_flat else (neutral,), np.zeros((), self.dtype)
        self._options = target, dtype, threads
        self._step, self._loop, self._starts = cache(self._compiled), cache(self._repeated), cache(self._prepared)

    def _compiled(self, posed: bool) -> CompiledFunction:
        return self._problem.iteration(posed).compile(*self._options)

    def _repeated(self, posed: bool, most: int, together: bool) -> Callable[..., Any]:
        """`iterate` of the iteration, ready to be called; together: the first state that is done ends all."""
        step = self._step(posed)
        return step.dynamics.function(iterate(step.specification, most, together=together))

    def _prepared(self, seeds: int) -> tuple[Any, ...]:
        return tuple(x.astype(self.dtype) for x in self._problem.starts(whole("seeds", seeds, 1)))

    def __call__(
        self, rotation: ArrayLike | None, translation: ArrayLike, q0: ArrayLike | None = None, seeds: int = 16
    ) -> Solution:
        """Return the configurations of targets, a `Solution`.

        rotation (..., K, 3, 3): of the K frames to the world; None: positions alone. translation (..., K, 3) [m]: their
        origins. q0 (..., nq): where the first attempt starts; None: in the middle of the joints' ranges, or at rest.
        seeds: how many attempts of a single target run side by side; the first that is done ends them all. Of many
        targets each has one attempt at a time, and starts again inside the loop: side by side, most of the attempts
        would be thrown away.
        Errors: ShapeError, DTypeError; StateError for a matrix that is no rotation. A target that is not reached is not
        `solved`, and its q has the least error that was found; neither is one that is not a number.
        """
        goals = (translation,) if rotation is None else (translation, rotation)
        single = np.ndim(translation) == 2 and np.ndim(goals[-1]) == len(goals) + 1
        single = single and (q0 is None or np.ndim(q0) < 2)
        q, start = self._starts(seeds if single else 1)
        home = self._home
        if q0 is not None:
            first, nq = np.asarray(q0), self._problem.robot.nq
            if first.shape[-1:] != (nq,):
                raise ShapeError(f"inverse_kinematics: q0 has shape {first.shape}, expected (..., {nq})")
            home = home and (first,)
            q = np.concatenate([first[None], q[1:]]) if single else first
        elif not single:
            q = q[0]
        loop = self._loop(rotation is not None, self._problem.most, single)
        last = loop(q, start if single else start[0], self._zero, self._zero, *goals, *home)
        if not single:
            return self._completed(last, goals, q)
        k = int(last.done.argmax())
        if last.done[k] > 0.0:
            return Solution(last.q[k], last.error[k], int(last.iterations[k]), True)
        goals = [np.asarray(goal, self.dtype)[None] for goal in goals]
        q, error, solved = self._nearest(goals, q[:1], last.error[:1])
        return Solution(q[0], error[0], int(last.iterations[0]), bool(solved[0]))

    def _completed(self, last: Any, goals: Sequence[ArrayLike], q0: Any) -> Solution:
        """The solution of targets with batch dimensions, after the loop from q0."""
        solved: Any = last.done > 0.0
        todo = np.flatnonzero(~solved)
        if todo.size:

            def rows(array: Any, dims: int) -> Any:
                full: Any = np.asarray(array, self.dtype)
                shape = full.shape[full.ndim - dims :]
                return np.reshape(np.broadcast_to(full, (*solved.shape, *shape)), (-1, *shape))[todo]

            left = [rows(goal, dims) for goal, dims in zip(goals, (2, 3), strict=False)]
            q, error, reached = self._nearest(left, rows(q0, 1), rows(last.error, 2))
            last.q.reshape(-1, q.shape[-1])[todo] = q
            last.error.reshape(-1, *error.shape[1:])[todo] = error
            solved.reshape(-1)[todo] = reached
        return Solution(last.q, last.error, last.iterations.astype(np.int64), solved)

    def _nearest(self, goals: Sequence[Any], q0: Any, error: Any) -> tuple[Any, Any, Any]:
        """The least errors of n targets that were not reached: q (n, nq), error (n, K, 6), and whether they are after
        all. q0 (n, nq): the first starts.
        """
        problem, posed, n = self._problem, len(goals) > 1, len(error)
        if posed:
            _check_rotations(goals[1], problem.weights[:, 1] > 0.0)
        weights = np.repeat(problem.weights, 3, axis=1)
        q, start = (np.tile(x, (n, 1)) for x in self._starts(LAST_SEEDS))
        q[::LAST_SEEDS] = q0
        missing = np.linalg.norm(np.nan_to_num(error * weights).reshape(n, -1), axis=1)
        damping = np.asarray(problem.length * missing, self.dtype)  # about the curvature of |e|^2 / 2
        more = [np.repeat(array, LAST_SEEDS, axis=0) for array in (damping, *goals, *((q0,) if self._home else ()))]
        last = self._loop(posed, LAST, False)(q, start, np.full(len(q), FOREVER, self.dtype), *more)
        q = np.asarray(problem.clipped(last.q), self.dtype)
        error = self._step(posed)(q, start, np.zeros(len(q), self.dtype), *more).error
        missing = np.linalg.norm((error * weights).reshape(n, LAST_SEEDS, -1), axis=2)
        best = np.arange(n) * LAST_SEEDS + np.nan_to_num(missing, nan=np.inf).argmin(axis=1)
        q, error = q[best], error[best]
        q[np.isnan(error).any(axis=(1, 2))] = np.nan
        return q, error, (np.abs(error) < problem.tolerance).all(axis=(1, 2))


def _check_rotations(rotations: Any, wanted: Any) -> None:
    """StateError for matrices that are no rotations, (n, K, 3, 3); wanted (K,): of these frames."""
    R: Any = np.asarray(rotations, np.float64)
    with np.errstate(all="ignore"):
        off = (np.abs(R.swapaxes(-1, -2) @ R - np.eye(3)).max(axis=(-1, -2)) > ROTATION) | (np.linalg.det(R) < 0.0)
    bad = np.flatnonzero((off & np.isfinite(R).all(axis=(-1, -2)) & wanted).any(axis=1))
    if bad.size:
        raise StateError(
            f"inverse_kinematics: {len(bad)} of the rotations are none: R^T R is further than {ROTATION:g} from the "
            "identity, or det R is -1; the columns of R are the axes of the frame in the world",
            tuple(bad.tolist()),
        )
