"""`compile(sweeps=)`: a fixed number of sweeps, which come near the solution and keep what it keeps."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from condyle.functions import contact_sweeps
from condyle.ground import Plane
from condyle.model.placement import Placement
from tests.contacts.test_friction import DT, EDGES, FEET, OPEN, given
from tests.ground.robots import box, quadruped, standing

MORE = tuple(
    condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy((x, 0.0, 0.0)))
    for leg in ("lf", "rf", "lh", "rh")
    for x in (0.2, 0.05)
)
"""With the feet 12 points."""
POINTS = (*FEET, *MORE)
PLAN = contact_sweeps.plan_of


def swept(sweeps: int | None, **options: Any) -> Any:
    return quadruped().compile(**{"contacts": FEET, "sweeps": sweeps, **options})


def random_states(n: int) -> list[Any]:
    """At random postures, frictions from 0 to 2: many are not solved after a few sweeps."""
    rng, (q, v) = np.random.default_rng(1), quadruped().random_state(n, 2)
    return [q, v, 50.0 * rng.normal(size=v.shape), np.ones((n, 4)), np.full(n, DT), rng.uniform(0.0, 2.0, (n, 4))]


def test_sweeps_come_to_the_solution() -> None:
    """The median of the residual falls at least tenfold with four more sweeps, to rounding."""
    args = given(200)
    medians = [float(np.median(swept(n).contact_solve(*args).residual)) for n in (2, 6, 10)]
    assert all(later < 0.1 * sooner for sooner, later in pairwise(medians)), medians
    many, solved = (swept(n, target="numpy").contact_solve(*args) for n in (80, None))
    assert many.residual.max() < 1e-8
    np.testing.assert_allclose(many.v, solved.v, rtol=0, atol=1e-7)  # both are within their residuals of it


@pytest.mark.parametrize("sweeps", [1, 3])
def test_what_every_answer_keeps(sweeps: int) -> None:
    """Cones, momentum, zero where a contact is off; the impulses never raise the kinetic energy, solved or not."""
    n = 300
    q, v, tau, on, dt, mu = random_states(n)
    on = (np.random.default_rng(3).random(on.shape) < 0.8).astype(float)
    found = swept(sweeps).contact_solve(q, v, tau, on, dt, mu)
    assert np.median(found.residual) > 1e-6 and found.impulse[..., 2].min() >= 0.0
    across = np.linalg.norm(found.impulse[..., :2], axis=-1) - mu * found.impulse[..., 2]
    assert across.max() < 1e-12 * np.abs(found.impulse).max()
    assert not found.impulse[on == 0.0].any()
    M = quadruped().compile("numpy").mass_matrix(q)
    free = swept(sweeps).contact_solve(q, v, tau, 0.0 * on, dt, mu).v
    before, after = (np.einsum("ni,nij,nj->n", x, M, x) for x in (free, found.v))
    assert np.all(after <= before * (1.0 + 1e-10))


def test_a_stand_carries_the_weight_from_the_impulses_before() -> None:
    """With 6 sweeps a step, and servos: after 2 s, when it moves with less than 2 cm/s, forces are the weight."""
    robot, rest = quadruped(), standing()

    def held(at: Any, impulse: Any) -> dict[str, Any]:
        springs = 300.0 * (rest[7:] - at.q[7:]) - 15.0 * at.v[6:]
        tau = np.concatenate([np.zeros(6), springs])
        solved = Plane().contact_solve(at, tau, 2e-3, 0.7, impulse0=impulse)
        after = at.stepped(solved.v, 2e-3)
        return {"q": after.q, "v": after.v, "impulse": solved.impulse, "residual": solved.residual}

    sizes = {"q": "nq", "v": "nv", "impulse": (4, 3)}
    for dtype, close in (("float64", 1e-9), ("float32", 1e-5)):
        step = robot.function(held, sizes, contacts=FEET, sweeps=6).compile(dtype=dtype)
        start = [np.asarray(x, dtype) for x in (rest, np.zeros(18), np.zeros((4, 3)))]
        end = step.rollout(*start, steps=1000, last=True)
        assert abs(end.impulse[:, 2].sum() / 2e-3 / (9.81 * robot.mass) - 1.0) < 2e-3
        assert np.abs(end.v[:3]).max() < 2e-2 and end.residual < close


def test_a_warm_start_helps() -> None:
    """The residual from the impulses of the step before is a tenth of that from none, at the median."""
    robot, n = quadruped(), 200
    q, v, tau, on, dt, mu = given(n)
    dyn = swept(3, inputs=("impulse0",))
    impulse, found, cold = np.zeros((n, 4, 3)), dyn.contact_solve(q, v, tau, on, dt, mu), np.zeros(n)
    for _ in range(20):
        cold = dyn.contact_solve(q, v, 0.0 * tau, on, dt, mu, impulse0=0.0 * impulse).residual
        found = dyn.contact_solve(q, v, 0.0 * tau, on, dt, mu, impulse0=impulse)
        q, v, impulse = robot.integrate(q, DT * found.v), found.v, found.impulse
    assert np.median(found.residual) < 0.1 * np.median(cold)


def planned(monkeypatch: pytest.MonkeyPatch, folder: Path, factored: bool | None, **changes: Any) -> None:
    """Sweeps by a plan of ours; folder: where their kernels are kept, which those of other plans are not for."""
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(folder))
    monkeypatch.setattr(contact_sweeps, "plan_of", lambda *of: PLAN(*of, factored)._replace(**changes))


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-10), ("float32", 2e-2)])
def test_factors_and_the_matrix_are_the_same(
    dtype: str, close: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The sweeps by Y and by G, of 4 and of 12 points; rounding is multiplied by the condition of G."""
    for contacts in (FEET, POINTS):
        n, (q, v, tau, *_), k = 20, given(20), len(contacts)
        args = [np.asarray(x, dtype) for x in (q, v, tau, np.ones((n, k)), np.full(n, DT), np.full((n, k), 0.7))]
        answers = list[Any]()
        for factored in (False, True):
            planned(monkeypatch, tmp_path, factored)
            answers.append(swept(4, contacts=contacts, target="numpy", dtype=dtype).contact_solve(*args))
        for one, other in zip(answers[0], answers[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=close * np.abs(one).max())
        assert not np.array_equal(answers[0].v, answers[1].v)  # they were two ways


@pytest.mark.parametrize("factored", [False, True])
def test_a_loop_has_the_bits_of_straight_code(factored: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Impulses are the same where sweeps are written out and where they are a loop."""
    answers = list[Any]()
    for loops in (False, True):
        planned(monkeypatch, tmp_path / str(loops), factored, loops=loops)
        answers.append(swept(5, dtype="float32").contact_solve(*(np.float32(x) for x in given(30))))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize(("target", "dtype"), [("cpu", "float64"), ("cpu", "float32"), ("c", "float64")])
def test_targets_compute_what_the_reference_does(target: str, dtype: str) -> None:
    """With all inputs; 12 points on the processor."""
    points = FEET if target == "c" else POINTS  # compilers take long
    n, (q, v, tau, *_), rng, k = 20, given(20), np.random.default_rng(4), len(points)
    normals = np.array([0.0, 0.0, 1.0]) + 0.2 * rng.normal(size=(n, k, 3))
    args = [q, v, tau, np.ones((n, k)), np.full(n, DT), np.full((n, k), 0.7)]
    more = {"normals": normals, "gaps": 1e-4 * rng.random((n, k)), "impulse0": 0.01 * rng.random((n, k, 3))}
    cast = [np.asarray(x, dtype) for x in args], {name: np.asarray(x, dtype) for name, x in more.items()}
    found = swept(4, contacts=points, inputs=OPEN, target=target, dtype=dtype).contact_solve(*cast[0], **cast[1])
    wanted = swept(4, contacts=points, inputs=OPEN, target="numpy").contact_solve(*args, **more)
    close = {"float64": 1e-10, "float32": 2e-2}[dtype]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=close * np.abs(other).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_state_has_the_same_bits_in_any_batch(dtype: str) -> None:
    args = [x.astype(dtype) for x in given(41)]
    alone, many = (swept(4, dtype=dtype, threads=threads) for threads in (1, 2))
    whole = alone.contact_solve(*args)
    for dyn, part in ((many, slice(0, 41)), (alone, slice(3, 12)), (many, slice(40, 41)), (alone, slice(17, 18))):
        for some, every in zip(dyn.contact_solve(*(x[part] for x in args)), whole, strict=True):
            np.testing.assert_array_equal(some, every[part])


def test_no_state_spoils_another() -> None:
    args = given(20)
    whole = swept(4).contact_solve(*args)
    args[1][7, 3] = np.nan
    found = swept(4).contact_solve(*args)
    assert np.isnan(found.residual[7])
    np.testing.assert_array_equal(np.delete(found.v, 7, 0), np.delete(whole.v, 7, 0))


def test_the_edges_of_the_inputs() -> None:
    """No friction, a friction of 10, steps of 1e-9 and 10 s, gaps that no motion fulfils."""
    dyn = swept(12, inputs=("gaps",))
    q, v, tau, on, dt, mu = given(20)
    none = np.zeros((20, 4))
    for step, friction, gaps in (
        (dt, none, none),
        (dt, 10.0 + none, none),
        (1e-6 * dt, mu, none),
        (1e4 * dt, mu, none),
        (dt, mu, none - 0.1),
    ):
        found = dyn.contact_solve(q, v, tau, on, step, friction, gaps=gaps)
        assert all(np.isfinite(x).all() for x in found) and np.all(found.impulse[..., 2] >= 0.0)
        assert np.median(found.residual) < 1e-3 * max(1.0, np.abs(found.v).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_that_depend_on_each_other(dtype: str) -> None:
    """A box on its corners, and a pendulum with a point at its end, whose block of G has rank 1: finite, and solved."""
    q, v = np.tile([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0], (20, 1)), 0.1 * np.random.default_rng(0).normal(size=(20, 6))
    args = [np.asarray(x, dtype) for x in (q, v, 0.0 * v, np.ones((20, 4)), np.full(20, DT), np.full((20, 4), 0.5))]
    close = {"float64": 1e-6, "float32": 1e-5}[dtype]
    found = box().compile(contacts=EDGES, sweeps=60, dtype=dtype).contact_solve(*args)
    assert np.median(found.residual) < close
    for speed in (0.0, 1.0, 1e3):
        for mu in (0.0, 1.0, 1e3):
            args = (q[0], np.full(6, speed), np.zeros(6), np.ones(4), DT, np.full(4, mu))
            hard = (
                box()
                .compile(contacts=EDGES, sweeps=60, dtype=dtype)
                .contact_solve(*(np.asarray(x, dtype) for x in args))
            )
            assert all(np.isfinite(x).all() for x in hard)
    builder = condyle.Builder(gravity=(0.0, 0.0, -9.81))
    builder.body("link", mass=2.0, com=(0.5, 0.0, 0.0), inertia=0.1 * np.eye(3))
    builder.joint("hinge", parent="world", child="link", type="revolute", axis=(0.0, -1.0, 0.0))
    tip = condyle.Contact("link", placement=Placement.from_rpy((1.0, 0.0, 0.3)))
    one = builder.build().compile(contacts=[tip], sweeps=30, dtype=dtype)
    end = one.contact_solve(*(np.asarray(x, dtype) for x in ([0.0], [-1.0], [0.0], [1.0], DT, [0.5])))
    assert end.residual < close and abs(end.v[0]) < close


def test_joints_that_stick_and_stops() -> None:
    """Rows of joints in the same sweeps: those of the solver that iterates, with contacts and without."""
    bare = quadruped()
    robot = bare.with_drives({name: condyle.Drive(friction=0.3) for name in bare.joint_names[1:]})
    q, v, tau, on, dt, mu = given(60)
    options: dict[str, Any] = {
        "target": "numpy",
        "contacts": FEET,
        "joint_forces": ("friction", "limits"),
        "joint_rows": True,
    }
    solved = robot.compile(**options).contact_solve(q, v, tau, on, dt, mu)
    found = [robot.compile(**options, sweeps=n).contact_solve(q, v, tau, on, dt, mu) for n in (4, 40)]
    there = solved.residual < 1e-8
    assert np.median(found[1].residual) < 0.05 * np.median(found[0].residual)
    assert np.median(np.abs(found[1].v - solved.v)[there]) < 1e-6
    none, still = np.zeros((60, 0)), 1e-3 * v
    alone = {"target": "numpy", "joint_forces": ("friction", "limits"), "joint_rows": True, "contacts": ()}
    air = robot.compile(**alone, sweeps=30).contact_solve(q, still, 0.0 * tau, none, dt, none)
    np.testing.assert_allclose(
        air.v, robot.compile(**alone).contact_solve(q, still, 0.0 * tau, none, dt, none).v, rtol=0, atol=1e-6
    )


def test_derivatives_are_those_of_the_solution() -> None:
    """After 60 sweeps they are those of `contact_solve` without sweeps=."""
    q, v, tau, on, dt, mu = given(4)
    bars = np.random.default_rng(2).normal(size=v.shape), np.zeros((4, 4, 3)), np.zeros(4)
    pulled = [swept(n, target="numpy").vjp("contact_solve")(q, v, tau, on, dt, mu, *bars) for n in (60, None)]
    for one, other in zip(pulled[0][:3], pulled[1][:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())


def test_other_words_are_refused() -> None:
    for sweeps in (0, -1, 1.5, True, "12"):
        with pytest.raises(UnsupportedError, match="sweeps="):
            swept(sweeps)  # pyright: ignore
    assert swept(4).identity != swept(5).identity
