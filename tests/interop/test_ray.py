"""Functions on Ray's actors and data sets: the answers of one call; an actor is killed."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

import condyle
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from condyle.interop import ray as far_away
from tests.interop.block_cases import calls, calls_of_user, of_library, of_user, same

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray leaves sockets and files to the collector


@pytest.fixture(scope="module")
def dyn() -> condyle.Dynamics:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield condyle.load("iiwa14").compile(threads=1)
    ray.shutdown()


@pytest.fixture(scope="module")
def states():
    q, v = condyle.load("iiwa14").random_state(1000, 0)
    return q, v, 2.0 * v


def test_blocks_are_one_call_and_a_killed_actor_is_replaced(dyn, states):
    far = far_away.wrap(dyn, actors=2, block=300)
    assert np.array_equal(far.inverse_dynamics(*states), dyn.inverse_dynamics(*states))
    q, v, a = states
    found, want = far.forward_dynamics_derivatives(q, v, a[0]), dyn.forward_dynamics_derivatives(q, v, a[0])
    assert found._fields == want._fields
    assert all(np.array_equal(x, y) for x, y in zip(found, want, strict=True))
    assert far.inverse_dynamics(q[:0], v[:0], a[:0]).shape == (0, 7)
    f = np.random.default_rng(0).normal(size=(1000, 7, 6))
    assert np.array_equal(far.forward_dynamics(*states, f_ext=f), dyn.forward_dynamics(*states, f_ext=f))
    for kind, more in (("jvp", states), ("jacobian", ()), ("hessian", states[:1])):
        found, want = getattr(far, kind)("fd")(*states, *more), getattr(dyn, kind)("fd")(*states, *more)
        pairs = zip(found, want, strict=True) if isinstance(want, tuple) else ((found, want),)
        assert all(np.array_equal(x, y) for x, y in pairs)
    taken: list[int] = []

    def chunks():
        for k in range(0, 1000, 100):
            taken.append(k)
            if k == 300:
                ray.kill(far._actors.handles[0], no_restart=False)
            yield [x[k : k + 100] for x in states]

    answers = []
    for answer in far.map("id", chunks()):
        answers.append(answer[0])
        assert len(taken) <= len(answers) + 4
    assert np.array_equal(np.concatenate(answers), dyn.inverse_dynamics(*states))
    with pytest.raises(TypeError, match="'a' is missing"):
        far.inverse_dynamics(q, v)
    with pytest.raises(ShapeError, match="one number of states"):
        far.inverse_dynamics(q, v[:5], a)
    with pytest.raises(AttributeError, match="inverse_dynamics"):
        far.no_such_method(q)


@pytest.mark.parametrize(
    ("name", "dtype", "options"), [("iiwa14", "float64", {}), ("hyq", "float32", {"floating_base": True})]
)
def test_every_kind_of_call(dyn, name, dtype, options):
    robot, own = of_library(name, dtype, **options)
    far = far_away.wrap(own, block=40)
    for case, method, args, named in calls(robot, dtype):
        if not (name == "hyq" and "vjp" in case and "roll" in case):
            same(method(far)(*args, **named), method(own)(*args, **named), dtype)
    q, v = (x.astype(dtype) for x in robot.random_state(3, 0))
    same(far.inverse_dynamics(q[0], v[0], v[1]), own.inverse_dynamics(q[0], v[0], v[1]), dtype)
    same(far.inverse_dynamics(q[:0], v[:0], v[0]), own.inverse_dynamics(q[:0], v[:0], v[0]), dtype)
    with pytest.raises(DTypeError, match=f"v is float16, expected {dtype}"):
        far.inverse_dynamics(q, v.astype("float16"), v)
    with pytest.raises(ShapeError, match="q has shape"):
        far.inverse_dynamics(q[None], v[None], v[None])


def test_a_users_function(dyn):
    robot, own = of_user()
    far = far_away.wrap(own, block=40)
    for _, method, args, named in calls_of_user(robot):
        same(method(far)(*args, **named), method(own)(*args, **named))
    q, v = robot.random_state(6, 0)
    parts = [(q[k : k + 2], v[k : k + 2], v[:2], np.asarray(1.0)) for k in (0, 2, 4)]
    for found, part in zip(far.map(parts), parts, strict=True):
        same(tuple(found), tuple(own(*part)))


def test_an_actor_that_dies_inside_a_block(dyn, states, tmp_path, monkeypatch):
    flag, log = tmp_path / "died", tmp_path / "log"

    class Dies(far_away.Worker):
        """Kills its process in the third block, the first time that it comes there."""

        def run(self, task, args):
            with log.open("a") as file:
                file.write(f"{args[0][0, 0]!r}\n")
            if args[0][0, 0] == third and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().run(task, args)

    third = states[0][200, 0]
    monkeypatch.setattr(far_away, "Worker", Dies)
    far = far_away.wrap(dyn, block=100)
    chunks = [[x[k : k + 100] for x in states] for k in range(0, 1000, 100)]
    answers = [part for (part,) in far.map("id", chunks)]
    assert flag.exists() and log.read_text().splitlines().count(repr(third)) == 2
    assert [len(part) for part in answers] == [100] * 10  # each block once, in order
    assert np.array_equal(np.concatenate(answers), dyn.inverse_dynamics(*states))
    flag.unlink()
    q, v, a = states
    same(far.vjp("id")(q, v[0], a, a), dyn.vjp("id")(q, v[0], a, a))  # nor is a block summed twice
    assert flag.exists()
    flag.unlink()
    never = far_away.wrap(dyn, block=100, retries=0)
    with pytest.raises(ray.exceptions.RayError):
        never.inverse_dynamics(*states)


def test_a_data_set_of_ray_data(dyn, states):
    data = pytest.importorskip("ray.data")
    q, v, a = states
    rows = data.from_items([{"k": k, "q": q[k], "v": v[k], "a": a[k]} for k in range(200)])
    pool = data.ActorPoolStrategy(size=1)
    answers = rows.map_batches(
        far_away.Map, fn_constructor_args=(dyn, "id"), compute=pool, batch_format="numpy", batch_size=64
    ).take_all()
    want = dyn.inverse_dynamics(q[:200], v[:200], a[:200])
    assert len(answers) == 200 and all(np.array_equal(row["tau"], want[row["k"]]) for row in answers)


def test_columns_of_a_batch(states):
    own, (q, v, a) = condyle.load("iiwa14").compile(threads=1), states
    found = far_away.Map(own, "id", columns={"a": "acc"})({"q": q, "v": v, "acc": a})
    assert np.array_equal(found["tau"], own.inverse_dynamics(q, v, a)) and list(found) == ["q", "v", "acc", "tau"]
    with pytest.raises(ShapeError, match="no column a"):
        far_away.Map(own, "id")({"q": q, "v": v})
    with pytest.raises(UnsupportedError, match="inputs of id"):
        far_away.Map(own, "id", columns={"x": "y"})


def test_without_ray_the_pip_line_is_said(monkeypatch):
    own = condyle.load("iiwa14").compile(threads=1)
    for name, value in (("actors", 0), ("block", 1.5), ("in_flight", True), ("retries", -1), ("retries", None)):
        with pytest.raises(ShapeError, match=f"{name}={value}, expected an integer"):
            far_away.wrap(own, **{name: value})
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'condyle\[ray\]'"):
        far_away.wrap(own)


def test_what_was_not_compiled_is_refused(dyn):
    robot = condyle.load("iiwa14")
    for made in (far_away.wrap, lambda of: far_away.Map(of, "id")):
        with pytest.raises(UnsupportedError, match=r"(wrap|Map)\(Robot\): give a Dynamics"):
            made(robot)
    with pytest.raises(DTypeError, match="the batch is ndarray, expected columns"):
        far_away.Map(dyn, "id")(np.zeros((3, 7)))
