"""The cost of one node at one state: crocoddyl's sum, or half the square of a residual of one's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.interop.coordinates import Coordinates

Array = NDArray[np.floating]
OF_STATES = ("ResidualModelState", "ResidualModelControl")
"""Residuals that need no kinematics."""


class ModelCosts:
    """A CostModelSum, with the kinematics that its residuals read."""

    def __init__(self, crocoddyl: Any, pinocchio: Any, state: Any, costs: Any) -> None:
        self._croc, self._pin, self._model, self._costs = crocoddyl, pinocchio, state.pinocchio, costs
        self._actuation, self._sizes = crocoddyl.ActuationModelFull(state), (int(state.ndx), int(state.nv))
        found = (item.cost.residual for item in costs.costs.todict().values())
        self._has_kinematics = any(type(residual).__name__ not in OF_STATES for residual in found)

    def data(self) -> Any:
        """What a place in a problem keeps."""
        kinematics, actuation = self._model.createData(), self._actuation.createData()
        shared = self._croc.DataCollectorActMultibody(kinematics, actuation)
        costs, n = self._costs.createData(shared), sum(self._sizes)
        return SimpleNamespace(
            kinematics=kinematics,
            actuation=actuation,
            shared=shared,
            costs=costs,
            slope=np.zeros(n),
            curvature=np.zeros((n, n)),
        )

    def value(self, data: Any, x: Array, u: Array | None) -> float:
        """l."""
        if self._has_kinematics:
            self._place(data, x, u)
        self._costs.calc(data.costs, x, *(() if u is None else (u,)))
        return float(data.costs.cost)

    def slopes(self, data: Any, x: Array, u: Array | None) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u), those by x alone where u is none; behind `value` at the same place.

        The arrays are the data's, and used again.
        """
        ndx, _ = self._sizes
        if self._has_kinematics:
            q, v = x[: self._model.nq], x[self._model.nq :]
            self._pin.computeForwardKinematicsDerivatives(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
            self._pin.jacobianCenterOfMass(self._model, data.kinematics, q)
            self._pin.updateFramePlacements(self._model, data.kinematics)
        costs, slope, curvature = data.costs, data.slope, data.curvature
        if u is None:
            self._costs.calcDiff(costs, x)
            slope[:ndx], curvature[:ndx, :ndx] = costs.Lx, costs.Lxx
            return slope, curvature
        self._costs.calcDiff(costs, x, u)
        slope[:ndx], slope[ndx:] = costs.Lx, costs.Lu
        curvature[:ndx, :ndx], curvature[ndx:, ndx:], curvature[:ndx, ndx:] = costs.Lxx, costs.Luu, costs.Lxu
        curvature[ndx:, :ndx] = curvature[:ndx, ndx:].T
        return slope, curvature

    def _place(self, data: Any, x: Array, u: Array | None) -> None:
        q, v = x[: self._model.nq], x[self._model.nq :]
        self._pin.forwardKinematics(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
        self._pin.updateFramePlacements(self._model, data.kinematics)
        self._pin.centerOfMass(self._model, data.kinematics, q, v)
        if u is not None:
            self._actuation.calc(data.actuation, x, u)


class ResidualCosts:
    """r·r / 2 of a residual f(at, u), with Gauss-Newton's curvature; u is zero where a node has none."""

    def __init__(self, robot: Any, residual: Any, coordinates: Coordinates) -> None:
        def miss(at: Any, u: Any) -> dict[str, Any]:
            return {"r": residual(at, u)}

        made = robot.function(miss, {"q": "nq", "v": "nv", "u": "nv"})
        self._value, self._at = made.compile(threads=1), coordinates
        self._by, self._none = self._value.jacobian(), np.zeros(coordinates.nv)

    def data(self) -> None:
        """It keeps nothing."""

    def value(self, data: None, x: Array, u: Array | None) -> float:
        """l."""
        r = self._value(*self._at.ours(x), self._none if u is None else u)
        return 0.5 * float(r @ r)

    def slopes(self, data: None, x: Array, u: Array | None) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u)."""
        given = (*self._at.ours(x), self._none if u is None else u)
        J: Array = np.concatenate(tuple(self._by(*given)), axis=-1)
        return self._value(*given) @ J, np.transpose(J) @ J
