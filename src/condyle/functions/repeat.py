"""Rollouts: a function repeated over time is a function again.

`repeat(STEP, 50, by_time=("tau",), every=5)`: `step` 50 times, tau with a value for each step, the answers of every
fifth; its name is "rollout_50_by_tau_every_5_of_step" (see `condyle.specification.names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from condyle.errors import UnsupportedError
from condyle.specification import Accuracy, Function, Port, Repeat, Ways, names

MOST = 1 << 24
"""Steps."""
ITERATIONS = "iterations"
"""The answer that says how many steps were taken."""


def repeat(
    function: Function,
    steps: int,
    by_time: Iterable[str] = (),
    every: int = 1,
    last: bool = False,
    summed: Iterable[str] = (),
) -> Function:
    """A function repeated; UnsupportedError for what cannot be. by_time, every, summed: as in `Repeat`."""
    steps, every = _whole("rollout: steps", steps), _whole("rollout: every", every)
    if last and every > 1:
        raise UnsupportedError(f"rollout: every={every} and last=True: give one of them")
    return _repeated(_origin("rollout", function, steps, by_time, 0 if last else every, summed))


def iterate(
    function: Function,
    most: int,
    until: str = "done",
    together: bool = False,
    by_time: Iterable[str] = (),
    summed: Iterable[str] = (),
    straight: int = 0,
) -> Function:
    """A function repeated until its output `until` is above 0, `most` times at the most; see `Repeat`.

    UnsupportedError for what cannot be.
    """
    ends = next((port for port in function.outputs if port.name == until), None)
    if ends is None or ends.dims:
        numbers = ", ".join(port.name for port in function.outputs if not port.dims) or "it has none"
        raise UnsupportedError(f"iterate: until={until!r}; name an output that is one number: {numbers}")
    if any(port.name == ITERATIONS for port in function.outputs):
        raise UnsupportedError(f"iterate: the function has an output {ITERATIONS!r}: give it another name")
    origin = _origin("iterate", function, _whole("iterate: most", most), by_time, 0, summed)
    return _repeated(origin._replace(until=until, together=together, straight=straight))


def _origin(
    call: str, function: Function, steps: int, by_time: Iterable[str], every: int, summed: Iterable[str]
) -> Repeat:
    if function.repeat is not None:
        raise UnsupportedError(f"{call}: {function.name!r} is a rollout; repeat the function that it is of")
    inputs = {port.name for port in function.inputs}
    carried = tuple(port.name for port in function.outputs if port.name in inputs)
    timed = _chosen(f"{call}: by_time", by_time, _others(function.inputs, carried), "inputs that are not carried")
    summed = _chosen(f"{call}: sum", summed, _others(function.outputs, carried), "outputs that are not carried")
    return Repeat(function, steps, carried, timed, every, summed)


def _whole(what: str, number: object) -> int:
    if not hasattr(number, "__index__") or isinstance(number, bool) or not 1 <= int(number) <= MOST:  # pyright: ignore
        raise UnsupportedError(f"{what}={number!r}; give a whole number from 1 to {MOST}")
    return int(number)  # pyright: ignore


def _chosen(what: str, listed: Iterable[str], every: Sequence[str], among: str) -> tuple[str, ...]:
    """The names in the order of the ports; UnsupportedError for what is none of them."""
    asked = [listed] if isinstance(listed, str) else list(listed)
    wrong = next((name for name in asked if name not in every), None)
    if wrong is not None or len(set(asked)) < len(asked):
        there = ", ".join(every) or "it has none"
        raise UnsupportedError(f"{what}={listed!r}; give some of its {among}, each once: {there}")
    return tuple(name for name in every if name in asked)


def _others(ports: Iterable[Port], carried: Sequence[str]) -> list[str]:
    return [port.name for port in ports if port.name not in carried]


def _repeated(repeat: Repeat) -> Function:
    base = repeat.function
    times = "once" if repeat.steps == 1 else f"{repeat.steps} times"
    loosest = (1e-3, 0.05)
    accuracy = Accuracy(*(min(repeat.steps * x, most) for x, most in zip(base.accuracy, loosest, strict=True)))
    name = names.rollout(base.name, repeat.steps, repeat.by_time, repeat.summed, repeat.every)
    method, call, more = f"{base.method}_rollout", "rollout", ()
    if repeat.until:
        ends = repeat.until, repeat.together, repeat.by_time, repeat.summed
        name, times = names.iterate(base.name, repeat.steps, *ends), f"until {repeat.until} > 0, at most {times}"
        method, call = f"{base.method}_iterated", "iterate"
        more = (Port(ITERATIONS, (), "1", "none", "how many times it was computed"),)
    return base.another(
        repeat,
        name=name,
        method=method,
        call=call,
        equation=f"{base.method.replace('_', ' ')} {times}, one after the other",
        inputs=tuple(_input(port, repeat) for port in base.inputs),
        outputs=(*(_output(port, repeat) for port in base.outputs), *more),
        ways=Ways(),
        numerics=base.numerics._replace(accuracy=accuracy),
    )


def _input(port: Port, repeat: Repeat) -> Port:
    if port.name in repeat.carried:
        return replace(port, doc=f"{port.doc}, before the first step")
    if port.name not in repeat.by_time:
        return replace(port, doc=f"{port.doc}, at every step")
    return _in_time(port, repeat.steps, "for each step")


def _output(port: Port, repeat: Repeat) -> Port:
    if port.name in repeat.summed:
        return replace(port, doc=f"{port.doc}, summed over all steps", zeros="none", symmetric=False)
    if not repeat.every:
        return replace(port, doc=f"{port.doc}, of the last step")
    which = "each step" if repeat.every == 1 else f"every {repeat.every} steps, and of the last"
    return _in_time(port, repeat.rows, f"of {which}")


def _in_time(port: Port, rows: int, doc: str) -> Port:
    return replace(port, dims=(str(rows), *port.dims), doc=f"{port.doc}, {doc}", zeros="none", symmetric=False)
