"""MuJoCo's compiler, and the part of a compiled model that is read here, as types: mujoco itself is optional."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from condyle.model.array import Array


class Option(Protocol):
    gravity: Array
    disableflags: int
    density: float
    viscosity: float


class Compiled(Protocol):
    """The part of MuJoCo's compiled model that is read here."""

    nbody: int
    njnt: int
    nsite: int
    ntendon: int
    nflex: int
    opt: Option
    qpos0: Array
    eq_type: NDArray[np.int32]
    eq_obj1id: NDArray[np.int32]
    eq_obj2id: NDArray[np.int32]
    eq_data: Array
    eq_active0: NDArray[np.bool_]
    body_parentid: NDArray[np.int32]
    body_pos: Array
    body_quat: Array
    body_mass: Array
    body_ipos: Array
    body_iquat: Array
    body_inertia: Array
    body_gravcomp: Array
    body_jntadr: NDArray[np.int32]
    body_jntnum: NDArray[np.int32]
    site_bodyid: NDArray[np.int32]
    site_pos: Array
    site_quat: Array
    jnt_type: NDArray[np.int32]
    jnt_qposadr: NDArray[np.int32]
    jnt_dofadr: NDArray[np.int32]
    jnt_pos: Array
    jnt_axis: Array
    jnt_range: Array
    jnt_limited: NDArray[np.bool_]
    jnt_actfrclimited: NDArray[np.bool_]
    jnt_actfrcrange: Array
    dof_armature: Array
    dof_damping: Array
    dof_frictionloss: Array


class Factory(Protocol):
    def from_xml_path(self, filename: str) -> Compiled: ...


class DisableBit(Protocol):
    mjDSBL_GRAVITY: int


class Mujoco(Protocol):
    MjModel: Factory
    mjtDisableBit: DisableBit

    def mj_id2name(self, m: Compiled, type: int, id: int) -> str | None: ...
    def get_mju_user_warning(self) -> Callable[[str], None] | None: ...
    def set_mju_user_warning(self, user_warning: Callable[[str], None] | None) -> None: ...


_ONE_AT_A_TIME = Lock()


def compiled(mujoco: Mujoco, path: Path, heard: list[str]) -> Compiled:
    """The model of a file; MuJoCo's warnings go to `heard`, not to standard error and a log file in the work folder.

    Raises what MuJoCo raises.
    """
    with _ONE_AT_A_TIME:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(heard.append)
        try:
            return mujoco.MjModel.from_xml_path(str(path))
        finally:
            mujoco.set_mju_user_warning(before)
