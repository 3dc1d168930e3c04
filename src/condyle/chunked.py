"""What `Dynamics` has of jobs that are larger than memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle import mapping
from condyle.identity import Parts
from condyle.mapping import Sink, Source
from condyle.packing import known_function
from condyle.runtime.arrays import Binder

Array = NDArray[np.floating]

LAST_DIGITS = ("target", "kernels")
"""Options that change the last digits of answers only: a job may go on with others."""


class Mapped:
    """`map`."""

    if TYPE_CHECKING:

        @property
        def identity_parts(self) -> Parts: ...

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
        journal: path of a file that holds how many states are done, with hashes of the last chunk. A job that was
            killed continues there, if robot, options, source and sink are still the same; else UnsupportedError says
            what differs. Chunks that the file does not have yet are computed again.
        progress: show a bar; None: on a terminal, if tqdm is installed.
        Errors: ShapeError, DTypeError, UnsupportedError, and OutOfMemoryError for a memory map that the disk has no
            room for, before anything is computed.
        """
        return mapping.run(self._job(function), source, sink, chunk, journal, progress)

    def _job(self, name: str) -> mapping.Job:
        function = known_function(name)
        name, binder = function.name, self.binder(name)
        inputs, outputs = ({spec.name: spec.dims for spec in specs} for specs in binder.specs)
        if function.takes_f_ext:
            inputs.popitem()  # forces are an input of the function that has them in its name

        def compute(given: Sequence[Array], out: tuple[Array, ...] | None) -> tuple[Array, ...]:
            return self.call(name, given, None, out)

        identity = {part: known for part, known in self.identity_parts.items() if part not in LAST_DIGITS}
        return mapping.Job(function.called, inputs, outputs, self.dtype, compute, name, identity)
