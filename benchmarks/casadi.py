"""Forward dynamics of an iiwa14 in CasADi, by Condyle and by CasADi's own symbols: writes results/casadi.json.

    python -m benchmarks.casadi [--quick]       --quick: few calls and one solve of each, nothing is written

A call: one state through `casadi.Function.buffer()`, and the same state by the compiled method with `out=`, one thread.
A reach: the arm goes from the zero posture to 0.5 rad in every joint in 64 steps of 0.02 s by semi-implicit Euler,
torques bounded, costs of state and torque, multiple shooting, Ipopt. The forms of the same program differ in fd and in
the Hessian: Condyle's fd with the exact Hessian, with L-BFGS, and fd in symbols of CasADi (SX, the library's equations,
differentiated by CasADi) with the exact Hessian, interpreted, and with the whole program written as C and compiled by
CasADi's `jit`. Solves take turns, the least time counts, one thread; L-BFGS is solved once where it takes seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

import condyle
from benchmarks import results

KNOTS, DT, GOAL, TORQUE = 64, 0.02, 0.5, 150.0
WEIGHTS = {"state": 1.0, "torque": 1e-3, "end": 100.0}
LIMIT = 1000
"""Iterations of Ipopt."""
SOURCE = results.FOLDER / "casadi.json"
FORMS = ("condyle, exact", "condyle, L-BFGS", "casadi SX, exact", "casadi SX in C, exact")
JIT = {"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O1", "-march=native"]}, "jit_cleanup": True}


class Forms:
    """Forward dynamics and programs in each form."""

    def __init__(self, forms: Sequence[str]) -> None:
        import casadi

        from condyle.interop.casadi import wrap

        warnings.filterwarnings("ignore", category=FutureWarning, module="casadi")  # of names of NumPy on its scalars
        self.ca: Any = casadi
        self.robot = condyle.load("iiwa14")
        self.dyn = self.robot.compile(threads=1)
        begin = time.perf_counter()
        self.ours = wrap(self.dyn).forward_dynamics
        self.seconds = {"condyle, compile or cache": time.perf_counter() - begin}
        begin = time.perf_counter()
        self.own = in_symbols(casadi, self.robot)
        self.solvers: dict[str, Any] = {}
        self.seconds["casadi SX, fd"] = time.perf_counter() - begin
        for form in forms:
            begin = time.perf_counter()
            fd, more = self.own if "SX" in form else self.ours, JIT if "in C" in form else {}
            self.solvers[form] = self.program(fd, "L-BFGS" not in form, more)
            self.seconds[form] = time.perf_counter() - begin

    def program(self, fd: Any, exact: bool, more: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Ipopt on the reach, and what it is called with."""
        ca = self.ca
        q, v, u = ca.MX.sym("q", 7, KNOTS + 1), ca.MX.sym("v", 7, KNOTS + 1), ca.MX.sym("u", 7, KNOTS)
        before, after = q[:, :-1], q[:, 1:]
        a = fd.map(KNOTS)(before, v[:, :-1], u)
        gaps = ca.veccat(v[:, 1:] - v[:, :-1] - DT * a, after - before - DT * v[:, 1:], q[:, 0], v[:, 0])
        way = ca.sumsqr(q - GOAL) + ca.sumsqr(v)
        end = ca.sumsqr(q[:, -1] - GOAL) + ca.sumsqr(v[:, -1])
        cost = WEIGHTS["state"] * way + WEIGHTS["torque"] * ca.sumsqr(u) + WEIGHTS["end"] * end
        options = {"print_level": 0, "sb": "yes", "max_iter": LIMIT, "tol": 1e-8}
        if not exact:
            options["hessian_approximation"] = "limited-memory"
        x = ca.veccat(q, v, u)
        options = {"ipopt": options, "print_time": False, **more}
        made = ca.nlpsol("reach", "ipopt", {"x": x, "f": 0.5 * cost, "g": gaps}, options)
        bound = np.r_[np.full(14 * (KNOTS + 1), np.inf), np.full(7 * KNOTS, TORQUE)]
        return made, {"x0": np.zeros(x.numel()), "lbx": -bound, "ubx": bound, "lbg": 0.0, "ubg": 0.0}

    def solve(self, form: str) -> dict[str, Any]:
        solver, given = self.solvers[form]
        begin = time.perf_counter()
        found = solver(**given)
        stats = {"s": time.perf_counter() - begin, "cost": float(found["f"]), "x": np.array(found["x"]).ravel()}
        said = solver.stats()
        functions = sum(value for name, value in said.items() if name.startswith("t_wall_nlp"))
        return {**stats, "iterations": said["iter_count"], "end": said["return_status"], "functions": functions}


