"""A problem compiled: plans from where robots are, for one or many at once."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.backends.cpu.build import least_lanes
from condyle.calls.dynamics import Dynamics
from condyle.compile.kernels.scheduled import scheduled
from condyle.compile.options import bound_arguments, whole
from condyle.errors import UnsupportedError
from condyle.ir.schedule import Schedule
from condyle.jobs.optimal_control.iteration import BARRIER, COUNT, DAMPING, ERROR, PENALTY, STATE, STATUS, VALUE, Knot
from condyle.jobs.optimal_control.problem import TORQUE
from condyle.jobs.optimal_control.scheduled import LAST, Begin, Job, Problem
from condyle.jobs.optimal_control.search import UNDAMPED
from condyle.jobs.optimal_control.sensitivity import Sensitivity
from condyle.runtime.arrays import Binder, summed
from condyle.runtime.native import Kernel, NativeKernel, fast_path
from condyle.specification import Function, Port
from condyle.specification.ports import ACTIVE, RISING

Array = NDArray[np.floating]
STATUSES = ("not finite", "no descent", "infeasible", "most", "solved")
"""By status, from -3 on."""
FIRST_BARRIER, STEP_BARRIER = 0.1, 1e-4
"""mu of a start without a plan; the least one of a step of predictive control."""
MOST_ROWS = 64
"""Of such numbers that are kept."""
TIGHT, ROUNDINGS = 1e-6, 1e4
"""Tolerance of a step, and the least one in roundings of the number type: with a smaller mu the weights of limits leave
float32 no digits for all else."""


class Plan:
    """Trajectories, one for each problem of a batch.

    q (..., N + 1, nq), v (..., N + 1, nv), u (..., N, nu); K (..., N, nu, 2 nv): gains of u by [dq; dv].
    multipliers: by name: "below" >= 0 and "equal" (..., N, rows), with "last_" in front (..., rows) those of the last
    knot; of bounds "u" (..., N, nu), "q" (..., N, nq) and "v" (..., N, nv), these of knots 1 to N, positive at an upper
    bound. cost; violation: the largest, bounds in units of half of their range. iterations; status: "solved", "most":
    not within the iterations, "infeasible", "no descent", "not finite"; solved.
    """

    __slots__ = ("answers", "inputs", "solver")

    def __init__(self, solver: Solver, answers: Any, inputs: Mapping[str, Any]) -> None:
        """answers: of the schedule, by name. inputs: what it was made from, by name, as it was given."""
        self.solver, self.answers, self.inputs = solver, answers, inputs

    def __repr__(self) -> str:
        words, counts = np.unique(self.status, return_counts=True)
        every = ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))
        return f"<Plan of {self.u.shape[-2]} knots: {every}>"

    @property
    def q(self) -> Array:
        return self.answers.q

    @property
    def v(self) -> Array:
        return self.answers.v

    @property
    def u(self) -> Array:
        return self.answers.torque if self.solver.problem.by_acceleration else self.answers.u

    @property
    def K(self) -> Array:
        return self.solver.gains(self)

    @property
    def multipliers(self) -> dict[str, Array]:
        job, found = self.solver.job, dict[str, Array]()
        for knot, mark in ((job.running, ""), (job.last, LAST)):
            if knot.rules.lengths.get("below", 0):
                found[mark + "below"] = self._array(mark + "multiplier")[..., : knot.rules.lengths["below"]]
            if knot.rules.equal:
                found[mark + "equal"] = self._array(mark + "price")
        names = {side.quantity: "u" if side.quantity == TORQUE else side.quantity for side in job.running.rules.sides}
        sizes = {"u": job.running.nu, "q": self.q.shape[-1], "v": job.running.nv}
        for quantity, name in names.items():
            bounds = self._of_bounds(job.running, "multiplier", quantity, sizes[name])
            if name != "u":  # of the first state, which is given, there are none
                last = self._of_bounds(job.last, LAST + "multiplier", quantity, sizes[name])
                bounds = np.concatenate([bounds[..., 1:, :], last[..., None, :]], axis=-2)
            found[name] = bounds
        return found

    def _array(self, name: str) -> Array:
        return getattr(self.answers, name)

    def _of_bounds(self, knot: Knot, name: str, quantity: str, size: int) -> Array:
        """Multipliers of the bounds of one quantity by entry, positive at an upper one."""
        rows, users = self._array(name), knot.rules.lengths.get("below", 0)
        found = np.zeros((*rows.shape[:-1], size), rows.dtype)
        for k, side in enumerate(knot.rules.sides, users):
            if side.quantity == quantity:
                found[..., side.entry] += rows[..., k] * (side.sign / side.scale)
        return found

    @property
    def cost(self) -> Array:
        return self.answers.state[..., VALUE]

    @property
    def violation(self) -> Array:
        return self.answers.state[..., ERROR]

    @property
    def iterations(self) -> Array:
        return self.answers.state[..., COUNT]

    @property
    def solved(self) -> Any:
        return self.answers.state[..., STATUS] > 0.0

    @property
    def status(self) -> Any:
        return np.array(STATUSES)[self.answers.state[..., STATUS].astype(int) + 3]


class Prepared(NamedTuple):
    """A schedule that is compiled: call(arrays in the order of names) -> answers."""

    names: tuple[str, ...]
    call: Callable[..., Any]


def checked(most: int, tolerance: float) -> int:
    """`most`; UnsupportedError for options of `Solver.solve` that are none."""
    if not (np.isfinite(tolerance) and tolerance > 0.0):
        raise UnsupportedError(f"solve: tolerance={tolerance!r}, expected a number above 0")
    return whole("most", most, 1)


class Solver:
    """A problem of optimal control on one target; see `OptimalControl.compile`."""

    def __init__(self, problem: Problem, dynamics: Dynamics) -> None:
        self.problem, self.dynamics = problem, dynamics
        self._prepared: dict[tuple[Begin, int], Prepared] = {}
        self._sensitivity: Prepared | None = None
        self._numbers: dict[tuple[float, ...], Array] = {}
        self._constants: dict[str, Array] = {}

    def __repr__(self) -> str:
        return f"<Solver of {self.problem.knots} knots: target {self.dynamics.target}, {self.dtype}>"

    @property
    def dtype(self) -> np.dtype[np.floating]:
        return self.dynamics.dtype

    @cached_property
    def _tight(self) -> float:
        """The tolerance of a step."""
        return max(TIGHT, ROUNDINGS * float(np.finfo(self.dtype).eps))

    @cached_property
    def job(self) -> Job:
        """What is computed, and in which order."""
        if self._is_on_gpu:
            return self.problem.job(str(self.dtype), 1)
        return self.problem.job(str(self.dtype), least_lanes(str(self.dtype), self.problem.columns))

    @property
    def _is_on_gpu(self) -> bool:
        return self.dynamics.target == "cuda"

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
        """Return plans from q (..., nq), v (..., nv), each problem until it is solved, `most` iterations at the most.

        inputs: (..., *size), those by knot (..., N + 1, *size), "active" (..., N, n_contacts). All leading dimensions
        broadcast. start: a plan, or (q, v, u) with shapes as in `Plan`, to begin near; None: the robot stands still.
        tolerance: of the cost, relative, and of the largest violation [rad, m, rad/s, m/s; of bounds: half of their
        range].
        A problem that fails has its best plan so far, and a status that says why; it harms no other.
        Errors: ShapeError, DTypeError, StateError, UnsupportedError.
        """
        most = checked(most, tolerance)
        begin: Begin = "cold" if start is None else "plan" if isinstance(start, Plan) else "guess"
        arrays: dict[str, Any] = {"q": q, "v": v, "asked": self._row(float(tolerance), float(most), 0.0)}
        if isinstance(start, Plan):
            self._add(arrays, start)
        elif start is not None:
            arrays |= self._guess(start)
        return self._run("solve", begin, 0, arrays, inputs)

    def step(
        self,
        plan: Plan,
        q: ArrayLike,
        v: ArrayLike,
        *,
        shift: int = 1,
        barrier: float | None = None,
        **inputs: ArrayLike,
    ) -> Plan:
        """Return the plan after one iteration from a new state: a step of predictive control.

        plan: of the step before, or of `solve`; it is moved on by `shift` knots, the last one repeated. Inputs by knot
        are moved on already. barrier: the least mu; from 1e-4, the default, one iteration follows a state that moves.
        With shift=0 the default is 0, so that steps converge; where control steps are shorter than dt, give 1e-4.
        """
        least = (STEP_BARRIER if shift else 0.0) if barrier is None else float(barrier)
        if not least >= 0.0:
            raise UnsupportedError(f"step: barrier={barrier!r}, expected a number from 0 on")
        arrays: dict[str, Any] = {"q": q, "v": v, "asked": self._row(self._tight, 1.0, least)}
        self._add(arrays, plan)
        return self._run("step", "plan", shift, arrays, inputs)

    def _row(self, *numbers: float) -> Array:
        """Numbers as an array, made once; a caller who changes them in each call keeps few."""
        if numbers not in self._numbers:
            if len(self._numbers) >= MOST_ROWS:
                self._numbers.clear()
            self._numbers[numbers] = np.array(numbers, self.dtype)
        return self._numbers[numbers]

    def _add(self, arrays: dict[str, Any], plan: Plan) -> None:
        """What begins at a plan."""
        answers = plan.answers
        arrays["start_state"] = answers.state
        gains = ("KQ", "KV") if self.problem.by_acceleration else ()
        for name in (*(name for name, _, _ in self.job.variables()), *gains):
            arrays[f"start_{name}"] = getattr(answers, name)

    def _guess(self, start: Sequence[ArrayLike]) -> dict[str, Any]:
        if len(start) != 3:
            raise UnsupportedError("solve: start= is a plan, or (q, v, u)")
        self._check_memory("solve", {f"start[{k}]": part for k, part in enumerate(start)})
        guess = {
            f"start_{name}": np.asarray(part, self.dtype) for name, part in zip(("q", "v", "u"), start, strict=True)
        }
        if self.problem.by_acceleration:
            guess["start_u"] = np.diff(guess["start_v"], axis=-2) / self.dtype.type(self.problem.dt)
        return guess

    def _run(
        self, called: str, begin: Begin, shift: int, arrays: dict[str, Any], inputs: Mapping[str, ArrayLike]
    ) -> Plan:
        """The schedule on arrays by name."""
        names = self.problem.names
        if set(inputs) != set(names):
            bound_arguments(called, self.problem.signature, (), dict(inputs))
        arrays |= {name: self._array(value) for name, value in inputs.items()}
        self._check_memory(called, arrays)
        if RISING.name in self.job.rows:
            arrays[RISING.name] = rising(arrays[ACTIVE.name], self.dtype)
        prepared = self._prepared.get((begin, shift))
        if prepared is None:
            prepared = self._prepare(called, self.job.schedule(begin, whole("shift", shift, 0)), self.job.functions)
            self._prepared[begin, shift] = prepared
        answers = self._answers(prepared, arrays)
        kept = {name: np.array(arrays[name]) for name in ("q", "v", *inputs)}  # callers may change theirs
        return Plan(self, answers, kept)

    def _check_memory(self, called: str, arrays: Mapping[str, Any]) -> None:
        """UnsupportedError for arrays that lie on a GPU."""
        if self._is_on_gpu:
            from condyle.runtime.cuda.arrays import is_device_array  # at first use

            wrong = next((name for name, array in arrays.items() if is_device_array(array)), None)
            if wrong is not None:
                raise UnsupportedError(
                    f"{called}: {wrong} is on a GPU: optimal control takes NumPy arrays, and copies them there"
                )

    def _array(self, value: Any) -> Any:
        """Lists and numbers as arrays, which calls take as they are; what is neither is left to the call's checks."""
        is_plain = type(value) in (list, tuple, float, int)
        try:
            return np.array(value, self.dtype) if is_plain else value
        except (TypeError, ValueError):
            return value

    def _answers(self, prepared: Prepared, arrays: Mapping[str, Any]) -> Any:
        return prepared.call(*[arrays[name] if name in arrays else self._constant(name) for name in prepared.names])

    def _constant(self, name: str) -> Array:
        """What is the same in every call."""
        if name not in self._constants:
            self._constants[name] = self.constant(self.problem, name).astype(self.dtype)
        return self._constants[name]

    @staticmethod
    def constant(problem: Problem, name: str) -> NDArray[np.float64]:
        """The mark of the first knot (knots, 1), or the state of a solve that begins, by the name of the array."""
        if name == "free":
            return (np.arange(problem.knots) > 0).astype(np.float64)[:, None]
        state = np.zeros(STATE)
        state[[BARRIER, PENALTY, DAMPING]] = FIRST_BARRIER, 1.0, UNDAMPED
        return state

    def _prepare(self, called: str, schedule: Schedule, functions: Mapping[str, Function]) -> Prepared:
        """Compiles a schedule."""
        job = self.job
        kernels = {call.kernel: self.dynamics.kernel(functions[call.kernel]) for call in schedule.calls()}
        if self._is_on_gpu:
            from condyle.compile.kernels.scheduled_gpu import GpuSchedule  # at first use

            kernel: Kernel = GpuSchedule(schedule, kernels, self.dtype)
        else:
            kernel = scheduled(schedule, kernels, self.dtype)

        def port(name: str) -> Port:
            slab = schedule.slab(name)
            item = job.rows.get(name.removeprefix("by_"))
            dims = (slab.size,) if slab.rows == 1 and name not in job.tables else (slab.rows, slab.size)
            if item is not None:
                dims = (
                    *((slab.rows,) if slab.rows > 1 or item.name in (ACTIVE.name, RISING.name) else ()),
                    *item.shape,
                )
            return Port(name.removeprefix("given_"), tuple(map(str, dims)), "as given", "as given", "of a plan")

        inputs, outputs = ([port(name) for name in names] for names in (schedule.inputs, schedule.outputs))
        function = Function(called, called, "", tuple(inputs), tuple(outputs), call=called)
        binder = Binder(function, {}, self.dtype)
        answers = namedtuple("Answers", [port.name for port in outputs])  # type: ignore[misc]

        def slow(*args: ArrayLike, out: Any = None) -> Any:
            call = binder.bind(args)
            kernel(call.n, call.inputs, call.outputs, self.dynamics.threads)
            return answers(*call.finish())

        fast: Any = fast_path(slow, False, *binder.specs, self.dtype, answers, self.dynamics.threads)
        if fast is not None and isinstance(kernel, NativeKernel):
            fast.set_entry(False, kernel.entry)
        return Prepared(tuple(port.name for port in inputs), slow if fast is None else fast)

    def vjp(
        self,
        plan: Plan,
        *,
        q_bar: ArrayLike | None = None,
        v_bar: ArrayLike | None = None,
        u_bar: ArrayLike | None = None,
        cost_bar: ArrayLike | None = None,
    ) -> Any:
        """Return the derivatives of q_bar . q + v_bar . v + u_bar . u + cost_bar cost by what the plan was made from.

        q_bar (..., N + 1, nv), in tangent spaces; v_bar (..., N + 1, nv); u_bar (..., N, nu); cost_bar (...); None: 0.
        A named tuple: q (..., nv), v (..., nv), of the first state, and each input but "active" in its shape; where
        one was broadcast, the sum. One linear solve, as long as four or five iterations; second derivatives are exact.
        Exact at a plan of `solve` with a small tolerance: their error is about that of u. Of other plans it is the
        derivative of the answer that they come near to, and NaN where numbers overflow. Where a limit is reached but
        its multiplier is 0, plans have a kink. The clipping of u to its bounds and changes of mu are left out.
        Errors: ShapeError, DTypeError; UnsupportedError for a plan of another problem.
        """
        job = self.job
        if plan.solver.problem is not self.problem:
            raise UnsupportedError("vjp: a plan of another problem: give one that this solver made")
        if self._sensitivity is None:
            made = Sensitivity(job)
            self._sensitivity = self._prepare("vjp", made.schedule(), made.functions)
        N, nv, nu = job.knots, job.running.nv, job.running.nu
        bars = {"q_bar": (q_bar, (N + 1, nv)), "v_bar": (v_bar, (N + 1, nv)), "u_bar": (u_bar, (N, nu))}
        arrays: dict[str, Any] = {
            name: np.zeros(dims, self.dtype) if x is None else x for name, (x, dims) in bars.items()
        }
        arrays |= {"unit": np.eye(2 * nv + nu, dtype=self.dtype), "last_unit": np.eye(2 * nv, dtype=self.dtype)}
        plain = self.dtype if cost_bar is None or isinstance(cost_bar, (int, float)) else None
        arrays["cost_bar"] = np.asarray(0.0 if cost_bar is None else cost_bar, plain)[..., None]
        arrays |= {name: x for name, x in plan.inputs.items() if name not in ("q", "v")}
        arrays |= {name: getattr(plan.answers, name) for name, _, _ in job.variables()}
        if RISING.name in job.rows:
            arrays[RISING.name] = rising(arrays[ACTIVE.name], self.dtype)
        answers = self._answers(self._sensitivity, arrays)._asdict()
        found = dict[str, Array]()
        for name in answers:
            item, value = job.rows.get(name.removeprefix("by_")), answers[name]
            if item is not None and item.rows == 1:  # all knots have it
                value = value.sum(axis=-1 - len(item.shape))
            shape: tuple[int, ...] = np.asarray(plan.inputs[name.removeprefix("by_")]).shape
            found[name.removeprefix("by_")] = summed(value, shape if item is not None else (*shape[:-1], nv))
        return namedtuple("Derivatives", found)(**found)  # type: ignore[misc]

    def gains(self, plan: Plan) -> Array:
        """Gains of u by [dq; dv] (..., N, nu, 2 nv); `plan.K`."""
        function, answers = self.job.gains, plan.answers
        kernel: Kernel = self.dynamics.kernel(function)
        batch = answers.u.shape[:-1]
        n = math.prod(batch)
        arrays: list[Array] = [np.reshape(self._knots(getattr(answers, p.name)), (n, -1)) for p in function.inputs]
        K = np.empty((n, self.job.running.nu * self.job.running.nx), self.dtype)
        kernel(n, arrays, [K], self.dynamics.threads)
        return np.reshape(K, (*batch, self.job.running.nu, self.job.running.nx))

    def _knots(self, array: Array) -> Array:
        """Without what stands at the last knot."""
        return array[..., : self.problem.knots, :]


def rising(active: Any, dtype: np.dtype[np.floating]) -> Array:
    """Flags of contacts that begin at a knot; at the first one none does."""
    flags = np.asarray(active, dtype)
    return flags * (1.0 - np.concatenate([flags[..., :1, :], flags[..., :-1, :]], axis=-2))
