"""Small schedules with all statements, random ones among them, and what runs them in C and by the interpreter."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from condyle.backends.c.schedule import Entry, Meaning, schedules_in_c
from condyle.backends.common.facts import Facts
from condyle.ir.expr import Expr, Graph
from condyle.ir.interp import run
from condyle.ir.program import Array, Program
from condyle.ir.schedule import Call, Move, Operand, Run, Schedule, Slab, Statement, Sweep, Until
from condyle.text import Emitter
from tests.programs import call

FACTS = Facts(2, 2, "abc123", "0.1.0", "job")
LANES = 8
GROUPS = 2


def program(name: str, sizes: Sequence[int], answers: Sequence[int], f: Callable[..., Sequence[Any]]) -> Program:
    """f takes a list of symbols for each input, and gives a list for each answer."""
    graph = Graph()
    inputs = [[graph.input(a, k) for k in range(size)] for a, size in enumerate(sizes)]
    values: list[tuple[int, int, Expr | float]] = []
    for a, entries in enumerate(f(*inputs)):
        values += [(a, k, entry) for k, entry in enumerate(entries)]
    takes, gives = (tuple(Array(f"{w}{k}", (n,)) for k, n in enumerate(of)) for w, of in (("x", sizes), ("y", answers)))
    return graph.program(name, takes, gives, values)


def mixed(x: Sequence[Any], m: Sequence[Any]) -> Sequence[Any]:
    """A matrix times a column; an entry that passes, a constant, a zero."""
    y = [0.3 * sum((m[3 * i + k] * x[k] for k in range(1, 3)), m[3 * i] * x[0]) for i in range(3)]
    return [[*y, x[1], 0.75, 0.0]]


KERNELS: Mapping[str, Program] = {
    "near": program("near", (3, 3), (3,), lambda x, y: [[0.5 * a - 0.25 * b + 0.1 for a, b in zip(x, y, strict=True)]]),
    "both": program(
        "both", (3,), (3, 1), lambda x: [[0.9 * x[1], x[0], 0.25], [1.0 / (1.0 + x[2] * x[2]) - 0.2 * x[0]]]
    ),
    "flag": program("flag", (1, 3), (1,), lambda f, x: [[0.5 * f[0] + x[0] * x[1] - 0.05]]),
    "mixed": program("mixed", (3, 9), (6,), mixed),
    "total": program("total", (18,), (3, 3), lambda x: [x[15:], [0.1 * sum(x[1:], x[0]), x[3], 0.5]]),
    "spread": program("spread", (3,), (18,), lambda x: [[x[k % 3] if k % 2 else 0.1 * k for k in range(18)]]),
    "halves": program("halves", (6,), (3,), lambda x: [[0.5 * (x[k] + x[k + 3]) for k in range(3)]]),
}
"""Kernels without sums of products in one operation or elementary functions: they round everywhere alike."""


def runs(kernels: Mapping[str, Program], dtype: Any = np.float64) -> dict[str, Run]:
    """The kernels by NumPy."""

    def of(program: Program) -> Run:
        def kernel(n: int, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
            for output, answer in zip(outputs, run(program, inputs, dtype), strict=True):
                output[...] = answer.reshape(len(answer), -1)

        return kernel

    return {name: of(program) for name, program in kernels.items()}


INPUTS, OUTPUTS = ("a", "m", "p"), ("d", "g", "t", "s")
_SIZES = {"a": (6, 3), "b": (6, 3), "c": (6, 3), "d": (6, 3), "m": (3, 9), "f": (6, 1), "g": (6, 1)}
_SIZES |= {
    name: (2 if name == "t" else 4, GROUPS * rows * LANES) for name, rows in zip("prst", (3, 3, 3, 6), strict=True)
}
SLABS = (
    *(Slab(name, *sizes, is_zero=name not in INPUTS) for name, sizes in _SIZES.items()),
    Slab("whole", 1, 18, over="b"),
)
ROWS, PANELS, WHOLE = ("a", "b", "c", "d"), ("p", "r", "s"), ("whole",)


class Random:
    """Statements that stay in their slabs."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def operand(self, names: Sequence[str], states: int, turns: int, step: Sequence[int] = (0, 1)) -> Operand:
        rng, name = self.rng, self.rng.choice(names)
        rows = next(slab.rows for slab in SLABS if slab.name == name)
        by, turn = rng.choice(step), rng.choice((0, 1, 1, -1)) if turns > 1 else 0
        if states + turns - 1 > rows:
            turn = 0
        ends = [by * k + turn * t for k in (0, states - 1) for t in (0, turns - 1)]
        return Operand(name, rng.randint(-min(ends), rows - 1 - max(ends)), by, turn)

    def call(self, turns: int) -> Statement:
        rng, n, one = self.rng, self.rng.randint(1, 4), (1,)
        numbers, rows, panels = ("f", "g"), ROWS[1:], PANELS[1:]
        kind = rng.choice(("near", "columns", "both", "flag", "mixed", "halves", "move", "total", "spread"))
        if kind == "columns":
            return self.columns(turns)
        if kind == "move":
            return self.move(n, turns)
        if kind in ("mixed", "halves"):
            source, target = (("t",), panels) if kind == "halves" else (PANELS, ("t",))
            shared = (self.operand(("m",), 1, turns, (0,)),) if kind == "mixed" else ()
            inputs = self.operand(source, 1, turns, one), *shared
            return Call(kind, GROUPS * LANES, inputs, (self.operand(target, 1, turns, one),), True)
        n = 1 if kind in ("total", "spread") else n
        takes = {"near": (ROWS, ROWS), "both": (ROWS,), "flag": (numbers, ROWS), "total": (WHOLE,), "spread": (ROWS,)}
        gives = {
            "near": (rows,),
            "both": (rows, numbers),
            "flag": (numbers,),
            "total": (rows, rows),
            "spread": (WHOLE,),
        }
        inputs, outputs = (
            tuple(Operand("whole") if names == WHOLE else self.operand(names, n, turns, steps) for names in of)
            for of, steps in ((takes[kind], (0, 1)), (gives[kind], one))
        )
        return Call(kind, n, inputs, outputs)

    def columns(self, turns: int) -> Call:
        """A kernel of rows, with columns; the second input also as a row that all have."""
        inputs = self.operand(PANELS, 1, turns, (1,)), self.operand((*PANELS, *ROWS), 1, turns, (1,))
        if inputs[1].slab in ROWS:
            inputs = inputs[0], inputs[1]._replace(step=0)
        return Call("near", GROUPS * LANES, inputs, (self.operand(PANELS[1:], 1, turns, (1,)),), True)

    def move(self, n: int, turns: int) -> Move:
        """Rows, also one to many; where it overlaps itself, to where rows were read before."""
        source, target = self.operand(ROWS, n, turns), self.operand(ROWS[1:], n, turns, (1,))
        if source.slab == target.slab and n > 1 and source.step == 0:
            source = source._replace(slab="a")
        return Move(source, target, n)

    def body(self, turns: int, depth: int) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        for _ in range(self.rng.randint(2, 5)):
            kind = self.rng.random()
            if kind < 0.25 and depth and turns == 1:
                count = self.rng.randint(2, 4)
                statements.append(Sweep(count, self.body(count, depth - 1), self.rng.random() < 0.5))
            elif kind < 0.4 and depth:
                statements.append(Until(self.rng.choice("fg"), self.rng.randint(1, 5), self.body(turns, depth - 1)))
            else:
                statements.append(self.call(turns))
        return tuple(statements)

    def schedule(self, name: str) -> Schedule:
        return Schedule(name, SLABS, INPUTS, OUTPUTS, self.body(1, 3), LANES)


