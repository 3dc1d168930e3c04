"""Derivatives of plans by what they were made from, by one linear-quadratic problem.

At a plan, with all variables z, states given and inputs p, the conditions of a minimum are R(z, p) = 0 for the
gradient of

    L = cost + sum over knots of  y_(k+1)^T (f(z_k) - x_(k+1)) + l^T c(z_k) + w^T e(z_k)

by z and by all its multipliers, with s l = mu at limits c + s = 0. Their Jacobian K by z and multipliers is symmetric,
so the derivative of a number phi(z) by p is -(dR/dp)^T x with K x = dphi/dz: the problem of an iteration again, with
exact second derivatives and -dphi/dz for the slope. Where a limit is active and its multiplier 0, there is none.

Sources: Fiacco 1983, chapter 2; Amos, Kolter 2017 (through barriers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy

from condyle.derivatives import jvp, vjp
from condyle.functions import riccati, riccati_accelerations
from condyle.functions.dynamics import INVERSE_DYNAMICS
from condyle.ir.schedule import Call, Operand, Schedule, Slab, Statement, Sweep, verify_schedule
from condyle.jobs.optimal_control.iteration import Knot, gram
from condyle.jobs.optimal_control.problem import function_of
from condyle.jobs.optimal_control.scheduled import LAST, Job
from condyle.specification import Function
from condyle.specification.ports import ACTIVE, RISING

np: Any = numpy  # of symbols, which NumPy's types do not know
Values = Mapping[str, Any]
Answers = dict[str, Any]


class Sensitivity:
    """The functions and the schedule for a job. Functions of a knot are f(knot, call, values) -> answers."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.inputs = tuple(item for item in job.inputs if item.name not in (ACTIVE.name, RISING.name))
        self._lagrangians = {
            knot.motion is None: self._function_of("lagrangian", knot) for knot in (job.running, job.last)
        }
        knots, moves = (job.running, job.last), not job.running.is_linear
        self.functions: dict[str, Function] = dict(job.functions)
        if not job.running.is_linear:
            dense = riccati.riccati(job.running.nx, job.running.nu, job.running.lanes)
            self.functions |= {function.name: function for function in dense}
        for knot in knots:
            n = self._width(knot)
            self._add("curve", knot, self._sizes(knot) | {"unit": n})
            curves = {"curves": self._slabs[self._name("curves", knot)].size}
            self._add("bend", knot, job.sizes(knot) | self._bars(knot) | curves)
            if moves:
                self._add("costate", knot, self._sizes(knot))
            if self.inputs:
                self._add("share", knot, self._sizes(knot) | {"cost_bar": 1} | self._solution(knot))
        size = {job.whole("V"): self._slabs[job.whole("V")].size}
        self.functions["initial"] = function_of(job.robot, job.bound, "initial", size, self._initial)

    @cached_property
    def _slabs(self) -> dict[str, Slab]:
        job, knot, N = self.job, self.job.running, self.job.knots
        slabs = [Slab(*variable) for variable in job.variables()]
        slabs += [Slab(item.name, item.rows, item.size) for item in job.inputs]
        slabs += [Slab("free", N, 1)] if knot.rules.has_given_rows else []
        slabs += [Slab("q_bar", N + 1, knot.nv), Slab("v_bar", N + 1, knot.nv), Slab("u_bar", N, knot.nu)]
        slabs += [Slab("cost_bar", 1, 1), Slab("costate", N + 1, knot.nx)]
        slabs += [Slab("by_q", 1, knot.nv), Slab("by_v", 1, knot.nv)]
        slabs += [Slab(f"by_{item.name}", N + 1, item.size) for item in self.inputs]
        for each, rows, mark in ((knot, N, ""), (job.last, 1, LAST)):
            slabs += [Slab(f"{mark}{name}_weight", rows, count) for name, count in self._weighted(each).items()]
            n, size = self._width(each), sum(self._curved(each).values())
            slabs += [Slab(mark + "unit", n, n), Slab(mark + "curve", rows * n, size)]
            slabs.append(Slab(mark + "curves", rows, n * size, mark + "curve"))
        if knot.is_linear:
            slabs += riccati_accelerations.slabs(N, knot.nv, knot.lanes)
        else:
            slabs += riccati.slabs(N, knot.nx, knot.nu, knot.lanes)
        return {slab.name: slab for slab in slabs}

    # Functions of a knot.

    def _add(self, name: str, knot: Knot, sizes: Mapping[str, Any]) -> None:
        key = self._name(name, knot)
        run = partial(getattr(self, f"_{name}"), knot)
        self.functions[key] = function_of(self.job.robot, self.job.bound, key, sizes, run)

    def _function_of(self, name: str, knot: Knot) -> Function:
        """L of a knot: of its variables, the user's inputs, a factor of the cost and the multipliers."""
        sizes = {**self._sizes(knot), "cost_factor": 1}
        sizes.pop("slack", None)
        run = partial(self._lagrangian, knot)
        return function_of(self.job.robot, self.job.bound, name, sizes, run)

    def _sizes(self, knot: Knot) -> dict[str, Any]:
        """What describes a plan at a knot."""
        moves = knot.motion is not None and not knot.is_linear
        sizes = {**self.job.sizes(knot), "q": "nq"}
        return sizes | ({"costate": knot.nx, "next_q": "nq"} if moves else {})

    def _bars(self, knot: Knot) -> dict[str, int]:
        bars = {"q_bar": knot.nv, "v_bar": knot.nv, "cost_bar": 1}
        return bars | ({"u_bar": knot.nu} if knot.motion is not None else {})

    def _curved(self, knot: Knot) -> dict[str, int]:
        """Inputs of L whose gradients change along z, and their tangents' entries."""
        sizes = {"q": knot.nv, "v": knot.nv, **({"u": knot.nu} if knot.motion is not None else {}), "cost_factor": 1}
        moves = knot.motion is not None and not knot.is_linear
        return sizes | self._weighted(knot) | ({"costate": knot.nx} if moves else {})

    @staticmethod
    def _width(knot: Knot) -> int:
        """Entries of z."""
        return knot.nx + (knot.nu if knot.motion is not None else 0)

    @staticmethod
    def _name(name: str, knot: Knot) -> str:
        return name if knot.motion is not None else LAST + name

    def _solution(self, knot: Knot) -> dict[str, Any]:
        """Weights, and what the sweeps found at a knot."""
        sizes = {f"{name}_weight": count for name, count in self._weighted(knot).items()} | {"dx": knot.nx}
        if knot.motion is None:
            return sizes
        after = {} if knot.is_linear else {"next_dx": knot.nx, "V": self._slabs["V"].size}
        return {**sizes, "du": knot.nu, **after}

    def _lagrangian(self, knot: Knot, call: Callable[..., Any], values: Values) -> Answers:
        arguments, costs = knot.arguments(values), knot.rules.costs
        total: Any = 0.0 * values["v"][0]
        if costs is not None:
            for port, x in zip(costs.outputs, call(costs, *arguments), strict=True):
                total = total + values["cost_factor"][0] * (0.5 * (x @ x) if port.name == "residual" else x.sum())
        below, equal = knot.limits(call, values)
        if below is not None:
            total = total + values["multiplier"] @ below
        if equal is not None:
            total = total + values["price"] @ equal
        if "costate" in values:
            total = total + values["costate"] @ knot.defect(call, arguments, values["next_q"], np.zeros(knot.nv))
        return {"value": total.reshape(1)}

    def _arguments(self, knot: Knot, values: Values, **other: Any) -> tuple[Function, list[Any]]:
        """L of a knot, and its arguments."""
        function, every = self._lagrangians[knot.motion is None], {**values, "cost_factor": np.ones(1), **other}
        return function, [every[port.name] for port in function.inputs]

    def _gradient(self, knot: Knot, call: Callable[..., Any], values: Values, **other: Any) -> Answers:
        """Of L, by input."""
        function, arguments = self._arguments(knot, values, **other)
        answers = call(vjp(function), *arguments, np.ones(1))
        return dict(zip([port.name for port in function.inputs], answers, strict=True))

    def _costate(self, knot: Knot, call: Callable[..., Any], values: Values) -> Answers:
        """The multiplier of the motion to this knot, from that of the next."""
        by = self._gradient(knot, call, values)
        return {"costate": np.concatenate([by["q"], by["v"]])}

    def _change(self, knot: Knot, call: Callable[..., Any], values: Values, dz: Any) -> Answers:
        """Of the gradient of L along dz, by input."""
        function, arguments = self._arguments(knot, values)
        n, names = knot.nv, [port.name for port in function.inputs]
        steps = {"q": dz[:n], "v": dz[n : 2 * n], "u": dz[2 * n :], "next_q": np.zeros(n)}
        along = [steps.get(name, np.zeros(np.shape(x))) for name, x in zip(names, arguments, strict=True)]
        answers = call(jvp(vjp(function)), *arguments, np.ones(1), *along, np.zeros(1))
        return dict(zip(names, answers, strict=True))

    def _curve(self, knot: Knot, call: Callable[..., Any], values: Values) -> Answers:
        """A column of the Hessian of L, which holds the Jacobians of the cost, of limits and of the motion."""
        change = self._change(knot, call, values, values["unit"])
        return {"curve": np.concatenate([change[name] for name in self._curved(knot)])}

    def _bend(self, knot: Knot, call: Callable[..., Any], values: Values) -> Answers:
        """Panels of the linear-quadratic problem, and weights of limits."""
        n, sizes = self._width(knot), self._curved(knot)
        every, ends = values["curves"].reshape(n, -1).T, dict[str, slice]()
        for name, end in zip(sizes, accumulate(sizes.values()), strict=True):
            ends[name] = slice(end - sizes[name], end)
        bars = [values["q_bar"], values["v_bar"]]
        if knot.motion is not None:
            bars.append(values["u_bar"])
            if self.job.torques is not None:
                state = values["q"], values["v"], values["u"]
                by_q, by_v, by_u = call(vjp(INVERSE_DYNAMICS), *state, values["u_bar"])
                bars = [bars[0] + by_q, bars[1] + by_v, by_u]
        g = -(np.concatenate(bars) + values["cost_bar"][0] * every[ends["cost_factor"], :n][0])
        answers, square = dict[str, Any](), 0.5 * (every[:n, :n] + every[:n, :n].T)  # brackets of tangents cancel
        most = (1.0 + np.abs(np.diag(square)).max()) / knot.delta
        for name in self._weighted(knot):
            rows = every[ends[name], :n]
            weight = most / np.maximum((rows * rows).sum(axis=1), knot.delta)  # more would drown the rest in rounding
            if name == "multiplier":
                weight = np.minimum(weight, values["multiplier"] / values["slack"])
            square, answers[f"{name}_weight"] = square + gram(rows, weight), weight
        F = every[ends["costate"], :n] if "costate" in ends else None
        return answers | knot.panels(square, g, F, np.zeros(knot.nx))

    @staticmethod
    def _weighted(knot: Knot) -> dict[str, int]:
        """Multipliers of limits, and their rows."""
        rows = {"multiplier": knot.rules.below, "price": knot.rules.equal}
        return {name: count for name, count in rows.items() if count}

    def _share(self, knot: Knot, call: Callable[..., Any], values: Values) -> Answers:
        """The derivatives by the inputs at a knot: -(dR/dp)^T x."""
        dz = np.concatenate([values["dx"], values["du"]]) if knot.motion is not None else values["dx"]
        change = self._change(knot, call, values, dz)
        x: Answers = {"cost_factor": -values["cost_bar"]}
        x |= {name: change[name] * values[f"{name}_weight"] for name in self._weighted(knot)}
        if "costate" in change:
            V = self._matrix(values["V"], knot.nx + 1, knot.nx + 1)
            n, dx = knot.nx, values["next_dx"]
            x["costate"] = np.stack(
                [sum((V[max(i, k)][min(i, k)] * dx[k] for k in range(n)), V[n][i]) for i in range(n)]
            )
        more = self._gradient(knot, call, values, **x)
        return {f"by_{item.name}": -(change[item.name] + more[item.name]) for item in self.inputs}

    def _matrix(self, panel: Any, rows: int, columns: int) -> list[list[Any]]:
        """The rows of a panel's matrix."""
        lanes = self.job.running.lanes
        return [[panel[(c // lanes * rows + i) * lanes + c % lanes] for c in range(columns)] for i in range(rows)]

    def _initial(self, call: Callable[..., Any], values: Values) -> Answers:
        """The derivatives by the given state, from the slope at it."""
        knot = self.job.running
        n, nx = knot.nv, knot.nx
        if knot.is_linear:
            slope = [row[n] for row in self._matrix(values["VV"], nx + 1, n + 1)[:nx]]
        else:
            slope = self._matrix(values["V"], nx + 1, nx + 1)[nx][:nx]
        return {"by_q": -np.stack(slope[:n]), "by_v": -np.stack(slope[n:])}

    # The schedule.

    def _operand(self, name: str, running: bool) -> Operand:
        """Where an array of a knot is."""
        if name == "cost_bar":
            return Operand(name, 0, 0)
        if name in ("costate", "V") and running:
            return Operand(name, 1)
        if name in ("q_bar", "v_bar", "costate") or name.startswith("by_"):
            return Operand(name, 0 if running else self.job.knots)
        return self.job.operand(name, running)

    def _call(self, name: str, running: bool) -> Call:
        key = name if running else LAST + name
        function = self.functions[key]
        given, answers = (
            tuple(self._operand(port.name, running) for port in ports) for ports in (function.inputs, function.outputs)
        )
        return Call(key, self.job.knots if running else 1, given, answers)

    def schedule(self) -> Schedule:
        job, knot, N = self.job, self.job.running, self.job.knots
        body = list[Statement]()
        if not knot.is_linear:
            call = self._call("costate", True)
            turned = tuple(operand._replace(turn=operand.step) for operand in call.inputs)
            before = Call(call.kernel, 1, turned, (Operand("costate", 0, 1, 1),))
            body += [self._call("costate", False), Sweep(N, (before,), backwards=True)]
        for each in (knot, job.last):
            name, n, call = self._name("curve", each), self._width(each), self._call("curve", each is knot)
            inputs = tuple(x._replace(step=0, turn=1) if x.slab.endswith("unit") else x for x in call.inputs)
            body.append(Sweep(n, (replace(call, inputs=inputs, outputs=(Operand(name, 0, n, 1),)),)))
        body += [self._call("bend", running) for running in (True, False)]
        body += job.sweeps(steps=False)
        first, after = Operand(job.whole("V")), (Operand("by_q"), Operand("by_v"))
        body.append(Call("initial", 1, (first,), after))
        if self.inputs:
            body += [self._call("share", running) for running in (True, False)]
        given = ["free"] if knot.rules.has_given_rows else []
        given += ["q_bar", "v_bar", "u_bar", "cost_bar", "unit", "last_unit"]
        inputs = (*(name for name, _, _ in job.variables()), *(item.name for item in job.inputs), *given)
        outputs = ("by_q", "by_v", *(f"by_{item.name}" for item in self.inputs))
        slabs = tuple(self._slabs.values())
        return verify_schedule(Schedule("sensitivity", slabs, inputs, outputs, tuple(body), knot.lanes))
