"""Other libraries, timed in the same process as ours: one adapter each, found and built only when asked for.

| name | what it is |
|---|---|
| pinocchio | Pinocchio's C++ from the headers of its wheel, by clang++ if there is one, else g++ |
| pinocchio-gcc | the same by g++ |
| casadi | C that CasADi writes from Pinocchio's algorithms run on its scalars |
| mujoco | MuJoCo's C functions without constraints, contacts and passive forces; rollouts by mujoco.rollout |
| mujoco-batch | rollouts by mujoco.batch |
| crocoddyl | calcDiff of crocoddyl's integrated action models |
| mjx | rollouts by MJX, in JAX on the processor |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from condyle.cli.rivals.rival import Rival
    from condyle.model.robot import Robot

NAMES = ("pinocchio", "pinocchio-gcc", "casadi", "mujoco", "mujoco-batch", "crocoddyl", "mjx")


def _casadi(robot: Robot) -> Rival:
    from condyle.cli.rivals.pinocchio_cpp import CasadiC

    return CasadiC(robot)


def _mujoco(robot: Robot) -> Rival:
    from condyle.cli.rivals.mujoco_c import MujocoC

    return MujocoC(robot)


def _mujoco_batch(robot: Robot) -> Rival:
    from condyle.cli.rivals.mujoco_c import MujocoRollout

    return MujocoRollout(robot, batch=True)


def _crocoddyl(robot: Robot) -> Rival:
    from condyle.cli.rivals.crocoddyl_steps import CrocoddylSteps

    return CrocoddylSteps(robot)


def _mjx(robot: Robot) -> Rival:
    from condyle.cli.rivals.mujoco_c import MjxRollout

    return MjxRollout(robot)


SIMPLE: dict[str, Callable[[Robot], Rival]] = {
    "casadi": _casadi,
    "mujoco": _mujoco,
    "mujoco-batch": _mujoco_batch,
    "crocoddyl": _crocoddyl,
    "mjx": _mjx,
}
"""What needs no more than the robot."""


def opened(name: str, robot: Robot, frames: tuple[str, ...] = ()) -> Rival:
    """One of NAMES for this robot and these frames; building it may take minutes, once. UnsupportedError says what is
    missing.
    """
    if name in SIMPLE:
        return SIMPLE[name](robot)
    from condyle.cli.rivals.pinocchio_cpp import PinocchioCpp

    return PinocchioCpp(robot, name, frames)
