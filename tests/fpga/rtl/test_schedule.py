"""What must hold of every schedule, checked operation by operation."""

from __future__ import annotations

from collections import Counter

import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.fpga.rtl.build import build, dsp_at, with_folding
from condyle.fpga.rtl.constants import widest
from condyle.fpga.rtl.datapath import LEAVES, SHARED
from condyle.fpga.rtl.planner import fit, foldings
from condyle.fpga.rtl.report import words_held
from condyle.fpga.rtl.schedule import Binding, Tap, pool_of, schedule

from .conftest import accelerator

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def arm() -> condyle.fpga.rtl.build.Accelerator:
    return accelerator(condyle.chain(3, 0))


@pytest.fixture(scope="module")
def legs() -> condyle.fpga.rtl.build.Accelerator:
    return accelerator(condyle.load("hyq"), "did", "minv")


@pytest.mark.parametrize(
    ("robot", "ii", "folding"),
    [*(("arm", ii, 1) for ii in (1, 2, 3, 7, 64)), ("legs", 4, 4), ("legs", 8, 4), ("legs", 6, 2), ("legs", 4, 2)],
)
def test_words_are_read_while_they_last_and_units_do_one_thing_at_a_time(
    request, robot: str, ii: int, folding: int
) -> None:
    for path in with_folding(request.getfixturevalue(robot).plan, folding).datapaths.values():
        found = schedule(path, ii)
        binding = Binding(found)
        busy: Counter[object] = Counter()
        for k, op in enumerate(path.ops):
            if op.kind in LEAVES or op.kind == "wire":
                continue
            for a in op.args if op.kind not in ("sin", "cos") else ():
                tap = binding.read(a, found.start[k])
                if isinstance(tap, Tap):
                    rate = path.rate(tap.op, ii)
                    born = found.ready[path.source(a)] + tap.copy * rate
                    assert born <= found.start[k] < born + rate
            if op.kind in SHARED:
                pool = pool_of(path, k)
                assert 0 <= found.unit[k] < found.units[pool]
                busy[pool, found.unit[k], found.start[k] % ii] += 1
            if op.kind in ("sin", "cos"):  # a unit holds its answer for one cycle only
                assert found.start[k] == found.ready[op.args[0]]
        assert max(busy.values(), default=1) == 1
        for name, pairs in path.groups:
            assert all(found.ready[path.source(k)] <= found.taps[name] for _, k in pairs)


def test_branches_that_are_alike_share_an_array(legs) -> None:
    dynamics = legs.plan.datapaths["dynamics"]
    timed = sum(op.kind in ("add", "sub", "mul") for op in dynamics.ops)
    assert sum(k >= 0 for alike in dynamics.shared for k in alike) > 0.9 * timed
    assert foldings(legs.plan) == [1, 2, 4]
    alone, shared = (build(legs.plan, 4, folding) for folding in (1, 4))
    assert shared.dsp < alone.dsp
    assert words_held(shared, "dynamics") < 0.75 * words_held(alone, "dynamics")
    assert len(shared.plan.datapaths["dynamics"].members) < 0.6 * len(dynamics.ops)
    assert shared.latency("did") <= alone.latency("did") + 4
    assert fit(legs.plan, shared.dsp) == (4, 4)
    assert fit(legs.plan, shared.dsp, folding=1)[0] > 4
    with pytest.raises(UnsupportedError, match="1, 2, 4"):
        fit(legs.plan, 1000, folding=3)


def test_branches_that_differ_share_nothing() -> None:
    assert foldings(accelerator(condyle.chain(3, 0), "id").plan) == [1]


def test_sharing_saves_dsps_and_costs_few_cycles(arm) -> None:
    counts = [dsp_at(arm.plan, ii) for ii in (1, 2, 4, 8)]
    assert counts[0] == arm.dsp
    assert counts == sorted(counts, reverse=True) and counts[-1] < 0.3 * counts[0]
    assert build(arm.plan, 8).latency("dfd") < 1.5 * build(arm.plan, 1).latency("dfd")


def test_latencies_intervals_and_dsps_of_iiwa14() -> None:
    """Those that the documents state, at the default budget."""
    acc = accelerator(condyle.load("iiwa14"))
    latencies = {"id": 67, "fd": 98, "m": 50, "minv": 90, "did": 72, "dfd": 176, "difd": 80}
    assert {name: acc.latency(name) for name in acc.plan.functions} == latencies
    assert {name: acc.interval(name) for name in latencies} == {**dict.fromkeys(latencies, 1), "dfd": 2}
    assert acc.dsp == 2148


def test_the_same_robot_gives_the_same_schedule(arm) -> None:
    again = accelerator(condyle.chain(3, 0))
    for name, array in arm.arrays.items():
        assert again.arrays[name].start == array.start
        assert again.arrays[name].datapath == array.datapath


@pytest.mark.parametrize("word", ["27x18", "27", "32", "q16.16"])
def test_nothing_between_two_registers_is_wider_than_a_32_bit_sum(word: str) -> None:
    plan = accelerator(condyle.chain(3, 0), word=word).plan
    assert max(widest(path) for path in plan.datapaths.values()) <= 32
