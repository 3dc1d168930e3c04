"""The cost of one node at one state: crocoddyl's sum, or half the square of a residual of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condyle.interop.crocoddyl.drives import Drive, Residual

Array = NDArray[np.floating]
OF_STATES = (
    "ResidualModelState",
    "ResidualModelControl",
    "ResidualModelContactForce",
    "ResidualModelContactFrictionCone",
    "ResidualModelContactWrenchCone",
    "ResidualModelContactCoPPosition",
)
"""Residuals that need no kinematics."""


class ModelCosts:
    """A CostModelSum, with the kinematics that its residuals read. actuation: crocoddyl's model."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, actuation: Any) -> None:
        self._croc, self._pin = packages
        self._model, self._costs = state.pinocchio, costs
        self._actuation, self._ndx, nu = actuation, int(state.ndx), int(costs.nu)
        self._size = self._ndx + nu
        found = (item.cost.residual for item in costs.costs.todict().values())
        self._has_kinematics = any(type(residual).__name__ not in OF_STATES for residual in found)

    def data(self) -> Any:
        """What a place in a problem keeps."""
        found = SimpleNamespace(kinematics=self._model.createData(), actuation=None, pushed=None)
        found.shared = self._collected(found)
        found.costs = self._costs.createData(found.shared)
        found.slope, found.curvature = np.zeros(self._size), np.zeros((self._size, self._size))
        return found

    def value(self, data: Any, x: Array, u: Array | None, *pushed: Array) -> float:
        """l. pushed: forces of contacts, where there are some."""
        if self._has_kinematics:
            self._place(data, x, u)
        self._push(data, *pushed)
        self._costs.calc(data.costs, x, *(() if u is None else (u,)))
        return float(data.costs.cost)

    def slopes(self, data: Any, x: Array, u: Array | None, *pushed: Array) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u), those by x alone where u is none; behind `value` at the same place.

        pushed: derivatives (rows, n) of the forces. The arrays that come back are the data's, and used again.
        """
        ndx = self._ndx
        if self._has_kinematics:
            q, v = x[: self._model.nq], x[self._model.nq :]
            self._pin.computeForwardKinematicsDerivatives(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
            self._pin.jacobianCenterOfMass(self._model, data.kinematics, q)
            self._pin.updateFramePlacements(self._model, data.kinematics)
        costs, slope, curvature = data.costs, data.slope, data.curvature
        self._push_slopes(data, *pushed)
        if u is None:
            self._costs.calcDiff(costs, x)
            slope[:ndx], curvature[:ndx, :ndx] = costs.Lx, costs.Lxx
            return slope, curvature
        self._costs.calcDiff(costs, x, u)
        slope[:ndx], slope[ndx:] = costs.Lx, costs.Lu
        curvature[:ndx, :ndx], curvature[ndx:, ndx:], curvature[:ndx, ndx:] = costs.Lxx, costs.Luu, costs.Lxu
        curvature[ndx:, :ndx] = curvature[:ndx, ndx:].T
        return slope, curvature

    def _collected(self, data: Any) -> Any:
        data.actuation = self._actuation.createData()
        return self._croc.DataCollectorActMultibody(data.kinematics, data.actuation)

    def _push(self, data: Any, *pushed: Array) -> None:
        """There are no contacts."""

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        """There are no contacts."""

    def _place(self, data: Any, x: Array, u: Array | None) -> None:
        q, v = x[: self._model.nq], x[self._model.nq :]
        self._pin.forwardKinematics(self._model, data.kinematics, q, v, np.zeros(self._model.nv))
        self._pin.updateFramePlacements(self._model, data.kinematics)
        self._pin.centerOfMass(self._model, data.kinematics, q, v)
        if u is not None and data.actuation is not None:
            self._actuation.calc(data.actuation, x, u)


class ContactCosts(ModelCosts):
    """The same where residuals may read forces of contacts. contacts: crocoddyl's ContactModelMultiple."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, actuation: Any, contacts: Any) -> None:
        super().__init__(packages, state, costs, actuation)
        self._contacts = contacts

    def _collected(self, data: Any) -> Any:
        data.actuation, data.pushed = self._actuation.createData(), self._contacts.createData(data.kinematics)
        return self._croc.DataCollectorActMultibodyInContact(data.kinematics, data.actuation, data.pushed)

    def _push(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._contacts.updateForce(data.pushed, pushed[0])

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._contacts.updateForceDiff(data.pushed, pushed[0][:, : self._ndx], pushed[0][:, self._ndx :])


class ImpulseCosts(ModelCosts):
    """The same of an impact: residuals may read v behind it, and the impulses. impulses: an ImpulseModelMultiple."""

    def __init__(self, packages: tuple[Any, Any], state: Any, costs: Any, impulses: Any) -> None:
        super().__init__(packages, state, costs, None)
        self._impulses = impulses

    def _collected(self, data: Any) -> Any:
        data.pushed = self._impulses.createData(data.kinematics)
        return self._croc.DataCollectorMultibodyInImpulse(data.kinematics, data.pushed)

    def _push(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._impulses.updateForce(data.pushed, pushed[0])
            self._impulses.updateVelocity(data.pushed, pushed[1])

    def _push_slopes(self, data: Any, *pushed: Array) -> None:
        if pushed:
            self._impulses.updateForceDiff(data.pushed, pushed[0])
            self._impulses.updateVelocityDiff(data.pushed, pushed[1])


class ResidualCosts:
    """r·r / 2 of a residual, with Gauss-Newton's curvature; where a node has no u, it and the forces are zero.

    numbers: of the node, as `Drive.numbers` names them.
    """

    def __init__(self, drive: Drive, residual: Residual, numbers: Sequence[Array]) -> None:
        self._drive, self._residual, self._numbers = drive, residual, numbers
        self._none = np.zeros(drive.nu)

    @cached_property
    def _moving(self) -> Any:
        """r at a state under u, with the forces that act."""

        def miss(state: Any, u: Any, numbers: Sequence[Any]) -> dict[str, Any]:
            _, force = self._drive.acceleration(state, u, numbers)
            return {"r": self._drive.rest(self._residual, state, u, force, numbers)}

        return self._with_slopes(miss) if self._drive.contacts else self._resting

    @cached_property
    def _resting(self) -> Any:
        """r at a state under u, without forces."""
        none = np.zeros(self._drive.n_rows) if self._drive.contacts else None

        def miss(state: Any, u: Any, numbers: Sequence[Any]) -> dict[str, Any]:
            return {"r": self._drive.rest(self._residual, state, u, none, numbers)}

        return self._with_slopes(miss)

    def _with_slopes(self, miss: Any) -> tuple[Any, Any]:
        found = self._drive.compiled(miss)
        return found, self._drive.differentiated(found)

    def data(self) -> None:
        """It keeps nothing."""

    def value(self, data: None, x: Array, u: Array | None, *pushed: Array) -> float:
        """l."""
        (value, _), y = self._function_and_input(x, u)
        (r,) = self._drive.call(value, y, *self._numbers)
        return 0.5 * float(r @ r)

    def slopes(self, data: None, x: Array, u: Array | None, *pushed: Array) -> tuple[Array, Array]:
        """Slope (n) and curvature (n, n) by (x, u)."""
        (value, slopes), y = self._function_and_input(x, u)
        (r,) = self._drive.call(value, y, *self._numbers)
        J = self._drive.by_y(self._drive.call(slopes, y, *self._numbers), 0)
        return r @ J, np.transpose(J) @ J

    def _function_and_input(self, x: Array, u: Array | None) -> tuple[Any, Array]:
        y = np.empty(self._drive.size)
        self._drive.put(y, x, self._none if u is None else u)
        return self._resting if u is None else self._moving, y
