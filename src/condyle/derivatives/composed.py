"""A route that calls other functions, loops over time among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from condyle.derivatives import derivative
from condyle.derivatives.recording import Record, Recording


@dataclass(frozen=True)
class Composed:
    """The run of such a route; `Route.recorded` says that its code is made by `record`."""

    record: Record
    is_composed: ClassVar[bool] = True

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        """The answers on the scalars that a sweep has, loops written out."""
        return tuple(Recording(sweeps.tree, derivative).computed(self.record, sweeps.inputs))
