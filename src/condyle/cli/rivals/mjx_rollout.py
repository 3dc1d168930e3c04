"""MJX, MuJoCo in JAX, on the processor: a rollout that XLA compiles, in float64. XLA chooses its threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.mujoco_model import frames, mjcf, ours
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import EXACT, Array
from condyle.errors import UnsupportedError

if TYPE_CHECKING:
    from condyle.model.robot import Robot

PACKAGES = "mujoco-mjx 'jax[cpu]'"


class MjxRollout:
    """One robot without free joints."""

    name = "mjx"

    def __init__(self, robot: Robot) -> None:
        jax, mujoco, mjx = (toolchain.package(name, PACKAGES) for name in ("jax", "mujoco", "mujoco.mjx"))
        if any(joint.type == "free" for joint in robot.joints):
            raise UnsupportedError(
                "MJX integrates free joints differently: use a robot without a free joint, or compare with mujoco"
            )
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self._jax: Any = jax
        self._mjx: Any = mjx
        self._robot = robot
        self._model: Any = mujoco.MjModel.from_xml_string(mjcf(numbers_of(robot, "MuJoCo")))
        self.algorithms = {"rollout": "mjx.step in jax.lax.scan, jax.vmap and jax.jit"}
        self.about = {"version": metadata.version("mujoco-mjx"), "jax": metadata.version("jax")}

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        del function
        return self._compiled(arrays)

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        """The last states."""
        del function
        last = [np.asarray(array) for array in self._compiled(arrays)()]
        for array, found in zip(out, ours(self._robot, *last), strict=True):
            array[...] = found

    def tolerance(self, function: str) -> float:
        del function
        return EXACT

    def _compiled(self, arrays: Sequence[Array]) -> Callable[[], Any]:
        q, v, tau, dt = arrays
        jax, mjx = self._jax, self._mjx
        self._model.opt.timestep = float(np.ravel(dt)[0])
        model = mjx.put_model(self._model)
        start = mjx.make_data(model)

        def rollout_of_state(q: Any, v: Any, tau: Any) -> Any:
            def step(data: Any, row: Any) -> tuple[Any, None]:
                return mjx.step(model, data.replace(qfrc_applied=row)), None

            data, _ = jax.lax.scan(step, start.replace(qpos=q, qvel=v), tau)
            return data.qpos, data.qvel

        run = jax.jit(jax.vmap(rollout_of_state))
        given = [jax.numpy.asarray(array) for array in (frames(self._robot, q, v).q, v, tau)]
        return lambda: jax.block_until_ready(run(*given))
