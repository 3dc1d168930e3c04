"""Derivatives of rollouts that the library has no code for: `jax.lax.scan` of the function that is repeated.

The library has the vjp of a rollout. Its jvp, and its derivatives of second and higher order, are derivatives of this
scan, in forward and in reverse mode. Each step of the scan is one call of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from condyle.interop.jax.calls import What, alike, batch_of, call_p, called, ports_of
from condyle.interop.jax.rules import to_entries, to_step
from condyle.specification import Repeat

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
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
