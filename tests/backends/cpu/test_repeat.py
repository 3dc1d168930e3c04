"""Loops over time in the driver of tiles mean what the same kernel means, called step by step, to the bit."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest

import condyle
from condyle.backends.cpu.assemble import full_layouts
from condyle.backends.cpu.build import build, lanes, supported
from condyle.backends.cpu.loops import repeated
from condyle.compile.kernels.composed import SteppedKernel
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Graph
from condyle.ir.loops import COUNT, Code, Give, Rolled, Take, TimeLoop
from condyle.ir.program import Array, Program
from condyle.ir.segments import Segmented
from condyle.model.tree import tree_of
from condyle.runtime.native import NativeKernel
from condyle.scalar import sin
from condyle.trace.loops import roll

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")


def crossed() -> Program:
    """Outputs that stand in each other's inputs' slots, in those of held inputs, constants, zeros, and sines."""
    graph = Graph()
    x, u, c = ([graph.input(k, e) for e in range(n)] for k, n in enumerate((3, 3, 1)))
    turned = sin(x[2] + u[0]) * c[0] + 0.5 * u[1]
    values = [(0, 0, x[1]), (0, 1, x[0]), (0, 2, turned), (1, 0, u[2]), (1, 1, 1.5), (1, 2, x[0] * u[0]), (2, 0, c[0])]
    names = (
        (Array("x", (3,)), Array("u", (3,)), Array("c", ())),
        (Array("x_next", (3,)), Array("y", (3,)), Array("z", ())),
    )
    return graph.program("crossed", *names, values)


def network() -> Segmented:
    """Products with weights on the left, which all states may share: three tiles side by side."""

    def layer(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": np.tanh(w @ x + b), "total": np.sum(x), "b_next": 0.5 * b}

    f = condyle.function(layer, inputs={"x": 24, "w": (24, 24), "b": 24}).compile(target="numpy")
    code = f._dynamics._compiler.code(f._function)
    assert isinstance(code, Segmented) and code.held == {"w"}
    return code


def sweeps() -> Rolled:
    """Blocks of machine code that do two tiles at once."""
    return roll(tree_of(condyle.chain(9, 1)), FUNCTIONS["fd"])


def pendulum() -> Rolled:
    """Blocks that do two tiles at once, and an answer of one number."""
    return roll(tree_of(condyle.chain(1, 1)), FUNCTIONS["fd"])


BODIES = {"crossed": crossed, "network": network, "sweeps": sweeps, "pendulum": pendulum}


@cache
def body(name: str, dtype: str) -> tuple[Code, NativeKernel]:
    code = BODIES[name]()
    return code, build(code, dtype, layouts=full_layouts(code, lanes(dtype)))


def drawn_loop(code: Code, rng: np.random.Generator, steps: int) -> TimeLoop:
    takes: list[Take] = []
    for array in code.inputs:
        fitting = [k for k, other in enumerate(code.arrays) if other.size == array.size]
        carried = int(rng.choice([-1, *fitting, *fitting]))
        takes.append(Take(carried, int(rng.choice([0, 0, 1, 1, 2, 3, steps]))))
    gives = [Give(k, int(rng.integers(4))) for k in range(len(code.arrays))]
    gives += [Give(k, summed=True) for k in range(len(code.arrays))]
    return TimeLoop(steps, tuple(takes), tuple(gives), bool(rng.integers(2)))


def drawn_end(code: Code, rng: np.random.Generator, steps: int) -> TimeLoop:
    """One that ends where an output of one number says so, with inputs by time or with none."""
    loop, timed = drawn_loop(code, rng, steps), int(rng.integers(2))
    takes = [Take(take.carried, 0 if take.carried >= 0 else timed * take.every) for take in loop.takes]
    gives = [*(Give(k) for k in range(len(code.arrays))), *(give for give in loop.gives if give.summed), Give(COUNT)]
    until = next(k for k, array in enumerate(code.arrays) if array.size == 1)
    return TimeLoop(steps, tuple(takes), tuple(gives), until=until, together=bool(rng.integers(2)))


def drawn_inputs(code: Code, loop: TimeLoop, n: int, dtype: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows, of some inputs one for all states, of others some entries apart."""
    found: list[np.ndarray] = []
    for take, array in zip(loop.takes, code.inputs, strict=True):
        size = array.size * (loop.rows(take.every) if take.every else 1)
        wide = rng.normal(size=(int(rng.choice([1, n])), size + 3)).astype(dtype)
        found.append(wide[:, :size] * 0.5 if rng.integers(2) else wide[:, 1 : size + 1])
    return found


