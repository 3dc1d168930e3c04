"""A function on one GPU, in the form that is chosen for each batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from condyle.backends.cuda.forms import Form
from condyle.backends.cuda.kernel import CudaKernel, Rows
from condyle.backends.cuda.parts import Parts
from condyle.ir.repeated import TimeLoop
from condyle.runtime.cuda.driver import Gpu
from condyle.runtime.forks import Guard


class Source(Protocol):
    """The forms of one function on one GPU: the form for a batch of n states, and the launches of a form."""

    def form(self, n: int) -> Form: ...

    def launches(self, form: Form) -> Parts: ...

    def repeated(self, loop: TimeLoop) -> Source | None: ...


class CudaFunction:
    """A Kernel that calls the kernel of the form chosen for each batch; each is made at its first use."""

    def __init__(self, source: Source, gpu: Gpu, dtype: np.dtype[np.floating]) -> None:
        self.gpu, self.dtype = gpu, dtype
        self._source = source
        self._forms: dict[int, Form] = {}
        self._kernels: dict[Form, CudaKernel] = {}
        self._guard = Guard()
        self.description = f"CUDA, {gpu.arch}"

    def kernel(self, n: int) -> CudaKernel:
        """The kernel for n states, in the form that was chosen for the first batch with the same next power of two."""
        size = (n - 1).bit_length()
        with self._guard.lock:
            if size not in self._forms:
                self._forms[size] = self._source.form(n)
            form = self._forms[size]
            if form not in self._kernels:
                self._kernels[form] = CudaKernel(self._source.launches(form), self.gpu, self.dtype)
            return self._kernels[form]

    def repeated(self, loop: TimeLoop) -> CudaFunction | None:
        """A loop around it in one kernel; None if there is no such form."""
        source = self._source.repeated(loop)
        return None if source is None else CudaFunction(source, self.gpu, self.dtype)

    def __call__(self, n: int, inputs: Sequence[Rows], outputs: Sequence[Rows], threads: int) -> None:
        self.kernel(n)(n, inputs, outputs, threads)

    def on_device(
        self, n: int, inputs: Sequence[int], shared: Sequence[bool], outputs: Sequence[int], stream: int
    ) -> None:
        """See `CudaKernel.on_device`."""
        self.kernel(n).on_device(n, inputs, shared, outputs, stream)
