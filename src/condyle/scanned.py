"""The compiler for parallel links: functions by scans where the target has them, else as they are compiled anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.scans.routes import FORMS_ELEMENTS, SCANS, evaluate
from condyle.compiler import Compiler
from condyle.errors import UnsupportedError
from condyle.model.tree import Tree
from condyle.runtime.kernel import Kernel
from condyle.signature import FUNCTIONS


@dataclass
class ScannedCompiler(Compiler):
    """Compiler for links="scan". UnsupportedError for robots with mimic joints.

    A route may be a scan's name or a serial one; a function whose route is serial is not scanned.
    """

    scans: dict[str, str] = field(default_factory=dict[str, str])
    """The route of every function that is scanned."""

    def __post_init__(self) -> None:
        if self.tree.has_shared_coordinates:
            raise UnsupportedError(
                "links='scan' needs every joint to move alone, and this robot has mimic joints: use links='serial', or "
                "load the robot with mimic='independent'"
            )
        named = {function: route for function, route in self.routes.items() if route in SCANS.get(function, ())}
        serial = {function: route for function, route in self.routes.items() if function not in named}
        self.routes = serial
        super().__post_init__()
        self.scans = {name: named.get(name) or next(iter(SCANS[name])) for name in FUNCTIONS if name not in serial}

    def forms_elements(self, function: str) -> bool:
        """Whether every link must have inertia along its own joint."""
        return (function, self.scans.get(function)) in FORMS_ELEMENTS

    def build(self, function: str, f_ext: bool, target: str, dtype: str) -> Kernel:
        if function not in self.scans:
            return super().build(function, f_ext, target, dtype)
        return ScanKernel(self.tree, function, self.scans[function], f_ext, np.dtype(dtype))

    def line(self, function: str, target: str) -> str:
        if function not in self.scans:
            return super().line(function, target)
        return f"{function:5}{self.scans[function]:20}by scans over the links"


class ScanKernel:
    """NumPy's scans as a Kernel."""

    def __init__(self, tree: Tree, function: str, route: str, f_ext: bool, dtype: np.dtype[np.floating]) -> None:
        self._tree, self._function, self._route = tree, function, route
        self._names = [port.name for port in FUNCTIONS[function].ports(f_ext)]
        self.dtype = dtype
        self.description = f"NumPy, {route}, scanned"

    def __call__(
        self, n: int, inputs: Sequence[NDArray[np.floating]], outputs: Sequence[NDArray[np.floating]], threads: int
    ) -> None:
        rows = dict(zip(self._names, inputs, strict=True))
        for output, result in zip(outputs, evaluate(self._tree, self._function, self._route, rows), strict=True):
            output[...] = result
