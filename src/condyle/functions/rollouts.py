"""Rollouts: a function repeated over time is a function again, by its name.

`FUNCTIONS["rollout_50_by_tau_every_5_of_step"]`: `step` 50 times, tau with a value for each step, the answers of every
fifth. A name is `rollout_STEPS`, then, where they are not the default, `_by_INPUTS` (those with a time axis),
`_sum_OUTPUTS` (those summed over time), `_every_N` or `_last`, then `_of_FUNCTION`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, found
from condyle.specification import Accuracy, Function, Port, Repeat

MOST = 1 << 24
"""Steps."""
_HEAD = re.compile(r"rollout_([1-9][0-9]{0,7})((?:_.*)?)", re.ASCII)
_KEPT = re.compile(r"(.*?)(?:_every_([1-9][0-9]{0,7})|(_last))?", re.ASCII)
_OF, _BY, _SUM = "_of_", "_by_", "_sum_"


def name_of(
    of: str, steps: int, by_time: Iterable[str] = (), every: int = 1, last: bool = False, summed: Iterable[str] = ()
) -> str:
    """The name of a rollout; UnsupportedError for what it cannot be."""
    base = found(of)
    if base is None or base.repeat is not None:
        raise UnsupportedError(f"rollout: {of!r} is no function that can be repeated; there are {', '.join(FUNCTIONS)}")
    steps, every = _whole("steps", steps), _whole("every", every)
    if last and every > 1:
        raise UnsupportedError(f"rollout: every={every} and last=True: give one of them")
    carried = _carried(base)
    by_time = _chosen("by_time", by_time, _others(base.inputs, carried), "inputs that are not carried")
    summed = _chosen("sum", summed, _others(base.outputs, carried), "outputs that are not carried")
    words = (
        _BY + "_".join(by_time) if by_time else "",
        _SUM + "_".join(summed) if summed else "",
        "_last" if last else f"_every_{every}" if every > 1 else "",
    )
    name = f"rollout_{steps}{''.join(words)}{_OF}{of}"
    repeat = Repeat(of, steps, carried, by_time, 0 if last else every, summed)
    if parsed(name) != repeat:
        raise UnsupportedError(f"rollout: the names of ports cannot be told apart in {name!r}: choose others")
    return name


def _whole(what: str, number: object) -> int:
    if not hasattr(number, "__index__") or isinstance(number, bool) or not 1 <= int(number) <= MOST:  # pyright: ignore
        raise UnsupportedError(f"rollout: {what}={number!r}; give a whole number from 1 to {MOST}")
    return int(number)  # pyright: ignore


def _chosen(what: str, names: Iterable[str], every: Sequence[str], of: str) -> tuple[str, ...]:
    """The names in the order of the ports; UnsupportedError for what is none of them."""
    listed = [names] if isinstance(names, str) else list(names)
    wrong = next((name for name in listed if name not in every), None)
    if wrong is not None or len(set(listed)) < len(listed):
        there = ", ".join(every) or "it has none"
        raise UnsupportedError(f"rollout: {what}={names!r}; give some of its {of}, each once: {there}")
    return tuple(name for name in every if name in listed)


def _carried(base: Function) -> tuple[str, ...]:
    inputs = {port.name for port in base.inputs}
    return tuple(port.name for port in base.outputs if port.name in inputs)


def _others(ports: Iterable[Port], carried: Sequence[str]) -> list[str]:
    return [port.name for port in ports if port.name not in carried]


def parsed(name: str) -> Repeat | None:
    """The name of a rollout, read; None for any other name."""
    head = _HEAD.fullmatch(name)
    if head is None:
        return None
    rest = head[2]
    at = rest.find(_OF)
    while at >= 0:
        base = found(rest[at + len(_OF) :])
        repeat = None if base is None or base.repeat is not None else _read(int(head[1]), rest[:at], base)
        if repeat is not None:
            return repeat
        at = rest.find(_OF, at + 1)
    return None


def _read(steps: int, words: str, base: Function) -> Repeat | None:
    """What stands between the number of steps and the function."""
    carried = _carried(base)
    inputs, outputs = _others(base.inputs, carried), _others(base.outputs, carried)
    for left, every in _kept(words):
        for by_words, sum_words in _split(left):
            by, summed = _names(by_words, inputs), _names(sum_words, outputs)
            if by is not None and summed is not None:
                return Repeat(base.name, steps, carried, by, every, summed)
    return None


def _kept(words: str) -> list[tuple[str, int]]:
    """What is left of the words, and which answers they keep."""
    found = _KEPT.fullmatch(words)
    if found is None or (found[2] is None and found[3] is None):
        return [(words, 1)]
    return [(found[1], int(found[2] or 0)), (words, 1)]


def _split(words: str) -> list[tuple[str, str]]:
    """Ways to read words as those of inputs and those of outputs."""
    if words.startswith(_SUM):
        return [("", words[len(_SUM) :])]
    if not words.startswith(_BY):
        return [] if words else [("", "")]
    left = words[len(_BY) :]
    starts = [k for k in range(len(left)) if left.startswith(_SUM, k)]
    return [(left, ""), *((left[:k], left[k + len(_SUM) :]) for k in starts)]


def _names(words: str, every: Sequence[str]) -> tuple[str, ...] | None:
    """Names of ports, in order, that were joined by "_"; None where the words are none."""
    if not words:
        return ()
    for k, name in enumerate(every):
        if words == name:
            return (name,)
        if words.startswith(f"{name}_"):
            rest = _names(words[len(name) + 1 :], every[k + 1 :])
            if rest:
                return (name, *rest)
    return None


def specification_of(name: str) -> Function | None:
    """The specification behind a name; None for one that is none of a rollout."""
    repeat = parsed(name)
    return None if repeat is None else _specified(name, repeat, FUNCTIONS[repeat.of])


@lru_cache(maxsize=256)
def _specified(name: str, repeat: Repeat, base: Function) -> Function:
    times = "once" if repeat.steps == 1 else f"{repeat.steps} times"
    loosest = (1e-3, 0.05)
    accuracy = Accuracy(*(min(repeat.steps * x, most) for x, most in zip(base.accuracy, loosest, strict=True)))
    return replace(
        base,
        name=name,
        method=f"{base.method}_rollout",
        call="rollout",
        equation=f"{base.method.replace('_', ' ')} {times}, one after the other",
        inputs=tuple(_taken(port, repeat) for port in base.inputs),
        outputs=tuple(_given(port, repeat) for port in base.outputs),
        ways=dict,
        closed_ways=dict,
        parallel_ways=dict,
        accuracy=accuracy,
        takes_f_ext=False,
        composition=(),
        inverse="",
        columns=None,
        kept=False,
        forced="",
        numbers=(),
        variant_of="",
        repeat=repeat,
    )


def _taken(port: Port, repeat: Repeat) -> Port:
    if port.name in repeat.carried:
        return replace(port, doc=f"{port.doc}, before the first step")
    if port.name not in repeat.by_time:
        return replace(port, doc=f"{port.doc}, at every step")
    return _in_time(port, repeat.steps, "for each step")


def _given(port: Port, repeat: Repeat) -> Port:
    if port.name in repeat.summed:
        return replace(port, doc=f"{port.doc}, summed over all steps", zeros="none", symmetric=False)
    if not repeat.every:
        return replace(port, doc=f"{port.doc}, of the last step")
    which = "each step" if repeat.every == 1 else f"every {repeat.every} steps, and of the last"
    return _in_time(port, repeat.rows, f"of {which}")


def _in_time(port: Port, rows: int, doc: str) -> Port:
    return replace(port, dims=(str(rows), *port.dims), doc=f"{port.doc}, {doc}", zeros="none", symmetric=False)
