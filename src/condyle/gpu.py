"""Dynamics on a GPU: arrays of the processor's memory as everywhere, or arrays that lie on the GPU, without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from numpy.typing import ArrayLike

from condyle.backends.cuda.choice import KNOWN_MULTIPROCESSORS
from condyle.backends.cuda.function import CudaFunction
from condyle.backends.cuda.kernel import Sizes
from condyle.dynamics import Array, Dynamics, Out
from condyle.errors import DeviceError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda.answers import DeviceArray, fresh
from condyle.runtime.cuda.arrays import View, is_device_array, stream_of, view_of
from condyle.runtime.cuda.driver import gpu
from condyle.runtime.cuda.pinned import pinned_arrays
from condyle.runtime.cuda.streams import capture_of, handle_of, wait
from condyle.runtime.packed import Packed


class GpuDynamics(Dynamics):
    """The seven functions on one GPU.

    Arguments are all in the processor's memory, as for any target, or all on the GPU: dense arrays that lend themselves
    by DLPack or `__cuda_array_interface__` (PyTorch, CuPy, JAX, Numba), of the dtype of this object, each with the same
    batch dimensions or with one row. Answers are then `DeviceArray`s, or `out=`; they are ready in stream order.
    """

    _stream: int | None = None

    def on(self, stream: object) -> GpuDynamics:
        """The same, its device calls put into this stream; a graph may capture them, with `out=`.

        stream: of PyTorch, CuPy, Numba or cuda.core, or a CUstream as a number. Without it calls go into the stream
        that the arrays name, else into the default one.
        """
        bound = object.__new__(GpuDynamics)  # a copy would be compiled anew, as a pickle is
        vars(bound).update(vars(self))
        bound._stream = handle_of(stream)
        return bound

    def explain(self, n: int = 1) -> str:
        """What runs for a batch of n states: the route of each function, its operations, its form and the estimate
        of its time (unmeasured, see `backends.cuda.choice`); without a GPU for one of 132 multiprocessors.
        """
        multiprocessors = self._multiprocessors()
        device = f"GPU {self._compiler.device}, {multiprocessors} multiprocessors"
        lines = [f"target cuda, {self._dtype}, batch of {n}, {device}"]
        lines += [self._compiler.gpu_line(name, self._dtype, n, multiprocessors) for name in FUNCTIONS]
        return "\n".join(lines)

    def _multiprocessors(self) -> int:
        try:
            return gpu(self._compiler.device).multiprocessors
        except DeviceError:
            return KNOWN_MULTIPROCESSORS

    def memory(self, n: int) -> dict[str, int]:
        """Bytes on the GPU of a batch of n states that lies there: inputs, outputs, scratch; no external forces."""
        return {name: self._sizes(name, n).resident(n) for name in FUNCTIONS}

    def stage_memory(self, n: int) -> dict[str, int]:
        """Bytes on the GPU of a batch of n states in the processor's memory: it passes through two chunks at most.

        Arrays that are not pinned need as much pinned memory, scratch left out. All of it is kept for the next call.
        """
        return {name: self._sizes(name, n).staged(n) for name in FUNCTIONS}

    def _sizes(self, name: str, n: int) -> Sizes:
        form = self._compiler.gpu_form(name, False, self._dtype, n, self._multiprocessors())
        return Sizes.of(self._compiler.gpu_parts(name, False, self._dtype, form))

    def pinned(self, name: str, n: int) -> tuple[Array, ...]:
        """Arrays of n states in pinned memory for a function by its short name: its inputs, then its outputs.

        Calls with them, `dyn.inverse_dynamics(q, v, a, out=tau)`, copy straight from and to them, all inputs in one
        transfer and all outputs in one. External forces are left out. They are NumPy arrays, at first zero.
        """
        inputs, outputs = self._binder(name).specs
        places = (*inputs[: len(FUNCTIONS[name].inputs)], *outputs)
        return tuple(pinned_arrays(gpu(self._compiler.device), [(n, *place.dims) for place in places], self.dtype))

    def pack(self, array: ArrayLike, port: str = "") -> Packed:
        raise UnsupportedError("packed arrays are for the processor: pass plain arrays to target 'cuda'")

    def call(
        self, name: str, args: Sequence[ArrayLike], f_ext: ArrayLike | None = None, out: Out = None
    ) -> tuple[Array, ...]:
        given = args if f_ext is None else (*args, f_ext)
        if name not in FUNCTIONS or not any(is_device_array(value) for value in given):
            return super().call(name, args, f_ext, out)
        return cast("tuple[Array, ...]", self._device_call(name, given, f_ext is not None, out))

    def _device_call(self, name: str, given: Sequence[object], f_ext: bool, out: object) -> tuple[object, ...]:
        inputs, outputs = self._binder(name).specs
        if FUNCTIONS[name].takes_f_ext and not f_ext:
            inputs = inputs[:-1]
        if len(given) != len(inputs):
            raise ShapeError(f"{FUNCTIONS[name].method}: {len(given)} arguments given, expected {len(inputs)}")
        kernel = self._kernel(name, f_ext)
        assert isinstance(kernel, CudaFunction)
        with kernel.gpu.current():
            listed = cast("Sequence[Any]", out if isinstance(out, (tuple, list)) else () if out is None else (out,))
            stream, lent = self._ordered(kernel, (*given, *listed))
            views = [view_of(x, place, self.dtype, kernel.gpu, lent) for x, place in zip(given, inputs, strict=True)]
            batch = _batch(name, views, [len(place.dims) for place in inputs])
            shapes = [batch + place.dims for place in outputs]
            results: Sequence[object] = (
                [fresh(kernel.gpu, shape, self.dtype, stream) for shape in shapes] if out is None else listed
            )
            if len(results) != len(outputs):
                raise ShapeError(f"{FUNCTIONS[name].method}: out has {len(results)} arrays, expected {len(outputs)}")
            into = [view_of(x, p, self.dtype, kernel.gpu, lent, True) for x, p in zip(results, outputs, strict=True)]
            _check_out(name, into, shapes, views)
            n = math.prod(batch)
            if n and outputs[0].size:
                shared = [
                    view.bytes < n * place.size * self.dtype.itemsize for view, place in zip(views, inputs, strict=True)
                ]
                kernel.on_device(n, [v.address for v in views], shared, [v.address for v in into], stream)
        return tuple(results)

    def _ordered(self, kernel: CudaFunction, arrays: Sequence[object]) -> tuple[int, int]:
        """The stream to use, which waits for others that arrays name, and what DLPack is told of it.

        While it is captured nothing is waited for: the graph's owner sees to the order.
        """
        named = {stream for stream in map(stream_of, arrays) if stream is not None}
        stream = self._stream if self._stream is not None else max(named, default=0)
        if capture_of(kernel.gpu, stream) is not None:
            return stream, -1
        wait(kernel.gpu, stream, named)
        for value in arrays:
            if isinstance(value, DeviceArray):
                value.readers.add(stream)
        return stream, stream or 1

    def _shadow_methods(self) -> None:
        """No native callable in front: it serves code on the processor."""


def _batch(name: str, views: Sequence[View], dims: Sequence[int]) -> tuple[int, ...]:
    batches = [view.shape[: len(view.shape) - d] for view, d in zip(views, dims, strict=True)]
    batch = max(batches, key=lambda one: (math.prod(one) != 1, len(one)))
    if any(one != batch and math.prod(one) != 1 for one in batches):
        listed = ", ".join(map(str, batches))
        raise ShapeError(f"{FUNCTIONS[name].method}: batch dimensions on the GPU must be equal, or one row: {listed}")
    return batch


def _check_out(name: str, into: Sequence[View], shapes: Sequence[tuple[int, ...]], views: Sequence[View]) -> None:
    for k, (view, shape) in enumerate(zip(into, shapes, strict=True)):
        if view.shape != shape:
            raise ShapeError(f"{FUNCTIONS[name].method}: out[{k}] has shape {view.shape}, expected {shape}")
        for other in (*views, *into[:k]):
            if view.address < other.address + other.bytes and other.address < view.address + view.bytes:
                raise ShapeError(f"{FUNCTIONS[name].method}: out[{k}] overlaps an input or another output")
