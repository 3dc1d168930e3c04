"""A fresh answer may be an old one that nobody holds; whoever holds any part of it keeps what is in it."""

from __future__ import annotations

import sys
import sysconfig
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import Dynamics

pytestmark = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")) or sys.implementation.name != "cpython",
    reason="reference counts say nothing here, so no answer is filled again",
)
NV = 3
Q = np.linspace(-1.0, 1.0, NV)


@pytest.fixture(scope="module")
def dyn() -> Dynamics:
    dyn = condyle.chain(NV).compile()
    dyn.mass_matrix(Q)
    dyn.inverse_dynamics_derivatives(Q, Q, Q)
    return dyn


HOLD: dict[str, Callable[[np.ndarray], object]] = {
    "itself": lambda x: x,
    "a view": lambda x: x[1:],
    "its transpose": lambda x: x.T,
    "a buffer": memoryview,
    "a row's iterator": iter,
    "a list": lambda x: [x],
    "a capsule": lambda x: np.from_dlpack(x),
}


@pytest.mark.parametrize("how", HOLD)
def test_what_is_held_keeps_its_numbers(how: str, dyn: Dynamics) -> None:
    """Whatever refers to an answer, later calls leave it alone."""
    held = [HOLD[how](dyn.mass_matrix(Q + k)) for k in range(6)]
    want = [HOLD[how](np.array(dyn.mass_matrix(Q + k))) for k in range(6)]
    for a, b in zip(held, want, strict=True):
        first, second = (list(x) if how == "a row's iterator" else x for x in (a, b))  # type: ignore[call-overload]
        np.testing.assert_array_equal(np.asarray(first), np.asarray(second))


def test_what_nobody_holds_is_filled_again(dyn: Dynamics) -> None:
    """A caller's variable holds one answer while the next is made, so two arrays serve a loop."""
    places: set[int] = set()
    for k in range(20):
        M = dyn.mass_matrix(Q + k)
        places.add(M.ctypes.data)
    assert len(places) == 2
    pairs: set[tuple[int, int]] = set()
    for k in range(20):
        by_q, by_v = dyn.inverse_dynamics_derivatives(Q + k, Q, Q)
        pairs.add((by_q.ctypes.data, by_v.ctypes.data))
    assert len(pairs) == 2


def test_half_an_answer_is_held(dyn: Dynamics) -> None:
    """One matrix of two keeps both from being filled again."""
    kept = [dyn.inverse_dynamics_derivatives(Q + k, Q, Q).dtau_dv for k in range(6)]
    for k, matrix in enumerate(kept):
        np.testing.assert_array_equal(matrix, dyn.inverse_dynamics_derivatives(Q + k, Q, Q).dtau_dv)


@pytest.mark.parametrize("change", ["read only", "shape", "dtype"])
def test_a_changed_array_is_not_used_again(change: str, dyn: Dynamics) -> None:
    want = np.array(dyn.mass_matrix(Q))
    for _ in range(5):
        M = dyn.mass_matrix(Q)
        np.testing.assert_array_equal(M, want)
        assert M.flags.writeable and M.flags.owndata and M.base is None and M.shape == (NV, NV) and M.dtype == float
        if change == "read only":
            M.flags.writeable = False
        elif change == "shape":
            M.resize((NV * NV,), refcheck=False)
        else:
            M.setflags(align=False)


def test_its_end_is_not_missed(dyn: Dynamics) -> None:
    """An array that somebody watches is left to end in its own time, and is not filled meanwhile."""
    for k in range(4):
        M = dyn.mass_matrix(Q + k)
        watch, want = weakref.ref(M), np.array(M)
        del M
        for _ in range(3):
            dyn.mass_matrix(Q + 100.0)
        alive = watch()
        assert alive is None or np.array_equal(alive, want)


def test_out_is_the_answer(dyn: Dynamics) -> None:
    """A named tuple given as `out` comes back itself; a list of arrays comes back as a named tuple of them."""
    out = dyn.inverse_dynamics_derivatives(Q, Q, Q)
    assert dyn.inverse_dynamics_derivatives(Q, Q, Q, out=out) is out
    again = dyn.inverse_dynamics_derivatives(Q, Q, Q, out=list(out))
    assert type(again) is type(out) and all(a is b for a, b in zip(again, out, strict=True))
