"""Functions on Dask arrays: the answers of one call, on threads and on worker processes, one of which is killed."""

from __future__ import annotations

import copy
import os
import sys

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import condyle
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.interop import dask as lazy


@pytest.fixture(scope="module")
def dyn() -> condyle.Dynamics:
    return condyle.load("iiwa14").compile(threads=1)


@pytest.fixture(scope="module")
def states():
    q, v = condyle.load("iiwa14").random_state(1000, 0)
    return q, v, 2.0 * v


def blocks(arrays, length=300):
    return [da.from_array(x, chunks=(length, -1)) for x in arrays]


def test_blocks_are_one_call(dyn, states):
    found = lazy.wrap(dyn).inverse_dynamics(*blocks(states))
    assert found.shape == (1000, 7) and found.chunks[0] == (300, 300, 300, 100)
    assert np.array_equal(found.compute(scheduler="threads"), dyn.inverse_dynamics(*states))


def test_several_answers_and_what_all_blocks_share(dyn, states):
    q, v, a = states
    Q, V = blocks((q, v))
    found = lazy.wrap(dyn).forward_dynamics_derivatives(Q, V.rechunk((500, 3)), a[0])
    want = dyn.forward_dynamics_derivatives(q, v, a[0])
    assert found._fields == want._fields
    for x, y in zip(found, want, strict=True):
        assert np.array_equal(x.compute(scheduler="sync"), y)
    assert np.array_equal(lazy.wrap(dyn).inverse_dynamics(Q, v, a).compute(), dyn.inverse_dynamics(*states))


def test_forces_and_derivatives(dyn, states):
    far, f = lazy.wrap(dyn), np.random.default_rng(0).normal(size=(1000, 7, 6))
    for forces in (f, da.from_array(f, chunks=(250, -1, -1)), f[0]):
        found = far.forward_dynamics(*blocks(states), f_ext=forces).compute(scheduler="sync")
        assert np.array_equal(found, dyn.forward_dynamics(*states, f_ext=np.asarray(forces)))
    for kind, more in (("jvp", states), ("jacobian", ()), ("hessian", states[:1])):
        found = getattr(far, kind)("fd")(*blocks((*states, *more)))
        want = getattr(dyn, kind)("fd")(*states, *more)
        pairs = zip(found, want, strict=True) if isinstance(want, tuple) else ((found, want),)
        assert all(np.array_equal(x.compute(scheduler="sync"), y) for x, y in pairs)


def test_worker_processes_and_one_that_dies(dyn, states, tmp_path):
    parent, flag = os.getpid(), tmp_path / "died"

    def dies_once(block):
        """Kills its worker the first time that any worker comes here; Dask also asks this process what it makes."""
        if os.getpid() != parent and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), 9)
        return block

    local = LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None)
    with local as cluster, Client(cluster):
        far = lazy.wrap(dyn)
        found = far.inverse_dynamics(*blocks(states)).compute(timeout=60)
        assert np.array_equal(found, dyn.inverse_dynamics(*states))
        q, v, a = blocks(states)
        dies = q.map_blocks(dies_once, dtype=q.dtype)
        found = far.inverse_dynamics(dies, v, a).compute(timeout=60)
        assert flag.exists() and np.array_equal(found, dyn.inverse_dynamics(*states))


def test_what_does_not_fit_is_said(dyn, states):
    far, (Q, V, A) = lazy.wrap(dyn), blocks(states)
    with pytest.raises(ShapeError, match="2 arguments given, expected 3"):
        far.inverse_dynamics(Q, V)
    with pytest.raises(ShapeError, match="no argument is a Dask array"):
        far.inverse_dynamics(*states)
    with pytest.raises(ShapeError, match="expected 1000 states"):
        far.inverse_dynamics(Q, V[:10], A)
    with pytest.raises(ShapeError, match="an array has 10 states"):
        far.inverse_dynamics(Q, states[1][:10], A)
    with pytest.raises(ShapeError, match="unknown length"):
        far.inverse_dynamics(Q[Q[:, 0] > 0], V, A)
    with pytest.raises(AttributeError, match="inverse_dynamics"):
        far.no_such_method(Q)
    with pytest.raises(DTypeError, match=r"lazy array of Dask: condyle.interop.dask.wrap\(dyn\).inverse_dynamics"):
        dyn.inverse_dynamics(Q, V, A)
    with pytest.raises(DTypeError, match="q is a lazy array of Dask"):
        dyn.map("id", (Q, V, A), np.empty((1000, 7)))


def test_a_wrap_can_be_copied(dyn, states):
    found = copy.copy(lazy.wrap(dyn)).inverse_dynamics(*blocks(states))
    assert np.array_equal(found.compute(), dyn.inverse_dynamics(*states))


def test_without_dask_the_pip_line_is_said(dyn, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'condyle\[dask\]'"):
        lazy.wrap(dyn)
