"""Inverse kinematics: configurations in which frames of a robot stand where they are wanted.

An iteration is a function of one state, made of what users' functions have, and is repeated until it is done:

    dq = z + J^T (J J^T + mu I)^-1 (e - J z),    mu = 0.03 |e|^2 + 1e-6,

with e what is missing, J the Jacobian of its rows, both times the weights, and z the way to the posture at rest, if one
is wanted. With more rows than degrees of freedom J^T (J J^T + mu I)^-1 is (J^T J + mu I)^-1 J^T, which is equal. A
joint that is at a limit and would leave it does not take part: its column of J is zero. The error of a rotation is
2 sin(angle / 2) times the axis, whose length grows up to half a turn. After `PATIENCE` iterations an attempt starts
again, from the next point of a Kronecker sequence in the joints' ranges: the same points for every target.

The damping needs no step back: Sugihara, Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method,
2011. The null space: Liegeois 1977.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.errors import ModelError, ShapeError, StateError, UnsupportedError
from condyle.functions.repeat import iterate
from condyle.model.named import suggest
from condyle.model.robot import Robot
from condyle.model.state import usual_ranges
from condyle.text import few
from condyle.user import UserFunction

Reals = NDArray[np.floating]

DAMPING, LEAST = 0.03, 1e-6
"""mu by |e|^2, and what is added [m^2]."""
PATIENCE, SETTLING = 14.0, 30.0
"""Iterations of an attempt; with a posture at rest, which takes more of them."""
SHARE = 0.8
"""Of the joints' ranges, about their middle, where attempts start: near limits fewer succeed."""
PULL, FADE, SETTLED = 0.7, 0.2, 1e-2
"""The part of the way to the posture at rest that the first iteration takes, how fast it becomes less, and how little
the last one moves [rad, m]."""
NEAR = 1e-6
"""|R - goal|^2 where they count as equal: a matrix that is no rotation is never reached."""
ROTATION = 1e-3
"""How far R^T R of a goal may be from the identity."""
FOREVER = -1e9
"""The age of an attempt that does not start again."""
LAST, LAST_SEEDS = 60, 8
"""Iterations, and attempts, of the search for the least error of a target that was not reached."""


class Solution(NamedTuple):
    """q (..., nq); error (..., K, 6): what is missing of each frame, [m; 2 sin(angle / 2) axis] in world axes; 0 where
    the weight is 0. iterations (...). solved (...): every entry of error is below the tolerance, q within the limits.
    """

    q: Any
    error: Any
    iterations: Any
    solved: Any


