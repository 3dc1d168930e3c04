"""What `Dynamics` says of itself: what it is, what runs, how much memory it takes, what it was compiled for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from condyle.compile.checks import check_bound
from condyle.derivatives import with_numbers
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, variant
from condyle.identity import Identified, Parts
from condyle.model.contact import Contact
from condyle.options import SPEED, CompileArguments, parts_of_compiled, whole
from condyle.packing import known_function
from condyle.trace.structure import sizes

if TYPE_CHECKING:
    from condyle.compile.serial import Compiler
    from condyle.rollouts import Rollouts


class About(Identified):
    """`identity`, `explain`, `memory`, `n_frames`, `contacts`."""

    _compiler: Compiler
    _target: str
    _dtype: str
    _numbers: dict[str, NDArray[np.floating]]
    _derivatives: dict[tuple[object, ...], Any]
    _rolled: Rollouts | None
    _recipe: tuple[Any, CompileArguments]
    threads: int

    if TYPE_CHECKING:

        @property
        def dtype(self) -> np.dtype[np.floating]: ...

        @property
        def _functions(self) -> list[str]: ...

    def _identified(self) -> Parts:
        return parts_of_compiled(self._recipe[1])

    def __dask_tokenize__(self) -> tuple[object, ...]:
        return *super().__dask_tokenize__(), *(getattr(self._recipe[1], name) for name in SPEED)

    @property
    def n_frames(self) -> int:
        """How many frames functions of frames answer for, such as `frame_placements`."""
        return len(self._compiler.tree.frames)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by name: nq, nv, n_bodies, n_frames, n_contacts, n_rows (of all contacts)."""
        return sizes(self._compiler.tree)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The contacts that it was compiled for, in the order of their flags."""
        return self._recipe[1].contacts

    def explain(self, n: int = 1, functions: Sequence[str] | None = None) -> str:
        """Return what runs for a batch of n states: target, threads, and the route and operations of each function.

        functions: short names, of derivatives too; None: all functions, and the derivatives that were asked for.
        """
        n = whole("n", n, 0)
        lines = [self._compiler.line(name, self._target, self._dtype, n) for name in self._named(functions)]
        threads = "one thread" if self._target == "numpy" else f"at most {self.threads} threads, fewer for little work"
        return "\n".join([f"target {self._target}, {self._dtype}, batch of {n}, {threads}", *lines])

    def memory(self, n: int, functions: Sequence[str] | None = None) -> dict[str, int]:
        """Return the bytes of all inputs and outputs of a batch of n states by function, without external forces.

        functions: as in `explain`.
        """
        n = whole("n", n, 0)
        known, found = sizes(self._compiler.tree), dict[str, int]()
        for name in self._named(functions):
            ports = (*FUNCTIONS[name].inputs, *FUNCTIONS[name].outputs)
            found[name] = n * self.dtype.itemsize * sum(math.prod(port.shape(known)) for port in ports)
        return found

    def _named(self, functions: Sequence[str] | None) -> list[str]:
        """Short names: those that were named, else all that can be called and derivatives that were asked for."""
        if functions is None:
            every = [variant(name, self._numbers) for name in self._functions]
            derived = dict.fromkeys(made.name for made in self._derivatives.values())
            return [*every, *derived, *(self._rolled.names if self._rolled else ())]
        if isinstance(functions, str):
            raise UnsupportedError(f"functions={functions!r}: give a list of short names, such as ({functions!r},)")
        asked = [with_numbers(known_function(name).name, self._numbers) for name in functions]
        for name in asked:
            check_bound(self._compiler.tree, FUNCTIONS[name], self._compiler.frames)
        return asked
