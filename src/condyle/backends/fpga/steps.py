"""Integration steps: sub-tasks of forward dynamics, fed back until the step is done (Yang 2023, figure 13).

    k1 = fd(q, v),  ki = fd(q + ci h v(i-1), v + ci h k(i-1));  q' = q + h sum bi vi,  v' = v + h sum bi ki

with the classical c = 1/2, 1/2, 1 and b = 1/6, 1/3, 1/3, 1/6, or one stage with b = 1 (Euler); tau and f_ext are held.
h is a number of the accelerator, as the robot's are: its multiples are chosen by stage and cost no words of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.formats import Format, Integers, constant_format
from condyle.backends.fpga.products import Nodes
from condyle.backends.fpga.ranges import Reals
from condyle.ir.program import Array, Output, Program
from condyle.signature import FUNCTIONS, TAU, Function, Port, Q, V

NEXT = (
    Port("q_next", ("nq",), Q.unit, Q.frame, "configuration after the step"),
    Port("v_next", ("nv",), V.unit, V.frame, "velocity after the step"),
)
STEPS = {
    name: Function(name, "", f"q, v after a step of {what}, tau held", (Q, V, TAU), NEXT)
    for name, what in (("euler", "Euler's method"), ("rk4", "the classical Runge-Kutta method"))
}
ALL = {**FUNCTIONS, **STEPS}
"""What an accelerator can do: the seven functions and the steps."""
WEIGHTS = ((1 / 2, 1 / 6), (1 / 2, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6), (0.0, 1.0))
"""(c, b) of each stage: what leads to the next sub-task's state, what counts in the result."""
FIRST = {"rk4": 0, "euler": 4}
LAST = (3, 4)
STAGE = Format(4, 0)


class Weights(NamedTuple):
    """The integers h c and h b of every stage, and their formats."""

    c: tuple[int, ...]
    b: tuple[int, ...]
    formats: tuple[Format, Format]


def weights(h: float, functions: Sequence[str], width: int) -> Weights:
    stages = [*(range(4) if "rk4" in functions else ()), *([4] if "euler" in functions else ())]
    scales = [max(WEIGHTS[s][k] for s in stages) or 1.0 for k in (0, 1)]
    formats = (constant_format(width, h * scales[0]), constant_format(width, h * scales[1]))
    rows = [
        [int(f.from_real(np.array(h * WEIGHTS[s][k] if s in stages else 0.0))) for s in range(len(WEIGHTS))]
        for k, f in enumerate(formats)
    ]
    return Weights(tuple(rows[0]), tuple(rows[1]), formats)


def state(n: int, tau: Sequence[Word], f_ext: Sequence[Word]) -> list[Word]:
    """What goes with a sub-task: the stage, the step's own state and torques, the stage's velocity, the sums."""
    named = [Word(name, k) for name in ("q", "v", "cv", "sq", "sv") for k in range(n)]
    return [Word("stage", 0), *named, *tau, *f_ext]


def advance(n: int, words: Sequence[Word], again: bool) -> Program:
    """One stage: the sums q_next, v_next and, if there is a next stage, its state; the rest of `words` passes."""
    names = list(dict.fromkeys(word.name for word in words))
    sizes = {word.name: word.index + 1 for word in words}
    arrays = (*(Array(name, (sizes[name],)) for name in names), *(Array(x, (1,)) for x in "cb"), Array("k", (n,)))
    nodes = Nodes(arrays)
    c, b = (nodes.word(Word(name, 0)) for name in "cb")
    found: dict[Word, int] = {}
    for k in range(n):
        v, a = nodes.word(Word("cv", k)), nodes.word(Word("k", k))
        for name, rate in (("q", v), ("v", a)):
            total = nodes.word(Word(f"s{name}", k))
            found[Word(f"{name}_next", k)] = nodes.add("add", total, nodes.add("mul", b, rate))
            if again:
                found[Word(f"n{name}", k)] = nodes.add("add", nodes.word(Word(name, k)), nodes.add("mul", c, rate))
    if again:
        found.update({word: nodes.word(word) for word in words if word.name not in ("cv", "sq", "sv")})
    results = list(dict.fromkeys(word.name for word in found))
    outputs = tuple(Output(results.index(word.name), word.index, node) for word, node in found.items())
    shapes = tuple(Array(name, (max(w.index for w in found if w.name == name) + 1,)) for name in results)
    return Program("advance", arrays, shapes, tuple(nodes.nodes), outputs)


def integrated(name: str, fd: Callable[[Reals, Reals], Reals], q: Reals, v: Reals, h: float) -> tuple[Reals, Reals]:
    """The same step in floats; fd(q, v) is the acceleration."""
    sq, sv, qi, vi = q, v, q, v
    for stage in range(FIRST[name], len(WEIGHTS)):
        c, b = (h * x for x in WEIGHTS[stage])
        k = fd(qi, vi)
        sq, sv = sq + b * vi, sv + b * k
        if stage in LAST:
            break
        qi, vi = q + c * vi, v + c * k
    return sq, sv


def constant(value: int, n: int) -> Integers:
    return np.full(n, value, np.int64)
