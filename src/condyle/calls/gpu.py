"""Dynamics on a GPU: arrays of the processor's memory as everywhere, or arrays that lie on the GPU, without a copy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from numpy.typing import ArrayLike

from condyle.backends.cuda.kernel import CudaFunction, Plan, Sizes
from condyle.backends.cuda.target import KNOWN_MULTIPROCESSORS
from condyle.calls.dynamics import Array, Dynamics, Out
from condyle.compile.options import whole
from condyle.errors import DeviceError, ShapeError, UnsupportedError
from condyle.functions import function_of
from condyle.runtime.cuda.arrays import Arrays, DeviceArray, Layout, shape_of
from condyle.runtime.cuda.driver import Gpu, gpu, handle_of, is_captured, pinned_arrays, wait
from condyle.runtime.packed import Packed
from condyle.specification import Function
from condyle.trace.loops import time_loop

CAPTURED = "this stream is being captured into a graph, which needs arrays that stay: pass out="


class GpuDynamics(Dynamics):
    """The functions of a robot on one GPU.

    Arguments are all in the processor's memory, as for any target, or all on the GPU: dense arrays that lend themselves
    by DLPack or `__cuda_array_interface__` (PyTorch, CuPy, JAX, Numba), of the dtype of this object, each with the same
    batch dimensions or with one row. Answers are then `DeviceArray`s, or `out=`; they are ready in stream order.
    """

    _stream: int | None = None
    _owner: object = None
    """The object that `_stream` is of. Answers hold it, since a stream may end with its object."""

    @cached_property
    def _copies(self) -> dict[int, DeviceArray]:
        """On the GPU: numbers of the robot and zeros that calls take where nothing is given."""
        return {}

    def on(self, stream: object) -> GpuDynamics:
        """Return the same functions with a stream for calls on device arrays; a graph can capture them with `out=`.

        stream: of PyTorch, CuPy, Numba or cuda.core, or a CUstream as a number. Without `on`, calls go into the stream
        that the arrays name, else into the default one.
        """
        bound = object.__new__(GpuDynamics)  # a copy would be compiled anew, as a pickle is
        vars(bound).update(vars(self), _copies=self._copies)
        bound._stream, bound._owner = handle_of(stream), stream
        bound._derivatives, bound._rolled = {}, None  # each calls the object that it is of
        if self._numbers:
            bound._shadow_methods()
        return bound

    def explain(self, n: int = 1, functions: Sequence[str | Function] | None = None) -> str:
        """Return what runs for a batch of n states: the route of each function, its operations and its form.

        The time of a form is an estimate, it is not measured.

        functions: as in `Dynamics.explain`.
        """
        n, found = whole("n", n, 0), self._multiprocessors()
        multiprocessors = found or KNOWN_MULTIPROCESSORS
        device = f"GPU {self._compiler.device}, {multiprocessors} multiprocessors"
        if found is None:
            device = f"there is no GPU here: estimates are for a card with {multiprocessors} multiprocessors"
        lines = [f"target cuda, {self._dtype}, batch of {n}, {device}"]
        for function in self._named(functions):
            line = self._compiler.line(function, self._target, self._dtype, n)
            repeated = function.repeat is not None
            form = "" if repeated else self._compiler.gpu(function, self._dtype, multiprocessors).line(n)
            lines.append(line + form)
        return "\n".join(lines)

    def _multiprocessors(self) -> int | None:
        """Of the GPU; None where there is none."""
        try:
            return gpu(self._compiler.device).multiprocessors
        except DeviceError:
            return None

    def memory(self, n: int, functions: Sequence[str | Function] | None = None) -> dict[str, int]:
        """Return the bytes on the GPU by function, for n states that are there: inputs, outputs and scratch.

        External forces are left out. functions: as in `explain`.
        """
        n = whole("n", n, 0)
        return {one.name: self._sizes(one, n).resident(n) for one in self._named(functions)}

    def stage_memory(self, n: int) -> dict[str, int]:
        """Return the bytes on the GPU by function, for n states in the processor's memory: of two transfers at most.

        Arrays that are not pinned need as much pinned memory, without the scratch. It is kept for the next call.
        """
        return {one.name: self._sizes(one, n).staged(n) for one in self._named(None)}

    def _sizes(self, function: Function, n: int) -> Sizes:
        multiprocessors, repeat = self._multiprocessors() or KNOWN_MULTIPROCESSORS, function.repeat
        made = self._compiler.gpu(function if repeat is None else repeat.function, self._dtype, multiprocessors)
        found = made if repeat is None else None if repeat.backwards else made.repeated(time_loop(repeat))
        if found is None:
            raise UnsupportedError(f"{function.method}: its kernels are called from the processor's memory, in pieces")
        return Sizes.from_parts(found.launches(found.form(n)))

    def pinned(self, name: str | Function, n: int) -> tuple[Array, ...]:
        """Return arrays of n states in pinned memory for a function by its short name: its inputs, then its outputs.

        They are NumPy arrays of zeros. A call with them, `dyn.inverse_dynamics(q, v, a, out=tau)`, copies directly from
        and to them: all inputs in one transfer, all outputs in one. External forces are left out.
        """
        inputs, outputs = self.binder(function_of(name)).specs
        specs = (*inputs, *outputs)
        return tuple(pinned_arrays(gpu(self._compiler.device), [(n, *spec.dims) for spec in specs], self.dtype))

    def pack(self, array: ArrayLike, port: str = "", of: str | Function = "") -> Packed:
        raise UnsupportedError("packed arrays are for the processor: pass plain arrays to target 'cuda'")

    def call(
        self,
        function: str | Function,
        args: Sequence[ArrayLike],
        out: Out = None,
        ranges: bool = True,
    ) -> tuple[Array, ...]:
        """As in `Dynamics`; numbers of arrays that lie on the GPU are not looked at."""
        results: list[Any] = []
        if out is not None:
            results = [*out] if isinstance(out, (tuple, list)) else [out]
        count, arrays = len(args), Arrays((*args, *results))
        if not any(arrays.layouts[:count]):
            return super().call(function, args, out, ranges)
        if None in arrays.layouts:
            arrays = Arrays((*map(self._there, args), *results))
        function = function if isinstance(function, Function) else function_of(function)
        return cast("tuple[Array, ...]", self._device_call(function, arrays, count, None if out is None else results))

    def _device_call(
        self, function: Function, arrays: Arrays, count: int, results: list[Any] | None
    ) -> tuple[object, ...]:
        """arrays: `count` inputs, then the results, if there are some already."""
        kernel = self.kernel(function)
        if not isinstance(kernel, CudaFunction):
            raise UnsupportedError(
                f"{function.called}: its kernels are called from the processor's memory: pass arrays that lie there"
            )
        device, addresses = kernel.gpu, arrays.addresses
        with device.current():
            stream, captured = self._ordered(device, arrays, count)
            if arrays.lenders:
                arrays.borrow(-1 if captured else stream or 1)
            key = count, results is None, *arrays.layouts
            plan = kernel.plans.get(key) or kernel.keep(key, self._plan(function, kernel, *key))
            arrays.check_devices(device, plan.sizes, plan.names)
            if results is None:
                if captured:
                    raise UnsupportedError(CAPTURED)
                results = [DeviceArray(device, shape, kernel.dtype, stream, self._owner) for shape in plan.shapes]
                addresses += [x.address for x in results]
            elif plan.apart != addresses:
                _check_apart(function.called, addresses, plan.sizes, count)
                plan.apart = addresses
            if plan.launches is not None:
                plan.launches(addresses, stream)
        return tuple(results)

    def _plan(
        self, function: Function, kernel: CudaFunction, count: int, fresh: bool, *layouts: Layout | Exception | None
    ) -> Plan:
        """The checks that depend on nothing but layouts, and the launches.

        layouts: of `count` inputs, then, if the outputs are not to be fresh arrays, of what `out=` has.
        """
        method, dtype = function.called, kernel.dtype
        inputs, outputs = self.binder(function).specs
        if count != len(inputs):
            raise ShapeError(f"{method}: {count} arguments given, expected {len(inputs)}")
        given = [shape_of(layout, spec, dtype) for layout, spec in zip(layouts, inputs, strict=False)]
        batch = _batch(method, given, [len(spec.dims) for spec in inputs])
        n, shapes = math.prod(batch), [batch + spec.dims for spec in outputs]
        shared = [math.prod(shape) < n * spec.size for shape, spec in zip(given, inputs, strict=True)]
        names = [spec.name for spec in inputs]
        if not fresh:
            into = layouts[count:]
            if len(into) != len(outputs):
                raise ShapeError(f"{method}: out has {len(into)} arrays, expected {len(outputs)}")
            given += [shape_of(layout, spec, dtype, True) for layout, spec in zip(into, outputs, strict=True)]
            names += [spec.name for spec in outputs]
            for k, (shape, expected) in enumerate(zip(given[len(inputs) :], shapes, strict=True)):
                if shape != expected:
                    raise ShapeError(f"{method}: out[{k}] has shape {shape}, expected {expected}")
        sizes = [math.prod(shape) * dtype.itemsize for shape in given]
        launches = kernel.kernel(n).launches_of(n, shared) if n and outputs[0].size else None
        return Plan(shapes, names, sizes, launches)

    def _there(self, value: object) -> object:
        """On the GPU, what stands for an input that was not given: it is copied once; all others as they are."""
        own = (one for one in (*self._numbers.values(), *self._zeros.values()) if one is value)
        array = next(own, None)
        if array is None or not array.size:
            return value
        if id(array) not in self._copies:
            device = gpu(self._compiler.device)
            with device.current():
                copy = DeviceArray(device, array.shape, self.dtype, 0)
                device.driver("cuMemcpyHtoD", copy.address, array.ctypes.data, copy.nbytes)
            self._copies[id(array)] = copy
        return self._copies[id(array)]

    def _ordered(self, device: Gpu, arrays: Arrays, count: int) -> tuple[int, bool]:
        """The stream to use, which waits for others that arrays name, and whether it is captured.

        While it is captured nothing is waited for: the graph's owner sees to the order. count: of inputs.
        """
        named = set(arrays.streams)
        named.discard(None)
        stream = self._stream if self._stream is not None else max(cast("set[int]", named), default=0)
        if is_captured(device, stream):
            return stream, True
        if named - {stream}:
            late = {
                origin
                for value, origin in zip(arrays.values, arrays.streams, strict=True)
                if origin is not None and not (isinstance(value, DeviceArray) and value.is_ready_in(stream))
            }
            wait(device, stream, late)
        for k, value in enumerate(arrays.values):
            if isinstance(value, DeviceArray):
                use = DeviceArray.used_in if k < count else DeviceArray.written_in
                use(value, stream, self._owner)
        return stream, False

    def direct(
        self, function: Function, slow: object, result: object = None, shares: bool = True, positional: int = 0
    ) -> None:
        """No native callable in front: it serves code on the processor."""


def _batch(method: str, shapes: Sequence[tuple[int, ...]], dims: Sequence[int]) -> tuple[int, ...]:
    batches = [shape[: len(shape) - d] for shape, d in zip(shapes, dims, strict=True)]
    batch = max(batches, key=lambda one: (math.prod(one) != 1, len(one)))
    if any(one != batch and math.prod(one) != 1 for one in batches):
        listed = ", ".join(map(str, batches))
        raise ShapeError(f"{method}: batch dimensions on the GPU must be equal, or one row: {listed}")
    return batch


def _check_apart(method: str, addresses: Sequence[int], sizes: Sequence[int], inputs: int) -> None:
    """ShapeError for an output that lies over an input or another output."""
    ends = [address + size for address, size in zip(addresses, sizes, strict=True)]
    for k in range(inputs, len(addresses)):
        if any(addresses[k] < ends[j] and addresses[j] < ends[k] for j in range(k)):
            raise ShapeError(f"{method}: out[{k - inputs}] overlaps an input or another output")
