"""An impact as a node of a problem: q stays, v jumps as contacts close, M (v' - v) = Jᵀ impulse, J v' = - e J v."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.interop.crocoddyl.drives import Drive
from condyle.interop.crocoddyl.nodes import Batch

Array = NDArray[np.floating]


class ImpactMotion:
    """v behind an impact, and the impulses row by row: compiled at its first use."""

    def __init__(self, drive: Drive) -> None:
        self.drive, self.dyn, self.coordinates = drive, drive.dyn, drive.coordinates

    @cached_property
    def value(self) -> Callable[..., Any]:
        """(q, v, active, restitution) -> v, f."""

        def jump(state: Any, active: Any, restitution: Any) -> dict[str, Any]:
            found = state.impulse_dynamics(active, restitution)
            return {"after": found.v, "f": self.drive.rows(state, found.impulse)}

        sizes = {"q": "nq", "v": "nv", "active": "n_contacts", "restitution": "n_contacts"}
        drive = self.drive
        return drive.robot.function(jump, sizes, contacts=drive.contacts).compile(**drive.options)

    @cached_property
    def slopes(self) -> Callable[..., Any]:
        """(q, v, active, restitution) -> the derivatives of v by q and by v, and those of f."""
        value: Any = self.value
        return value.jacobian(by=("q", "v"))


class ImpactNodes(Batch):
    """Impacts of one `ImpactMotion`.

    by_x (n, 2 nv, 2 nv), by_force (n, rows, 2 nv): derivatives of the state behind them, and of the impulses.
    """

    def __init__(self, motion: ImpactMotion, active: Sequence[Array], restitution: Sequence[Array]) -> None:
        n, at = len(active), motion.coordinates
        super().__init__(n, at.nx, 0, motion.drive.size, [np.array(active), np.array(restitution)])
        self.motion = motion
        self.by_x = np.zeros((n, 2 * at.nv, 2 * at.nv))
        self.by_x[:, : at.nv, : at.nv] = np.eye(at.nv)
        self.by_force = np.empty((n, motion.drive.n_rows, 2 * at.nv))

    def put(self, y: Array, x: Array, u: Array) -> None:
        self.motion.drive.put(y, x, u)

    def valued(self, y: Array, more: Sequence[Array]) -> Sequence[Array]:
        nq = self.motion.coordinates.nq
        return self.motion.value(y[..., :nq], y[..., nq:], *more)

    def fill(self, which: Any, y: Array, more: Sequence[Array]) -> None:
        nq, nv = self.motion.coordinates.nq, self.motion.coordinates.nv
        v_q, v_v, f_q, f_v = self.motion.slopes(y[:, :nq], y[:, nq:], *more)
        self.by_x[which, nv:] = np.concatenate([v_q, v_v], axis=-1)
        self.by_force[which] = np.concatenate([f_q, f_v], axis=-1)
