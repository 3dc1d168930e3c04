"""The step of a ground on every target, its derivatives, its exports, and a quadruped that lands and stands."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.backends.cuda.target import Form
from condyle.compile.gpu import GpuFunction
from condyle.ground import Grid, Ground
from condyle.user import UserFunction
from tests.backends.cuda.simulate import simulate
from tests.ground.robots import FEET, ball, of_joints, one_leg, quadruped, standing
from tests.processor import slow
from tests.programs import needs

GRID = Grid((4, 4), 0.4, (-0.6, -0.6))
GROUND = Ground(FEET, slip=0.3)
ROUGH = Ground(FEET, slip=0.3, height=GRID)
DT = 1e-3


@pytest.fixture(scope="module")
def plane() -> UserFunction:
    return GROUND.step(quadruped())


@pytest.fixture(scope="module")
def leg() -> UserFunction:
    return GROUND.step(one_leg())


@pytest.fixture(scope="module")
def rough() -> UserFunction:
    return ROUGH.step(quadruped(), inputs=("friction", "stiffness"))


def states(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """About the standing one, some feet in the ground."""
    robot, rng = quadruped(), np.random.default_rng(5)
    q = robot.integrate(np.tile(standing(), (n, 1)), 0.05 * rng.normal(size=(n, robot.nv)))
    return q, rng.normal(size=(n, robot.nv)), 10.0 * rng.normal(size=(n, robot.nv))


def given_to(f: UserFunction, n: int) -> list[Any]:
    rng = np.random.default_rng(6)
    more = [0.02 * rng.normal(size=(n, 4, 4)), rng.uniform(0.3, 1.0, n), rng.uniform(2e4, 6e4, n)]
    return [*states(n), np.full(n, DT), *(more if len(f.specification.inputs) > 4 else [])]


@pytest.mark.parametrize("target", ["numpy", "cpu", slow("c")])
@pytest.mark.parametrize("name", ["plane", slow("rough")])
def test_targets_agree(name: str, target: str, request: pytest.FixtureRequest) -> None:
    f: UserFunction = request.getfixturevalue(name)
    given = given_to(f, 6)
    wanted, found = f.reference(*given), f.compile(target=target)(*given)
    free = quadruped().compile(target="numpy").step(*given[:4])
    assert found._fields == ("q", "v") and np.abs(wanted.v - free.v).max() > 1.0
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-11 * np.abs(y).max())


def test_float32_has_its_digits(plane: UserFunction) -> None:
    given = given_to(plane, 6)
    found = plane.compile(dtype="float32")(*(np.float32(x) for x in given))
    wanted = plane.reference(*given)
    assert found.v.dtype == np.float32 and np.abs(found.v - wanted.v).max() < 1e-3 * np.abs(wanted.v).max()


@pytest.mark.parametrize("name", ["leg", slow("plane"), slow("rough")])
def test_derivatives_are_those_of_differences(name: str, request: pytest.FixtureRequest) -> None:
    f: UserFunction = request.getfixturevalue(name)
    robot, n = one_leg() if name == "leg" else quadruped(), 4
    given, compiled = given_to(f, n), f.compile()
    given[:3] = of_joints(robot, *given[:3])
    rng, h = np.random.default_rng(7), 1e-6
    along = [rng.normal(size=(n, robot.nv)), *(rng.normal(size=x.shape) for x in given[1:])]
    along = [d * s for d, s in zip(along, (1.0, 1.0, 1.0, DT, 1e-2, 0.1, 1e3), strict=False)]

    def moved(sign: float) -> Any:
        q = robot.integrate(given[0], sign * h * along[0])
        return compiled(q, *(x + sign * h * d for x, d in zip(given[1:], along[1:], strict=True)))

    ahead, behind = moved(1.0), moved(-1.0)
    wanted = robot.difference(behind.q, ahead.q) / (2 * h), (ahead.v - behind.v) / (2 * h)
    tangents = compiled.jvp()(*given, *along)
    for x, y in zip(tangents, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6 * np.abs(y).max())
    bars = [rng.normal(size=x.shape) for x in tangents]
    cotangents = compiled.vjp()(*given, *bars)
    one = sum((x * y).reshape(n, -1).sum(axis=1) for x, y in zip(tangents, bars, strict=True))
    other = sum((x * y).reshape(n, -1).sum(axis=1) for x, y in zip(cotangents, along, strict=True))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(one).max())
    by = compiled.jacobian(by=("q", "v"))(*given)
    sums = (by.dv_dq @ along[0][..., None] + by.dv_dv @ along[1][..., None])[..., 0]
    none = [np.zeros_like(x) for x in along[2:]]
    np.testing.assert_allclose(sums, compiled.jvp()(*given, *along[:2], *none).dv, atol=1e-9 * np.abs(sums).max())


def test_gradients_go_through_a_rollout(plane: UserFunction) -> None:
    """Of the height at the end by the torques of each step."""
    robot, steps = quadruped(), 20
    f, q, v = plane.compile(), standing(0.6), np.zeros(18)
    tau = 5.0 * np.random.default_rng(8).normal(size=(steps, 18))
    bar = np.zeros(18)
    bar[2] = 1.0
    options: dict[str, Any] = {"by_time": ("tau",), "last": True}
    slope = f.vjp("rollout")(q, v, tau, DT, bar, np.zeros(18), **options).tau
    change = 1e-4 * np.random.default_rng(9).normal(size=tau.shape)
    ends = [f.rollout(q, v, tau + sign * change, DT, **options).q for sign in (1.0, -1.0)]
    found, wanted = 2.0 * (slope * change).sum(), (robot.difference(ends[1], ends[0]) * bar).sum()
    assert np.isclose(found, wanted, rtol=1e-5) and abs(wanted) > 1e-12


def test_second_derivatives_are_those_of_first_ones() -> None:
    """On a rough ground, by the state, heights and friction."""
    f = Ground(["ball"], height=Grid((3, 3), 0.5, (-0.5, -0.5))).step(ball(), inputs=("friction",)).compile()
    rng, h = np.random.default_rng(10), 1e-6
    given = [
        np.array([0.1, -0.2, -0.02]),
        rng.normal(size=3),
        np.zeros(3),
        np.array(DT),
        np.zeros((3, 3)),
        np.array(0.5),
    ]
    given[4] += 0.03 * rng.normal(size=(3, 3))
    along, bar = [rng.normal(size=x.shape) * s for x, s in zip(given, (1, 1, 1, 0, 0.1, 0.1), strict=True)], np.ones(3)
    H = f.hessian(of="v")(*given, bar)
    slopes = [f.vjp()(*(x + s * h * d for x, d in zip(given, along, strict=True)), 0 * bar, bar) for s in (1, -1)]
    wanted = np.concatenate([np.ravel(x - y) / (2 * h) for x, y in zip(*slopes, strict=True)])
    found = H @ np.concatenate([np.ravel(x) for x in along])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
    assert np.array_equal(H, H.T)


@pytest.mark.slow
def test_a_gpu_computes_the_same(plane: UserFunction) -> None:
    """A thread a state, as PTX that is interpreted."""
    kernels = plane.compile(target="cuda").dynamics._compiler.gpu_kernels
    function = plane.specification
    gpu = GpuFunction(kernels, function, "float64", 132)
    given, wanted = given_to(plane, 3), plane.reference(*given_to(plane, 3))
    rows = [np.reshape(x, (3, -1)) for x in given]
    for x, y in zip(simulate(gpu.launches(Form(1, kernels.usual(function))), rows), wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_an_export_has_the_step_and_its_rollout(plane: UserFunction, tmp_path: Path, target: str) -> None:
    files = plane.export(target, tmp_path / "out", derivatives=("vjp",), name="dog", rollout={"by_time": ("tau",)})
    text = "".join(path.read_text() for path in files if path.suffix in (".h", ".cuh"))
    assert "ground_step" in text and "vjp_ground_step" in text and "rollout" in text
    assert "user_" not in text.replace("user_ground_step", "")


@needs("cc")
@pytest.mark.slow
def test_an_exported_step_passes_its_own_test(rough: UserFunction, tmp_path: Path) -> None:
    rough.export("c", tmp_path / "out", derivatives=("vjp",))
    sources = sorted(str(path) for path in (tmp_path / "out").glob("*.c"))
    subprocess.run(["cc", "-O1", *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    subprocess.run([str(tmp_path / "check")], check=True)


def test_a_pickled_step_is_the_same_function(rough: UserFunction) -> None:
    again = pickle.loads(pickle.dumps(rough))
    assert again.specification.name == rough.specification.name
    assert pickle.loads(pickle.dumps(ROUGH)) == ROUGH


def test_numbers_that_are_inputs_are_those_of_the_ground(plane: UserFunction) -> None:
    given = given_to(plane, 4)
    opened = GROUND.step(quadruped(), inputs=("slip", "damping")).compile()
    other = Ground(FEET, slip=0.2, damping=1.0).step(quadruped()).compile()
    for x, y in zip(opened(*given, 0.2, 1.0), other(*given), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_a_quadruped_lands_and_stands() -> None:
    """From 10 cm of air, held by proportional and derivative torques of its joints, for 2 s."""
    robot, goal = quadruped(), standing(0.7)
    ground = Ground(FEET, stiffness=5e4, damping=0.2, slip=0.3)

    def held(at: Any, dt: Any) -> dict[str, Any]:
        torque = 600.0 * (goal[7:] - at.q[7:]) - 40.0 * at.v[6:]
        tau = np.concatenate([np.zeros(6), torque])
        after = at.step(tau, dt, f_ext=ground.f_ext(at))
        return {"q": after.q, "v": after.v, "force": ground.forces(at)}

    f = robot.function(held, {"q": "nq", "v": "nv", "dt": ()}).compile()
    path = f.rollout(goal, np.zeros(18), 5e-4, steps=4000, every=10)
    weight = robot.mass * 9.81
    assert 0.45 < path.q[-1, 2] < 0.62 and np.abs(path.v[-1]).max() < 1e-2
    assert np.isclose(path.force[-1, :, 2].sum(), weight, rtol=1e-3) and (path.force[..., 2] >= 0.0).all()
    assert path.force[0].max() == 0.0 and path.force[..., 2].sum(axis=1).max() > 2.0 * weight