def answers(loop: TimeLoop, code: Code, n: int, dtype: str) -> list[np.ndarray]:
    each = [1 if give.output == COUNT else code.arrays[give.output].size for give in loop.gives]
    sizes = [size * (loop.rows(give.every) if give.every else 1) for give, size in zip(loop.gives, each, strict=True)]
    return [np.full((n, size + 2), np.nan, dtype)[:, :size] for size in sizes]


Case = tuple[Code, NativeKernel, NativeKernel, TimeLoop, np.random.Generator]


def cases(name: str, dtype: str, seed: int, draw: Callable[..., TimeLoop] = drawn_loop) -> Case:
    code, kernel = body(name, dtype)
    rng = np.random.default_rng(seed)
    loop = draw(code, rng, int(rng.integers(1, 8)))
    made = repeated(kernel, loop)
    assert made is not None
    return code, kernel, made, loop, rng


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BODIES)
def test_loops_are_repeated_calls(name: str, dtype: str, seed: int) -> None:
    code, kernel, made, loop, rng = cases(name, dtype, seed)
    stepped = SteppedKernel(kernel, loop, [a.size for a in code.inputs], [a.size for a in code.arrays])
    for n in (1, 3, 8, 53):
        inputs = drawn_inputs(code, loop, n, dtype, rng)
        found, expected = answers(loop, code, n, dtype), answers(loop, code, n, dtype)
        stepped(n, inputs, expected, 1)
        for threads in (1, 2):
            made(n, inputs, found, threads)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", BODIES)
