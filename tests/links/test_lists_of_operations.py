"""What functions become in lanes: the list of operations of small robots, with the sizes of what each one reads and
writes, and its number of arithmetic operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import wrap

import pytest

from benchmarks.parallel import segmented
from condyle import Robot
from condyle.ir.count import work
from condyle.ir.link_parallel import (
    EachJoint,
    Emit,
    LinkParallel,
    Neighbour,
    Once,
    Op,
    Scan,
    Sines,
    Splat,
    Spread,
    Start,
    TreeScanStep,
)
from condyle.ir.program import Program
from condyle.links.algorithms import dynamics
from condyle.links.trace import by_links
from condyle.model.tree import Tree, tree_of
from tests.forces import function_with
from tests.links.test_small_robots import robot_of
from tests.trace.parallel.test_segments import floating


def lane_a_link(run: Callable[..., object], lanes: int, forces: bool) -> Callable[[Tree], LinkParallel]:
    third = "a" if run is dynamics.inverse_dynamics else "tau"
    return lambda tree: by_links(tree, lanes, forces, 0.0, run, "v", third)


def in_segments(function: str, lanes: int, forces: bool) -> Callable[[Tree], LinkParallel]:
    return lambda tree: segmented(tree, function_with(function, forces), lanes, 0.0)


CODES: dict[str, tuple[Callable[[Tree], LinkParallel], Callable[[], Robot]]] = {
    "a link a lane, fd of a fork": (lane_a_link(dynamics.forward_dynamics, 8, False), lambda: robot_of("fork")),
    "a link a lane, id of a chain": (lane_a_link(dynamics.inverse_dynamics, 4, True), lambda: robot_of("chain")),
    "segments, fd of a floating chain": (in_segments("fd", 4, True), lambda: floating(3)),
    "segments, id of a floating chain": (in_segments("id", 2, True), lambda: floating(3)),
    "segments, fd of limbs": (in_segments("fd", 4, False), lambda: robot_of("limbs")),
}


KIND = "joints of kind "


def said(op: Op) -> str:
    match op:
        case EachJoint():
            where = f"{KIND}{op.kind}" if op.kind >= 0 else "joints"
            return f"{where}{' backward' if op.backward else ''}: {said_of_stage(op.stage)}"
        case Once():
            return f"once: {said_of_stage(op.stage)}"
        case Scan():
            way = "from the tip" if op.from_tip else "from the base"
            return f"scan {op.var} {way}{', halves' if op.halves else ''}: {work(op.stage)}"
        case TreeScanStep():
            way = f"tips, {op.handed} on" if op.from_tip else "bases"
            return f"{op.var} of {op.source} of {op.rows} {way}: {said_of_stage(op.stage)}"
        case Neighbour():
            return f"{op.into} = {op.var} from {op.first}, {op.by} further"
        case Start():
            return f"{op.var} = {len(op.values)} numbers, sum {sum(op.values):g}"
        case Splat() | Emit():
            return f"{type(op).__name__} {op.port} {op.var} {op.first}"
        case Spread():
            return f"spread {op.var}"
        case Sines():
            return f"sines {op.angle} {op.sine} {op.cosine}"


def said_of_stage(stage: Program) -> str:
    reads, writes = (" ".join(f"{a.name}[{a.size}]" for a in some) for some in (stage.inputs, stage.arrays))
    return f"{stage.name}({reads}) -> {writes}, {work(stage)}"


def said_of_code(code: LinkParallel) -> str:
    ports = " ".join(f"{name}:{column}" for name, column in (*code.inputs, *code.outputs))
    widths = " ".join(f"{name}[{width}]" for name, width in code.widths.items())
    identities = " ".join(f"{name}[{sum(values):g}]" for name, values in code.identities.items())
    places = [f"{name} {[*firsts]}" for name, firsts in code.offsets.items()]
    places += [f"{name}: {size}" for name, size in (*code.totals.items(), *code.base.items())]
    facts = (f"{code.name} of {code.joints} joints, {code.lanes} lanes of {code.length}", ports, widths, identities)
    wide = [line for fact in facts for line in wrap(fact, 110)]
    return "\n".join((*wide, *places, f"{[*code.spans]} {[*code.kinds]}", *merged(map(said, code.ops))))


def merged(lines: Iterable[str]) -> list[str]:
    """Neighbours that differ in the kind of their joints alone are one line."""
    found = list[str]()
    for line in lines:
        kind, _, rest = line.removeprefix(KIND).partition(": ")
        if line.startswith(KIND) and found and found[-1].startswith(KIND) and found[-1].endswith(f": {rest}"):
            found[-1] = found[-1].replace(": ", f" {kind}: ")
        else:
            found.append(line)
    return found


LISTS = {
    "a link a lane, fd of a fork": """
