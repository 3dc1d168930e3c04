"""Lanes that are links, or chunks of them: their PTX, run instruction by instruction, agrees with the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from condyle.algorithms.reference import evaluate
from condyle.backends.cuda.link import link
from condyle.backends.cuda.links.part import linked
from condyle.backends.cuda.parts import Parts
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.ir.program import Array
from condyle.model.tree import tree_of
from condyle.trace.chunked import best_chunks, chunked
from tests.backends.cuda.memory import RaceError
from tests.backends.cuda.simulate import simulate
from tests.laws.robots import relative
from tests.trace.test_chunked import GUARD, passive, robot_of

# Of the largest acceleration: rounding along the chain, times the condition of a passive one.
BOUNDS = {64: 1e-11, 32: 1e-4}


def forward(kind: str, n: int, bits: int, chunks: int = 0) -> Parts:
    tree = tree_of(robot_of(kind, n))
    code = chunked(tree, chunks or best_chunks(tree), GUARD * float(np.finfo(f"f{bits // 8}").eps))
    return linked(code, [Array(name, (n,)) for name in ("q", "v", "tau")], [Array("a", (n,))], bits)


@pytest.mark.parametrize(
    ("kind", "n", "bits", "states"),
    [
        *(("revolute", n, 32, 3) for n in (1, 2, 31, 32, 33)),
        *(("revolute", n, 64, 1) for n in (2, 33, 64)),
        *(("mixed", 20, 64, 3), ("mixed", 200, 32, 1), ("helical", 9, 64, 70), ("prismatic", 6, 32, 3)),
        ("continuous", 12, 64, 3),
    ],
)
def test_forward_dynamics(kind: str, n: int, bits: int, states: int) -> None:
    """Chains of every kind; several states a warp, one a warp, one a block."""
    inputs = passive(robot_of(kind, n), states)
    (got,) = simulate(forward(kind, n, bits), list(inputs.values()), block=64)
    (want,) = evaluate(tree_of(robot_of(kind, n)), "fd", "aba", inputs)
    assert relative(got, want) < BOUNDS[bits]


@pytest.mark.parametrize("chunks", [1, 4, 32, 64, 128])
def test_any_number_of_lanes(chunks: int) -> None:
    """Chunks that the chain does not fill, and lanes without a link, change nothing."""
    inputs = passive(robot_of("mixed", 37), 2)
    (got,) = simulate(forward("mixed", 37, 64, chunks), list(inputs.values()))
    (want,) = evaluate(tree_of(robot_of("mixed", 37)), "fd", "aba", inputs)
    assert relative(got, want) < BOUNDS[64]


def test_a_long_chain() -> None:
    inputs = passive(robot_of("revolute", 1024), 1)
    (got,) = simulate(forward("revolute", 1024, 64), list(inputs.values()))
    (want,) = evaluate(tree_of(robot_of("revolute", 1024)), "fd", "aba", inputs)
    assert relative(got, want) < 1e-10  # thirty times as many links


def test_a_state_depends_on_nothing_else() -> None:
    """The same bits at any place in the batch, in blocks of any size; a NaN stays in its state."""
    inputs = list(passive(robot_of("mixed", 20), 9).values())
    parts = forward("mixed", 20, 64, 8)
    (all_,) = simulate(parts, inputs, block=32)
    (some,) = simulate(parts, [x[3:8] for x in inputs], block=64)
    np.testing.assert_array_equal(some, all_[3:8])
    inputs[0] = inputs[0].copy()
    inputs[0][4, 7] = np.nan
    (spoilt,) = simulate(parts, inputs)
    assert np.isnan(spoilt[4]).any()
    np.testing.assert_array_equal(np.delete(spoilt, 4, 0), np.delete(all_, 4, 0))


def test_the_same_chain_gives_the_same_bytes() -> None:
    one, two = (forward("mixed", 40, 32).launches[0] for _ in range(2))
    assert one == two


def test_one_text_serves_all_chains_of_a_kind() -> None:
    """The robot's numbers are data."""
    code = chunked(tree_of(robot_of("mixed", 12)), 4, 1e-6)
    other = dataclasses.replace(code, table=tuple(tuple(2.0 * x for x in row) for row in code.table))
    ports = [Array(name, (12,)) for name in ("q", "v", "tau")]
    first, second = (linked(one, ports, [Array("a", (12,))], 32).launches[0] for one in (code, other))
    assert first.texts == second.texts
    assert first.constants != second.constants


def test_every_wait_is_needed() -> None:
    """Two threads meet in shared memory as soon as any one barrier of a block is left out."""
    inputs = list(passive(robot_of("revolute", 40), 1).values())
    parts = forward("revolute", 40, 32, 64)
    (part,) = parts.launches
    lines = part.texts[0].ptx.split("\n")
    waits = [k for k, line in enumerate(lines) if "bar.sync" in line]
    assert len(waits) == 12
    for k in waits:
        text = dataclasses.replace(part.texts[0], ptx="\n".join(lines[:k] + lines[k + 1 :]))
        less = dataclasses.replace(parts, launches=(dataclasses.replace(part, texts=(text,)),))
        with pytest.raises(RaceError):
            simulate(less, inputs)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nothing_is_spilled(arch: str) -> None:
    """In float32; an element of float64 alone takes 180 registers."""
    pytest.importorskip("cuda.bindings.nvjitlink", reason="pip install 'condyle[cuda]'")
    _, usage = link(forward("revolute", 1024, 32).launches[0].texts[0].ptx, arch)
    assert usage.spill_stores <= 64