class InverseKinematics:
    """The inverse kinematics of some frames of a robot: `compile` makes it fast. See `condyle.Robot`."""

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
        self.robot, self.frames, self.most, self.tolerance = robot, _frames(robot, frames), most, float(tolerance)
        if not (np.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise UnsupportedError(f"inverse_kinematics: tolerance={tolerance!r}, expected a number above 0 [m, rad]")
        names = len(self.frames)
        weights = [_weights("position", position, names), _weights("rotation", rotation, names)]
        self.weights = np.repeat(np.stack(weights, axis=1), 3, axis=1)
        self.lower, self.upper = _limits(robot, limits)
        self.rest = None if rest is None else self._posture(rest)
        self._function = function
        self._low, self._width = self._ranges()

    def compile(
        self, target: str = "cpu", dtype: DTypeLike = "float64", threads: int | None = None
    ) -> CompiledInverseKinematics:
        """Return what is called with targets; options as in `Robot.compile`. It is compiled at its first call."""
        return CompiledInverseKinematics(self, target, dtype, threads)

    def step(self, posed: bool) -> UserFunction:
        """One iteration, a function of one state. posed: whether rotations are goals."""
        nv, frames = self.robot.nv, len(self.frames)
        inputs: dict[str, Any] = {"q": "nq", "start": nv, "age": (), "damping": (), "translation": (frames, 3)}
        if posed:
            inputs["rotation"] = (frames, 3, 3)
        if not self.is_flat:
            inputs["home"] = "nq"
        return self._function(self.inverse_kinematics, inputs, reference_frame="local_world_aligned")

    @cached_property
    def is_flat(self) -> bool:
        """Whether q is a plain vector, as without quaternions."""
        return all(joint.kind.is_flat for joint in self.robot.joints if joint.mimic is None)

    @cached_property
    def reach(self) -> float:
        """Of the frames, no more than [m]: how far they are from the root along the links."""
        lengths = [0.0] * len(self.robot.joints)
        for k, joint in enumerate(self.robot.joints):
            own = float(np.linalg.norm(joint.placement.translation) + np.linalg.norm(joint.after.translation))
            lengths[k] = own + (lengths[joint.parent] if joint.parent >= 0 else 0.0)
        tips = [self.robot.frames[name] for name in self.frames]
        return max(lengths[tip.body] + float(np.linalg.norm(tip.placement.translation)) for tip in tips)

    def inverse_kinematics(
        self, at: Any, start: Any, age: Any, damping: Any, translation: Any, rotation: Any = None, home: Any = None
    ) -> dict[str, Any]:
        """An iteration at one state: q, where the next attempt starts, the age of this one, `done`, and the error.

        damping [m^2]: is added to mu. home (nq): where quaternions of the next attempt start.
        """
        q = self._within(at.q)
        at = at.moved_to(q, 0.0 * start)
        error, J, reached = self._errors(at, translation, rotation)
        rows = np.flatnonzero(self._weights(rotation is not None))
        weights = self._weights(rotation is not None).ravel()[rows]
        e, J = error[rows] * weights, J[rows] * weights[:, None]
        mu = DAMPING * (e @ e) + damping + LEAST
        done = reached & (np.abs(error[rows]) < self.tolerance).all()
        if self.rest is None:
            dq = damped_step(J * self._free(q, J.T @ e), e, mu)
        else:
            away = PULL * np.exp(-FADE * np.abs(age)) * at.difference(q, self.rest)
            dq = damped_step(J, e - J @ away, mu) + away
            free = self._free(q, dq)
            J, away = J * free, away * free
            dq = damped_step(J, e - J @ away, mu) + away
            done = done & (np.abs(dq) < SETTLED).all()
        age = age + 1.0
        stuck = age >= (PATIENCE if self.rest is None else SETTLING)
        start = start + self._moves * self._width
        start = np.where(start > self._low + self._width, start - self._width, start)
        moved = np.where(stuck, self._started(at, start, home), at.integrate(dq))
        return {
            "q": np.where(done, q, moved),
            "start": start,
            "age": np.where(stuck, 0.0, age),
            "done": np.where(done, 1.0, 0.0),
            "error": error.reshape(-1, 6),
        }

    def _errors(self, at: Any, translation: Any, rotation: Any) -> tuple[Any, Any, Any]:
        """What is missing (6 K), its Jacobian but for the sign (6 K, nv), and whether no rotation is far off."""
        errors: list[Any] = []
        jacobians: list[Any] = []
        near: Any = self.tolerance > 0.0
        for k, name in enumerate(self.frames):
            tip = at.frame(name)
            turn: Any = np.zeros(3)
            if rotation is not None and self.weights[k, 3]:
                B = rotation[k] @ tip.rotation.T
                sine = 0.5 * np.stack([B[2, 1] - B[1, 2], B[0, 2] - B[2, 0], B[1, 0] - B[0, 1]])
                turn = sine * (2.0 / np.sqrt(np.maximum(1.0 + np.trace(B), 1e-8)))
                near = near & (((tip.rotation - rotation[k]) ** 2).sum() < NEAR)
            shift = translation[k] - tip.translation if self.weights[k, 0] else np.zeros(3)
            errors += [shift, turn]
            jacobians.append(tip.jacobian)
        return np.concatenate(errors), np.concatenate(jacobians), near

    def _weights(self, posed: bool) -> Reals:
        return self.weights * ([1.0] * 3 + [float(posed)] * 3)

    def _within(self, q: Any) -> Any:
        """The nearest configuration within the limits."""
        entries = [q[k] for k in range(self.robot.nq)]
        for k, _ in self._limited:
            if np.isfinite(self.lower[k]):
                entries[k] = np.maximum(entries[k], self.lower[k])
            if np.isfinite(self.upper[k]):
                entries[k] = np.minimum(entries[k], self.upper[k])
        return np.stack(entries)

    def _free(self, q: Any, slope: Any) -> Any:
        """1 for each degree of freedom, 0 for one that is at a limit and would leave it; slope: where it would go."""
        free: list[Any] = [1.0] * self.robot.nv
        for k, i in self._limited:
            if np.isfinite(self.lower[k]):
                free[i] = np.where((q[k] <= self.lower[k]) & (slope[i] < 0.0), 0.0, free[i])
            if np.isfinite(self.upper[k]):
                free[i] = np.where((q[k] >= self.upper[k]) & (slope[i] > 0.0), 0.0, free[i])
        return np.stack(free)

    @cached_property
    def _limited(self) -> list[tuple[int, int]]:
        """Of each entry of q with a limit, its number in q and in v."""
        own = [joint for joint in self.robot.joints if joint.mimic is None and joint.kind.is_flat]
        pairs = [(joint.q_index + k, joint.v_index + k) for joint in own for k in range(joint.nq)]
        return [(k, i) for k, i in pairs if np.isfinite(self.lower[k]) or np.isfinite(self.upper[k])]

    # Where attempts start: tangent vectors from the zeros of plain joints and from `home` of the others.

    @cached_property
    def _moves(self) -> Reals:
        """By how much of its range the next start moves in an iteration, (nv,)."""
        return roots(self.robot.nv) / PATIENCE

    def _started(self, at: Any, start: Any, home: Any) -> Any:
        if home is None:
            return start
        plain = np.concatenate(
            [np.full(joint.nq, float(joint.kind.is_flat)) for joint in self.robot.joints if joint.mimic is None]
        )
        return at.moved_to(home * (1.0 - plain), start).integrate(start)

    def _ranges(self) -> tuple[Reals, Reals]:
        """The lowest start, and the width of the starts, (nv,)."""
        low, high = (np.clip(x, self.lower, self.upper) for x in usual_ranges(self.robot))
        middle, half = np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        for joint in self.robot.joints:
            if joint.mimic is not None:
                continue
            at, rates = joint.q_slice, joint.v_slice
            if joint.kind.is_flat:
                middle[rates], half[rates] = 0.5 * (low + high)[at], 0.5 * SHARE * (high - low)[at]
            elif not joint.kind.is_free:
                half[rates] = [np.pi * any(angular) for _, angular in joint.kind.subspace(0.0)]
        return middle - half, 2.0 * half

    def starts(self, seeds: int) -> tuple[Reals, Reals]:
        """The first configurations of so many attempts (seeds, nq), and the start before their next one (seeds, nv)."""
        nv = self.robot.nv
        shares = (0.5 + np.arange(seeds)[:, None] * roots(2 * nv)[nv:]) % 1.0
        start = self._low + self._width * shares
        q = np.array(self.robot.integrate(self._zero, start), np.float64)
        if self.rest is not None:
            q[0] = self.rest
        return q, start

    @cached_property
    def _zero(self) -> Reals:
        zero = self.robot.neutral()
        for joint in self.robot.joints:
            if joint.mimic is None and joint.kind.is_flat:
                zero[joint.q_slice] = 0.0
        return zero

    def _posture(self, rest: ArrayLike) -> Reals:
        posture = np.array(rest, np.float64)
        if posture.shape != (self.robot.nq,):
            raise ShapeError(f"inverse_kinematics: rest has shape {posture.shape}, expected ({self.robot.nq},)")
        self.robot.check_state(posture)
        return np.clip(posture, self.lower, self.upper)


def damped_step(J: Any, e: Any, mu: Any) -> Any:
    """J^T (J J^T + mu I)^-1 e, by the smaller of the two matrices that give it."""
    rows, columns = J.shape
    if rows <= columns:
        return J.T @ solved(J @ J.T + mu * np.eye(rows), e)
    return solved(J.T @ J + mu * np.eye(columns), J.T @ e)


def solved(S: Any, b: Any) -> Any:
    """S^-1 b of a positive definite S, by S = L D L^T."""
    n = len(b)
    L: list[list[Any]] = [[None] * n for _ in range(n)]
    LD: list[list[Any]] = [[None] * n for _ in range(n)]
    inverse: list[Any] = [None] * n
    for j in range(n):
        for i in range(j, n):
            LD[i][j] = S[i, j] - sum(LD[i][k] * L[j][k] for k in range(j))
        inverse[j] = 1.0 / LD[j][j]
        for i in range(j + 1, n):
            L[i][j] = LD[i][j] * inverse[j]
    x: list[Any] = []
    for i in range(n):
        x.append(b[i] - sum(L[i][k] * x[k] for k in range(i)))
    for i in reversed(range(n)):
        x[i] = x[i] * inverse[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))
    return np.stack(x)