forward_dynamics of 5 joints, 8 lanes of 1
q:-1 v:-1 tau:-1 a:-1
table[24] io[3] turning1[12] parent2[3] formed3[12] formed4[90] hinge5[20] children6[27] second7[27] map8[42]
reached9[6] parent10[6]
turning1[3] formed4[6] map8[6]
q [0, 1, 2, 3, 4, -1, -1, -1]
v [0, 1, 2, 3, 4, -1, -1, -1]
tau [0, 1, 2, 3, 4, -1, -1, -1]
a [0, 1, 2, 3, 4, -1, -1, -1]
a: 7
[] [0, 1, 2, 3, 4, -1, -1, -1]
io = 3 numbers, sum 0
turning1 = 12 numbers, sum 3
parent2 = 3 numbers, sum 0
formed3 = 12 numbers, sum 0
formed4 = 90 numbers, sum 6
hinge5 = 20 numbers, sum 0
children6 = 27 numbers, sum 0
second7 = 27 numbers, sum 0
map8 = 42 numbers, sum 6
reached9 = 6 numbers, sum 0
parent10 = 6 numbers, sum 9.81
joints of kind 0 1 2: angle(q[1]) -> io[1], 0
sines 0 1 2
joints of kind 0 1 2: _turning(io[3] table[24] q[1] v[1]) -> turning1[12], 12
joints of kind 3: _turning(io[3] table[24] q[1] v[1]) -> turning1[12], 0
joints of kind 4: _turning(io[3] table[24] q[4] v[3]) -> turning1[12], 51
turning1 of turning1 of ancestors bases: turning1_scan(base[12] tip[12]) -> turning1[12], 36
parent2 of turning1 of parents bases: parent2(base[12]) -> parent2[3], 0
joints of kind 0 1 2: _formed(io[3] table[24] q[1] parent2[3] v[1] tau[1]) -> formed3[12] formed4[90], 445
joints of kind 3: _formed(io[3] table[24] q[1] parent2[3] v[1] tau[1]) -> formed3[12] formed4[90], 320
joints of kind 4: _formed(io[3] table[24] q[4] parent2[3] v[3] tau[3]) -> formed3[12] formed4[90], 859
joints of kind 0 1 2: _hinge(io[3] table[24] q[1] formed3[12] tau[1]) -> hinge5[20], 12
joints of kind 3: _hinge(io[3] table[24] q[1] formed3[12] tau[1]) -> hinge5[20], 0
joints of kind 4: _hinge(io[3] table[24] q[4] formed3[12] tau[3]) -> hinge5[20], 0
formed4 of hinge5 of met4 bases: _joined(tip[90] base[20]) -> formed4[90], 534
formed4 of hinge5 of met5 bases: _empty(tip[90] base[20]) -> formed4[90], 0
formed4 of formed4 of behind tips, 63 on: formed4_scan(base[90] tip[90]) -> formed4[90], 1568
children6 of formed4 of children tips, 0 on: children6(base[27] tip[90]) -> children6[27], 27
joints of kind 0 1 2: _second(io[3] table[24] q[1] formed3[12] children6[27] tau[1]) -> second7[27], 357
joints of kind 3: _second(io[3] table[24] q[1] formed3[12] children6[27] tau[1]) -> second7[27], 0
joints of kind 4: _second(io[3] table[24] q[4] formed3[12] children6[27] tau[3]) -> second7[27], 0
children6 of second7 of met6 bases: _handed(tip[27] base[27]) -> children6[27], 0
joints of kind 0 1 2: _map(io[3] table[24] q[1] formed3[12] children6[27] tau[1]) -> map8[42], 85
joints of kind 3: _map(io[3] table[24] q[1] formed3[12] children6[27] tau[1]) -> map8[42], 59
joints of kind 4: _map(io[3] table[24] q[4] formed3[12] children6[27] tau[3]) -> map8[42], 309
map8 of map8 of ancestors bases: map8_scan(base[42] tip[42]) -> map8[42], 252
joints: _reached(map8[42]) -> reached9[6], 6
parent10 of reached9 of parents bases: parent10(base[6]) -> parent10[6], 0
joints of kind 0 1 2: _accelerate(io[3] table[24] q[1] parent10[6] formed3[12] children6[27] tau[1]) -> a[1], 49
joints of kind 3: _accelerate(io[3] table[24] q[1] parent10[6] formed3[12] children6[27] tau[1]) -> a[1], 41
joints of kind 4: _accelerate(io[3] table[24] q[4] parent10[6] formed3[12] children6[27] tau[3]) -> a[3], 142
""",
    "a link a lane, id of a chain": """
