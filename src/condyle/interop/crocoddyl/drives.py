"""What moves a robot in a node of an optimal control problem: torques of its actuated joints, and contacts.

The last nu coordinates are actuated, tau = [0; u]: all of them, or those behind a floating base. Flags, gains and
anchors of contacts are numbers of each node, so that one compiled function serves every phase of a gait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from condyle.calls.dynamics import Dynamics
from condyle.interop.crocoddyl.coordinates import Coordinates
from condyle.model.contact import Contact

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
