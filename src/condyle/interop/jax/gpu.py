"""Calls of functions on JAX arrays of a GPU: XLA puts their kernels in its stream, on the arrays where they lie.

What is launched is known when XLA's program is made, since it has shapes: `backends.cuda.planned` lists it, and the
handler only puts addresses in. Scratch is one more answer of XLA's call, which nobody reads: XLA plans its memory with
all other, also in graphs, and gives it away when the call is through in the order of the stream.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from condyle.backends.cuda.kernel import CudaFunction, planned, scratch_bytes
from condyle.compile.kernels.composed import GradientKernel
from condyle.errors import DeviceError, UnsupportedError
from condyle.interop.jax.calls import TARGET, What, answers_of, elsewhere, ports_of
from condyle.interop.jax.processor import number_of
from condyle.interop.jax.rules import lowered
from condyle.runtime._native import export_launches, open_gpu_driver, xla_gpu_handler

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")

DRIVER = "libcuda.so.1"


@cache
def _open(path: str) -> None:
    """The driver that the handler launches by: the same library that `runtime.cuda.driver` calls."""
    try:
        open_gpu_driver(path)
    except OSError as error:
        raise DeviceError(f"XLA's calls need {path}: {error}: install an NVIDIA driver, or use target 'cpu'") from error


class Caller:
    """Kernels of one function for n states, called by XLA."""

    def __init__(self, what: What, n: int) -> None:
        self._engine, self._function, self._n = what.engine, what.function, n

    def answers(self, part: str, kernel: object, inputs: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
        """Of a kernel. part: of a function of several. inputs: n rows or one each; shapes: of answers, with types."""
        if not isinstance(kernel, CudaFunction):
            raise UnsupportedError(
                f"{self._function.method}: its kernels are called from the processor's memory, which XLA cannot "
                "do on a GPU: put the method `step` into jax.lax.scan, or use target 'cpu'"
            )
        one, item = kernel.kernel(self._n), kernel.dtype.itemsize
        strides = [x.shape[1] * item if x.shape[0] > 1 else 0 for x in inputs]
        scratch = scratch_bytes(one, self._n)
        counts = (*(x.size for x in inputs), *(math.prod(x.shape) for x in shapes), *([scratch] if scratch else ()))

        def export(number: int) -> None:
            _open(DRIVER)
            place = kernel.gpu.context, kernel.gpu.index, kernel.dtype.char
            launches = tuple(planned(one, self._n, strides))
            export_launches(number, *place, scratch > 0, len(inputs), counts, launches)

        said = self._function.key, part, self._n, *strides, kernel.gpu.arch, kernel.gpu.index
        number = number_of(self._engine, said, export)  # code on a GPU stays loaded
        more = [jax.ShapeDtypeStruct((scratch,), np.uint8)] if scratch else []
        call = jax.ffi.ffi_call(TARGET, [*shapes, *more])
        return call(*inputs, number=np.int64(number), identity=self._engine.key)[: len(shapes)]

    def gradient(self, kernel: GradientKernel, inputs: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
        """Of rollouts: all forward, whose states are kept in XLA's memory, then all backward."""
        n, given = self._n, list(inputs)
        states = {k: jnp.broadcast_to(given[k], (n, width)) for k, width in kernel.carried.items()}
        if kernel.forward is not None:
            later = [
                jax.ShapeDtypeStruct((n, (kernel.steps - 1) * width), kernel.dtype) for width in kernel.carried.values()
            ]
            found = self.answers("forward", kernel.forward, given[: len(kernel.taken)], later)
            pairs = zip(states.items(), found, strict=True)
            states = {k: jnp.concatenate([first, rest], 1) for (k, first), rest in pairs}
        return self.answers("backward", kernel.backward, [states.get(k, x) for k, x in enumerate(given)], shapes)


def run(*inputs: Any, what: What) -> list[Any]:
    """The answers of a call."""
    dyn = what.engine.dyn
    if not dyn.on_device:
        elsewhere(None, what=what)
    function, (batch, answers) = what.function, answers_of(what, inputs)
    n = math.prod(batch)
    if not n or not answers[0].size:
        return [jnp.zeros(answer.shape, answer.dtype) for answer in answers]
    rows = [_rows(x, len(port.dims), n) for x, port in zip(inputs, ports_of(what)[0], strict=True)]
    caller, kernel = Caller(what, n), dyn.kernel(function)
    if isinstance(kernel, GradientKernel):
        return caller.gradient(kernel, rows, answers)
    return caller.answers("", kernel, rows, answers)


def _rows(x: Any, dims: int, n: int) -> Any:
    return x.reshape(1 if x.ndim == dims else n, -1) if x.size else jnp.zeros((1, 0), x.dtype)


jax.ffi.register_ffi_target(TARGET, xla_gpu_handler(), platform="CUDA")
lowered(run, "cuda")
