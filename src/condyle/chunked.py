"""What `Dynamics` has of jobs that are larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle import mapping
from condyle.mapping import Sink, Source
from condyle.options import CompileArguments
from condyle.packing import known_function
from condyle.runtime.arrays import Binder

if TYPE_CHECKING:
    from condyle.compile.serial import Compiler

Array = NDArray[np.floating]

SPEED = ("target", "threads", "device", "kernels", "check")
"""Options that change no answer but its last digits: a job may go on with others."""


class Mapped:
    """`map`."""

    _compiler: Compiler
    _recipe: tuple[Callable[..., Any], CompileArguments]

    if TYPE_CHECKING:

        @property
        def dtype(self) -> np.dtype[np.floating]: ...

        def binder(self, name: str) -> Binder: ...

        def call(
            self,
            name: str,
            args: Sequence[ArrayLike],
            f_ext: ArrayLike | None = None,
            out: Sequence[Array] | None = None,
        ) -> tuple[Array, ...]: ...

    def map(
        self,
        function: str,
        source: Source,
        sink: Sink,
        chunk: int = 65536,
        journal: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> int:
        """Compute a function, by its short name, of more states than memory holds; return how many states were
        computed.

        source: a list with an array for each input, (states, ...), or (...) for all states: NumPy arrays, memory maps,
            Zarr arrays or the like; or an iterator of such lists, a chunk each.
        sink: an array for each answer, (states, ...), or a function sink(begin, answers).
        chunk: states that are read, computed and written at a time, 1 or more; the next ones are read meanwhile.
        journal: path of a file that holds how many states are done. A job that was killed continues there; a chunk that
            was interrupted is computed again.
        progress: show a bar; None: on a terminal, if tqdm is installed.
        Errors: ShapeError, DTypeError and UnsupportedError, before anything is computed.
        """
        return mapping.run(self._job(function), source, sink, chunk, journal, progress)

    def _job(self, name: str) -> mapping.Job:
        binder = self.binder(name)
        inputs, outputs = ({spec.name: spec.dims for spec in specs} for specs in binder.specs)
        if known_function(name).takes_f_ext:
            inputs.popitem()  # forces are an input of the function that has them in its name

        def compute(given: Sequence[Array], out: tuple[Array, ...] | None) -> tuple[Array, ...]:
            return self.call(name, given, None, out)

        given = self._recipe[1]._asdict()
        options = {key: value for key, value in given.items() if key not in ("robot", *SPEED)}
        identity = f"{name} of {self._compiler.facts.fingerprint[:16]}, {options}"
        return mapping.Job(known_function(name).called, inputs, outputs, self.dtype, compute, identity)
