"""MuJoCo's M of a file, in a process that may crash: python mjcf_twin.py MODEL FOLDER."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np


def main(model_path: str, folder: Path) -> None:
    """Reads q.npy and joints.npy (0 free, 1 spherical, 2 of one number), writes M.npy in our order and frames."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import mujoco

    model = mujoco.MjModel.from_xml_path(model_path)
    data = mujoco.MjData(model)
    states, kinds = np.load(folder / "q.npy"), np.load(folder / "joints.npy")
    out = np.zeros((len(states), model.nv, model.nv))
    for k, q in enumerate(states):
        data.qpos = positions(q, kinds)
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, out[k])
        turn = velocities(q, kinds, model.nv)
        out[k] = turn.T @ out[k] @ turn
    np.save(folder / "M.npy", out)


def positions(q: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """MuJoCo's q from ours: its quaternions begin with w."""
    out, at = q.copy(), 0
    for kind in kinds:
        first = at + (3 if kind == 0 else 0)
        if kind != 2:
            out[first : first + 4] = [q[first + 3], *q[first : first + 3]]
        at += (7, 4, 1)[kind]
    return out


def velocities(q: np.ndarray, kinds: np.ndarray, nv: int) -> np.ndarray:
    """Their v of ours: the linear velocity of a free joint is in the world's axes there."""
    out, at, row = np.eye(nv), 0, 0
    for kind in kinds:
        if kind == 0:
            x, y, z, w = q[at + 3 : at + 7]
            out[row : row + 3, row : row + 3] = np.array(
                (
                    (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
                    (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
                    (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
                )
            )
        at, row = at + (7, 4, 1)[kind], row + (6, 3, 1)[kind]
    return out


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
