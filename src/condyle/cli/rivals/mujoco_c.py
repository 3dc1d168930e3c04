"""MuJoCo's C functions, one state after another, in a C loop: the least that each of our functions needs there.

Constraints, contacts and passive forces are off. MuJoCo has no analytical derivatives of the dynamics: those timed here
are its own finite differences, marked so; for robots with a free joint they are left out, since MuJoCo takes them in
other coordinates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.mujoco_model import Frames, frames, mjcf, ours
from condyle.cli.rivals.mujoco_rollout import MujocoRollout
from condyle.cli.rivals.numbers import numbers_of
from condyle.cli.rivals.rival import EXACT, FUNCTIONS, Array, Model
from condyle.errors import UnsupportedError
from condyle.runtime.toolchain import find_compiler

if TYPE_CHECKING:
    from condyle.model.robot import Robot

SOURCE = Path(__file__).with_name("mujoco_c.c")
FLAGS = ("-std=c11", "-O3")
POSITION = "mj_kinematics, mj_comPos"
ALGORITHMS = {
    "id": f"{POSITION}, mj_comVel, mj_rne",
    "fd": f"{POSITION}, mj_makeM, mj_factorM, mj_comVel, mj_rne, mj_solveM",
    "m": f"{POSITION}, mj_makeM, mj_fullM",
    "minv": f"{POSITION}, mj_makeM, mj_factorM, mj_solveM",
    "step": "mj_step",
    "rollout": "mujoco.rollout",
}
DIFFERENCES = {
    "did": "mjd_inverseFD (finite differences)",
    "dfd": "as fd, mjd_inverseFD (finite differences), mj_solveM",
    "dstep": "mjd_transitionFD (finite differences)",
}
NUMBERED = (*FUNCTIONS, "step", "dstep")
"""As mujoco_c.c numbers them."""
COARSE = 1e-4
OLDEST = 4
COMPLAINT_BYTES = 1000


class Numbered(Model):
    """One robot, with a motor for each velocity or without."""

    def number(self, function: str) -> int:
        return NUMBERED.index(function)


class MujocoC:
    """One robot in MuJoCo."""

    name = "mujoco"

    def __init__(self, robot: Robot) -> None:
        folder = toolchain.wheel_folder("mujoco", "bench", "mujoco/mujoco.h")
        shared = next(iter(sorted(folder.glob("libmujoco.so*"))), None)
        if shared is None:
            raise UnsupportedError("the mujoco package has no shared library: pip install 'condyle[bench]'")
        version = shared.name.removeprefix("libmujoco.so.")
        if int(version.split(".")[0]) < OLDEST:
            raise UnsupportedError(f"the comparison needs MuJoCo {OLDEST} or newer; version {version} is installed")
        compiler = find_compiler()
        include = ("-isystem", str(folder / "include"))
        links = (f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l:{shared.name}")
        command = [compiler.path, *FLAGS, *include, *toolchain.SHARED, *links]
        self._library = toolchain.library(command, SOURCE, (), "MuJoCo")
        self._robot, self._numbers = robot, numbers_of(robot, "MuJoCo")
        turning = any(joint.type in ("free", "spherical") for joint in robot.joints)
        self.algorithms = ALGORITHMS if turning else {**ALGORITHMS, **DIFFERENCES}
        self.about = {"version": version, "flags": "the wheel's own library"}
        self._model = self._compiled(motors=False)

    def _compiled(self, motors: bool) -> Model:
        complaint = ctypes.create_string_buffer(COMPLAINT_BYTES)
        model = Numbered(self._library, mjcf(self._numbers, motors).encode(), complaint, COMPLAINT_BYTES)
        if model.handle is None:
            raise UnsupportedError(f"MuJoCo refuses {self._robot.name!r}: {complaint.value.decode(errors='replace')}")
        return model

    @cached_property
    def _rollout(self) -> MujocoRollout:
        return MujocoRollout(self._robot)

    @cached_property
    def _with_motors(self) -> Model:
        return self._compiled(motors=True)

    def _model_for(self, function: str) -> Model:
        return self._with_motors if function == "dstep" else self._model

    def call(self, function: str, arrays: Sequence[Array]) -> Callable[[], object]:
        if function == "rollout":
            return self._rollout.call(function, arrays)
        return self._model_for(function).call(function, self._theirs(function, arrays)[1])

    def answers(self, function: str, arrays: Sequence[Array], out: Sequence[Array]) -> None:
        if function == "rollout":
            return self._rollout.answers(function, arrays, out)
        where, theirs = self._theirs(function, arrays)
        self._model_for(function).call(function, theirs, out)()
        back = np.swapaxes(where.T, -1, -2)
        if function == "id":
            out[0][...] = np.einsum("nij,nj->ni", back, out[0])
        elif function == "fd":
            out[0][...] = np.einsum("nij,nj->ni", back, out[0] - where.coriolis)
        elif function in ("m", "minv"):
            out[0][...] = back @ out[0] @ where.T
        elif function == "step":
            out[0][...], out[1][...] = ours(self._robot, out[0], out[1])
        return None

    def tolerance(self, function: str) -> float:
        return COARSE if function in DIFFERENCES else EXACT

    def _theirs(self, function: str, arrays: Sequence[Array]) -> tuple[Frames, Sequence[Array]]:
        q = arrays[0]
        v = arrays[1] if len(arrays) > 1 else np.zeros((len(q), self._robot.nv))
        x = arrays[2] if len(arrays) > 2 else np.zeros_like(v)
        where = frames(self._robot, q, v)
        turned = [np.einsum("nij,nj->ni", where.T, rows) for rows in (v, x)]
        if function == "id":
            turned[1] = turned[1] + where.coriolis
        dt = [np.broadcast_to(lengths, len(q)) for lengths in arrays[3:]]
        return where, [np.ascontiguousarray(rows) for rows in (where.q, *turned, *dt)]
