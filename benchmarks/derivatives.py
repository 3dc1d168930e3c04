"""Derivatives and users' functions: writes results/derivatives.json and DERIVATIVES.md.

    python -m benchmarks.derivatives [--parts rates,cost,cold,network] [--quick]
    python -m benchmarks.derivatives --table     DERIVATIVES.md alone; with --check exit status 1 if it is out of date

N = 256, float64, one thread, one core, interleaved, dense NumPy arrays with out=. What CasADi makes of
Pinocchio's algorithms, as C, is compared with ours before both are timed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from benchmarks import cold, results
from benchmarks.bench import BATCH, Subject, pinned
from benchmarks.costs import TIP, reach
from benchmarks.derivatives_table import PATH, SOURCE, page
from benchmarks.network import ACTIVATIONS, network
from benchmarks.robots import chosen
from benchmarks.run import FULL, QUICK
from condyle.cli.bound import Sampling
from condyle.cli.rivals.pinocchio_cpp import DERIVED, CasadiC
from condyle.functions import function_of

Array = NDArray[np.floating]
ROBOTS = ("panda", "hyq-floating", "atlas-floating")
PLAIN = ("id", "fd", "did", "dfd")
MADE = ("jvp_id", "vjp_id", "jvp_fd", "vjp_fd", "hessian_id", "hessian_fd")
CASADI = "panda"
LARGEST = 12
"""Velocities of robots whose Hessians are timed."""


def rates(robot: str, sampling: Sampling) -> dict[str, Any]:
    """Functions and their derivatives, ns a state."""
    (case,) = chosen([robot])
    subject = Subject(case, PLAIN, sampling)
    dynamics, given = subject.dynamics(), Given(subject.robot, BATCH)
    names = [*PLAIN, *(name for name in MADE if subject.robot.nv <= LARGEST or not name.startswith("hessian"))]
    calls: dict[str, Callable[[], object]] = {name: given.call(dynamics, name) for name in names}
    agreed: dict[str, float] = {}
    if robot == CASADI:
        casadi = CasadiC(subject.robot)
        for name in DERIVED:
            agreed[name] = given.agreement(dynamics, casadi, name)
            calls[f"casadi {name}"] = casadi.call(name, given.joined(name))
    with pinned():
        ns = subject.times(calls, BATCH)
    print(robot, {name: round(spread["minimum"], 1) for name, spread in ns.items()}, flush=True)
    return {"nv": subject.robot.nv, "batch": BATCH, "ns": ns, "agreement": agreed}


class Given:
    """Random arguments of a robot's functions and of their derivatives."""

    def __init__(self, robot: condyle.Robot, n: int) -> None:
        self.robot, self.n, self.rng = robot, n, np.random.default_rng(2)
        q, v = robot.random_state(n, self.rng)
        self.known: dict[str, Array] = {"q": q, "v": v}

    def of(self, name: str, size: int) -> Array:
        """An argument by its name, the same each time."""
        if name not in self.known:
            self.known[name] = self.rng.uniform(-1.0, 1.0, (self.n, size))
        return self.known[name]

    def arguments(self, name: str) -> list[Array]:
        """Of a function or a derivative: all but q have nv entries."""
        return [self.of(port.name, self.robot.nv) for port in function_of(name).inputs]

    def call(self, dynamics: condyle.Dynamics, name: str) -> Callable[[], object]:
        function, arguments = dynamics.function(name), self.arguments(name)
        answer = function(*arguments)
        out = tuple(answer) if isinstance(answer, tuple) else answer
        return lambda: function(*arguments, out=out)

    def joined(self, name: str) -> list[Array]:
        """As CasADi takes them: what is behind the function's own three side by side."""
        own = self.arguments(name)
        return [*own[:3], np.concatenate(own[3:], axis=-1)]

    def agreement(self, dynamics: condyle.Dynamics, casadi: CasadiC, name: str) -> float:
        answer = dynamics.function(name)(*self.arguments(name))
        ours = np.concatenate(answer, axis=-1) if isinstance(answer, tuple) else answer
        theirs = np.zeros_like(ours)
        casadi.answers(name, self.joined(name), [theirs])
        worst = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(ours)))
        if not worst < casadi.tolerance(name):
            raise condyle.BuildError(f"CasADi and condyle differ by {worst:.1e} in {name}; nothing was timed")
        return worst


def cost(sampling: Sampling) -> dict[str, Any]:
    """A tracking cost and its gradient, with the pose and the Jacobian of the same frame."""
    (case,) = chosen([CASADI])
    subject = Subject(case, PLAIN, sampling)
    robot, rng = subject.robot, np.random.default_rng(3)
    q, v = robot.random_state(BATCH, rng)
    u = rng.uniform(-1.0, 1.0, (BATCH, robot.nv))
    dynamics = robot.compile(threads=1, frames=(TIP,))
    made = robot.function(reach, inputs={"q": "nq", "v": "nv", "u": robot.nv}).compile(threads=1)
    gradient = made.jacobian(by=("q", "v", "u"))
    placements, jacobian = dynamics.frame_placements(q), dynamics.frame_jacobians(q)
    value, slopes = made(q, v, u), gradient(q, v, u)
    calls = {
        "fk": lambda: dynamics.frame_placements(q, out=placements),
        "jac": lambda: dynamics.frame_jacobians(q, out=jacobian),
        "cost": lambda: made(q, v, u, out=value),
        "gradient": lambda: gradient(q, v, u, out=slopes),
    }
    with pinned():
        ns = subject.times(calls, BATCH)
    print("cost", {name: round(spread["minimum"], 1) for name, spread in ns.items()}, flush=True)
    return {"batch": BATCH, "frame": TIP, "ns": ns}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="rates,cost,cold,network", metavar="rates,cost,cold,network")
    parser.add_argument("--quick", action="store_true", help="short samples, nothing is written")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        return int(not PATH.exists() or PATH.read_text() != page())
    if not options.table:
        run(options.parts.split(","), options.quick)
    if not options.quick:
        PATH.write_text(page())
    return 0


def run(parts: Sequence[str], quick: bool) -> None:
    sampling = QUICK if quick else FULL
    for robot in ROBOTS if "rates" in parts else ():
        _keep("rates", robot, rates(robot, sampling), quick)
    if "cost" in parts:
        _keep("cost", CASADI, cost(sampling), quick)
    for robot, name in cold.CASES if "cold" in parts else ():
        _keep("cold", f"{robot} {name}", cold.measure(robot, name, 1 if quick else 5), quick)

    for activation in ACTIVATIONS if "network" in parts else ():
        _keep("network", activation, network(activation, sampling), quick)


def _keep(part: str, name: str, found: dict[str, Any], quick: bool) -> None:
    if not quick:
        results.merge(part, name, found, SOURCE)


if __name__ == "__main__":
    sys.exit(main())
