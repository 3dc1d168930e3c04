"""Rollouts as code: the time loop of a function's specification, and that of its vjp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.ir.sweep import Code
from condyle.ir.time_loops import COUNT, Give, Repeated, Take, TimeLoop, verify_repeated
from condyle.model.tree import Tree
from condyle.specification import Function, Port, Repeat
from condyle.trace.straight import arrays


def time_loop(repeat: Repeat) -> TimeLoop:
    """The time loop of a rollout (that of its vjp: `tape`)."""
    base = repeat.function
    outputs = [port.name for port in base.outputs]
    takes = [
        Take(outputs.index(port.name)) if port.name in repeat.carried else Take(every=int(port.name in repeat.by_time))
        for port in base.inputs
    ]
    gives = [Give(k, summed=True) if name in repeat.summed else Give(k, repeat.every) for k, name in enumerate(outputs)]
    if not repeat.until:
        return TimeLoop(repeat.steps, tuple(takes), tuple(gives))
    until = outputs.index(repeat.until)
    return TimeLoop(repeat.steps, tuple(takes), (*gives, Give(COUNT)), until=until, together=repeat.together)


def repeated(tree: Tree, function: Function, body: Code) -> Repeated:
    """A rollout as code. body: the code of the function that is repeated."""
    assert function.repeat is not None and not function.repeat.backwards
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.named_outputs)
    return verify_repeated(Repeated(function.name, body, time_loop(function.repeat), inputs, outputs))


class Tape(NamedTuple):
    """The vjp of a rollout as two loops: forward over the function that is repeated, which stores the states, then
    backward over its vjp.

    forward: one step less than the rollout; None for a rollout of one step. Its outputs are the carried values after
    every step. With those given at the start, they are the states before each step: inputs of the backward loop with a
    time axis. The backward loop's other inputs are those of the rollout, then the cotangents.
    """

    forward: TimeLoop | None
    backward: TimeLoop


def tape(repeat: Repeat) -> Tape:
    """The loops of a rollout's vjp."""
    base = repeat.function
    inputs, outputs = [port.name for port in base.inputs], [port.name for port in base.outputs]
    plain = time_loop(repeat)
    forward = TimeLoop(repeat.steps - 1, plain.takes, tuple(Give(outputs.index(name), 1) for name in repeat.carried))
    takes = [Take(every=int(name in (*repeat.carried, *repeat.by_time))) for name in inputs]
    for name in outputs:
        carried = inputs.index(name) if name in repeat.carried else -1
        every = repeat.every or repeat.steps
        takes.append(Take(carried, 0 if name in repeat.summed else every))
    gives = [
        Give(k) if name in repeat.carried else Give(k, 1) if name in repeat.by_time else Give(k, summed=True)
        for k, name in enumerate(inputs)
    ]
    backward = TimeLoop(repeat.steps, tuple(takes), tuple(gives), backwards=True)
    return Tape(forward if repeat.steps > 1 else None, backward)


def sizes_of(tree: Tree, ports: Sequence[Port]) -> list[int]:
    """Entries of ports."""
    return [array.size for array in arrays(tree, ports)]