class CompiledInverseKinematics:
    """The inverse kinematics of a robot on one target, called with targets."""

    def __init__(self, problem: InverseKinematics, target: str, dtype: DTypeLike, threads: int | None) -> None:
        self._problem, self._options = problem, (target, dtype, threads)
        kind = np.dtype(dtype)
        if problem.tolerance < 10.0 * np.finfo(kind).eps:
            raise UnsupportedError(
                f"inverse_kinematics: tolerance={problem.tolerance:g} is below what {kind} resolves: give "
                f"{10.0 * np.finfo(kind).eps:.0e} or more"
            )
        self._functions: dict[bool, Any] = {}
        self._loops: dict[tuple[bool, int, bool], Callable[..., Any]] = {}
        self._prepared: dict[int, tuple[Reals, Reals]] = {}
        self._home = (np.asarray(problem.robot.neutral(), kind),) if not problem.is_flat else ()
        self._zero, self.dtype = np.zeros((), kind), kind

    def __call__(
        self, rotation: ArrayLike | None, translation: ArrayLike, q0: ArrayLike | None = None, seeds: int = 16
    ) -> Solution:
        """Return the configurations of targets, a `Solution`.

        rotation (..., K, 3, 3): of the K frames to the world; None: positions alone. translation (..., K, 3) [m]: their
        origins. q0 (..., nq): where the first attempt starts; None: in the middle of the joints' ranges, or at rest.
        seeds: how many attempts of a single target run side by side; the first that is done ends them all. Of many
        targets each has one attempt at a time, and starts again inside the loop: side by side, most of the attempts
        would be thrown away.
        Errors: ShapeError, DTypeError; StateError for a matrix that is no rotation. A target that is not reached, or
        not a number, is not `solved`; its q has the least error that was found, or is not a number.
        """
        targets = (translation,) if rotation is None else (translation, rotation)
        single = np.ndim(translation) == 2 and (rotation is None or np.ndim(rotation) == 3)
        if not single or (q0 is not None and np.ndim(q0) > 1):
            return self._many(targets, q0)
        q, start = self._starts(seeds)
        if q0 is not None:
            q = q.copy()
            q[0] = self._configuration(q0)
        home = self._home if q0 is None or not self._home else (q[0],)
        loop = self._loop(len(targets) > 1, self._problem.most, True)
        last = loop(q, start, self._zero, self._zero, *targets, *home)
        k = int(last.done.argmax())
        if last.done[k] > 0.0:
            return Solution(last.q[k], last.error[k], int(last.iterations[k]), True)
        rows = [np.asarray(x, self.dtype)[None] for x in targets]
        q, error, done = self._nearest(rows, q[None, :1], last.error[:1])
        return Solution(q[0], error[0], int(last.iterations[0]), bool(done[0]))

    def _many(self, targets: Sequence[ArrayLike], q0: ArrayLike | None) -> Solution:
        first, start = self._starts(1)
        q = first[0] if q0 is None else self._configuration(q0)
        loop = self._loop(len(targets) > 1, self._problem.most, False)
        home = (q,) if self._home and q0 is not None else self._home
        last = loop(q, start[0], self._zero, self._zero, *targets, *home)
        solved = last.done > 0.0
        if not solved.all():
            todo, batch = np.flatnonzero(~solved), solved.shape
            rows = [np.broadcast_to(x, batch + np.shape(x)[-n:]) for x, n in zip(targets, (2, 3), strict=False)]
            rows = [np.asarray(x.reshape(-1, *x.shape[len(batch) :])[todo], self.dtype) for x in rows]
            q = np.broadcast_to(q, (*batch, q.shape[-1])).reshape(-1, 1, q.shape[-1])[todo]
            errors = last.error.reshape(-1, *last.error.shape[-2:])
            qs = last.q.reshape(-1, q.shape[-1])
            qs[todo], errors[todo], solved.reshape(-1)[todo] = self._nearest(rows, q, errors[todo])
        return Solution(last.q, last.error, last.iterations.astype(np.int64), solved)

    def _nearest(self, targets: Sequence[Reals], q0: Reals, error: Reals) -> tuple[Reals, Reals, NDArray[np.bool_]]:
        """The least errors of n targets that were not reached: q (n, nq), error (n, K, 6), and whether they are after
        all. q0 (n, 1, nq): the first starts.
        """
        problem = self._problem
        if len(targets) > 1:
            check_rotations(targets[1], problem.weights[:, 3] > 0.0)
        q, start = self._starts(LAST_SEEDS)
        q = np.concatenate((q0, np.broadcast_to(q[1:], (len(q0), *q[1:].shape))), axis=1)
        posed, goals = len(targets) > 1, [x[:, None] for x in targets]
        weights = problem._weights(posed)
        size = np.linalg.norm(np.nan_to_num(error * weights).reshape(len(q), -1), axis=1)
        damping = np.asarray(problem.reach * size, self.dtype)[:, None]
        home = (q0,) if self._home else ()
        loop = self._loop(posed, LAST, False)
        last = loop(q, start, np.asarray(FOREVER, self.dtype), damping, *goals, *home)
        q = np.clip(last.q, problem.lower, problem.upper).astype(self.dtype)
        last = self._functions[posed](q, start, self._zero, damping, *goals, *home)
        sizes = np.nan_to_num(np.linalg.norm((last.error * weights).reshape(*q.shape[:2], -1), axis=2), nan=np.inf)
        best = np.arange(len(q)), sizes.argmin(axis=1)
        q, error = q[best], last.error[best]
        q[np.isnan(error).any(axis=(1, 2))] = np.nan
        return q, error, (np.abs(error) < problem.tolerance).all(axis=(1, 2))

    def _loop(self, posed: bool, most: int, together: bool) -> Callable[..., Any]:
        """The iteration repeated; together: the first state that is done ends all."""
        loop = self._loops.get((posed, most, together))
        if loop is None:
            if posed not in self._functions:
                self._functions[posed] = self._problem.step(posed).compile(*self._options)
            compiled = self._functions[posed]
            repeated = iterate(compiled.specification, most, together=together)
            loop = self._loops[posed, most, together] = compiled.dynamics.function(repeated)
        return loop

    def _starts(self, seeds: int) -> tuple[Reals, Reals]:
        prepared = self._prepared.get(seeds)
        if prepared is None:
            if not (hasattr(seeds, "__index__") and 1 <= int(seeds)):
                raise UnsupportedError(f"inverse_kinematics: seeds={seeds!r}; give a whole number, 1 or more")
            q, start = self._problem.starts(int(seeds))
            prepared = self._prepared[seeds] = q.astype(self.dtype), start.astype(self.dtype)
        return prepared

    def _configuration(self, q0: ArrayLike) -> Reals:
        q = np.asarray(q0)
        nq = self._problem.robot.nq
        if q.shape[-1:] != (nq,):
            raise ShapeError(f"inverse_kinematics: q0 has shape {q.shape}, expected (..., {nq})")
        return q


