"""How calls of functions on JAX arrays are mapped and differentiated: by calls of their jvp and vjp.

A jvp is linear in its tangents and a vjp in its cotangents, and each is the transpose of the other, so that JAX finds
derivatives of any order in both modes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from condyle.errors import UnsupportedError
from condyle.interop.gradients import entries_of, step_of
from condyle.interop.jax.calls import Dims, Engine, What, alike, batch_of, call_p, called, ports_of
from condyle.specification import Repeat

jnp: Any = import_module("jax.numpy")
ad: Any = import_module("jax.interpreters.ad")
batching: Any = import_module("jax.interpreters.batching")


def _batched(inputs: Sequence[Any], axes: Sequence[Any], *, what: What) -> tuple[list[Any], list[int]]:
    """One more batch dimension, in front; inputs without batch dimensions stay one for all."""
    takes, (size,) = ports_of(what)[0], {x.shape[d] for x, d in zip(inputs, axes, strict=True) if d is not None}
    ranks = [x.ndim - len(p.dims) - (d is not None) for x, p, d in zip(inputs, takes, axes, strict=True)]
    batch = next((x.shape[:r] for x, d, r in zip(inputs, axes, ranks, strict=True) if r and d is None), None)
    if batch is None:
        moved = [(jnp.moveaxis(x, d, 0), r) for x, d, r in zip(inputs, axes, ranks, strict=True) if d is not None]
        batch = max((x.shape[1 : 1 + r] for x, r in moved), key=len)
    given: list[Any] = []
    for x, port, d, rank in zip(inputs, takes, axes, ranks, strict=True):
        if d is None and not rank:
            given.append(x)
            continue
        x = x[None] if d is None else jnp.moveaxis(x, d, 0)
        if not rank:
            x = x.reshape(x.shape[0], *(1 for _ in batch), *port.dims)
        given.append(jnp.broadcast_to(x, (size, *batch, *port.dims)))
    answers = called(what, *given)
    return answers, [0] * len(answers)


batching.primitive_batchers[call_p] = _batched


def _zeros(port: Dims, dtype: Any) -> Any:
    return jnp.zeros(port.dims, dtype)


def to_step(engine: Engine, q: Any, x: Any) -> Any:
    """The tangent space's part of a tangent that JAX has, in nq entries."""
    if engine.is_tangent:
        return x[..., : engine.sizes["nv"]]
    return step_of(jnp, engine.layout, q, x)


def to_entries(engine: Engine, q: Any, x: Any) -> Any:
    """A tangent as JAX has it, in nq entries, from that of the tangent space."""
    if engine.is_tangent:
        more = engine.sizes["nq"] - engine.sizes["nv"]
        return jnp.concatenate([x, jnp.zeros((*x.shape[:-1], more), x.dtype)], -1) if more else x
    return entries_of(jnp, engine.layout, q, x)


def _jvp(inputs: Sequence[Any], tangents: Sequence[Any], *, what: What) -> tuple[list[Any], list[Any]]:
    engine, (takes, gives), nv = what.engine, ports_of(what), what.engine.sizes["nv"]
    answers, along = called(what, *inputs), list[Any]()
    for x, t, port in zip(inputs, tangents, takes, strict=True):
        if isinstance(t, ad.Zero):
            along.append(_zeros(port.tangent(nv), engine.dyn.dtype))
        else:
            along.append(to_step(engine, x, t) if port.is_q else t)
    changes = called(what.derived, *inputs, *along)
    triples = zip(answers, changes, gives, strict=True)
    return answers, [to_entries(engine, y, t) if port.is_q else t for y, t, port in triples]


ad.primitive_jvps[call_p] = _jvp


def _transposed(bars: Sequence[Any], *inputs: Any, what: What) -> list[Any]:
    """The cotangents of what a call is linear in."""
    engine, letter, inner = what.engine, what.chain[:1], what._replace(chain=what.chain[1:])
    linear = [ad.is_undefined_primal(x) for x in inputs]
    n = len(ports_of(inner)[0])
    if not letter or any(linear[:n]):
        raise UnsupportedError(f"{what.name} is not linear in what it is transposed by")
    gives = ports_of(what)[1]
    given = [
        _zeros(port, engine.dyn.dtype) if isinstance(bar, ad.Zero) else bar
        for bar, port in zip(bars, gives, strict=True)
    ]
    other = inner._replace(chain=("v" if letter == "j" else "j") + inner.chain)
    answers = called(other, *inputs[:n], *given)
    found: list[Any] = [None] * n
    for x, answer in zip(inputs[n:], answers, strict=True):
        more = answer.ndim - len(x.aval.shape) if ad.is_undefined_primal(x) else 0
        whole = jnp.sum(answer, tuple(range(more))) if more else answer
        found.append(jnp.broadcast_to(whole, x.aval.shape) if ad.is_undefined_primal(x) else None)
    return found


