"""A schedule on a GPU gives what its interpreter gives, whatever the schedule and the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.kernel import CudaFunction
from condyle.compile.kernels import scheduled_gpu
from condyle.compile.kernels.scheduled_gpu import GpuSchedule, check_apart
from condyle.errors import UnsupportedError
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Statement, Sweep, Until
from condyle.runtime.native import Kernel
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.bench import Bench
from tests.test_scheduled import FUNCTIONS, Sampler, expected, outputs_of, same, shifted
from tests.test_scheduled import kernels as on_processor


def kernels(dtype: str) -> Mapping[str, Kernel]:
    compiled = dict[str, Kernel]()
    for name, (f, inputs, _) in FUNCTIONS.items():
        function = condyle.function(f, inputs)
        compiled[name] = function.compile("cuda", dtype).dynamics.kernel(function.specification)
        assert isinstance(compiled[name], CudaFunction)
    return compiled


def apart(schedule: Schedule) -> Schedule:
    """Without calls and moves that write what they read."""

    def allowed(body: Sequence[Statement], turns: int) -> tuple[Statement, ...]:
        statements = list[Statement]()
        for statement in body:
            if isinstance(statement, Sweep):
                statements.append(replace(statement, body=allowed(statement.body, statement.count)))
            elif isinstance(statement, Until):
                statements.append(statement._replace(body=allowed(statement.body, turns)))
            else:
                with suppress(AssertionError):
                    check_apart(schedule, (statement,), turns)
                    statements.append(statement)
        return tuple(statements)

    return replace(schedule, body=allowed(schedule.body, 1))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-3)])
def test_random_schedules(bench: Bench, dtype: str, tolerance: float) -> None:
    """Also with the problems in another order, to the bit, and with so many that a warp has not all of them.

    Sines of the two targets differ in the last place, which sums of opposite numbers make more.
    """
    compiled = kernels(dtype)
    for seed in range(24):
        rng = np.random.default_rng(seed)
        sampler, n = Sampler(rng, 1), 41 if seed % 4 == 0 else 3
        schedule = apart(sampler.schedule())
        kernel = GpuSchedule(schedule, compiled, np.dtype(dtype))
        inputs = sampler.arrays(schedule, n, dtype)
        outputs, moved = outputs_of(schedule, n, dtype), outputs_of(schedule, n, dtype)
        kernel(n, inputs, outputs, 1)
        kernel(n, shifted(inputs, 1), moved, 1)
        for output, other, answer in zip(outputs, moved, expected(schedule, "cpu", dtype, inputs, n), strict=True):
            assert same(np.roll(output, 1, axis=0), other), seed
            np.testing.assert_allclose(output, answer, tolerance, tolerance, err_msg=str(seed))


def nested(most: int) -> Schedule:
    """x is halved until it is small, and in each round all of y from the start; and how many halves there were."""

    def halved(name: str) -> tuple[Statement, ...]:
        call = Call("halve", 1, (Operand(name),), (Operand(f"new_{name}"), Operand(f"small_{name}")))
        return call, Move(Operand(f"new_{name}"), Operand(name), 1)

    count = Call("tell", 1, (Operand("steps"),), (Operand("more"),)), Move(Operand("more"), Operand("steps"), 1)
    inner = Move(Operand("start_y"), Operand("y"), 1), Until("small_y", most, (*halved("y"), *count))
    body = Move(Operand("start_x"), Operand("x"), 1), Until("small_x", most, (*inner, *halved("x")))
    slabs = [Slab(f"{kind}{name}", 1, 3) for kind in ("start_", "", "new_") for name in "xy"]
    slabs += [*(Slab(name, 1, 1) for name in ("small_x", "small_y", "more")), Slab("steps", 1, 1, is_zero=True)]
    return Schedule("nested", tuple(slabs), ("start_x", "start_y"), ("x", "y", "steps"), body)


def test_each_problem_ends_for_itself(bench: Bench) -> None:
    """Loops in loops, of 40 problems, which are more than a warp; NaN is never small."""
    rng, compiled = np.random.default_rng(1), kernels("float64")
    x, y = (10.0 ** rng.integers(-2, 4, (40, 1)) * np.ones(3) for _ in range(2))
    x[7] = np.nan
    for most in (3, 20):
        schedule = nested(most)
        outputs = outputs_of(schedule, 40, "float64")
        GpuSchedule(schedule, compiled, np.dtype("float64"))(40, [x, y], outputs, 1)
        assert all(map(same, outputs, expected(schedule, "cpu", "float64", [x, y], 40)))


def test_memory_is_kept_for_the_next_call_and_freed_at_the_end(fake: FakeDriver) -> None:
    sampler = Sampler(np.random.default_rng(0), 1)
    schedule = apart(sampler.schedule())
    before, kernel = fake.used, GpuSchedule(schedule, kernels("float64"), np.dtype("float64"))
    inputs, outputs = sampler.arrays(schedule, 3, "float64"), outputs_of(schedule, 3, "float64")
    for _ in range(3):
        kernel(3, inputs, outputs, 1)
    assert fake.calls.count("cuMemAlloc") == 1
    length = sum(slab.length for slab in schedule.slabs if not slab.over)
    assert 0 < fake.used - before < 3 * 8 * length + 256 * (len(schedule.slabs) + 4)
    del kernel
    assert fake.used == before


def test_problems_beyond_the_memory_are_computed_later(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 problems, of which 2 have room, in arrays of which one problem is a part of a row."""
    schedule, wide = nested(20), np.full((5, 9), np.nan)
    monkeypatch.setattr(scheduled_gpu, "MOST_BYTES", 2 * 8 * sum(slab.length for slab in schedule.slabs) + 8)
    kernel = GpuSchedule(schedule, kernels("float64"), np.dtype("float64"))
    inputs = [np.arange(15.0).reshape(5, 3), np.ones((1, 3))]
    kernel(5, inputs, [wide[:, :3], wide[:, 4:7], wide[:, 8:]], 1)
    for output, answer in zip(
        (wide[:, :3], wide[:, 4:7], wide[:, 8:]), expected(schedule, "cpu", "float64", inputs, 5), strict=True
    ):
        np.testing.assert_array_equal(output, answer)
    assert np.isnan(wide[:, [3, 7]]).all()


def test_a_schedule_that_writes_what_it_reads_is_a_bug(fake: FakeDriver) -> None:
    slabs = Slab("in", 3, 1), Slab("x", 4, 1)
    body = Move(Operand("in"), Operand("x"), 3), Move(Operand("x"), Operand("x", 1), 3)
    with pytest.raises(AssertionError, match="Move"):
        GpuSchedule(Schedule("s", slabs, ("in",), ("x",), body), kernels("float64"), np.dtype("float64"))


def test_kernels_of_the_processor_are_refused(fake: FakeDriver) -> None:
    schedule = apart(Sampler(np.random.default_rng(0), 1).schedule())
    with pytest.raises(UnsupportedError, match="is too long for a GPU"):
        GpuSchedule(schedule, on_processor("cpu"), np.dtype("float64"))