def check_rotations(rotations: Reals, wanted: NDArray[np.bool_]) -> None:
    """StateError for matrices that are no rotations, (n, K, 3, 3); wanted (K,): of these frames."""
    R = np.asarray(rotations, np.float64)
    with np.errstate(all="ignore"):
        off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(axis=(-1, -2)) > ROTATION
        off = (off | (np.linalg.det(R) < 0.0)) & np.isfinite(R).all(axis=(-1, -2)) & wanted
    bad = np.flatnonzero(off.any(axis=1))
    if bad.size:
        raise StateError(
            f"inverse_kinematics: rotation is none in {len(bad)} targets: R^T R is further than {ROTATION:g} from the "
            "identity, or det R is -1: its columns are the axes of the frame in the world",
            tuple(bad.tolist()),
        )


def roots(n: int) -> Reals:
    """The fractions of the square roots of the first n prime numbers: a Kronecker sequence has these steps."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < n:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return np.sqrt(np.array(primes, np.float64)) % 1.0


def _frames(robot: Robot, frames: Sequence[str]) -> tuple[str, ...]:
    if not robot.nv:
        raise UnsupportedError("inverse_kinematics: the robot has no joints that move")
    if isinstance(frames, str) or not len(frames):
        raise UnsupportedError(f"inverse_kinematics: frames={frames!r}: give a list of names, such as ('tool0',)")
    for name in frames:
        if name not in robot.frames:
            known = suggest(str(name), tuple(robot.frames))
            raise UnsupportedError(f"inverse_kinematics: there is no frame {name!r}{known}")
        if robot.frames[name].body < 0:
            raise UnsupportedError(f"inverse_kinematics: frame {name!r} is fixed to the world: no joint moves it")
    return tuple(frames)


def _weights(what: str, value: float | Sequence[float], frames: int) -> Reals:
    """One weight a frame."""
    weights = np.asarray(value, np.float64)
    if weights.shape not in ((), (frames,)) or not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise UnsupportedError(
            f"inverse_kinematics: {what}={value!r}: give a number, 0 or more, or one for each of {frames} frames"
        )
    return np.broadcast_to(weights, (frames,))


def _limits(robot: Robot, limits: bool) -> tuple[Reals, Reals]:
    """The limits of each entry of q, infinite where there are none; ModelError for what no q can keep."""
    if not limits:
        return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    lower, upper = np.array(robot.lower), np.array(robot.upper)
    wrong = [
        joint.name
        for joint in robot.joints
        if joint.mimic is None and not (lower[joint.q_slice] <= upper[joint.q_slice]).all()
    ]
    if wrong:
        raise ModelError(
            f"inverse_kinematics: no q keeps the limits of joints {few([repr(name) for name in wrong], 3)}: the lower "
            "one is above the upper one; correct them, or give limits=False"
        )
    for joint in robot.joints:
        if joint.mimic is None and joint.kind.has_quaternion:
            lower[joint.q_slice], upper[joint.q_slice] = -np.inf, np.inf
    return lower, upper