inverse_dynamics of 3 joints, 4 lanes of 1
q:-1 v:-1 a:-1 f_ext:-1 tau:-1
table[27] io[3] axes_of1[9] parent2[9] rates3[15] world4[15] copy5[3] parent6[3] angular7[3] parent8[3]
linear9[3] force10[6] copy11[3] cross12[3] children13[3] plus14[3]
axes_of1[3] copy5[0] angular7[0] linear9[0] copy11[0] cross12[0] plus14[0]
q [0, 1, 2, -1]
v [0, 1, 2, -1]
a [0, 1, 2, -1]
f_ext [0, 6, 12, -1]
tau [0, 1, 2, -1]
tau: 3
[] [0, 0, 0, -1]
io = 3 numbers, sum 0
axes_of1 = 9 numbers, sum 3
parent2 = 9 numbers, sum 3
rates3 = 15 numbers, sum 0
world4 = 15 numbers, sum 0
copy5 = 3 numbers, sum 0
parent6 = 3 numbers, sum 0
angular7 = 3 numbers, sum 0
parent8 = 3 numbers, sum 0
linear9 = 3 numbers, sum 0
force10 = 6 numbers, sum 0
copy11 = 3 numbers, sum 0
cross12 = 3 numbers, sum 0
children13 = 3 numbers, sum 0
plus14 = 3 numbers, sum 0
joints of kind 0: angle(q[1]) -> io[1], 0
sines 0 1 2
joints of kind 0: axes_of(io[3] table[27] q[1]) -> axes_of1[9], 12
scan axes_of1 from the base: 27
parent2 = axes_of1 from 0, -1 further
joints of kind 0: _rates(io[3] table[27] q[1] v[1] a[1]) -> rates3[15], 0
joints: _world(axes_of1[9] parent2[9] rates3[15]) -> world4[15], 45
joints: _copy(world4[9]) -> copy5[3], 0
scan copy5 from the base: 3
parent6 = copy5 from 0, -1 further
joints: _angular(parent6[3] world4[15]) -> angular7[3], 6
scan angular7 from the base: 3
parent8 = angular7 from 0, -1 further
joints: _linear(parent6[3] parent8[3] world4[15]) -> linear9[3], 33
scan linear9 from the base: 3
joints: _force(table[27] axes_of1[9] copy5[3] angular7[3] linear9[3] f_ext[6]) -> force10[6], 103
joints: _copy(force10[3]) -> copy11[3], 0
scan copy11 from the tip: 3
joints: cross(world4[3] copy11[3]) -> cross12[3], 6
children13 = cross12 from 0, 1 further
joints: plus(force10[6] children13[3]) -> plus14[3], 3
scan plus14 from the tip: 3
joints of kind 0: _torques(io[3] table[27] q[1] axes_of1[9] copy11[3] plus14[3] a[1]) -> tau[1], 3
""",
    "segments, fd of a floating chain": """
fd_f_ext of 3 joints, 4 lanes of 1
q:0 v:1 tau:2 f_ext:-1 a:3
table[34] io[7] f_ext[6] answer[6] turning[12] before[12] w[3] segment[90] own[63] load[27] map[42]
reached[42] a[6] row[20] base_q[7] base_v[6] base_drive[6] base_ext[6]
turning[3] segment[6] load[0] map[6]
q: 7
v: 6
tau: 6
f_ext: 6
a: 6
[(0, 1), (1, 1), (2, 1), (3, 0)] []
Splat 0 base_q 0
Splat 1 base_v 0
Splat 2 base_drive 0
Splat 3 base_ext 0
joints: angles(io[7] table[34]) -> io[5], 1
sines 4 5 6
turning = 12 numbers, sum 3
joints: turned(table[34] io[7] turning[12]) -> turning[12], 53
scan turning from the base: 36
before = turning from 0, -1 further
once: _spinning(before[12] base_q[7] base_v[6]) -> w[3], 9
joints: bias(table[34] io[7] w[3] f_ext[6]) -> w[3] row[12], 111
segment = 90 numbers, sum 6
joints backward: extended(table[34] io[7] row[12] segment[90]) -> segment[90], 685
own = segment from 0, 0 further
scan segment from the tip, halves: 1568
load = segment from 63, 2 further
once: loaded(segment[90] load[27]) -> load[27], 812
once: _base(base_q[7] base_v[6] load[27] base_ext[6] base_drive[6]) -> answer[6] a[6], 213
spread a
load = load from 0, 1 further
once: _through(own[63] load[27]) -> map[42], 803
joints backward: _articulate(table[34] io[7] row[12] load[27]) -> load[27] row[20], 376
scan map from the base: 252
reached = map from 0, -1 further
once: _reach(reached[42] a[6]) -> a[6], 36
joints: _accelerate(table[34] io[7] row[20] a[6]) -> a[6] io[4], 45
Emit 0 answer 0
""",
    "segments, id of a floating chain": """
