"""Other libraries, timed beside ours: one adapter each, found and built only when asked for.

| name | what it is |
|---|---|
| pinocchio | Pinocchio's C++ from the headers of its wheel, by clang++ if there is one, else g++ |
| pinocchio-gcc | the same by g++ |
| casadi | C that CasADi writes from Pinocchio's algorithms run on its scalars |
| mujoco | MuJoCo's C functions without constraints, contacts and passive forces |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from condyle.cli.rivals.rival import Rival
    from condyle.model.robot import Robot

NAMES = ("pinocchio", "pinocchio-gcc", "casadi", "mujoco")


def opened(name: str, robot: Robot, frames: tuple[str, ...] = ()) -> Rival:
    """One of NAMES for this robot and these frames; building it may take minutes, once. UnsupportedError says what is
    missing.
    """
    if name == "casadi":
        from condyle.cli.rivals.casadi_c import CasadiC

        return CasadiC(robot)
    if name == "mujoco":
        from condyle.cli.rivals.mujoco_c import MujocoC

        return MujocoC(robot)
    from condyle.cli.rivals.pinocchio_cpp import PinocchioCpp

    return PinocchioCpp(robot, name, frames)
