"""Chunks of a chain in the lanes of machine code: the reference's answers, for every length and kind of joint."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from benchmarks import chains
from benchmarks.parallel import segmented
from condyle.backends.common.facts import BITS
from condyle.backends.cpu.build import build_chain, supported
from condyle.backends.cpu.chain import Made, assemble_chain
from condyle.backends.cpu.target import ISAS, Isa
from condyle.functions import FUNCTIONS
from condyle.links.algorithms.arrays import GUARD
from condyle.links.trace import has_branches, is_chain
from condyle.links.trace.traced_segments import branches, cut
from condyle.model.tree import tree_of
from condyle.runtime import machine
from condyle.trace import reference
from tests.forces import function_with
from tests.laws.robots import changed, relative

BOUNDS = {"float64": 1e-11, "float32": 1e-4}  # rounding of three dozen links, times a passive chain's condition

needs_machine = pytest.mark.skipif(not supported(), reason="machine code needs an x86-64 processor with AVX2 and FMA")


def robot_of(kind: str, n: int) -> condyle.Robot:
    if kind == "floating":
        return floating(n)
    if kind == "mixed":
        return changed(chains.chain(n, 5, prismatic=0.4), armature=True, gravity=(1.0, -2.0, 3.0))
    if kind == "revolute":
        return condyle.chain(n, rng=n)
    builder = condyle.Builder()
    for i in range(n):
        builder.body(f"b{i}", mass=1.0, com=(0.1, 0.05, 0.0), inertia=np.diag((0.02, 0.03, 0.04)))
        parent = "world" if i == 0 else f"b{i - 1}"
        pitch = 0.1 * (i + 1) if kind == "helical" else 0.0
        builder.joint(
            f"j{i}", parent=parent, child=f"b{i}", type=kind, axis=np.eye(3)[i % 3], xyz=(0.3, 0, 0), pitch=pitch
        )
    return builder.build()


def floating(n: int) -> condyle.Robot:
    """Revolute and prismatic joints behind a free joint that is placed and turned."""
    rng = np.random.default_rng(n)
    builder = condyle.Builder(gravity=(1.0, 2.0, -3.0))
    builder.body("root", mass=2.0, com=(0.1, 0.2, 0.05), inertia=np.diag((0.1, 0.2, 0.15)))
    builder.joint("float", parent="world", child="root", type="free", xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1))
    for i in range(n):
        builder.body(f"b{i}", mass=1.0, com=rng.uniform(-0.1, 0.1, 3), inertia=np.diag((0.02, 0.03, 0.04)))
        builder.joint(
            f"j{i}",
            parent="root" if i == 0 else f"b{i - 1}",
            child=f"b{i}",
            type=("revolute", "prismatic")[i % 3 == 2],
            axis=np.eye(3)[i % 3],
            xyz=(0.3, 0.1, 0.0),
            rpy=rng.uniform(-1.0, 1.0, 3),
        )
    return builder.build()


def passive(robot: condyle.Robot, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    state = robot.random_state(n, rng)
    return {"q": state.q, "v": state.v, "tau": 0.1 * rng.standard_normal((n, robot.nv))}


QUICK = {("avx2", "float64"), ("avx512", "float32")}
WAYS = [
    pytest.param(isa, dtype, id=f"{isa.name}-{dtype}", marks=() if (isa.name, dtype) in QUICK else pytest.mark.slow)
    for isa in supported()
    for dtype in BITS
]
"""Every set of instructions and every number type; both at once in the slow tests."""


@needs_machine
@pytest.mark.parametrize(("isa", "dtype"), WAYS)
@pytest.mark.parametrize(
    ("kind", "n"),
    [
        *(("revolute", n) for n in (1, 7, 33)),
        *(("mixed", 20), ("prismatic", 6), ("helical", 9), ("continuous", 12)),
        *(("floating", n) for n in (1, 19)),
    ],
)
def test_chunks_agree_with_the_reference(kind: str, n: int, isa: Isa, dtype: str) -> None:
    """Both functions; with outer forces for kinds that mix joints or float."""
    robot = robot_of(kind, n)
    tree, inputs = tree_of(robot), passive(robot, 3)
    if kind in ("mixed", "floating"):
        inputs["f_ext"] = np.random.default_rng(1).standard_normal((3, 6 * tree.n_bodies))
    for function, serial in (("fd", "aba"), ("id", "rnea")):
        if function == "id":
            inputs = {"a" if name == "tau" else name: value for name, value in inputs.items()}
        guard = GUARD * float(np.finfo(dtype).eps)
        forced = function_with(function, "f_ext" in inputs)
        kernel = build_chain(segmented(tree, forced, isa.lanes(BITS[dtype]), guard), dtype, isa)
        got = np.zeros((3, robot.nv), dtype)
        kernel(3, [x.astype(dtype) for x in inputs.values()], [got], 1)
        (want,) = reference.evaluate(tree, FUNCTIONS[function], serial, inputs)
        assert relative(got, want) < BOUNDS[dtype]


TREES = {
    "limbs": [-1, 0, 1, 2, 3, -1, 5, 6, 7, -1, 9],
    "trunk and limbs": [-1, 0, 1, 2, 3, 4, 5, 6, 6, 8, 9, 10, 6, 12],
    "branches of branches": [-1, 0, 1, 1, 3, 4, 4, 6, 1],
    "twins": [-1, 0, 0],
}


@needs_machine
@pytest.mark.parametrize(("isa", "dtype"), WAYS)
@pytest.mark.parametrize("name", TREES)
def test_limbs_agree_with_the_reference(name: str, isa: Isa, dtype: str) -> None:
    """Both functions, with outer forces and without."""
    robot = changed(chains.tree(TREES[name], 3, prismatic=0.3), armature=True, gravity=(1.0, -2.0, 3.0))
    tree, inputs, chunks = tree_of(robot), passive(robot, 3), isa.lanes(BITS[dtype])
    if not has_branches(tree, chunks):
        assert len(branches(tree)) > chunks == 4
        return
    outer = {"f_ext": np.random.default_rng(1).standard_normal((3, 6 * tree.n_bodies))}
    for function, serial in (("fd", "aba"), ("id", "rnea")):
        for given in (inputs, inputs | outer):
            known = {"a" if function == "id" and key == "tau" else key: value for key, value in given.items()}
            guard = GUARD * float(np.finfo(dtype).eps)
            forced = function_with(function, "f_ext" in known)
            kernel = build_chain(segmented(tree, forced, chunks, guard), dtype, isa)
            got = np.zeros((3, robot.nv), dtype)
            kernel(3, [x.astype(dtype) for x in known.values()], [got], 1)
            (want,) = reference.evaluate(tree, FUNCTIONS[function], serial, known)
            assert relative(got, want) < BOUNDS[dtype]


@pytest.mark.smoke
def test_limbs_are_cut_at_branches_and_evenly() -> None:
    tree = tree_of(chains.tree(TREES["trunk and limbs"], 1))
    assert branches(tree) == [(0, 7), (7, 1), (8, 4), (12, 2)]
    assert cut(tree, 4).spans == ((0, 7), (7, 1), (8, 4), (12, 2))
    found = cut(tree, 8)
    assert found.spans == ((0, 2), (2, 2), (4, 2), (6, 1), (7, 1), (8, 2), (10, 2), (12, 2))
    assert found.parents == (-1, 0, 1, 2, 3, 3, 5, 3)


@pytest.mark.smoke
def test_what_is_a_chain() -> None:
    assert is_chain(tree_of(condyle.chain(3)))
    assert is_chain(tree_of(robot_of("mixed", 5)))
    assert not is_chain(tree_of(condyle.load("hyq")))
    assert is_chain(tree_of(condyle.load("iiwa14", floating_base=True)))
    assert not is_chain(tree_of(condyle.random_tree(4, types=("spherical",))))
    assert not is_chain(tree_of(condyle.Builder().body("base", mass=1.0).build()))


def test_the_same_chain_gives_the_same_bytes() -> None:
    tree = tree_of(condyle.chain(9, rng=1))
    one, two = (assemble_chain(segmented(tree, FUNCTIONS["fd"], 16, 1e-6), ISAS["avx512"], 32) for _ in range(2))
    assert one == two


def test_memory_and_code_do_not_grow_faster_than_the_chain() -> None:
    trees = [tree_of(condyle.chain(n, rng=1)) for n in (64, 512)]
    small, large = (assemble_chain(segmented(tree, FUNCTIONS["fd"], 16, 1e-6), ISAS["avx512"], 32) for tree in trees)
    assert large.work < 8 * small.work
    assert len(large.table) == 8 * len(small.table)
    assert len(large.text) <= 1.1 * len(small.text)  # displacements grow, the code does not


@needs_machine
def test_one_spoiled_state_spoils_no_other() -> None:
    robot = condyle.chain(20, rng=1)
    dyn = robot.compile(links="scan", threads=1)
    inputs = [x.copy() for x in passive(robot, 3).values()]
    want = dyn.forward_dynamics(*inputs)
    inputs[1][1, 4] = np.inf
    got = dyn.forward_dynamics(*inputs)
    assert not np.isfinite(got[1]).all()
    assert np.array_equal(got[[0, 2]], want[[0, 2]])
    assert np.float32(1e-40) * np.float32(0.5) > 0  # what is flushed to zero inside is not afterwards
    inputs[0][0, 2] = 1e9  # a large angle takes the exact way to its sine
    assert np.isfinite(dyn.forward_dynamics(*inputs)[0]).all()


@needs_machine
def test_words_that_lead_out_of_the_data_are_refused() -> None:
    isa = supported()[0]
    refuses(isa, assemble_chain(segmented(tree_of(floating(5)), function_with("fd"), isa.lanes(64), 1e-15), isa, 64))
    tree = tree_of(chains.tree(TREES["limbs"], 3))
    refuses(isa, assemble_chain(segmented(tree, FUNCTIONS["id"], isa.lanes(64), 1e-15), isa, 64))


def refuses(isa: Isa, made: Made) -> None:
    parts = (made.text, made.constants, made.table, made.starts)
    assert machine.chain(isa.name, 64, *parts, made.words, made.work).lanes == isa.lanes(64)
    for k in range(len(made.words)):
        for value in (-1, 1 << 40):
            words = (*made.words[:k], value, *made.words[k + 1 :])
            try:
                machine.chain(isa.name, 64, *parts, words, made.work)
            except ValueError:
                continue
            assert value == -1  # a direction, a mask or a distance may be
    with pytest.raises(ValueError, match="no driver"):
        machine.chain("neon", 64, *parts, made.words, made.work)
    with pytest.raises(ValueError, match="fit together"):
        machine.chain(isa.name, 64, *parts, made.words, made.work - 1)
