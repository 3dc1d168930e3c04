"""A problem compiled: plans from where the robots are, alone or many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls.dynamics import Dynamics
from condyle.compile.kernels.scheduled import scheduled
from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.optimal_control.iteration import (
    BARRIER,
    COUNT,
    DAMPING,
    ERROR,
    PENALTY,
    STATE,
    STATUS,
    VALUE,
)
from condyle.jobs.optimal_control.scheduled import LAST, Begin, Job
from condyle.jobs.optimal_control.search import UNDAMPED
from condyle.runtime.kernel import Kernel
from condyle.specification.ports import ACTIVE, RISING

if TYPE_CHECKING:
    from condyle.jobs.optimal_control import OptimalControl

Array = NDArray[np.floating]
STATUSES = {1: "solved", 0: "most", -1: "infeasible", -2: "no descent", -3: "not finite"}
FIRST_BARRIER, STEP_BARRIER = 0.1, 1e-3
"""mu of a start without a plan; the least one of a step."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Trajectories: q (..., N + 1, nq), v (..., N + 1, nv), u (..., N, nu), K (..., N, nu, 2 nv) with u + K [dq; dv].

    multipliers: by name, of limits at running knots (..., N, rows) and at the last one: "below" >= 0, of "below" and
    then of bounds; "equal". cost, violation (largest), iterations, status ("solved", "most", "infeasible", "no
    descent", "not finite"), solved: (...).
    """

    q: Any
    v: Any
    u: Any
    multipliers: Mapping[str, Any]
    _gains: Any
    _state: Any
    _slabs: Mapping[str, Any]
    _sizes: tuple[int, int, int]

    @property
    def K(self) -> Any:
        """Gains."""
        nx, nu, lanes = self._sizes
        panels = self._gains.reshape(*self.u.shape[:-1], -1, nu, lanes)
        wide = np.moveaxis(panels, -3, -2)
        return wide.reshape(*self.u.shape[:-1], nu, -1)[..., :nx]

    @property
    def cost(self) -> Any:
        return self._state[..., VALUE]

    @property
    def violation(self) -> Any:
        return self._state[..., ERROR]

    @property
    def iterations(self) -> Any:
        return self._state[..., COUNT]

    @property
    def solved(self) -> Any:
        return self._state[..., STATUS] > 0.0

    @property
    def status(self) -> Any:
        """A word for each problem."""
        words = np.array([STATUSES[k] for k in range(-3, 2)])
        return words[self._state[..., STATUS].astype(int) + 3]


class Solver:
    """A problem on one target."""

    def __init__(self, problem: OptimalControl, dynamics: Dynamics) -> None:
        self.problem, self.dynamics = problem, dynamics
        self._kernels: dict[tuple[str, int], Kernel] = {}
        self._job: Job | None = None

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.dynamics.dtype

    @property
    def job(self) -> Job:
        """What is computed."""
        if self._job is None:
            from condyle.backends.cpu.build import lanes

            self._job = self.problem.job(str(self.dtype), lanes(str(self.dtype)))
        return self._job

    def solve(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        start: Plan | Sequence[ArrayLike] | None = None,
        most: int = 100,
        tolerance: float = 1e-6,
        **inputs: ArrayLike,
    ) -> Plan:
        """Return plans from q (..., nq), v (..., nv), each problem until it is solved or for `most` iterations.

        start: a plan, or (q, v, u), to begin near; None: the robot stands still. inputs: (..., *size), by knot
        (..., N + 1, *size).
        """
        begin: Begin = "cold" if start is None else "plan" if isinstance(start, Plan) else "guess"
        return self._run(begin, 0, q, v, start, most, tolerance, 0.0, inputs)

    def step(self, plan: Plan, q: ArrayLike, v: ArrayLike, *, shift: int = 1, **inputs: ArrayLike) -> Plan:
        """Return the plan after one iteration from a new state, moved on by `shift` knots: predictive control."""
        return self._run("plan", shift, q, v, plan, 1, 1e-6, STEP_BARRIER if shift else 0.0, inputs)

    def _run(
        self,
        begin: Begin,
        shift: int,
        q: ArrayLike,
        v: ArrayLike,
        start: Plan | Sequence[ArrayLike] | None,
        most: int,
        tolerance: float,
        least: float,
        inputs: Mapping[str, ArrayLike],
    ) -> Plan:
        job, dtype, robot = self.job, self.dtype, self.problem.robot
        schedule = self._schedule(begin, shift)
        slabs = {slab.name: slab for slab in schedule.slabs}
        state = np.zeros(STATE, dtype)
        state[[BARRIER, PENALTY, DAMPING]] = FIRST_BARRIER, 1.0, UNDAMPED
        known: dict[str, Any] = {
            "given_q": (np.asarray(q, dtype), 1),
            "given_v": (np.asarray(v, dtype), 1),
            "asked": (np.array([tolerance, most, least], dtype), 1),
            "start_state": (state, 1),
        }
        if job.running.rules.has_given_rows:
            known["free"] = (np.ones((job.knots, 1), dtype), 2)
            known["free"][0][0] = 0.0
        if isinstance(start, Plan):
            known["start_state"] = (self._carried(start, least), 1)
            known |= {f"start_{name}": (value, 2) for name, value in start._slabs.items()}
        elif start is not None:
            known |= {f"start_{name}": (np.asarray(x, dtype), 2) for name, x in zip(("q", "v", "u"), start, strict=True)}
            if self.problem.by_acceleration:
                speed = known["start_v"][0]
                known["start_u"] = ((speed[..., 1:, :] - speed[..., :-1, :]) / self.problem.dt).astype(dtype), 2
        for item in job.inputs:
            name = item.name
            if name == RISING.name:
                active = np.asarray(inputs[ACTIVE.name], dtype)
                before = np.concatenate([active[..., :1, :], active[..., :-1, :]], axis=-2)
                known[name] = (active * (1.0 - before), 2)
                continue
            if name not in inputs:
                raise UnsupportedError(f"solve: input {name!r} is missing; give {name}=")
            known[name] = (np.asarray(inputs[name], dtype), len(item.shape) + (item.rows > 1))
        batches, rows = list[tuple[int, ...]](), list[Array]()
        for name in schedule.inputs:
            array, dims = known[name]
            batch = array.shape[: array.ndim - dims]
            slab = slabs[name]
            if array.size != int(np.prod(batch)) * slab.rows * slab.size:
                raise ShapeError(f"solve: {name} has shape {array.shape}, expected (..., {slab.rows}, {slab.size})")
            batches.append(batch)
            rows.append(array)
        batch = np.broadcast_shapes(*batches)
        n = int(np.prod(batch))
        flat = list[Array]()
        for name, array, own in zip(schedule.inputs, rows, batches, strict=True):
            size = slabs[name].rows * slabs[name].size
            if int(np.prod(own)) == 1:
                flat.append(np.ascontiguousarray(array).reshape(1, size))
            else:
                full = np.broadcast_to(array.reshape(*own, size), (*batch, size))
                flat.append(np.ascontiguousarray(full).reshape(n, size))
        outputs = [np.empty((n, slabs[name].rows * slabs[name].size), dtype) for name in schedule.outputs]
        self._kernel(begin, shift)(n, flat, outputs, self.dynamics.threads)
        answers = {
            name: array.reshape(*batch, slabs[name].rows, slabs[name].size)
            for name, array in zip(schedule.outputs, outputs, strict=True)
        }
        return self._plan(answers)

    def _carried(self, plan: Plan, least: float) -> Array:
        state = np.zeros(plan._state.shape, self.dtype)
        state[..., BARRIER] = np.maximum(plan._state[..., BARRIER], least)
        state[..., PENALTY], state[..., DAMPING] = plan._state[..., PENALTY], UNDAMPED
        return state

    def _plan(self, answers: Mapping[str, Array]) -> Plan:
        job = self.job
        variables = {name: answers[name] for name, _, _ in job.variables()}
        words = {"multiplier": "below", "price": "equal"}
        multipliers = {
            f"{'last_' if name.startswith(LAST) else ''}{words[name.removeprefix(LAST)]}": value
            for name, value in variables.items()
            if name.removeprefix(LAST) in words
        }
        knot = job.running
        return Plan(
            variables["q"],
            variables["v"],
            answers.get("torque", variables["u"]),
            multipliers,
            answers["K"],
            answers["state"][..., 0, :],
            variables,
            (knot.nx, knot.nu, knot.lanes),
        )

    def _schedule(self, begin: Begin, shift: int) -> Any:
        key = begin, shift
        if not hasattr(self, "_schedules"):
            self._schedules: dict[tuple[str, int], Any] = {}
        if key not in self._schedules:
            self._schedules[key] = self.job.schedule(begin, shift)
        return self._schedules[key]

    def _kernel(self, begin: Begin, shift: int) -> Kernel:
        key = begin, shift
        if key not in self._kernels:
            schedule = self._schedule(begin, shift)
            kernels = {call.kernel: self.dynamics.kernel(self.job.functions[call.kernel]) for call in schedule.calls()}
            self._kernels[key] = scheduled(schedule, kernels, self.dtype)
        return self._kernels[key]
