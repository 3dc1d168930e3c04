"""What `Dynamics` has of rollouts; what they need is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.runtime.packed import Packed

if TYPE_CHECKING:
    from condyle.methods import StepRollout
    from condyle.rollouts import Rollouts

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None


class Rolling:
    """`rollout`, and rollouts of any function."""

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
        Errors: ShapeError for time axes that differ in length or have no step; UnsupportedError for an option. A tau of
        the shape of v has two meanings without steps=: ShapeWarning, or ShapeError if it has several batch dimensions;
        by_time=("tau",) says that it has a time axis.
        """
        return self._rollouts.steps((q, v, tau, dt), f_ext, numbers, by_time, every, last, steps, out)

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
