"""Lanes that are links, or chunks of them: their PTX, run instruction by instruction, agrees with the reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import condyle
from benchmarks.parallel import segment_route, segmented
from condyle.backends.cuda.kernel import link
from condyle.backends.cuda.launches import Parts
from condyle.backends.cuda.target import ARCHITECTURES, TARGET
from condyle.functions import FUNCTIONS
from condyle.ir.program import Array
from condyle.links.algorithms import dynamics as elements
from condyle.links.algorithms import dynamics as sums
from condyle.links.cuda.part import linked
from condyle.links.cuda.transport import lanes_for
from condyle.links.trace import best_lanes, by_links
from condyle.model.tree import tree_of
from condyle.trace.reference import evaluate
from condyle.trace.straight import sizes
from tests.backends.cuda.memory import RaceError
from tests.backends.cuda.simulate import simulate
from tests.forces import function_with
from tests.laws.robots import relative, states
from tests.processor import slow
from tests.trace.parallel.test_segments import GUARD, passive, robot_of

# Of the largest acceleration: rounding along the chain, times the condition of a passive one.
BOUNDS = {64: 1e-11, 32: 1e-4}


BASES = [
    ("floating", 1, 1),
    ("floating", 2, 4),
    ("floating", 19, 8),
    slow("floating", 40, 64),
]


def forward(kind: str, n: int, bits: int, chunks: int = 0, f_ext: bool = False) -> Parts:
    tree, fd = tree_of(robot_of(kind, n)), function_with("fd", f_ext)
    lanes = chunks or best_lanes(tree, fd, segment_route(fd))
    code = segmented(tree, fd, lanes, GUARD * float(np.finfo(f"f{bits // 8}").eps))
    return linked(code, *ports_of(robot_of(kind, n), "fd", f_ext), bits)


def ports_of(robot: condyle.Robot, function: str, f_ext: bool) -> tuple[list[Array], list[Array]]:
    size, ports = sizes(tree_of(robot)), function_with(function, f_ext)
    inputs, outputs = ([Array(p.name, p.shape(size)) for p in some] for some in (ports.inputs, ports.outputs))
    return inputs, outputs


@pytest.mark.parametrize(
    ("kind", "n", "bits", "states"),
    [
        *(("revolute", n, 32, 3) for n in (1, 2, 31, 32, 33)),
        *(("revolute", n, 64, 1) for n in (2, 33, 64)),
        *(("mixed", 20, 64, 3), ("helical", 9, 64, 70), ("prismatic", 6, 32, 3)),
        ("continuous", 12, 64, 3),
        slow("mixed", 200, 32, 1),
    ],
)
def test_forward_dynamics(kind: str, n: int, bits: int, states: int) -> None:
    """Chains of every kind; several states a warp, one a warp, one a block."""
    inputs = passive(robot_of(kind, n), states)
    (got,) = simulate(forward(kind, n, bits), list(inputs.values()), block=64)
    (want,) = evaluate(tree_of(robot_of(kind, n)), FUNCTIONS["fd"], "aba", inputs)
    assert relative(got, want) < BOUNDS[bits]


@pytest.mark.parametrize(("kind", "n", "chunks"), [("mixed", 20, 8), *BASES])
@pytest.mark.parametrize("f_ext", [slow(False), True])
def test_outer_forces_and_floating_bases(kind: str, n: int, chunks: int, f_ext: bool) -> None:
    """One lane, several states a warp, a block of lanes of which some hold no joint."""
    robot = robot_of(kind, n)
    inputs = passive(robot, 3)
    if f_ext:
        inputs["f_ext"] = states(robot, 3).f_ext.reshape(3, -1)
    (want,) = evaluate(tree_of(robot), FUNCTIONS["fd"], "aba", inputs)
    for bits in BOUNDS:
        (got,) = simulate(forward(kind, n, bits, chunks, f_ext), list(inputs.values()))
        assert relative(got, want) < BOUNDS[bits]


@pytest.mark.parametrize("chunks", [slow(1), 4, 32, slow(64), slow(128)])
def test_any_number_of_lanes(chunks: int) -> None:
    """Chunks that the chain does not fill, and lanes without a link, change nothing."""
    inputs = passive(robot_of("mixed", 37), 2)
    (got,) = simulate(forward("mixed", 37, 64, chunks), list(inputs.values()))
    (want,) = evaluate(tree_of(robot_of("mixed", 37)), FUNCTIONS["fd"], "aba", inputs)
    assert relative(got, want) < BOUNDS[64]


@pytest.mark.slow
def test_a_long_chain() -> None:
    inputs = passive(robot_of("revolute", 1024), 1)
    (got,) = simulate(forward("revolute", 1024, 64), list(inputs.values()))
    (want,) = evaluate(tree_of(robot_of("revolute", 1024)), FUNCTIONS["fd"], "aba", inputs)
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
    code = segmented(tree_of(robot_of("mixed", 12)), FUNCTIONS["fd"], 4, 1e-6)
    other = dataclasses.replace(code, table=tuple(tuple(2.0 * x for x in row) for row in code.table))
    ports = [Array(name, (12,)) for name in ("q", "v", "tau")]
    first, second = (linked(one, ports, [Array("a", (12,))], 32).launches[0] for one in (code, other))
    assert first.texts == second.texts
    assert first.constants != second.constants


def inverse(robot: condyle.Robot, bits: int, f_ext: bool) -> Parts:
    tree = tree_of(robot)
    code = by_links(tree, lanes_for(len(tree.links)), f_ext, 0.0, sums.inverse_dynamics, "v", "a")
    return linked(code, *ports_of(robot, "id", f_ext), bits)


@pytest.mark.parametrize("bits", BOUNDS)
@pytest.mark.parametrize(
    "name",
    [
        *(f"chain {n}" for n in (1, 2, 31, 32, 33, 64, 200)),
        *("tree 7", "tree 33", "floating 12", "floating 100", "star 40", "atlas", "hyq", "zoo"),
        slow("chain 1024"),
    ],
)
def test_inverse_dynamics(name: str, bits: int) -> None:
    """Chains, trees that branch early or late, every joint type; with outer forces in float64."""
    robot = robot_for(name)
    n, forced = 1 if len(robot.joints) > 64 else 3, bits == 64
    some = states(robot, n)
    inputs = {"q": some.q, "v": some.v, "a": some.a}
    if forced:
        inputs["f_ext"] = some.f_ext.reshape(n, -1)
    (got,) = simulate(inverse(robot, bits, forced), list(inputs.values()))
    (want,) = evaluate(tree_of(robot), FUNCTIONS["id"], "rnea", inputs)
    assert relative(got, want) < (2e-5 if bits == 32 else 1e-13)


def robot_for(name: str) -> condyle.Robot:
    kind, _, number = name.partition(" ")
    if kind == "chain":
        return condyle.chain(int(number), rng=1)
    if kind == "star":
        builder = condyle.Builder().body("hub", mass=1.0, inertia=np.eye(3))
        builder.joint("spin", parent="world", child="hub", type="revolute")
        for k in range(int(number)):
            builder.body(f"b{k}", mass=1.0 + k, com=(0.1, 0.0, 0.2), inertia=np.diag((0.02, 0.03, 0.04)))
            builder.joint(f"j{k}", parent="hub", child=f"b{k}", type="revolute", axis=np.eye(3)[k % 3], xyz=(0, k, 1))
        return builder.build()
    if kind == "zoo":
        return condyle.random_tree(14, rng=5)
    if kind == "atlas":
        return condyle.load("atlas")
    if kind == "hyq":
        return condyle.load("hyq", floating_base=True)
    return condyle.random_tree(int(number), rng=int(number), floating_base=kind == "floating")


def tree_forward(robot: condyle.Robot, bits: int, f_ext: bool, lanes: int = 0) -> Parts:
    tree, guard = tree_of(robot), GUARD * float(np.finfo(f"f{bits // 8}").eps)
    count = lanes or lanes_for(len(tree.links))
    code = by_links(tree, count, f_ext, guard, elements.forward_dynamics, "v", "tau")
    return linked(code, *ports_of(robot, "fd", f_ext), bits)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        *(("chain 1", 32), ("chain 33", 32), ("zoo", 32), ("chain 1", 64), ("floating 12", 64)),
        *(slow(name, 32) for name in ("tree 33", "floating 12", "hyq")),
        *(slow(name, 64) for name in ("tree 33", "chain 33", "hyq", "zoo")),
    ],
)
def test_forward_dynamics_of_trees(name: str, bits: int) -> None:
    """Every joint type, universal ones in chains and behind branches; several states a warp, one a block."""
    robot = robot_for(name)
    inputs = passive(robot, 3) | {"f_ext": states(robot, 3).f_ext.reshape(3, -1)}
    given = list(inputs.values())[: 4 if bits == 64 else 3]
    (got,) = simulate(tree_forward(robot, bits, bits == 64), given)
    (want,) = evaluate(tree_of(robot), FUNCTIONS["fd"], "aba", dict(list(inputs.items())[: len(given)]))
    assert relative(got, want) < BOUNDS[bits]


def test_elements_meet_in_device_memory_where_shared_memory_is_too_small() -> None:
    robot = robot_for("hyq")
    inputs = passive(robot, 2)
    parts = tree_forward(robot, 64, False, 160)
    assert parts.scratch and parts.launches[0].texts[0].pool < TARGET.shared
    assert not tree_forward(robot, 64, False).scratch
    (got,) = simulate(parts, list(inputs.values()))
    (want,) = evaluate(tree_of(robot), FUNCTIONS["fd"], "aba", inputs)
    assert relative(got, want) < BOUNDS[64]
    lines = parts.launches[0].texts[0].ptx.split("\n")
    loads = next(k for k, line in enumerate(lines) if "ld.global.f64" in line)
    wait = max(k for k in range(loads) if "bar.sync" in lines[k])
    with pytest.raises(RaceError):
        simulate(edited(parts, lines[:wait] + lines[wait + 1 :]), list(inputs.values()))


def test_inverse_dynamics_of_a_state_depends_on_nothing_else() -> None:
    robot = condyle.load("hyq", floating_base=True)
    some = states(robot, 9)
    parts = inverse(robot, 64, False)
    inputs = [some.q, some.v, some.a]
    (all_,) = simulate(parts, inputs, block=64)
    (part,) = simulate(parts, [x[3:8] for x in inputs], block=32)
    np.testing.assert_array_equal(part, all_[3:8])
    inputs[0] = some.q.copy()
    inputs[0][4, 9] = np.inf
    (spoilt,) = simulate(parts, inputs)
    assert np.isnan(spoilt[4]).any()
    np.testing.assert_array_equal(np.delete(spoilt, 4, 0), np.delete(all_, 4, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"),
    [("tree", 13), slow("chain", 16), slow("star", 19)],
)
def test_every_wait_is_needed(kind: str, count: int) -> None:
    """Two threads meet in shared memory as soon as any one barrier of a block is left out."""
    if kind == "chain":
        parts, inputs = forward("floating", 40, 32, 64), list(passive(robot_of("floating", 40), 1).values())
    elif kind == "star":
        some = states(robot_for("star 40"), 1)
        parts, inputs = inverse(robot_for("star 40"), 32, False), [some.q, some.v, some.a]
    else:
        twigs = condyle.random_tree(40, 1, types=("revolute",))
        parts, inputs = tree_forward(twigs, 32, False), list(passive(twigs, 1).values())
    (part,) = parts.launches
    lines = part.texts[0].ptx.split("\n")
    waits = [k for k, line in enumerate(lines) if "bar.sync" in line]
    assert len(waits) == count
    for k in waits:
        with pytest.raises(RaceError):
            simulate(edited(parts, lines[:k] + lines[k + 1 :]), inputs)


def edited(parts: Parts, lines: list[str]) -> Parts:
    (part,) = parts.launches
    text = dataclasses.replace(part.texts[0], ptx="\n".join(lines))
    return dataclasses.replace(parts, launches=(dataclasses.replace(part, texts=(text,)),))


@pytest.mark.slow  # assembling takes seconds
@pytest.mark.parametrize("bits", BOUNDS)
def test_the_assembler_takes_all_of_it(bits: int) -> None:
    """Shuffles of both widths, tables of partners, every joint type, one lane and many."""
    pytest.importorskip("cuda.bindings.nvjitlink", reason="pip install 'condyle[cuda]'")
    made = [inverse(robot_for(name), bits, True) for name in ("floating 12", "floating 100", "chain 33")]
    made += [tree_forward(robot_for("hyq"), bits, True, lanes) for lanes in (32, 512)]
    for parts in (*made, forward("mixed", 9, bits, 1), forward("floating", 9, bits, 4, f_ext=True)):
        _, usage = link(parts.launches[0].texts[0].ptx, "sm_90")
        assert usage.registers <= 255


@pytest.mark.slow  # assembling takes seconds
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nothing_is_spilled(arch: str) -> None:
    """Or hardly anything, in float32; an element of float64 alone takes 180 registers, 1024 threads have 64 each."""
    pytest.importorskip("cuda.bindings.nvjitlink", reason="pip install 'condyle[cuda]'")
    chain = condyle.chain(32, rng=1)
    for parts, most in (
        (forward("revolute", 1024, 32), 64),
        (inverse(chain, 32, False), 64),
        (tree_forward(chain, 32, False), 160),
    ):
        _, usage = link(parts.launches[0].texts[0].ptx, arch)
        assert usage.spill_stores <= most
