"""The form that a function takes on a GPU: by estimates of a robot's own kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

import condyle
from condyle.api import compiler_of
from condyle.backends.cuda.target import SPLIT, TARGET, WHOLE, Form, product_launch
from condyle.compile.gpu import GpuFunction, GpuKernels, GpuRollout, partitions_of, requests
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, function_of
from condyle.ir.loops import TimeLoop
from condyle.specification import Call

ROUTER = compiler_of(condyle.chain(2, rng=0))
KERNELS = GpuKernels(ROUTER)
DFD = FUNCTIONS["dfd"]


def gpu_function(name: str, words: str = "", kernels: GpuKernels = KERNELS) -> GpuFunction:
    return GpuFunction(kernels, function_of(name), "float64", 132, words)


@pytest.mark.parametrize("n", [1, 1000, 100_000])
def test_the_fastest_form_is_taken_by_the_estimate(n: int) -> None:
    found = gpu_function("id")
    times = {lanes: KERNELS.size(FUNCTIONS["id"]).launch(lanes).us(n, 132) for lanes in (1, 8, 16, 32)}
    best = min(times, key=lambda lanes: (times[lanes], lanes))
    assert found.form(n) == Form(best) and found.us(Form(best), n) == times[best]
    assert found.line(n) == f", {Form(best)}, estimated {times[best]:.0f} us (unmeasured)"


def test_words_choose_lanes_and_a_partition() -> None:
    assert gpu_function("dfd", "thread split").form(1) == Form(1, SPLIT)
    assert gpu_function("dfd", "thread").form(1) == Form(1, WHOLE)
    assert gpu_function("id", "group4").form(1) == Form(4)
    with pytest.raises(UnsupportedError, match="'group3' does not say how 'id' runs"):
        gpu_function("id", "group3").form(1)


def test_a_split_function_takes_the_sum_of_its_launches() -> None:
    """Derivatives of inverse dynamics, the inverse, and both products in one launch."""
    found, form = gpu_function("dfd"), Form(1, SPLIT)
    calls = [step.function for step in found.partitions[SPLIT] if hasattr(step, "function")]
    launches = [KERNELS.size(function).launch(1) for function in calls] + [product_launch(2, 2)]
    assert found.us(form, 500) == pytest.approx(sum(launch.us(500, 132) for launch in launches))
    assert len(found.launches(form).launches) == len(launches)


def test_a_function_is_split_above_the_longest_of_a_thread() -> None:
    for name, field in (("dfd", "longest"), ("difd", "longest_given")):
        function = FUNCTIONS[name]
        size = KERNELS.size(function).operations
        for most, partition in ((size, WHOLE), (size - 1, SPLIT)):
            other = "longest_given" if field == "longest" else "longest"
            kernels = GpuKernels(ROUTER, replace(TARGET, **{field: most, other: 2 * size - most}))
            assert kernels.usual(function) == partition, name
            assert kernels.usual(function, 2) == WHOLE, "lanes share a long program"
            assert kernels.usual(function, 1) == partition
    assert GpuKernels(ROUTER, replace(TARGET, longest=0)).usual(FUNCTIONS["id"]) == WHOLE, "there is no other way"


def test_kernels_are_written_once() -> None:
    one = FUNCTIONS["id"]
    assert KERNELS.size(one) is KERNELS.size(one) and KERNELS.part(one, "float32", 1) is KERNELS.part(one, "float32", 1)
    wide = KERNELS.part(one, "float64", 8)
    assert wide is not KERNELS.part(one, "float64", 1) and not KERNELS.iterates(one)


def test_a_loop_around_a_step_is_one_kernel_or_none() -> None:
    """None where all states end together; what has a loop already has no other."""
    step = gpu_function("step")
    assert step.repeated(TimeLoop(3, (), (), until=0, together=True)) is None
    rollout = GpuRollout(step, TimeLoop(3, (), ()))
    assert rollout.form(100) == Form()
    assert rollout.repeated(rollout.loop) is None  # type: ignore[func-returns-value]
    with pytest.raises(UnsupportedError, match=r"^target 'cuda': a rollout of step is no part of a schedule$"):
        rollout.over_rows()
    short = GpuKernels(ROUTER, replace(TARGET, longest=0, longest_given=0))
    with pytest.raises(UnsupportedError, match="dfd of this robot is too long for one kernel"):
        short.in_time_loop(DFD, "float64", None)  # type: ignore[arg-type]


def test_a_form_that_does_not_fit_says_why_where_it_is_launched() -> None:
    found = gpu_function("fd", "group8", GpuKernels(ROUTER, replace(TARGET, shared=0)))
    assert found.form(10) == Form(8)
    with pytest.raises(UnsupportedError, match=r"^fd with 8 lanes a state needs .* of shared memory .*; at most 0 "):
        found.launches(found.form(10))


def test_words_for_kernels_are_said_for_functions() -> None:
    assert requests({"fd": "group32"}) == {FUNCTIONS["fd"]: "group32"}
    assert requests("auto") == dict.fromkeys(FUNCTIONS.values(), "auto")
    for wrong, said in (
        (3, r"^kernels=3: give words such as 'group32', or \{'dfd': 'group32 split'\}$"),
        ({"ik": "auto"}, r"^kernels: there is no function 'ik'; there are id, fd"),
        ({"fd": 3}, r"^kernels: 'fd' is 3, expected words such as 'group32 split'$"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            requests(wrong)  # type: ignore[arg-type]


def test_what_a_function_is_launched_as_takes_forces_if_it_does() -> None:
    plain, forced = (partitions_of(function_of(name)) for name in ("dfd", "dfd_f_ext"))
    assert plain.keys() == forced.keys() and len(plain) == 3
    for name, steps in forced.items():
        pairs = [(a.function, b.function) for a, b in zip(plain[name], steps, strict=True) if isinstance(a, Call)]
        assert pairs and all(b is a.taking("f_ext") for a, b in pairs)
        assert any(b.has_forces and not a.has_forces for a, b in pairs)
