"""What moves a robot in a node of an optimal control problem: torques of its actuated joints, and contacts.

The last nu coordinates are actuated, tau = [0; u]: all of them, or those behind a floating base. Flags, gains and
anchors of contacts are numbers of each node, so that one compiled function serves every phase of a gait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from condyle.calls.dynamics import Dynamics
from condyle.interop.crocoddyl.coordinates import Coordinates
from condyle.model.contact import Contact
from condyle.specification.integrators import METHODS

Array = NDArray[np.floating]
NUMBERS: Mapping[str, tuple[str | int, ...]] = {
    "active": ("n_contacts",),
    "gains": ("n_contacts", 2),
    "anchors": ("n_contacts", 12),
}
"""Of a node with contacts, by the names of `condyle.specification.ports`."""
RESIDUAL_NUMBERS = "own"
Residual = Callable[..., Any]
"""r (m) at a state under torques: f(at, u), as in `Robot.function`; with contacts f(at, u, force), their forces row by
row; where nodes have numbers of their own, these come last."""


@dataclass(frozen=True)
class Drive:
    """a and forces of contacts at a state under u (nu).

    is_world: forces are in the world's axes, at the contact; else in the contact's own. n_own: length of the vector of
    numbers that a node has for its residual.
    """

    robot: Any = field(compare=False)
    dyn: Dynamics = field(compare=False)
    coordinates: Coordinates
    nu: int
    contacts: tuple[Contact, ...] = ()
    is_world: bool = True
    n_own: int = 0

    @property
    def n_rows(self) -> int:
        """Of all forces."""
        return sum(len(one.rows) for one in self.contacts)

    @property
    def size(self) -> int:
        """Of y."""
        return self.coordinates.nq + self.coordinates.nv + self.nu

    @property
    def numbers(self) -> tuple[str, ...]:
        """What a node has beside its state and u."""
        return (*(NUMBERS if self.contacts else ()), *((RESIDUAL_NUMBERS,) if self.n_own else ()))

    def acceleration(self, state: Any, u: Any, numbers: Sequence[Any]) -> tuple[Any, Any]:
        """a (nv), and the forces row by row, None without contacts; of symbols."""
        nv = self.coordinates.nv
        tau = u if self.nu == nv else np.concatenate([np.zeros(nv - self.nu), u])
        if not self.contacts:
            return state.forward_dynamics(tau), None
        active, gains, anchors = numbers[: len(NUMBERS)]
        found = state.constrained_forward_dynamics(tau, active, gains=gains, anchors=anchors)
        return found.a, self.rows(state, found.force)

    def rest(self, residual: Residual, state: Any, u: Any, force: Any, numbers: Sequence[Any]) -> Any:
        """r of a residual; of symbols. force: None without contacts."""
        own = numbers[len(numbers) - 1 :] if self.n_own else ()
        return residual(state, u, *(() if force is None else (force,)), *own)

    def rows(self, state: Any, force: Any) -> Any:
        """Forces (C, 6) in the contacts' axes as those that hold, one contact behind the other, in the axes asked for;
        of symbols."""
        found: list[Any] = []
        for one, of in zip(self.contacts, force, strict=True):
            parts = [of[k : k + 3] for k in range(0, len(one.rows), 3)]
            if self.is_world:
                axes = state.frame(one.frame).rotation @ one.placed.rotation
                parts = [axes @ part for part in parts]
            found += parts
        return np.concatenate(found)

    @cached_property
    def value(self) -> Callable[..., Any]:
        """(y, numbers ...) -> a, and the forces where there are contacts."""

        def acceleration_and_forces(state: Any, u: Any, numbers: Sequence[Any]) -> dict[str, Any]:
            a, rows = self.acceleration(state, u, numbers)
            return {"a": a} if rows is None else {"a": a, "f": rows}

        return self.compiled(acceleration_and_forces)

    @cached_property
    def slopes(self) -> Callable[..., Any]:
        """Derivatives of the answers of `value`; see `by_y`."""
        return self.differentiated(self.value)

    def compiled(self, node: Callable[..., dict[str, Any]], more: Sequence[str] = ()) -> Any:
        """A function node(state, u, numbers, more ...) of one state, compiled; `more` are names of single numbers.

        Where q is a plain vector, q, v and u are one input: derivatives by them then come in one array.
        """
        nv, names = self.coordinates.nv, self.numbers

        def whole(state: Any, **inputs: Any) -> dict[str, Any]:
            if self.coordinates.plain:
                y = inputs["y"]
                state, u = state.moved_to(y[:nv], y[nv : 2 * nv]), y[2 * nv :]
            else:
                u = inputs["u"]
            return node(state, u, [inputs[name] for name in names], *(inputs[name] for name in more))

        state: dict[str, Any] = {"q": "nq", "v": "nv", "u": self.nu}
        if self.coordinates.plain:
            state = {"y": 2 * nv + self.nu}
        of_node = {name: self.n_own if name == RESIDUAL_NUMBERS else NUMBERS[name] for name in names}
        sizes = state | of_node | dict.fromkeys(more, ())
        return self.robot.function(whole, sizes, contacts=self.contacts).compile(**self.options)

    @property
    def options(self) -> dict[str, Any]:
        """Of compile, as of `dyn`."""
        return {"target": self.dyn.target, "threads": self.dyn.__reduce__()[1].threads}

    def differentiated(self, function: Any) -> Callable[..., Any]:
        """Derivatives by y, or by q, v and u."""
        return function.jacobian(by=("y",) if self.coordinates.plain else ("q", "v", "u"))

    def call(self, function: Callable[..., Any], y: Array, *more: Any) -> Sequence[Array]:
        """The answers of one of these functions: y (..., nq + nv + nu) is (q, v, u)."""
        nq, nv = self.coordinates.nq, self.coordinates.nv
        parts = (y,) if self.coordinates.plain else (y[..., :nq], y[..., nq : nq + nv], y[..., nq + nv :])
        found = function(*parts, *more)
        return cast("Sequence[Array]", found) if isinstance(found, tuple) else [found]

    def by_y(self, answers: Sequence[Array], k: int, out: Array | None = None) -> Array:
        """(..., size, 2 nv + nu): derivatives of answer k, from those of all."""
        if not self.coordinates.plain:
            return np.concatenate(answers[3 * k : 3 * k + 3], axis=-1, out=out)
        if out is None:
            return answers[k]
        out[:] = answers[k]
        return out

    def put(self, y: Array, x: Array, u: Array) -> None:
        """y of a state x of crocoddyl, and u."""
        at = self.coordinates
        y[..., : at.nq + at.nv] = x if at.same else np.concatenate(at.ours(x), axis=-1)
        y[..., at.nq + at.nv :] = u


# A step of one node and its cost as functions of one state.
#
# Stages y_i of an explicit method, with weights b_i and parts c_i, k_i = (v_i, a(q_i, v_i, u)), ⊕ in the tangent space:
#
#     y_1 = x,  y_(i+1) = x ⊕ h c_i k_i,  x' = x ⊕ h sum b_i k_i,  cost = h sum b_i l(y_i, u),  l = r·r / 2
#
# Semi-implicit Euler is that of `condyle.specification.integrators`. The others are crocoddyl's: its Euler moves q by
# the new velocity, v' = v + h a and q' = q ⊕ h v', also where axes turn, and its RK4 lacks the brackets that keep the
# fourth order there.


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