def in_symbols(ca: Any, robot: condyle.Robot) -> Any:
    """fd as a `casadi.Function` of SX: the library's equations, run on CasADi's scalars, differentiated by CasADi."""
    from condyle.algorithms.matrix import dense
    from condyle.algorithms.unrolled import Unrolled
    from condyle.functions import FUNCTIONS
    from condyle.model.tree import tree_of

    inputs = [ca.SX.sym(port.name, robot.nv) for port in FUNCTIONS["fd"].inputs]
    columns = {port.name: x.elements() for port, x in zip(FUNCTIONS["fd"].inputs, inputs, strict=True)}
    answers = next(iter(FUNCTIONS["fd"].routes.values())).run(Unrolled(tree_of(robot), columns))
    return ca.Function("own", inputs, [ca.vertcat(*dense(answers[0]))])


def calls(forms: Forms, count: int, rounds: int) -> dict[str, Any]:
    """Microseconds of a call of one state: the least mean of some rounds."""
    q, v = (x[0].copy() for x in forms.robot.random_state(1, 0))
    tau, out, dyn = np.linspace(-9.0, 9.0, 7), np.zeros(7), forms.dyn.forward_dynamics
    wanted, ways = dyn(q, v, tau), {"condyle, out=": lambda: dyn(q, v, tau, out=out)}
    keep: list[Any] = []
    for name, function in (("F.buffer(), condyle", forms.ours), ("F.buffer(), casadi SX", forms.own)):
        buffer, ways[name] = function.buffer()
        answer = np.zeros(7)
        for k, x in enumerate((q, v, tau)):
            buffer.set_arg(k, memoryview(x))
        buffer.set_res(0, memoryview(answer))
        ways[name]()
        keep += [buffer, answer]
        if np.abs(answer - wanted).max() > 1e-9 * np.abs(wanted).max():
            raise SystemExit(f"{name}: the answers differ")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            for _ in range(count):
                way()
            times[name].append(1e6 * (time.perf_counter() - begin) / count)
    least = {name: min(taken) for name, taken in times.items()}
    spread = {name: float(np.median(taken) / min(taken)) for name, taken in times.items()}
    more = least["F.buffer(), condyle"] - least["condyle, out="]
    return {"us_a_call": least, "us_more_than_the_method": more, "median_by_least": spread, "calls": count * rounds}


def reach(forms: Forms, rounds: int) -> dict[str, Any]:
    """Iterations and seconds of each form."""
    every: dict[str, list[dict[str, Any]]] = {form: [] for form in forms.solvers}
    for k in range(rounds):
        for form in every:
            if k == 0 or "L-BFGS" not in form or every[form][0]["s"] < 2:
                every[form].append(forms.solve(form))
    best = {form: min(solves, key=lambda one: one["s"]) for form, solves in every.items()}
    ours, ranked, own = (best[form] for form in FORMS[:3])
    return {
        "knots": KNOTS,
        "limit_of_iterations": LIMIT,
        "iterations": {form: one["iterations"] for form, one in best.items()},
        "end": {form: one["end"] for form, one in best.items()},
        "cost": {form: one["cost"] for form, one in best.items()},
        "seconds": {form: one["s"] for form, one in best.items()},
        "seconds_in_functions": {form: one["functions"] for form, one in best.items()},
        "median_by_least": {form: float(np.median([x["s"] for x in every[form]]) / best[form]["s"]) for form in every},
        "seconds_to_make": forms.seconds,
        "lbfgs_times_the_iterations": ranked["iterations"] / ours["iterations"],
        "times_the_seconds": {form: one["s"] / ours["s"] for form, one in best.items()},
        "times_the_seconds_in_functions": {form: one["functions"] / ours["functions"] for form, one in best.items()},
        "largest_difference": float(np.abs(own["x"] - ours["x"]).max()),
        "solves": rounds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    forms = Forms(FORMS[:3] if quick else FORMS)  # C of the whole program takes half a minute to compile
    found = {
        "call": calls(forms, 1000 if quick else 20000, 1 if quick else 9),
        "reach": reach(forms, 1 if quick else 5),
    }
    versions = {name: metadata.version(name) for name in ("casadi", "numpy")}
    for name, measured in found.items():
        print(name, *measured.items(), sep="\n")
        if not quick:
            results.merge(name, "iiwa14", {**measured, "versions": versions}, SOURCE)


if __name__ == "__main__":
    main()
