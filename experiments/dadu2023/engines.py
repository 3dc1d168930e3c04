"""Where a controller's steps and their derivatives come from: ours, Pinocchio's C++, crocoddyl's nodes.

Each moves n states by one RK4 step under generalised forces held over it, and differentiates that step. The stages of
Pinocchio's and crocoddyl's steps lack the terms by which ours keeps the fourth order on a floating base.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.cli.rivals import rival as toolchain
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.pinocchio_cpp import PinocchioCpp, model_of, pinocchio
from condyle.cli.rivals.rival import Model
from experiments.dadu2023.walker import KNOTS, NV, H, Walker

Array = NDArray[np.floating]
Pair = tuple[Array, Array]


class Engine(Protocol):
    """q (KNOTS, 25), v (KNOTS, 24), force (KNOTS, 24); arrays of derivatives are the engine's, and used again.

    about: versions, compilers, flags.
    """

    about: dict[str, str]

    def linearise(self, q: Array, v: Array, force: Array) -> tuple[Array, ...]:
        """A (KNOTS, 48, 48) and B (KNOTS, 48, 24) of a step, and q and v behind it."""
        ...

    def step(self, q: Array, v: Array, force: Array) -> Pair:
        """q and v behind a step."""
        ...


class Ours:
    """Compiled for the robot; all states in one call, on the walker's threads."""

    def __init__(self, walker: Walker) -> None:
        self.dynamics, self.h = walker.dynamics, np.asarray(H, walker.dtype)
        self.about: dict[str, str] = {}
        self.out = np.empty((KNOTS, 2 * NV, 2 * NV), walker.dtype), np.empty((KNOTS, 2 * NV, NV), walker.dtype)

    def linearise(self, q: Array, v: Array, force: Array) -> tuple[Array, ...]:
        self.dynamics.step_derivatives(q, v, force, self.h, out=self.out)
        return *self.out, *self.step(q, v, force)

    def step(self, q: Array, v: Array, force: Array) -> Pair:
        after = self.dynamics.step(q, v, force, self.h)
        return after.q, after.v


SOURCE = Path(__file__).with_name("pinocchio_rk4.cpp")


class Pinocchio:
    """A loop in C++ over the states of each thread, which has a model of its own."""

    def __init__(self, walker: Walker, threads: int) -> None:
        rival = PinocchioCpp(walker.robot)
        self.models, self.about = [rival.build(SOURCE) for _ in range(threads)], rival.about
        for model in self.models:
            time = model.library.rival_time
            time.argtypes, time.restype = [ctypes.c_void_p, ctypes.c_double, ctypes.c_long], None
            time(model.handle, H, 1)
        self.pool = ThreadPoolExecutor(threads)
        self.out = np.empty((KNOTS, 2 * NV, 2 * NV)), np.empty((KNOTS, 2 * NV, NV))

    def linearise(self, q: Array, v: Array, force: Array) -> tuple[Array, ...]:
        return self._run("drk4", (q, v, force), (*self.out, np.empty(q.shape), np.empty(v.shape)))

    def step(self, q: Array, v: Array, force: Array) -> Pair:
        behind = np.empty(q.shape), np.empty(v.shape)
        self._run("rk4", (q, v, force), behind)
        return behind

    def _run(self, function: str, arrays: Sequence[Array], out: tuple[Array, ...]) -> tuple[Array, ...]:
        share = -(-len(arrays[0]) // len(self.models))

        def some(k: int, model: Model) -> Callable[[], object]:
            mine = slice(k * share, (k + 1) * share)
            inputs = [np.ascontiguousarray(array[mine], np.float64) for array in arrays]
            return model.call(function, inputs, [array[mine] for array in out])

        list(self.pool.map(lambda call: call(), [some(k, model) for k, model in enumerate(self.models)]))
        return out


class Crocoddyl:
    """A node for each state: IntegratedActionModelRK of its free forward dynamics, without costs; one thread."""

    def __init__(self, walker: Walker) -> None:
        self.crocoddyl: Any = toolchain.package("crocoddyl", "'condyle[crocoddyl]'")
        crocoddyl, model = self.crocoddyl, model_of(pinocchio(), numbers_of(walker.robot, "crocoddyl"))
        state = crocoddyl.StateMultibody(model)
        motion = crocoddyl.DifferentialActionModelFreeFwdDynamics(
            state, crocoddyl.ActuationModelFull(state), crocoddyl.CostModelSum(state, state.nv)
        )
        self.nodes = [crocoddyl.IntegratedActionModelRK(motion, crocoddyl.RKType.four, H) for _ in range(KNOTS)]
        self.problem = crocoddyl.ShootingProblem(state.zero(), self.nodes, self.nodes[-1])
        self.nq = model.nq
        self.about = {"crocoddyl": str(crocoddyl.__version__), "flags": "the wheel's own library"}

    def linearise(self, q: Array, v: Array, force: Array) -> tuple[Array, ...]:
        x, u = self._given(q, v, force)
        self.problem.calc(x, u)
        self.problem.calcDiff(x, u)
        every = list(self.problem.runningDatas)
        return np.stack([data.Fx for data in every]), np.stack([data.Fu for data in every]), *self._behind()

    def step(self, q: Array, v: Array, force: Array) -> Pair:
        self.problem.calc(*self._given(q, v, force))
        return self._behind()

    def _behind(self) -> Pair:
        x = np.stack([data.xnext for data in self.problem.runningDatas])
        return x[:, : self.nq], x[:, self.nq :]

    def _given(self, q: Array, v: Array, force: Array) -> tuple[list[Array], list[Array]]:
        x = [*np.concatenate([q, v], axis=1)]
        return [*x, x[-1]], [*force]
