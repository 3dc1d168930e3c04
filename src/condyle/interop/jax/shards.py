"""Calls whose arrays are sharded over several devices: each device computes the states that it has.

Shardy, which partitions programs of XLA, is told that batch dimensions of all arrays are the same and may be sharded,
and that all other dimensions must be whole on each device. Under `shard_map` and on one device nothing is partitioned.

A version of JAX may lack the private name that this needs (`REGISTERED` is False then). Answers are the same without
it, but under plain `jit` XLA gathers the batch, and every device computes all states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from condyle.interop.jax.calls import What, batch_of, call_p, ports_of

jax: Any = import_module("jax")
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
