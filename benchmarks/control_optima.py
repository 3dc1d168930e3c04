"""Optima of the optimal control problems by CasADi and Ipopt: writes results/control_optima.json.

    python -m benchmarks.control_optima [NAME...]       NAME: of a group; without one all of them

Multiple shooting of the same discrete problems with exact Hessians of Condyle's functions, from the same first plan.
Ipopt ends at 1e-10, so costs are good to 1e-8; bounds are not relaxed. Tests compare with the file, not with Ipopt.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from benchmarks import control_problems as problems
from benchmarks import results
from benchmarks.control_problems import Array, Problem

SOURCE = results.FOLDER / "control_optima.json"
GROUPS: Mapping[str, Callable[[], Problem]] = {
    "double integrator": problems.double_integrator,
    "pendulum swing-up": problems.pendulum_swing_up,
    "cart-pole": problems.cart_pole,
    "iiwa14 reaching": lambda: problems.reaching().some(slice(0, 8)),
    "iiwa14 reaching, torques": lambda: problems.reaching(has_speeds=False).some(slice(0, 4)),
    "figure of eight": lambda: problems.figure_eight(2),
    "figure of eight, limits": lambda: problems.figure_eight(2, "all"),
    "figure of eight of 2021": lambda: problems.heavy_figure_eight(2),
    "panda around a sphere": lambda: problems.around_a_sphere(2),
    "hopper": problems.hopper,
}
OPTIONS = {
    "print_level": 0,
    "sb": "yes",
    "tol": 1e-10,
    "constr_viol_tol": 1e-9,
    "compl_inf_tol": 1e-9,
    "acceptable_iter": 0,
    "bound_relax_factor": 0.0,
    "honor_original_bounds": "yes",
    "max_iter": 500,
}
"""Of Ipopt. Without `acceptable_iter` it may end earlier, at 1e-6."""


SOLVED = "Solve_Succeeded"


class Optimum(NamedTuple):
    """A solution: plans as ours, and multipliers, positive where an upper side holds, as those of `condyle.qp`."""

    cost: float
    q: Array
    v: Array
    u: Array
    multipliers: dict[str, Array]
    iterations: int
    status: str
    seconds: float


class Ipopt:
    """The nonlinear program of a group: start, values of inputs and flags are its parameters."""

    def __init__(self, problem: Problem, **options: Any) -> None:
        import casadi

        from condyle.interop.casadi import wrap

        warnings.filterwarnings("ignore", category=FutureWarning, module="casadi")  # of names of NumPy on its scalars
        self.ca: Any = casadi
        self.problem = problem
        ca, N, robot = self.ca, problem.knots, problem.robot
        wrapped = [
            wrap(f.compile(threads=1))
            for f in (
                problems.step_function(problem),
                problems.knot_function(problem, problem.running, True),
                problems.knot_function(problem, problem.last, False),
            )
        ]
        q, v, u = ca.MX.sym("q", robot.nq, N + 1), ca.MX.sym("v", robot.nv, N + 1), ca.MX.sym("u", problem.nu, N)
        inputs = {
            name: ca.MX.sym(name, np.prod(size, dtype=int) if size != () else 1, N + 1)
            for name, size in problem.inputs.items()
        }
        step, running, last = wrapped
        flags = [] if problem.flags is None else [problem.flags.T, problem.landings()[None]]
        after = step.map(N)(q[:, :-1], v[:, :-1], u, *flags)
        values = [x[:, :-1] for x in inputs.values()]
        parts = dict(zip(running.name_out(), _all(running.map(N)(q[:, :-1], v[:, :-1], u, *values)), strict=True))
        ends = dict(
            zip(last.name_out(), _all(last(q[:, -1], v[:, -1], *(x[:, -1] for x in inputs.values()))), strict=True)
        )
        cost = sum(
            0.5 * ca.sumsqr(part) if name == "residual" else ca.sum2(part)
            for named in (parts, ends)
            for name, part in named.items()
            if name in ("residual", "cost")
        )
        rows: dict[str, tuple[Any, float]] = {"dynamics": (ca.veccat(after[0] - q[:, 1:], after[1] - v[:, 1:]), 0.0)}
        for prefix, named in (("", parts), ("last_", ends)):
            for name, least in (("below", -np.inf), ("equal", 0.0)):
                if name in named:
                    rows[prefix + name] = ca.vec(named[name]), least
        self.rows = {name: int(row.numel()) for name, (row, _) in rows.items()}
        self.least = np.concatenate([np.full(row.numel(), least) for row, least in rows.values()])
        program = {
            "x": ca.veccat(q, v, u),
            "p": ca.veccat(*inputs.values()),
            "f": cost,
            "g": ca.veccat(*(row for row, _ in rows.values())),
        }
        options = {"ipopt": {**OPTIONS, **options}, "print_time": False}
        self.solver = ca.nlpsol("program", "ipopt", program, options)

    def solve(self, i: int, first: tuple[Array, Array, Array] | None = None) -> Optimum:
        """Of problem i, from the first plan of it or from another one."""
        problem, N = self.problem, self.problem.knots
        robot, nu = problem.robot, problem.nu
        begin = first or tuple(x[i] for x in problem.first())
        values = [
            np.ravel(value[i] if name in problem.by_knot else np.tile(np.ravel(value[i]), N + 1))
            for name, value in problem.values.items()
        ]
        lower, upper = self.bounds(i)
        start = time.perf_counter()
        found = self.solver(
            x0=np.concatenate([np.ravel(x) for x in begin]),
            p=np.concatenate(values) if values else [],
            lbx=lower, ubx=upper, lbg=self.least, ubg=0.0,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        sizes = (robot.nq, N + 1), (robot.nv, N + 1), (nu, N)
        q, v, u = _parts(np.array(found["x"]).ravel(), sizes)
        by_q, by_v, by_u = _parts(np.array(found["lam_x"]).ravel(), sizes)
        cuts = np.cumsum(list(self.rows.values()))[:-1]
        by_rows = dict(zip(self.rows, np.split(np.array(found["lam_g"]).ravel(), cuts), strict=True))
        named = {name: x if "last" in name else x.reshape(N, -1) for name, x in by_rows.items() if name != "dynamics"}
        stats = self.solver.stats()
        multipliers = {"q": by_q[1:], "v": by_v[1:], "u": by_u, **named}
        return Optimum(float(found["f"]), q, v, u, multipliers, stats["iter_count"], stats["return_status"], seconds)

    def bounds(self, i: int) -> tuple[Array, Array]:
        """Of q, v and u in one vector: the first state is told."""
        problem, N, sides = self.problem, self.problem.knots, list[Array]()
        for side, infinite in ((0, -np.inf), (1, np.inf)):
            q, v, u = (np.full((N + 1, problem.robot.nq), infinite), np.full((N + 1, problem.robot.nv), infinite), None)
            u = np.full((N, problem.nu), infinite)
            for name, whole in (("q", q), ("v", v), ("u", u)):
                if name in problem.bounds:
                    whole[:] = problem.bounds[name][side]
            q[0], v[0] = problem.q[i], problem.v[i]
            sides.append(np.concatenate([q.ravel(), v.ravel(), u.ravel()]))
        return sides[0], sides[1]


def _all(answers: Any) -> tuple[Any, ...]:
    return answers if isinstance(answers, tuple) else (answers,)


def _parts(x: Array, sizes: Any) -> list[Array]:
    """Matrices of columns in one vector, as arrays with a row a knot."""
    cuts = np.cumsum([n * m for n, m in sizes])[:-1]
    return [part.reshape(m, n) for part, (n, m) in zip(np.split(x, cuts), sizes, strict=True)]


def starts(problem: Problem, i: int, count: int) -> list[tuple[Array, Array, Array]]:
    """First plans of problem i: its own; with the torques of gravity; and postures that move off at random."""
    q, v, u = (x[i] for x in problem.first())
    robot, rng = problem.robot, np.random.default_rng(i)
    gravity = robot.compile(threads=1).generalized_gravity(q[:-1])[:, problem.root :]
    found = [(q, v, u), (q, v, gravity)]
    for _ in range(count):
        rate = rng.normal(size=robot.nv) * np.r_[np.zeros(problem.root), np.ones(problem.nu)]
        along = np.linspace(0.0, 1.0, problem.knots + 1)[:, None] * rate
        moved = np.stack([robot.integrate(*pair) for pair in zip(q, along, strict=True)])
        found.append((moved, np.tile(rate / (problem.dt * problem.knots), (len(v), 1)), gravity))
    return found


def measure(name: str, more: int = 4) -> dict[str, Any]:
    """Costs of a group from the first plans, and all local optima that were seen; more: starts at random."""
    group = GROUPS[name]()
    begin = time.perf_counter()
    program = Ipopt(group)
    built = time.perf_counter() - begin
    every = [[program.solve(i, start) for start in starts(group, i, more)] for i in range(len(group))]
    solved = [[optimum for optimum in optima if optimum.status == SOLVED] for optima in every]
    found = {
        "cost": [optima[0].cost for optima in every],
        "local_optima": [distinct([optimum.cost for optimum in optima]) for optima in solved],
        "status": [optima[0].status for optima in every],
        "iterations": [optima[0].iterations for optima in every],
        "seconds": [round(optima[0].seconds, 3) for optima in every],
        "seconds_to_build": round(built, 1),
    }
    print(name, *found.items(), sep="\n  ")
    return found


def distinct(costs: list[float]) -> list[float]:
    """Without those that are another one to 1e-7, the least first."""
    found = list[float]()
    for cost in sorted(costs):
        if not found or cost > found[-1] * (1.0 + 1e-7):
            found.append(cost)
    return found


def read() -> dict[str, dict[str, Any]]:
    """The stored optima: group -> costs and how they came."""
    return json.loads(SOURCE.read_text())["measurements"]["ipopt"]


def main() -> None:
    names = sys.argv[1:] or list(GROUPS)
    whole: dict[str, Any] = json.loads(SOURCE.read_text()) if SOURCE.exists() else {"measurements": {"ipopt": {}}}
    whole["machine"], groups = results.machine(), whole["measurements"]["ipopt"]
    for name in names:
        versions = {package: metadata.version(package) for package in ("casadi", "numpy")}
        groups[name] = {**measure(name), **results.certificate(), "versions": versions}
    whole["measurements"]["ipopt"] = {name: groups[name] for name in GROUPS if name in groups}
    SOURCE.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
