"""mujoco.rollout: MuJoCo's steps in a C++ loop over time and states, in as many threads as one likes.

Its answers are the states after every step; no call of it leaves them out. Constraints, contacts and passive forces are
off, and the integrator is Euler's semi-implicit one, whose implicit damping is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.mujoco_model import frames, mjcf, ours
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import EXACT, Array

if TYPE_CHECKING:
    from condyle.model.robot import Robot

PACKAGES = "'mujoco>=4'"


class MujocoRollout:
    """One robot; batch: by `mujoco.batch` instead, which keeps only the last state."""

    def __init__(self, robot: Robot, threads: int = 1, batch: bool = False) -> None:
        module = "mujoco.batch" if batch else "mujoco.rollout"
        self._mujoco, self._module = (toolchain.package(name, PACKAGES) for name in ("mujoco", module))
        self._robot, self._threads, self._batch = robot, threads, batch
        self.name = "mujoco-batch" if batch else "mujoco-rollout"
        self._model = self._mujoco.MjModel.from_xml_string(mjcf(numbers_of(robot, "MuJoCo")))
        self.algorithms = {"rollout": "mujoco.batch" if batch else "mujoco.rollout"}
        self.about = {
            "version": metadata.version("mujoco"),
            "flags": "the wheel's own library",
            "threads": str(threads),
        }

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        del function
        return self._batched(arrays)[0] if self._batch else self._rolled(arrays)[0]

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """The last states."""
        del function
        run, last = self._batched(arrays) if self._batch else self._rolled(arrays)
        run()
        for array, found in zip(out, ours(self._robot, *last()), strict=True):
            array[...] = found

    def tolerance(self, function: str) -> float:
        del function
        return EXACT

    def _rolled(self, arrays: Sequence[Array]) -> tuple[Callable[[], object], Callable[[], tuple[Array, Array]]]:
        q, v, tau = self._arguments(arrays)
        mujoco, model, nq, nv = self._mujoco, self._model, self._robot.nq, self._robot.nv
        start = np.zeros((len(q), 1 + nq + nv))
        start[:, 1 : 1 + nq], start[:, 1 + nq :] = q, v
        # no pool for one thread: it would only pass the work on
        pool = self._module.Rollout(nthread=0 if self._threads == 1 else self._threads)
        data = [mujoco.MjData(model) for _ in range(self._threads)]
        states = np.zeros((*tau.shape[:2], start.shape[-1]))
        applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

        def run() -> object:
            return pool.rollout(model, data, start, tau, control_spec=applied, state=states)

        return run, lambda: (states[:, -1, 1 : 1 + nq], states[:, -1, 1 + nq :])

    def _batched(self, arrays: Sequence[Array]) -> tuple[Callable[[], object], Callable[[], tuple[Array, Array]]]:
        q, v, tau = self._arguments(arrays)
        batch = self._module.Batch(self._model, len(q), self._threads)
        q_end, v_end = batch.bind("qpos"), batch.bind("qvel")
        applied = self._mujoco.mjtState.mjSTATE_QFRC_APPLIED.value

        def run() -> object:
            q_end[...], v_end[...] = q, v
            return batch.rollout(tau.shape[1], tau, applied, record=())

        return run, lambda: (np.array(q_end), np.array(v_end))

    def _arguments(self, arrays: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Torques (n, T, nv): those of a base are turned as at the beginning, so they agree where they are zero."""
        q, v, tau, dt = arrays
        where = frames(self._robot, q, v)
        self._model.opt.timestep = float(np.ravel(dt)[0])
        turned = np.einsum("nij,ntj->nti", where.T, tau)
        return where.q, np.einsum("nij,nj->ni", where.T, v), np.ascontiguousarray(turned)