id_f_ext of 3 joints, 2 lanes of 2
q:0 v:1 a:2 f_ext:-1 tau:3
table[34] io[7] f_ext[6] answer[6] moved[24] own[12] before[24] motion[9] load[6] loaded[18] row[6] base_q[7]
base_v[6] base_drive[6] base_ext[6]
moved[3] loaded[3]
q: 7
v: 6
a: 6
f_ext: 6
tau: 6
[(0, 2), (2, 1)] []
Splat 0 base_q 0
Splat 1 base_v 0
Splat 2 base_drive 0
Splat 3 base_ext 0
joints: angles(io[7] table[34]) -> io[5], 1
sines 4 5 6
moved = 24 numbers, sum 3
joints: _place(table[34] io[7] moved[24]) -> moved[24], 126
own = moved from 0, 0 further
scan moved from the base: 108
before = moved from 0, -1 further
once: _arrive(base_q[7] base_drive[6] base_v[6] before[24]) -> motion[9], 111
joints: _force(table[34] io[7] motion[9] f_ext[6]) -> motion[9] row[6], 146
load = 6 numbers, sum 0
joints backward: _gather(table[34] io[7] load[6] row[6]) -> load[6], 42
once: Loaded(own[12] load[6]) -> loaded[18], 0
scan loaded from the tip: 63
once: _base_torques(base_q[7] base_drive[6] base_v[6] loaded[18] base_ext[6]) -> answer[6], 96
load = loaded from 12, 1 further
joints backward: _torques(table[34] io[7] load[6] row[6]) -> load[6] io[4], 45
Emit 0 answer 0
""",
    "segments, fd of limbs": """
fd of 3 joints, 4 lanes of 1
q:0 v:1 tau:2 a:3
table[23] io[7] turning[12] before[12] w[3] segment[90] own[63] load[27] map[42] reached[42] a[6] row[20]
turning[3] segment[6] map[6]
[(0, 1), (1, 1), (2, 1), (0, 0)] []
sines 0 5 6
turning = 12 numbers, sum 3
joints: turned(table[23] io[7] turning[12]) -> turning[12], 52
turning of turning of ancestors bases: turning_scan(base[12] tip[12]) -> turning[12], 36
before of turning of parents bases: before(base[12]) -> before[12], 0
once: _spinning(before[12]) -> w[3], 0
joints: bias(table[23] io[7] w[3]) -> w[3] row[12], 83
segment = 90 numbers, sum 6
joints backward: extended(table[23] io[7] row[12] segment[90]) -> segment[90], 655
own = segment from 0, 0 further
segment of segment of behind tips, 63 on: segment_scan(base[90] tip[90]) -> segment[90], 1568
load = 27 numbers, sum 0
load of segment of children tips, 0 on: load(base[27] tip[90]) -> load[27], 27
a = 6 numbers, sum 9.81
once: _through(own[63] load[27]) -> map[42], 803
joints backward: _articulate(table[23] io[7] row[12] load[27]) -> load[27] row[20], 358
map of map of ancestors bases: map_scan(base[42] tip[42]) -> map[42], 252
reached of map of parents bases: reached(base[42]) -> reached[42], 0
once: _reach(reached[42] a[6]) -> a[6], 36
joints: _accelerate(table[23] io[7] row[20] a[6]) -> a[6] io[4], 40
""",
}


@pytest.mark.parametrize("name", CODES)
def test_a_function_has_this_list_of_operations(name: str) -> None:
    code, robot = CODES[name]
    assert said_of_code(code(tree_of(robot()))).splitlines() == LISTS[name].strip().splitlines()