def test_packed_arrays(name: str, seed: int) -> None:
    code, _, made, loop, rng = cases(name, "float64", 100 + seed)
    of, n = lanes("float64"), 21
    inputs, expected = drawn_inputs(code, loop, n, "float64", rng), answers(loop, code, n, "float64")
    made(n, inputs, expected, 1)
    assert made.packed is not None
    found = [np.full((-(-n // of), rows.shape[1], of), np.nan) for rows in expected]
    made.packed.run(n, [x if len(x) == 1 else blocks(x, of) for x in inputs], found, 1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.moveaxis(one, 1, 2).reshape(-1, other.shape[1])[:n], other)


def blocks(rows: np.ndarray, of: int) -> np.ndarray:
    """The last state again in the lanes without one."""
    padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % of, axis=0)])
    return np.ascontiguousarray(np.moveaxis(padded.reshape(-1, of, rows.shape[1]), 1, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["crossed", "network", "pendulum"])
def test_loops_that_end_are_repeated_calls(name: str, dtype: str) -> None:
    """States that are done make room for others: answers are those of lockstep, in every place, of any number."""
    counts: set[float] = set()
    for seed in range(12):
        code, kernel, made, loop, rng = cases(name, dtype, seed, drawn_end)
        stepped = SteppedKernel(kernel, loop, [a.size for a in code.inputs], [a.size for a in code.arrays])
        for n in (1, 3, 8, 9, 100):
            inputs = drawn_inputs(code, loop, n, dtype, rng)
            inputs[0][rng.integers(0, len(inputs[0]), 2)] = np.nan
            found, expected = answers(loop, code, n, dtype), answers(loop, code, n, dtype)
            stepped(n, inputs, expected, 1)
            for threads in (1, 2):
                made(n, inputs, found, threads)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(one, other)
            counts |= set(expected[-1].ravel())
            if made.packed is not None:
                of = lanes(dtype)
                blocked = [np.full((-(-n // of), rows.shape[1], of), np.nan, dtype) for rows in expected]
                made.packed.run(n, [x if len(x) == 1 else blocks(x, of) for x in inputs], blocked, 1)
                for one, other in zip(blocked, expected, strict=True):
                    rows = np.moveaxis(one, 1, 2).reshape(-1, other.shape[1])
                    np.testing.assert_array_equal(rows[:n], other)
                    if n > 1:
                        np.testing.assert_array_equal(rows[n:], np.broadcast_to(other[-1], rows[n:].shape))
    assert len(counts) > 4


def test_one_state_runs_by_the_scalar_form() -> None:
    assert cases("crossed", "float64", 0)[2].single is not None
    assert cases("sweeps", "float64", 0)[2].single is None


def test_many_results_are_streamed_past_the_caches() -> None:
    _, kernel = body("crossed", "float64")
    loop = TimeLoop(2, (Take(0), Take(every=1), Take()), (Give(0, 1), Give(1), Give(1, summed=True)))
    made = repeated(kernel, loop)
    assert made is not None
    rng, n = np.random.default_rng(0), 200_003
    inputs = [rng.normal(size=(n, size)) for size in (3, 6, 1)]
    found = [np.full((n, size), np.nan) for size in (6, 3, 3)]
    made(n, inputs, found, 2)
    few = [np.full((97, size), np.nan) for size in (6, 3, 3)]
    for first in (0, 100_000, n - 97):
        made(97, [x[first : first + 97] for x in inputs], few, 1)
        for one, other in zip(found, few, strict=True):
            np.testing.assert_array_equal(one[first : first + 97], other)


FINE = (2, 0, 1, -1, 0, *(0, 0), *(-1, 1), *(-1, 0), *(0, 1, 0))
"""Two steps of `crossed`: x carried, u by time, c held; x of each step."""
ENDS = (2, 0, 2, 2, 1, *(0, 0), *(-1, 1), *(-1, 0), *(0, 0, 0), *(-1, 0, 0))
"""The same until z > 0, all states together; the last x, and how many steps there were."""


@pytest.mark.parametrize(
    "numbers",
    [
        (),
        FINE[:-1],
        (*FINE, 0),
        (0, *FINE[1:]),
        ((1 << 24) + 1, *FINE[1:]),
        (-1, *FINE[1:]),
        (2, 2, *FINE[2:]),
        (2, 0, 33, *FINE[3:]),
        (2, 0, -1, *FINE[3:]),
        (*FINE[:3], -2, *FINE[4:]),
        (*FINE[:3], 3, *FINE[4:]),
        (*FINE[:4], 1, *FINE[5:]),
        (*FINE[:5], 3, *FINE[6:]),
        (*FINE[:5], -2, *FINE[6:]),
        (*FINE[:5], 2, *FINE[6:]),
        (*FINE[:6], -1, *FINE[7:]),
        (*FINE[:11], 3, 1, 0),
        (*FINE[:11], -1, 1, 0),
        (*FINE[:11], -1, 0, 0),
        (*FINE[:11], 0, -1, 0),
        (*FINE[:11], 0, 1, 1),
        (*FINE[:11], 0, 0, 2),
        (2, 1, *ENDS[2:]),
        (*ENDS[:3], 0, *ENDS[4:]),
        (*ENDS[:4], 2, *ENDS[5:]),
        (*ENDS[:6], 1, *ENDS[7:]),
        (*ENDS[:11], 0, 1, 0, *ENDS[14:]),
        (*ENDS[:11], 1, 0, 0, *ENDS[14:]),
        (*ENDS[:14], -1, 1, 0),
        (*ENDS[:14], -1, 0, 1),
        (*ENDS[:14], -2, 0, 0),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_numbers_that_lead_out_are_refused(numbers: Sequence[int], alone: bool) -> None:
    from condyle.runtime._tiles import Repeat

    kernel = body("crossed", "float64")[1]
    assert kernel.body is not None
    of = kernel.body.single if alone else kernel.body.tiles
    for fine in (FINE, ENDS):
        Repeat(of, struct.pack(f"{len(fine)}q", *fine))
    with pytest.raises(ValueError, match="do not fit together"):
        Repeat(of, struct.pack(f"{len(numbers)}q", *numbers))


def test_a_body_is_a_plan_or_a_single() -> None:
    from condyle.runtime._tiles import Repeat

    kernel = body("crossed", "float64")[1]
    assert kernel.body is not None
    of = Repeat(kernel.body.tiles, struct.pack(f"{len(FINE)}q", *FINE))
    fake = type("condyle.runtime._tiles.Plan", (), {})()
    for wrong in (None, of, fake, kernel):
        with pytest.raises(TypeError, match="a Plan or a Single"):
            Repeat(wrong, b"")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no such way"):
        of.entry(8)
    together = Repeat(kernel.body.tiles, struct.pack(f"{len(ENDS)}q", *ENDS))
    assert together.entry(0)
    with pytest.raises(ValueError, match="no such way"):
        together.entry(1)
    with pytest.raises(ValueError, match="no such way"):
        Repeat(kernel.body.single, struct.pack(f"{len(FINE)}q", *FINE)).entry(1)  # type: ignore[arg-type]
