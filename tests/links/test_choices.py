"""Which scans there are, for how many links and states, and how kernels are laid out: numbers derived by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from benchmarks.parallel import parts
from condyle.backends.cpu import build as cpu_target
from condyle.backends.cuda.target import LINK_PARALLEL
from condyle.compile.kernels.composed import EitherKernel
from condyle.compile.options import bound_of
from condyle.compile.targets import TARGETS
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.ir.count import work
from condyle.ir.link_parallel import TABLE, EachJoint, Scan
from condyle.ir.program import Array
from condyle.links import chosen
from condyle.links import compiler as scanned
from condyle.links.algorithms.articulated import equivalent
from condyle.links.algorithms.links import exchange_map, levels
from condyle.links.cuda.part import constants, multiplied
from condyle.links.cuda.transport import Lanes, lanes_for
from condyle.links.routes import routes_of
from condyle.links.trace import best_lanes, segmented
from condyle.links.trace.functions import LaneLinks, offsets
from condyle.links.trace.traced_segments import Cut, Table, branches, cut
from condyle.model.tree import tree_of
from condyle.runtime.native import NumpyKernel
from condyle.scalar import number
from condyle.specification.ports import F_EXT
from tests.laws.robots import states
from tests.links.test_small_robots import robot_of

ID, FD, DID, NLE = (FUNCTIONS[name] for name in ("id", "fd", "did", "nle"))
needs_machine = pytest.mark.skipif(not cpu_target.supported(), reason="needs an x86-64 processor with AVX2 and FMA")


def test_the_longest_scan_of_a_gpu() -> None:
    """4096 links of a chain in segments, as many as a block has threads with a link a lane."""
    chain, fork, rotors = (tree_of(robot_of(name)) for name in ("chain", "fork", "rotors"))
    assert scanned.longest(chain, FD) == 4096 and scanned.longest(fork, FD) == 1024
    assert scanned.longest(chain, ID) == 1024, "its route in lanes has no segments"
    assert (scanned.longest(rotors, DID), scanned.longest(rotors, ID)) == (0, 1024)
    assert (scanned.route_of(ID), scanned.route_of(FD), scanned.route_of(NLE)) == ("sums", "elements", "")
    assert scanned.in_segments(chain, FD) and not scanned.in_segments(fork, FD) and not scanned.in_segments(chain, ID)
    assert scanned.guard("float64") == 2.0 * 2.0**-52 and scanned.guard("float32") == 2.0 * 2.0**-23


def test_of_several_processors_the_one_that_gained_least_counts(tmp_path: Path, monkeypatch) -> None:
    same = {"target": "cpu", "isa": "avx2", "dtype": "float64", "function": "fd"}
    rows = [
        {**same, "links": 20, "states": 8},
        {**same, "links": 30, "states": 9},
        {**same, "links": 10, "states": 2},
        {**same, "isa": "avx512", "links": 5, "states": 7},
        {**same, "dtype": "float32", "links": 6, "states": 1 << 39},
    ]
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(scanned, "TABLE", table)
    assert scanned.crossovers.__wrapped__() == {
        ("cpu", "avx2", "float64", FD): (30, 2),
        ("cpu", "avx512", "float64", FD): (5, 7),
        ("cpu", "avx2", "float32", FD): (6, 1 << 39),
    }


def compiler_of(
    name: str, links: str = "scan", routes: dict | None = None, axes: str = "local"
) -> scanned.LinkParallelCompiler:
    robot = robot_of(name)
    tree = tree_of(robot, bound_of(robot, (), force_frame=axes, contacts=()))
    facts = condyle.api.compiler_of(robot).facts
    found = chosen(robot, tree, facts, links, TARGETS["numpy"], routes or {})
    assert isinstance(found, scanned.LinkParallelCompiler)
    return found


def test_each_target_has_its_scans() -> None:
    numpy, cpu, c, cuda = (TARGETS[name] for name in ("numpy", "cpu", "c", "cuda"))
    chain, fork, rotors = (compiler_of(name) for name in ("chain", "fork", "rotors"))
    for one in (ID, FD, DID, FD.taking(F_EXT)):
        assert [compiler.scanned(one, numpy) for compiler in (chain, fork, rotors)] == [True] * 3
        assert [compiler.scanned(one, c) for compiler in (chain, fork, rotors)] == [False] * 3
    assert [chain.scanned(one, cpu) for one in (ID, FD, DID, NLE)] == [True, True, False, False]
    assert not fork.scanned(FD, cpu), "universal joints are in no segment"
    assert [fork.scanned(one, cuda) for one in (ID, FD, DID, NLE)] == [True, True, True, False]
    assert [rotors.scanned(one, cuda) for one in (ID, FD, DID)] == [True, True, False]
    assert [chain.scan(ID, target) for target in (cpu, numpy, cuda)] == ["lie", "sums", "sums"]
    named = compiler_of("chain", routes={ID: "lie", FD: "aba"})
    assert named.scan(ID, numpy) == "lie" and not named.scanned(ID, cuda) and named.scanned(ID, cpu)
    assert not named.scanned(FD, numpy), "a serial route was named"
    assert chain.forms_elements(FD, numpy) and not chain.forms_elements(ID, numpy)
    assert not chain.forms_elements(FD, c)


@pytest.mark.parametrize(("name", "links", "there"), [("chain", 3, True), ("chain", 4, False), ("limbs", 3, True)])
def test_auto_scans_up_to_what_was_measured(monkeypatch, name: str, links: int, there: bool) -> None:
    numpy, cuda, cpu = (TARGETS[target] for target in ("numpy", "cuda", "cpu"))
    keys = [("numpy", "", "float64", FD), ("cpu", cpu.instruction_set, "float64", FD)]
    monkeypatch.setattr(scanned, "crossovers", lambda: dict.fromkeys(keys, scanned.Crossover(links, 2)))
    compiler = compiler_of(name, "auto")
    for one in (FD, FD.taking(F_EXT)):
        assert [compiler.faster(one, numpy, "float64", n) for n in (1, 2, 3)] == [there, there, False]
    assert not compiler.faster(FD, numpy, "float32", 1) and not compiler.faster(ID, numpy, "float64", 1)
    assert compiler.faster(FD, cpu, "float64", 2) == (there and name == "chain"), "only chains were measured there"
    assert not compiler.faster(FD, cuda, "float64", 1), "its code is straight"
    assert not compiler.scanned(NLE, numpy) and not compiler.faster(NLE, numpy, "float64", 1)


def test_numpy_has_both_ways_only_where_it_may_choose() -> None:
    built = [compiler_of("chain", links).build(FD, TARGETS["numpy"], "float64") for links in ("scan", "auto")]
    assert [type(kernel) for kernel in built] == [NumpyKernel, EitherKernel]


@needs_machine
@pytest.mark.parametrize("fails", [False, True])
def test_auto_scans_one_state_of_a_short_chain_on_the_processor(monkeypatch, fails: bool) -> None:
    """Where the segments cannot be built, the state is computed as many are."""
    isa = TARGETS["cpu"].instruction_set
    monkeypatch.setattr(scanned, "crossovers", lambda: {("cpu", isa, "float64", ID): scanned.Crossover(3, 1)})
    if fails:

        def refuse(*_: object) -> None:
            raise BuildError("no room")

        monkeypatch.setattr(scanned.LinkParallelCompiler, "_chain", refuse)
    robot = robot_of("chain")
    some = states(robot, 3)
    auto, scan, serial = (robot.compile(links=links) for links in ("auto", "scan" if not fails else "serial", "serial"))
    one = [x[0] for x in (some.q, some.v, some.a)]
    assert np.array_equal(auto.inverse_dynamics(*one), scan.inverse_dynamics(*one))
    many = (some.q, some.v, some.a)
    assert np.array_equal(auto.inverse_dynamics(*many), serial.inverse_dynamics(*many))
    assert "segments" in auto.explain(1) and "segments" not in auto.explain(2)
    assert "segments" not in robot_of("limbs").compile(links="auto").explain(1)
    assert "segments" in robot_of("limbs").compile(links="scan").explain(1)


def test_a_gpu_adds_nothing_for_armature_of_a_base() -> None:
    """Such robots have no scan of what would need it."""
    launches = scanned.Launches(tree_of(robot_of("rotors")), [Array("q", (9,))], "float64")
    with pytest.raises(AssertionError, match="run serially"):
        launches.own_added(Array("M", (8, 8)), lambda: None)
    assert not compiler_of("rotors").scanned(DID, TARGETS["cuda"])


def test_a_gpu_has_one_form_for_every_batch() -> None:
    robot = robot_of("fork")
    compiler = compiler_of("fork")
    for function, by_links in ((FD, True), (DID, True), (NLE, False)):
        kernels = compiler.gpu(function, "float64", 132)
        assert isinstance(kernels, scanned.LinkParallelFunction) == by_links
        if by_links:
            assert (kernels.form(1), kernels.form(10**6), kernels.line(1)) == (LINK_PARALLEL, LINK_PARALLEL, "")
    dyn = robot.compile("cuda", links="scan")
    lines = {line.split()[0]: line.split()[1:] for line in dyn.explain(5).splitlines()[1:] if line.strip()}
    assert lines["fd"] == ["elements", *["by", "scans", "over", "the", "links"]]
    assert "scans" not in lines["nle"]
    chain = robot_of("chain").compile("cuda", links="scan").explain(5)
    assert "its links in segments, one in each lane" in chain and "by scans over the links" in chain


def test_the_number_of_lanes() -> None:
    assert [lanes_for(n) for n in (1, 2, 3, 4, 5, 16, 17, 31, 32)] == [1, 2, 4, 4, 8, 16, 32, 32, 32]
    assert [lanes_for(n) for n in (33, 64, 65, 1000, 1024)] == [64, 64, 96, 1024, 1024]
    for count, facts in (
        (1, (True, 32, 1, 1)),
        (8, (True, 32, 1, 8)),
        (32, (True, 32, 1, 32)),
        (64, (False, 64, 2, 32)),
        (1024, (False, 1024, 32, 32)),
    ):
        lanes = Lanes(count, 32)
        assert (lanes.in_warp, lanes.slots, lanes.warps, lanes.width) == facts and lanes.item == 4
    for wrong in (3, 33, 48, 1056):
        with pytest.raises(AssertionError):
            Lanes(wrong, 64)
    assert Lanes(4, 64).item == 8


@pytest.mark.parametrize("n", [1, 3, 40, 300])
def test_the_best_lanes_have_the_fewest_operations_in_sequence(monkeypatch, n: int) -> None:
    """A lane has ceil(n / lanes) links, and a scan over them log2(lanes) steps."""
    tree, route = tree_of(condyle.chain(3, rng=1)), routes_of(FD)["elements"]
    ops = segmented(tree, FD, route, 1, 0.0).ops
    inside = sum(work(op.stage) for op in ops if isinstance(op, EachJoint))
    across = sum(work(op.stage) for op in ops if isinstance(op, Scan))
    long = SimpleNamespace(links=[None] * n)
    counts = {1 << k: -(-n // (1 << k)) * inside + k * across for k in range(8)}
    monkeypatch.setattr("condyle.links.trace.segmented", lambda *_: SimpleNamespace(ops=ops))
    assert best_lanes(long, FD, route) == min(counts, key=counts.__getitem__)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "function", "facts"),
    [
        ("chain", "id", [(8, 0, 1)]),  # four lanes: eight states a warp
        ("chain", "did", [(8, 0, 1), (1, 32, 3)]),
        ("chain", "m", [(8, 0, 1), (1, 32, 3)]),
        ("chain", "minv", [(8, 0, 1), (8, 0, 1)]),
        ("fork", "minv", [(4, 0, 1), (4, 0, 2)]),  # seven columns in tasks of four
        ("fork", "id", [(4, 0, 1)]),
    ],
)
def test_a_launch_has_states_threads_and_tasks(name: str, function: str, facts: list[tuple[int, int, int]]) -> None:
    made = parts(tree_of(robot_of(name)), FUNCTIONS[function], "float64")
    texts = [launch.texts[0] for launch in made.launches]
    assert [(text.states, text.block, text.tasks) for text in texts] == facts
    for text in texts:
        assert f".visible .entry {text.name}(" in text.ptx
        assert text.spilled == 0 and text.order == ("entries" if text.block else "links")
        assert text.block == 0 or text.pool == 0
    if function == "id":
        assert texts[0].pool == 32 * 8, "a row for angles: shuffles need no memory"


def test_products_of_large_matrices_have_several_blocks_a_row() -> None:
    square = [Array(name, (1500, 1500)) for name in ("a", "b", "c")]
    part = multiplied(square[0], square[1:2], square[2:], 32)
    (text,) = part.texts
    assert (text.block, text.tasks, text.states) == (128, 1500 * 12, 1)
    small = [Array(name, (5, 5)) for name in ("a", "b", "c")]
    (text,) = multiplied(small[0], small[1:2], small[2:], 64).texts
    assert (text.block, text.tasks) == (32, 5)


def test_constants_lie_lane_by_lane() -> None:
    """Entry e of joint t of all lanes side by side, then rows of integers."""
    code = replace(
        segmented(tree_of(robot_of("chain")), FD, routes_of(FD)["elements"], 2, 0.0),
        table=tuple((10.0 * row, 10.0 * row + 1.0) for row in range(4)),
        lanes=2,
        length=2,
        offsets={"q": (3, -1)},
        kinds=(0, 1),
        partners={"parents": ((-1, 0), (5, 6))},
    )
    data, where = constants(code, 64)
    assert np.frombuffer(data[:64], "<f8").tolist() == [0.0, 20.0, 1.0, 21.0, 10.0, 30.0, 11.0, 31.0]
    assert where == {"place q": 64, "parents": 72, "kinds": 88}
    assert np.frombuffer(data[64:], "<i4").tolist() == [3, -1, -1, 0, 5, 6, 0, 1]
    assert len(constants(code, 32)[0]) == 32 + 32
    bare = replace(code, table=((),) * 4, offsets={}, kinds=(), partners={})
    assert constants(bare, 64) == (bytes(8), {})


# Trees.


@pytest.mark.smoke
def test_partners_of_a_small_tree() -> None:
    """0 carries 1 and 4; 1 carries 2; 2 carries 3; 4 carries nothing; 5 stands beside. Heavy: 0 1 2 3."""
    parents = (-1, 0, 1, 2, 0, -1)
    found = exchange_map(parents, 8)
    none = (-1, -1)
    assert found["parents"] == ((-1, 0, 1, 2, 0, -1, *none),)
    assert found["ancestors"] == ((-1, 0, 1, 2, 0, -1, *none), (-1, -1, 0, 1, -1, -1, *none))
    assert found["children"] == ((1, 2, 3, -1, -1, -1, *none), (4, *(-1,) * 5, *none))
    assert levels(parents) == [[[0, 1, 2, 3], [5]], [[4]]]
    branch = (-2 - 4, *(-1,) * 5, *none)
    assert found["behind"] == (branch, (1, 2, 3, -1, -1, -1, *none), (2, 3, -1, -1, -1, -1, *none))


def test_the_first_of_two_equal_children_is_the_heavy_one() -> None:
    """Two branches of eight links, of which the second then has one more; nine levels by depth are as many steps."""
    parents = (-1, 0, 0, *range(1, 15))
    assert levels(parents) == [[[0, *range(1, 17, 2)]], [[*range(2, 17, 2)]]]
    assert levels((*parents, 16)) == [[[0, *range(2, 17, 2), 17]], [[*range(1, 17, 2)]]]
    star = (-1, *(0,) * 5)
    assert levels(star) == [[[0]], [[k] for k in range(1, 6)]], "by depth"


def test_branches_are_cut_into_equal_segments() -> None:
    """A trunk of 2 links, a limb of 5 and one of 1."""
    tree = SimpleNamespace(links=[SimpleNamespace(parent=p) for p in (-1, 0, 1, 2, 3, 4, 5, 1)])
    assert branches(tree) == [(0, 2), (2, 5), (7, 1)]  # type: ignore[arg-type]
    for lanes, expected in (
        (3, Cut(((0, 2), (2, 5), (7, 1)), (-1, 0, 0))),
        (4, Cut(((0, 2), (2, 3), (5, 2), (7, 1)), (-1, 0, 1, 0))),
        (5, Cut(((0, 2), (2, 2), (4, 2), (6, 1), (7, 1)), (-1, 0, 1, 2, 0))),
        (8, Cut(tuple((k, 1) for k in range(8)), (-1, 0, 1, 2, 3, 4, 5, 1))),
    ):
        assert cut(tree, lanes) == expected  # type: ignore[arg-type]


def test_a_table_has_only_the_columns_that_differ() -> None:
    table = Table([(1.0, 2.0, 3.0, 4.0), (1.0, 5.0, 3.0, 6.0)])
    assert table.fixed == [1.0, None, 3.0, None] and table.width == 2
    assert table.rows == ((2.0, 4.0), (5.0, 6.0))
    assert table.row(lambda var, k: (var, k))[1::2] == [(TABLE, 0), (TABLE, 1)]


def test_numbers_of_links_stand_by_degree_of_freedom_or_link_after_link() -> None:
    tree = tree_of(robot_of("fork"))
    sizes = [link.kind.nv for link in tree.links]
    assert sizes == [1, 1, 1, 1, 3]
    assert offsets(tree, sizes) == [link.v[0].entry for link in tree.links] == [0, 1, 2, 3, 4]
    assert offsets(tree, [2 * size for size in sizes]) == [0, 2, 4, 6, 8]
    assert offsets(tree, [5, 5, 5, 5, 5]) == [0, 5, 10, 15, 20]
    assert LaneLinks(tree, 8).lanes == 8


@pytest.mark.parametrize("guard", [0.0, 0.5])
def test_a_compliance_is_six_springs(guard: float) -> None:
    """C = L D L^T with the diagonal of C raised by the guard; the armatures are 1 / D."""
    lower = np.tril(np.random.default_rng(0).uniform(-0.5, 0.5, (6, 6)), -1) + np.eye(6)
    C = lower @ np.diag((1.0, 2.0, 3.0, 4.0, 5.0, 6.0)) @ lower.T
    upper = tuple(number(C[i, j]) for i in range(6) for j in range(i, 6))
    dofs = equivalent(upper, guard)
    L = np.array([[*dof.linear, *dof.angular] for dof in dofs], float).T
    D = np.array([1.0 / float(dof.armature) for dof in dofs])
    np.testing.assert_allclose(L @ np.diag(D) @ L.T, C + guard * np.diag(np.diag(C)), rtol=1e-12, atol=1e-12)
    zero = equivalent((number(0.0),) * 21, guard)
    assert [float(dof.armature) for dof in zero] == pytest.approx([1e30] * 6)


def test_refusals_name_what_to_do() -> None:
    with pytest.raises(UnsupportedError, match="links='scan': target 'c' has no scans; 'cpu', 'cuda' and 'numpy' have"):
        robot_of("chain").compile("c", links="scan")


def test_forces_in_the_axes_of_the_world_are_not_scanned() -> None:
    robot = robot_of("fork")
    some = states(robot, 2)
    axes = "local_world_aligned"
    scan, serial = (robot.compile("numpy", links=links, force_frame=axes) for links in ("scan", "serial"))
    assert "scanned" in scan.kernel(ID).description and "scanned" not in scan.kernel(ID.taking(F_EXT)).description
    given = (some.q, some.v, some.a, some.f_ext)
    np.testing.assert_array_equal(scan.inverse_dynamics(*given), serial.inverse_dynamics(*given))
    compiler = compiler_of("fork", axes=axes)
    for function, by_links in ((FD, True), (FD.taking(F_EXT), False)):
        assert isinstance(compiler.gpu(function, "float64", 132), scanned.LinkParallelFunction) == by_links
