"""What `Dynamics` has of rollouts; what they need is imported when one is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.errors import AccuracyWarning
from condyle.runtime.packed import Packed
from condyle.text import few

if TYPE_CHECKING:
    from condyle.compile.serial import Compiler
    from condyle.methods import StepRollout
    from condyle.rollouts import Rollouts

Array = NDArray[np.floating]
FASTEST = 100.0
"""|v| dt that no step follows [rad, m]."""
_SHOWN = 3
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None


class Rolling:
    """`rollout`, and rollouts of any function."""

    _compiler: Compiler
    _numbers: dict[str, Array]
    _rolled: Rollouts | None

    def rollout(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        *,
        f_ext: ArrayLike | None = None,
        every: int = 1,
        last: bool = False,
        steps: int | None = None,
        by_time: Sequence[str] | str = (),
        out: Out = None,
        **numbers: ArrayLike,
    ) -> StepRollout:
        """Return (q, v) after each of T steps of `step`, by the integrator of `compile`.

        q (..., nq), v (..., nv): before the first step. tau (..., T, nv): constant during each step. steps=T: tau
        (..., nv) is constant during all T steps instead, unless by_time names it. dt (...) [s]: length of a step. f_ext
        (..., n_bodies, 6): external forces, constant during all steps. by_time: names of further inputs with a value
        for each step, "f_ext" or "dt"; their time axis stands before their own axes.
        numbers: what `compile(inputs=)` made arguments, constant during all steps; those of the robot where they are
        left out.
        Answers: q (..., T, nq), v (..., T, nv). every=k: those of steps k, 2 k, ... and of the last one. last=True:
        those of the last step, without time axis.
        With contacts, a state whose speeds pass `FASTEST` a step is not a number from there on, and an AccuracyWarning
        names it: a loop that was torn near a dead point, for example.
        Errors: ShapeError for time axes that differ in length or have no step; UnsupportedError for an option. A tau of
        the shape of v has two meanings without steps=: ShapeWarning, or ShapeError if it has several batch dimensions;
        by_time=("tau",) says that it has a time axis.
        """
        made = self._rollouts.steps((q, v, tau, dt), f_ext, numbers, by_time, every, last, steps, out)
        if self._compiler.tree.contacts and not isinstance(made.v, Packed):
            longest = np.max(dt, axis=-1) if "dt" in by_time else np.asarray(dt)
            if _stop_torn(made.q, made.v, longest, last):
                _warn_of_torn(made.v if last else made.v[..., -1, :], (q, v, tau, f_ext, *numbers.values()))
        return made

    def rollouts_of(self, name: str, kind: str = "") -> Callable[..., Any]:
        """Rollouts of any function, by its short name, with the options of each call; kind: "vjp" for theirs."""
        return self._rollouts.of(name, kind)

    @property
    def _rollouts(self) -> Rollouts:
        """The rollouts of this object, from their first use on."""
        if self._rolled is None:
            from condyle.rollouts import Rollouts

            self._rolled = Rollouts(self, self._numbers)  # pyright: ignore[reportArgumentType]
        return self._rolled


def _stop_torn(q: Array, v: Array, dt: Array, last: bool) -> bool:
    """Whether |v| dt passes `FASTEST` at the end of some state; q and v are then NaN from where it does.

    q (..., T, nq), v (..., T, nv), without T if they are the last ones.
    """
    ends = v if last else v[..., -1, :]
    if np.abs(ends).max(initial=0.0) * dt.max(initial=0.0) <= FASTEST:  # a state that was torn stays so
        return False
    torn = ~(np.abs(v).max(axis=-1) * (dt if last else dt[..., None]) <= FASTEST)
    if not last:
        torn = np.logical_or.accumulate(torn, axis=-1)
    q[torn], v[torn] = np.nan, np.nan
    return bool(torn.any())


def _warn_of_torn(ends: Array, given: Sequence[ArrayLike | None]) -> None:
    """AccuracyWarning that names the states, unless an input was no number already."""
    if all(np.isfinite(x).all() for x in given if x is not None):
        states = np.flatnonzero(np.isnan(ends).any(axis=-1))
        named = few([str(state) for state in states], _SHOWN)
        cure = "take a smaller dt, or other gains of the contacts: see docs/loops.md, Limits"
        message = f"rollout: states {named} pass {FASTEST:g} rad or m in one step; they are NaN from there on; {cure}"
        warnings.warn(message, AccuracyWarning, stacklevel=3)
