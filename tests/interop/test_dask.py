"""Functions on Dask arrays: the answers of one call, on threads and on worker processes, one of which is killed."""

from __future__ import annotations

import copy
import os
import sys

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from dask.distributed import Client, LocalCluster

import condyle
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.interop import dask as lazy
from tests.interop.block_cases import calls, calls_of_user, of_library, of_user, same
from tests.processor import slow
from tests.zoo import tool_arm


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


def lifted(x):
    return da.from_array(x, chunks=(40, *x.shape[1:])) if np.ndim(x) > 1 and len(x) > 40 else x


def computed(found):
    return tuple.__new__(type(found), da.compute(*found)) if isinstance(found, tuple) else found.compute()


@pytest.mark.parametrize(
    ("name", "dtype", "options"), [("iiwa14", "float64", {}), slow("hyq", "float32", {"floating_base": True})]
)
def test_every_kind_of_call(name, dtype, options):
    robot, own = of_library(name, dtype, **options)
    far = lazy.wrap(own)
    with dask.config.set(scheduler="sync"):
        for case, method, args, named in calls(robot, dtype):
            if len(args[0]) > 40 and not (name == "hyq" and "vjp" in case and "roll" in case):
                found = method(far)(*map(lifted, args), **{k: lifted(x) for k, x in named.items()})
                same(computed(found), method(own)(*args, **named), dtype)


def test_a_users_function():
    robot, own = of_user()
    with dask.config.set(scheduler="sync"):
        for _, method, args, named in calls_of_user(robot):
            given = [da.from_array(args[0], chunks=(4, -1)), *map(lifted, args[1:])]
            found = method(lazy.wrap(own))(*given, **{k: lifted(x) for k, x in named.items()})
            same(computed(found), method(own)(*args, **named))


def test_one_state_no_state_and_what_all_share_as_dask_arrays(dyn, states):
    far, (q, v, a) = lazy.wrap(dyn), states
    one = far.vjp("id")(da.from_array(q[0]), v[0], a[0], a[1])
    same(computed(one), dyn.vjp("id")(q[0], v[0], a[0], a[1]))
    Q, none = da.from_array(q, chunks=(300, -1)), da.from_array(q[:0], chunks=(1, -1))
    same(
        far.inverse_dynamics(Q, da.from_array(v[0], chunks=2), 0 * a[0]).compute(),
        dyn.inverse_dynamics(q, v[0], 0 * a[0]),
    )
    same(computed(far.vjp("id")(none, v[0], a[0], a[1])), dyn.vjp("id")(q[:0], v[0], a[0], a[1]))


def test_a_block_is_one_task_with_what_makes_its_states(dyn):
    index = da.arange(600, chunks=100)

    def drawn(at, k):
        return np.random.default_rng([k, int(at[0])]).random((len(at), 7))

    made = [
        index.map_blocks(drawn, k, dtype=float, new_axis=1, chunks=(index.chunks[0], (7,)), meta=np.empty((0, 0)))
        for k in range(3)
    ]
    (fused,) = dask.optimize(lazy.wrap(dyn).inverse_dynamics(*made))
    assert len(fused.__dask_graph__()) == 6 + 6 + 1  # indices, blocks, the robot
    want = dyn.inverse_dynamics(*(x.compute(scheduler="sync") for x in made))
    assert np.array_equal(fused.compute(scheduler="sync"), want)


@pytest.mark.slow
def test_worker_processes_and_one_that_dies(dyn, states, tmp_path):
    parent, flag = os.getpid(), tmp_path / "died"

    def dies_once(block):
        """Kills its worker the first time that any worker comes here; Dask also asks this process what it makes."""
        if os.getpid() != parent and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), 9)
        return block

    local = LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0")
    with local as cluster, Client(cluster):
        far = lazy.wrap(dyn)
        found = far.inverse_dynamics(*blocks(states)).compute(timeout=60)
        assert np.array_equal(found, dyn.inverse_dynamics(*states))
        q, v, a = blocks(states)
        dies = q.map_blocks(dies_once, dtype=q.dtype)
        found = far.inverse_dynamics(dies, v, a).compute(timeout=60)
        assert flag.exists() and np.array_equal(found, dyn.inverse_dynamics(*states))


