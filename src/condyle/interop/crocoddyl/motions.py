"""A step of one node and its cost as functions of one state.

Stages y_i of an explicit method, with weights b_i and parts c_i, k_i = (v_i, a(q_i, v_i, u)), ⊕ in the tangent space:

    y_1 = x,  y_(i+1) = x ⊕ h c_i k_i,  x' = x ⊕ h sum b_i k_i,  cost = h sum b_i l(y_i, u),  l = r·r / 2

Semi-implicit Euler is that of `condyle.specification.integrators`. The others are crocoddyl's: its Euler moves q by the
new velocity, v' = v + h a and q' = q ⊕ h v', also where axes turn, and its RK4 lacks the brackets that keep the fourth
order there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.interop.crocoddyl.drives import Drive, Residual
from condyle.specification.integrators import METHODS

Array = NDArray[np.floating]
CROCODDYL_EULER = "crocoddyl_euler"
MOTIONS = {
    **{name: method for name, method in METHODS.items() if method.moves_last or method.order > 1},
    CROCODDYL_EULER: METHODS["euler"],
}
"""By the words of `IntegratedActionModel`."""


class _End(NamedTuple):
    """Of a step: how far q moves, q and v."""

    dq: Any
    q: Any
    v: Any


class Motion:
    """A step, with the cost of a residual if there is one: compiled at its first use.

    weights: b of the stages. residual: None where costs are crocoddyl's.
    """

    def __init__(self, drive: Drive, method: str, residual: Residual | None) -> None:
        self.drive, self.residual, self.dyn, self.coordinates = drive, residual, drive.dyn, drive.coordinates
        self._in_fixed_axes = method != CROCODDYL_EULER
        self._stages = MOTIONS[method].stages
        self.weights = np.array([stage.b for stage in self._stages])

    @cached_property
    def value(self) -> Callable[..., Any]:
        """(y, numbers ..., dt) -> x: the state behind the step in crocoddyl's coordinates; and x1, ...: the stages
        behind the first, and f: the forces of contacts, or rate: the sum of b l."""
        theirs, residual = self.coordinates.theirs, self.residual

        def node(state: Any, u: Any, numbers: Sequence[Any], dt: Any) -> dict[str, Any]:
            states, end, rests = self._travelled(state, u, numbers, dt)
            found = {"x": theirs(end.q, end.v)}
            if residual is None:
                found |= {f"x{k}": theirs(here.q, here.v) for k, (here, *_) in enumerate(states) if k}
                return found | self._forces(states)
            return found | {"rate": 0.5 * (rests @ rests)}

        return self.drive.compiled(node, ("dt",))

    @cached_property
    def moves(self) -> Any:
        """(y, numbers ..., dt) -> z: how far q moves in the step, and v behind it; and z1, ...: of the stages behind
        the first, and f: the forces of contacts, or r: sqrt(b) times the residual of all stages."""

        def node(state: Any, u: Any, numbers: Sequence[Any], dt: Any) -> dict[str, Any]:
            states, end, rests = self._travelled(state, u, numbers, dt)
            found = {"z": np.concatenate([end.dq, end.v])}
            if self.residual is None:
                found |= {f"z{k}": np.concatenate([dq, here.v]) for k, (here, dq, *_) in enumerate(states) if k}
                return found | self._forces(states)
            return found | {"r": rests}

        return self.drive.compiled(node, ("dt",))

    @cached_property
    def slopes(self) -> Callable[..., Any]:
        """Derivatives of `moves`; see `Drive.by_y`."""
        return self.drive.differentiated(self.moves)

    def _forces(self, states: Sequence[Any]) -> dict[str, Any]:
        """Of the first stage: with more than one there are no contacts under crocoddyl's costs."""
        force = states[0][3]
        return {} if force is None else {"f": force}

    def _travelled(self, state: Any, u: Any, numbers: Sequence[Any], dt: Any) -> tuple[list[Any], _End, Any]:
        """Stages as (state, how far q has moved, acceleration, forces), the end of the step, and sqrt(b) r."""
        states: list[Any] = [(state, None, *self.drive.acceleration(state, u, numbers))]
        for stage in self._stages[:-1]:  # its c leads to the next one
            before, _, a, _ = states[-1]
            dq = stage.c * dt * before.v
            here = state.moved_to(state.integrate(dq), state.v + stage.c * dt * a)
            states.append((here, dq, *self.drive.acceleration(here, u, numbers)))
        weighed = list(zip(self.weights.tolist(), states, strict=True))
        dv = dt * sum(b * a for b, (_, _, a, _) in weighed)
        end, residual = self._end(state, [here for here, *_ in states], dv, dt), self.residual
        if residual is None:
            return states, end, None
        rest = self.drive.rest
        rests = [np.sqrt(b) * rest(residual, here, u, force, numbers) for b, (here, _, _, force) in weighed]
        return states, end, np.concatenate(rests)

    def _end(self, state: Any, stages: Sequence[Any], dv: Any, dt: Any) -> _End:
        v = state.v + dv
        if len(stages) == 1 and self._in_fixed_axes and not self.coordinates.plain:
            after = state.stepped(v, dt)
            return _End(state.difference(state.q, after.q), after.q, after.v)
        weighed = zip(self.weights.tolist(), stages, strict=True)
        dq = dt * (sum(b * here.v for b, here in weighed) if len(stages) > 1 else v)
        return _End(dq, state.integrate(dq), v)
