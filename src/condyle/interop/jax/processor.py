"""Calls of functions on JAX arrays of the processor: XLA calls machine code, or Python where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from condyle.compile.kernels.repeated import GradientKernel
from condyle.interop.jax.calls import TARGET, Engine, What, answers_of, elsewhere, ports_of
from condyle.interop.jax.numbers import number_of
from condyle.interop.jax.scanned import lowered
from condyle.interop.jax.shards import by_shards
from condyle.runtime._native import export, export_tape, xla_handler
from condyle.runtime.kernel import Kernel
from condyle.runtime.native import NativeKernel
from condyle.specification import Function

jax: Any = import_module("jax")

_HELD: list[Kernel] = []
"""A program of XLA may call these as long as the process lives."""


def number(engine: Engine, function: Function) -> int | None:
    """That of a function; None for one that is no machine code."""
    if function.key in engine.numbers:
        return engine.numbers[function.key]
    kernel = engine.dyn.kernel(function)
    export = _of_entry(kernel) if isinstance(kernel, NativeKernel) else _of_tape(kernel)
    if export is None:
        return None
    _HELD.append(kernel)
    return number_of(engine, function.key, export, is_shared=True)


def _of_entry(kernel: NativeKernel) -> Callable[[int], None]:
    return lambda number: export(number, kernel.entry, kernel.single)


def _of_tape(kernel: Kernel) -> Callable[[int], None] | None:
    """For a gradient of rollouts, both ways of which are machine code."""
    if not isinstance(kernel, GradientKernel):
        return None
    there, back = kernel.forward, kernel.backward
    if not isinstance(back, NativeKernel) or not (there is None or isinstance(there, NativeKernel)):
        return None
    forward = (None, None) if there is None else (there.entry, there.single)
    steps, carried = kernel.steps, tuple(kernel.carried.items())
    return lambda number: export_tape(number, *forward, back.entry, back.single, steps, carried)


def run(*inputs: Any, what: What) -> list[Any]:
    """The answers of a call."""
    dyn = what.engine.dyn
    if dyn.on_device:
        elsewhere(None, what=what)
    function, (batch, answers) = what.function, answers_of(what, inputs)
    known = number(what.engine, function) if math.prod(answers[0].shape) else None
    if known is not None:

        def native(*arrays: Any) -> list[Any]:
            call = jax.ffi.ffi_call(TARGET, answers_of(what, arrays)[1])
            numbers = {"number": np.int64(known), "threads": np.int64(dyn.threads)}
            return list(call(*arrays, **numbers, identity=what.engine.key))

        return by_shards(what, native, inputs)

    def by_python(*arrays: Any) -> Any:
        wanted = [(*batch, *port.dims) for port in ports_of(what)[0]]
        whole = [np.broadcast_to(np.asarray(x), shape) for x, shape in zip(arrays, wanted, strict=True)]
        return list(dyn.call(function, whole, ranges=False))  # as XLA calls compiled code

    return list(jax.pure_callback(by_python, answers, *inputs, vmap_method="sequential"))


jax.ffi.register_ffi_target(TARGET, xla_handler(), platform="cpu")
lowered(run, "cpu")