def test_functions_and_robots_that_differ_have_keys_of_their_own():
    """Constants of a function, and where a frame lies, are not in its name, and not in a robot's printed text."""
    X = da.ones((4, 2), chunks=2)
    far = [lazy.wrap(condyle.function(lambda x, gain=gain: gain * x, {"x": 2}).compile()) for gain in (5.0, 7.0, 5.0)]
    names = [f(X).name for f in far]
    assert names[0] == names[2] != names[1]
    found = da.compute(*(f(X) for f in far), scheduler="sync")
    assert [x[0, 0] for x in found] == [5.0, 7.0, 5.0]
    arms = [tool_arm(0.3).compile(frames=("tool",)), tool_arm(0.3 + 1e-9).compile(frames=("tool",))]
    moved = [lazy.wrap(dyn).frame_placements(da.zeros((4, 1), chunks=2)).translation for dyn in arms]
    assert moved[0].name != moved[1].name
    at = [da.zeros((4, 1), chunks=2)] * 4
    gradients = [lazy.wrap(arms[0]).vjp(name)(*at).q.name for name in ("fd", "forward_dynamics", "id")]
    assert gradients[0] == gradients[1] != gradients[2]
    x, y = (part[:, 0, 0] for part in da.compute(*moved, scheduler="sync"))
    assert np.allclose(y - x, 1e-9, rtol=1e-6)
    robot = tool_arm()
    things = [robot, robot.compile(threads=1), robot.compile(threads=2), robot.compile(dtype="float32")]
    assert len({tokenize(thing) for thing in things}) == len(things)
    assert tokenize(robot.compile()) == tokenize(tool_arm().compile())


def test_what_does_not_fit_is_said(dyn, states):
    far, (Q, V, A) = lazy.wrap(dyn), blocks(states)
    with pytest.raises(TypeError, match="'a' is missing"):
        far.inverse_dynamics(Q, V)
    with pytest.raises(UnsupportedError, match="leave out= out"):
        far.inverse_dynamics(Q, V, A, out=np.empty((1000, 7)))
    with pytest.raises(ShapeError, match=r"q has shape \(1000, 6\), expected \(states, 7\), or \(7\)"):
        far.inverse_dynamics(Q[:, :6], V, A)
    with pytest.raises(DTypeError, match=r"v is float32, expected float64: pass v.astype"):
        far.inverse_dynamics(Q, V.astype("float32"), A)
    with pytest.raises(DTypeError, match="a is bool, expected float64: pass real numbers"):
        far.inverse_dynamics(Q, V, A > 0)
    with pytest.raises(ShapeError, match="no argument with states is a Dask array"):
        far.inverse_dynamics(*states[:2], A[0])
    with pytest.raises(UnsupportedError, match="no input has a time axis"):
        lazy.wrap(of_user()[1]).rollout(Q, V, A, 1.0)
    with pytest.raises(ShapeError, match="expected a time axis"):
        far.rollout(Q[0], V[0], A[0], 0.1)
    with pytest.raises(ShapeError, match="no argument is a Dask array"):
        far.inverse_dynamics(*states)
    with pytest.raises(ShapeError, match="expected 1000 states"):
        far.inverse_dynamics(Q, V[:10], A)
    with pytest.raises(ShapeError, match="v has 10 states"):
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


def test_what_was_not_compiled_is_refused():
    with pytest.raises(UnsupportedError, match=r"wrap\(Robot\): give a Dynamics"):
        lazy.wrap(condyle.load("iiwa14"))


def test_methods_name_functions_too():
    robot = condyle.chain(2, 0)
    far, (q, v) = lazy.wrap(robot.compile(target="numpy")), robot.random_state(6, 0)
    Q, V = (da.from_array(x, chunks=(4, 2)) for x in (q, v))
    long, short = (far.jacobian(name)(Q, V, V) for name in ("forward_dynamics", "fd"))
    np.testing.assert_array_equal(long.da_dq.compute(), short.da_dq.compute())