ad.primitive_transposes[call_p] = _transposed


# Derivatives of rollouts that the library has no code for: `jax.lax.scan` of the function that is repeated.
#
# The library has the vjp of a rollout. Its jvp, and its derivatives of second and higher order, are derivatives of this
# scan, in forward and in reverse mode. Each step of the scan is one call of compiled code.


jax: Any = import_module("jax")
mlir: Any = import_module("jax.interpreters.mlir")


def lowered(run: Callable[..., list[Any]], platform: str) -> None:
    """From now on XLA's programs for this platform have what `run` makes of a call."""

    def chosen(*inputs: Any, what: What) -> list[Any]:
        if not what.is_there and what.base.repeat is not None:
            return _scanned(what, inputs)
        return run(*inputs, what=what)

    mlir.register_lowering(call_p, mlir.lower_fun(chosen, multiple_results=True), platform=platform)


def _scanned(what: What, inputs: Sequence[Any]) -> list[Any]:
    """The answers of a call. Inputs without batch dimensions are not repeated."""
    takes = ports_of(what)[0]
    axes = [0 if x.ndim > len(port.dims) else None for x, port in zip(inputs, takes, strict=True)]
    run: Any = partial(_of_one, what)
    for _ in batch_of(what, [x.shape for x in inputs]):
        run = jax.vmap(run, in_axes=axes)
    return run(*inputs)


def _of_one(what: What, *inputs: Any) -> list[Any]:
    """The answers for one state."""
    letter, inner = what.chain[:1], what._replace(chain=what.chain[1:])
    if not letter:
        return _steps(what, inputs)
    n = len(ports_of(inner)[0])
    at, given = inputs[:n], inputs[n:]
    if letter == "j":
        return _along(inner, at, given)
    zeros = [jnp.zeros(port.tangent(what.engine.sizes["nv"]).dims, at[0].dtype) for port in ports_of(inner)[0]]
    every = alike(*inputs, *zeros)[len(inputs) :]

    def changes(*along: Any) -> list[Any]:
        return _along(inner, at, along)

    return list(jax.vjp(changes, *every)[1](list(given)))


def _along(what: What, point: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """The jvp; tangents of a configuration have nv entries."""
    engine, (takes, gives) = what.engine, ports_of(what)
    triples = zip(point, along, takes, strict=True)
    tangents = [to_entries(engine, x, t) if port.is_q else t for x, t, port in triples]
    answers, changes = jax.jvp(partial(_of_one, what), tuple(point), tuple(tangents))
    return [to_step(engine, y, t) if port.is_q else t for y, t, port in zip(answers, changes, gives, strict=True)]


def _steps(what: What, inputs: Sequence[Any]) -> list[Any]:
    """The rollout itself."""
    repeat = what.base.repeat
    assert repeat is not None
    step = what._replace(base=repeat.function)
    taken, given = ([port.name for port in ports] for ports in (what.base.inputs, what.base.outputs))
    held = dict(zip(taken, alike(*inputs), strict=True))
    kept = [name for name in given if repeat.every or name not in repeat.carried]

    def body(state: dict[str, Any], timed: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        now = held | state | timed
        answers = dict(zip(given, called(step, *(now[name] for name in taken)), strict=True))
        return {name: answers[name] for name in state}, {name: answers[name] for name in kept}

    start, timed = ({name: held[name] for name in names} for names in (repeat.carried, repeat.by_time))
    end, rows = jax.lax.scan(body, start, timed, length=repeat.steps)
    return [_kept(repeat, name, rows[name]) if name in rows else end[name] for name in given]


def _kept(repeat: Repeat, name: str, rows: Any) -> Any:
    """Of the answers of all steps, those that the rollout has."""
    if name in repeat.summed:
        return rows.sum(0)
    if not repeat.every:
        return rows[-1]
    return rows[jnp.array([min((k + 1) * repeat.every, repeat.steps) - 1 for k in range(repeat.rows)])]
