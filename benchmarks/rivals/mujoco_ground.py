"""mujoco.rollout with its contacts on: a plane under a robot, and a sphere at each foot.

MuJoCo solves for contact forces with Coulomb friction, by Newton's method in each step: another model than springs and
regularised friction, with other motions. Spheres have the radius RADIUS and the plane lies so much lower, so that feet
touch it where ours touch z = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from condyle.cli.rivals.mujoco_c import MujocoRollout, mjcf
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import Array

if TYPE_CHECKING:
    from condyle.ground import Foot
    from condyle.model.robot import Robot

RADIUS = 0.02
FRICTION = 0.8


class MujocoGround(MujocoRollout):
    """One robot on a plane; its other options are MuJoCo's own."""

    def __init__(self, robot: Robot, feet: Sequence[Foot], threads: int = 1, batch: bool = False) -> None:
        super().__init__(robot, threads, batch)
        self.name += "-contacts"
        self._model = _on_a_plane(self._mujoco, robot, feet)

    def last(self, arrays: Sequence[Array]) -> tuple[Array, Array, float]:
        """q and v in MuJoCo's coordinates after the last step, and how many contacts there are in the mean."""
        run, last = self._batched(arrays) if self._batch else self._rolled(arrays)
        run()
        q, v = last()
        data, contacts = self._mujoco.MjData(self._model), 0
        for row in q:
            data.qpos[:] = row
            self._mujoco.mj_forward(self._model, data)
            contacts += data.ncon
        return q, v, contacts / len(q)


def _on_a_plane(mujoco: Any, robot: Robot, feet: Sequence[Foot]) -> Any:
    spec = mujoco.MjSpec.from_string(mjcf(numbers_of(robot, "MuJoCo")))
    off = mujoco.mjtDisableBit
    spec.option.disableflags &= ~int(off.mjDSBL_CONTACT) & ~int(off.mjDSBL_CONSTRAINT)
    sliding = [FRICTION, 0.005, 0.0001]
    plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [0, 0, 1], "pos": [0, 0, -RADIUS]}
    spec.worldbody.add_geom(**plane, contype=1, conaffinity=0, friction=sliding)
    bodies = spec.bodies[1:]  # behind the world, in our order
    for foot in feet:
        body, placement = robot.frames[foot.frame]
        where = placement.translation + placement.rotation @ np.asarray(foot.point)
        ball = {"type": mujoco.mjtGeom.mjGEOM_SPHERE, "size": [RADIUS, 0, 0], "pos": where}
        bodies[body].add_geom(**ball, contype=0, conaffinity=1, friction=sliding)
    return spec.compile()
