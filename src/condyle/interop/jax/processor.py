"""Calls of functions on JAX arrays of the processor: XLA calls machine code, or Python where there is none."""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from condyle.compile.kernels.composed import GradientKernel
from condyle.identity import nearest
from condyle.interop.jax.calls import TARGET, Engine, What, answers_of, batch_of, call_p, elsewhere, ports_of
from condyle.interop.jax.rules import lowered
from condyle.runtime._native import explain_unknown, export, export_tape, xla_handler
from condyle.runtime.native import Kernel, NativeKernel
from condyle.specification import Function

# Numbers by which programs of XLA call what this process has compiled.


_TAKEN: set[int] = set()
_SHARED: dict[str, int] = {}
"""Numbers of what serves everyone who asks for the same."""
_ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()


def number_of(engine: Engine, said: object, export: Callable[[int], None], is_shared: bool = False) -> int:
    """The number of what is said; `export` gives that to XLA's handler, once.

    is_shared: what was exported for another engine of the same identity serves this one too.
    """
    _ENGINES.add(engine)
    if said not in engine.numbers:
        content = f"{engine.key} {said}"
        number = _SHARED.get(content) if is_shared else None
        if number is None:
            number = _number(content)
            export(number)
            if is_shared:
                _SHARED[content] = number
        engine.numbers[said] = number
    return engine.numbers[said]


def _number(content: str) -> int:
    """The same for the same function in every process, so that kept programs find it; never one for two functions."""
    digests = (hashlib.sha256(f"{content} {k}".encode()).digest() for k in count())
    numbers = (int.from_bytes(digest[:8], "little", signed=True) for digest in digests)
    number = next(number for number in numbers if number not in _TAKEN)
    _TAKEN.add(number)
    return number


def _explained(key: str) -> str:
    """What a program's function differs in from those of this process, for the handler's message."""
    differences = ", ".join(nearest(key, [engine.parts for engine in list(_ENGINES)]))
    return f"the nearest that is loaded differs in {differences}" if differences else ""


explain_unknown(_explained)


# Calls whose arrays are sharded over several devices: each device computes the states that it has.
#
# Shardy, which partitions programs of XLA, is told that batch dimensions of all arrays are the same and may be sharded,
# and that all other dimensions must be whole on each device. Under `shard_map` and on one device nothing is
# partitioned.
#
# A version of JAX may lack the private name that this needs (`REGISTERED` is False then). Answers are the same without
# it, but under plain `jit` XLA gathers the batch, and every device computes all states.


partitioning: Any = import_module("jax.experimental.custom_partitioning")


def by_shards(what: What, run: Callable[..., list[Any]], inputs: Sequence[Any]) -> list[Any]:
    """The answers of `run(*inputs)`, which computes the states that it is given."""
    takes, gives = ports_of(what)
    batch = len(batch_of(what, [x.shape for x in inputs]))
    if not batch or not REGISTERED:
        return run(*inputs)
    has_batch = [x.ndim > len(port.dims) for x, port in zip(inputs, takes, strict=True)]

    def sharding(mesh: Any, spec: Sequence[Any], is_batched: bool, dims: int) -> Any:
        there = spec if is_batched else ()
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*there, *[None] * dims))

    def partition(mesh: Any, _: Any, answers: Any) -> Any:
        spec = [*answers[0].sharding.spec, *[None] * batch][:batch]
        pairs = zip(has_batch, takes, strict=True)
        return (
            mesh,
            run,
            [sharding(mesh, spec, True, len(port.dims)) for port in gives],
            tuple(sharding(mesh, spec, known, len(port.dims)) for known, port in pairs),
        )

    call = partitioning.custom_partitioning(run)
    whole = [f"w{k}" for k in range(sum(len(port.dims) for port in (*takes, *gives)))]
    rule = _rule(batch, [*zip(has_batch, takes, strict=True)], gives, whole)
    call.def_partition(partition=partition, sharding_rule=rule, need_replication_factors=tuple(whole))
    return list(call(*inputs))


def _rule(batch: int, takes: Sequence[tuple[bool, Any]], gives: Sequence[Any], whole: Sequence[str]) -> str:
    """As Shardy has it: "b0 w0, b0 w1, w2 -> b0 w3"."""
    names, left = [f"b{k}" for k in range(batch)], iter(whole)

    def said(is_batched: bool, port: Any) -> str:
        return " ".join([*(names if is_batched else ()), *(next(left) for _ in port.dims)])

    inputs = ", ".join([said(known, port) for known, port in takes])
    return f"{inputs} -> {', '.join([said(True, port) for port in gives])}"


def _registered() -> bool:
    """Says that the rule is made where the devices are known; there is no public name for primitives that need them."""
    try:
        import_module("jax._src.dispatch").prim_requires_devices_during_lowering.add(call_p)
    except (ImportError, AttributeError):
        return False
    return True


REGISTERED = _registered()
"""Whether a sharded batch stays sharded under plain `jit`."""


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