def drawn(schedule: Schedule, seed: int, dtype: Any = np.float64) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    slabs = [schedule.slab(name) for name in schedule.inputs]
    return {slab.name: rng.uniform(-1.0, 1.0, (slab.rows, slab.size)).astype(dtype) for slab in slabs}


def entry(schedule: Schedule, **options: Any) -> Entry:
    """With plain meanings."""
    names = (*schedule.inputs, *schedule.outputs)
    shapes = {name: (schedule.slab(name).rows, schedule.slab(name).size) for name in names}
    return Entry(
        schedule, "a job", {name: Meaning(shape, "-", f"array {name}") for name, shape in shapes.items()}, **options
    )


class Compiled:
    """Schedules as C, and what the system's compiler makes of it."""

    def __init__(
        self,
        out: Path,
        entries: Sequence[Entry],
        kernels: Mapping[str, Any],
        flags: Sequence[str],
        bits: int = 64,
        embedded: bool = False,
    ) -> None:
        e = Emitter()
        self.entries = {entry.schedule.name: entry for entry in entries}
        self.work, self.dtype = schedules_in_c(e, entries, kernels, FACTS, bits, embedded), np.dtype(f"float{bits}")
        self.text = e.text()
        heads = [entry.head("job", bits, [name for _, name, _ in entry.arguments]) for entry in entries]
        (out / "job.c").write_text(self.text, encoding="ascii")
        (out / "job.h").write_text("".join(f"{head};\n" for head in heads))
        call([*flags, "-fPIC", "-shared", "job.c", "-o", "job.so", "-lm"], out)
        self.library = ctypes.CDLL(str(out / "job.so"))

    def __call__(self, name: str, inputs: Mapping[str, Any], shift: int = 0) -> dict[str, Any]:
        """The answers; the workspace begins `shift` bytes into an array, with marks around it."""
        entry = self.entries[name]
        slabs = [entry.schedule.slab(slab) for slab in entry.schedule.outputs]
        outputs = {slab.name: np.full((slab.rows, slab.size), np.nan, self.dtype) for slab in slabs}
        size = self.work[name]
        work = np.full(size + shift + 8, 0xAB, np.uint8)
        arrays = [inputs[slab] if way == "in" else outputs[slab] for way, _, slab in entry.arguments]
        places = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, work[shift:])]
        getattr(self.library, f"job_{name}")(*places)
        assert (work[:shift] == 0xAB).all() and (work[size + shift :] == 0xAB).all(), "beyond the workspace"
        return outputs
