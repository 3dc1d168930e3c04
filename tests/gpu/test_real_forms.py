"""Every form of a kernel on a real GPU (`pytest -m gpu`), and on the driver that computes with smaller robots.

Arrays lie between guards at odd addresses. They are NaN before the call, so that what is not written is seen.
"""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from benchmarks.gpu.arrays import Guarded, Reference
from benchmarks.gpu.correct import FORMS, PARTITIONS
from condyle.calls.gpu import GpuDynamics
from condyle.cli.check import solvable
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS
from tests.gpu.bench import Bench


def robots(bench: Bench) -> list[condyle.Robot]:
    if not bench.real:
        return [condyle.chain(2, rng=1)]
    return [
        condyle.load(name, floating_base=floating) for name in ("iiwa14", "hyq", "atlas") for floating in (False, True)
    ]


def compiled(robot: condyle.Robot, dtype: str, **options: object) -> GpuDynamics:
    dyn = robot.compile(target="cuda", dtype=dtype, **options)  # type: ignore[arg-type]
    assert isinstance(dyn, GpuDynamics)
    return dyn


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_form_gives_the_same_bits(bench: Bench, dtype: str) -> None:
    """Those of the thread form, in batches that end within a warp, a block and a group."""
    sizes = (1, 31, 33, 300, 4099) if bench.real else (33,)
    for robot in robots(bench):
        reference = Reference(robot, max(sizes))
        first: dict[tuple[str, int], list[np.ndarray]] = {}
        for form in FORMS if bench.real else ("thread", "group2", "group32"):
            dyn = compiled(robot, dtype, kernels=form)
            for function in (FUNCTIONS[name] for name in DEFAULT):
                for n in sizes:
                    try:
                        found = reference.in_place(dyn, bench.gpu, function, n)
                    except UnsupportedError:  # more values than the shared memory of a group holds
                        assert bench.real
                        assert "group" in form
                        continue
                    reference.hold(function, found)
                    for a, b in zip(found, first.setdefault((function.name, n), found), strict=True):
                        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", PARTITIONS)
def test_named_forms(bench: Bench, function: str) -> None:
    """Several launches with scratch between them."""
    n, called = 1000 if bench.real else 5, FUNCTIONS[function]
    for robot in robots(bench):
        reference = Reference(robot, n, (called,))
        for words in PARTITIONS[function]:
            dyn = compiled(robot, "float64", kernels={function: words})
            try:
                reference.hold(called, reference.in_place(dyn, bench.gpu, called, n))
            except UnsupportedError:
                assert bench.real
                assert "group" in words


@pytest.mark.parametrize("links", [3, 34])
def test_links(bench: Bench, links: int) -> None:
    """A lane is a link: several states a warp, and one a block."""
    n, robot = 70 if bench.real else 2, condyle.chain(links, rng=1)
    names = DEFAULT if bench.real else ("id",) if links > 3 else ("minv", "fd")
    functions = solvable(robot, [FUNCTIONS[name] for name in names])
    reference = Reference(robot, n, functions)
    dyn = compiled(robot, "float64", links="scan")
    for function in functions:
        reference.hold(function, reference.in_place(dyn, bench.gpu, function, n))


@pytest.mark.parametrize("kept", ["", "_every_3", "_last"])
def test_rollouts(bench: Bench, kept: str) -> None:
    """The loop over time inside the kernel; steps of the reference one after the other."""
    n, steps = (1000, 50) if bench.real else (5, 4)
    robot = condyle.load("iiwa14") if bench.real else condyle.chain(2, rng=1)
    rng = np.random.default_rng(3)
    q, v = robot.random_state(n, rng)
    given = [q, v, rng.uniform(-1, 1, (n, steps, robot.nv)), np.full(n, 1e-3)]
    name = f"rollout_{steps}_by_tau{kept}_of_step"
    wanted = robot.compile(target="cpu").call(name, given)
    there = [Guarded(bench.gpu, x.shape, "float64").fill(x) for x in given]
    outs = [Guarded(bench.gpu, np.shape(x), "float64") for x in wanted]
    compiled(robot, "float64").call(name, there, tuple(outs))
    for out, want in zip(outs, wanted, strict=True):
        # 50 steps of 1 ms change an error of 1e-15 by less than 1e4
        np.testing.assert_allclose(out.numbers(), want, rtol=0, atol=1e-11 * max(1.0, float(np.abs(want).max())))
    for array in (*there, *outs):
        array.free()


def test_guards_notice_what_is_wrong(bench: Bench) -> None:
    """A number that is not written, and one beside the array."""
    array = Guarded(bench.gpu, (2, 3), "float64")
    with pytest.raises(AssertionError):
        array.numbers()
    assert (array.fill(np.ones((2, 3))).numbers() == 1).all()
    array.whole[0] = 0
    with pytest.raises(AssertionError):
        array.fill(np.ones((2, 3))).numbers()
    array.free()
