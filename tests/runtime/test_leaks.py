"""Calls leave nothing behind: no block of memory, no reference, whether they answer or complain."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Packed

pytestmark = pytest.mark.usefixtures("small_heap")

CALLS, SPARE = 1000, 200  # what NumPy keeps for later settles within some hundred calls; a leak is one a call


def blocks_left(call: Callable[[], object]) -> int:
    """Memory blocks that so many calls leave, less what the first of them set up."""
    for _ in range(200):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(CALLS):
        call()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.fixture(scope="module")
def calls() -> dict[str, Callable[[], object]]:
    robot = condyle.random_tree(2, 0, types=("revolute", "prismatic"), floating_base=True)
    dyn = robot.compile("cpu")
    q, v = robot.random_state(9, 0)
    f_ext = np.zeros((9, len(robot.bodies), 6))
    out, three = np.empty((9, robot.nv)), tuple(np.empty((9, robot.nv, robot.nv)) for _ in range(3))
    pq, pv = dyn.pack(q), dyn.pack(v)
    packed_out = dyn.inverse_dynamics(pq, pv, pv)
    assert isinstance(packed_out, Packed)
    large = robot.random_state(3000, 0)

    def refused(*args: object, **words: object) -> Callable[[], object]:
        def run() -> None:
            with suppress(CondyleError, TypeError):
                dyn.inverse_dynamics(*args, **words)  # type: ignore[arg-type]

        return run

    return {
        "fresh": lambda: dyn.inverse_dynamics(q, v, v),
        "one state": lambda: dyn.mass_matrix(q[0]),
        "by name": lambda: dyn.inverse_dynamics(q=q, v=v, a=v),
        "forces": lambda: dyn.inverse_dynamics(q, v, v, f_ext),
        "out": lambda: dyn.inverse_dynamics(q, v, v, out=out),
        "three": lambda: dyn.forward_dynamics_derivatives(q, v, v),
        "three out": lambda: dyn.forward_dynamics_derivatives(q, v, v, out=three),
        "large": lambda: dyn.forward_dynamics_derivatives(large.q[:300], large.v[:300], large.v[:300]),
        "broadcast": lambda: dyn.inverse_dynamics(q, v[0], v),
        "lists": lambda: dyn.inverse_dynamics(q[0].tolist(), v[0].tolist(), v[0].tolist()),
        "packed": lambda: dyn.inverse_dynamics(pq, pv, pv),
        "packed three": lambda: dyn.forward_dynamics_derivatives(pq, pv, pv),
        "packed out": lambda: dyn.inverse_dynamics(pq, pv, pv, out=packed_out),
        "packed, dense forces": lambda: dyn.inverse_dynamics(pq, pv, pv, f_ext[0]),
        "pack": lambda: dyn.pack(q),
        "dense": pq.dense,
        "wrong shape": refused(q, v, v[:, 1:]),
        "wrong out": refused(q, v, v, out=v),
        "wrong packed": refused(pq, pv, v),
        "too few": refused(q),
    }


NAMES = (
    "fresh",
    "one state",
    "by name",
    "forces",
    "out",
    "three",
    "three out",
    "large",
    "broadcast",
    "lists",
    "packed",
    "packed three",
    "packed out",
    "packed, dense forces",
    "pack",
    "dense",
    "wrong shape",
    "wrong out",
    "wrong packed",
    "too few",
)


@pytest.mark.parametrize("name", NAMES)
def test_calls_leave_nothing(calls: dict[str, Callable[[], object]], name: str) -> None:
    assert calls.keys() == set(NAMES)
    left: list[int] = []
    while not left or (left[-1] >= SPARE and len(left) < 3):  # a leak is in every run
        left.append(blocks_left(calls[name]))
    assert left[-1] < SPARE, f"{left} blocks after {CALLS} calls each"


def test_references_to_the_number_type_are_given_back(calls: dict[str, Callable[[], object]]) -> None:
    """Every array names it; a call that kept it would be seen here, and nowhere else."""
    dtype = np.dtype("float64")
    for call in calls.values():
        call()
    gc.collect()
    before = sys.getrefcount(dtype)
    for call in calls.values():
        for _ in range(100):
            call()
    gc.collect()
    assert abs(sys.getrefcount(dtype) - before) < SPARE


def test_references_to_arrays_of_out_come_and_go_in_pairs() -> None:
    """A call holds each array of a list, from which another thread may take it; also where it refuses the call."""
    dyn = condyle.chain(2).compile("cpu")
    x, spare = np.ones((5, 2)), [np.empty((5, 2, 2)) for _ in range(3)]
    refused = [[spare[0], x, spare[2]], [spare[0], spare[1], spare[0]], spare[:2]]
    before = [sys.getrefcount(one) for one in spare]
    for _ in range(100):
        for out in (list(spare), tuple(spare)):
            assert all(map(np.shares_memory, dyn.forward_dynamics_derivatives(x, x, x, out=out), spare))
        for out in refused:
            with pytest.raises(condyle.ShapeError):
                dyn.forward_dynamics_derivatives(x, x, x, out=out)
    del out
    assert [sys.getrefcount(one) for one in spare] == before
