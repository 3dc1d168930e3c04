"""Steps of robots whose bodies spin, on several targets and by their laws."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

import condyle
from condyle import Dynamics, Robot
from condyle.model.joints import JOINT_TYPES
from condyle.specification.integrators import METHODS

WHAT = (
    "steps of random robots with spinning bases; found is: a target that differs from the reference, a base whose "
    "velocity in the world is not what its acceleration makes of it, a free body that gains or loses momentum, a state "
    "that is no number and spoils another"
)
Array = np.ndarray
FIRST_ORDER = [name for name, method in METHODS.items() if method.order == 1]
STATES, ROBOTS = 5, 40
LIMITS = {"float64": 1e-8, "float32": 2e-3}
"""Of differences between targets, of the largest entry: accelerations of spinning trees have these digits."""
ROUNDING = 1e-11
"""Of laws that hold exactly, of the largest velocity or length, over at most 200 steps."""
FASTEST = 1e3
"""rad/s: at steps of some 0.8 rad the turning of an uneven body can grow without bound; large angles lose digits."""


def case(rng: np.random.Generator, folder: Path) -> None:
    """One batch of states of one robot."""
    del folder
    if rng.random() < 0.3:
        alone(rng)
    else:
        tree(rng)


def tree(rng: np.random.Generator) -> None:
    """A tree: a target and the reference agree, and its base moves by its acceleration."""
    robot, integrator = drawn(int(rng.integers(ROBOTS))), str(rng.choice(list(METHODS)))
    dtype = "float64" if rng.random() < 0.8 else "float32"
    target = "c" if rng.random() < 0.02 else "cpu"
    (q, v), h = robot.random_state(STATES, rng), np.ravel(10.0 ** rng.uniform(-4.0, -2.0, STATES))
    for joint in robot.joints:
        if joint.kind.turning_entries:
            v[:, joint.v_index : joint.v_index + joint.nv] *= 10.0 ** rng.uniform(-1.0, 1.5)
    tau = rng.uniform(-1.0, 1.0, v.shape)
    exact, dyn = compiled(robot, "numpy", integrator, "float64"), compiled(robot, target, integrator, dtype)
    given = [x.astype(dtype) for x in (q, v, tau, h)]
    rounded = [x.astype(float) for x in given]
    found = dyn.step(*given)
    close(f"step on {target}", [*found], [*exact.step(*rounded)], LIMITS[dtype])
    spoiled(rng, dyn, given, [*found])
    if rng.random() < 0.2:
        close("A, B", [*dyn.step_derivatives(*given)], [*exact.step_derivatives(*rounded)], LIMITS[dtype])
    if integrator in FIRST_ORDER:
        carried(robot, integrator, (q, v), exact.forward_dynamics(q, v, tau), exact.step(q, v, tau, h), h)


def spoiled(rng: np.random.Generator, dyn: Dynamics, given: list[Array], want: list[Array]) -> None:
    """A number that is none in one state leaves the bits of the others."""
    state, changed = int(rng.integers(STATES)), [x.copy() for x in given]
    some = changed[int(rng.integers(len(changed)))].reshape(STATES, -1)
    some[state, int(rng.integers(some.shape[1]))] = rng.choice([np.nan, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        found = dyn.step(*changed)
    for have, exact in zip(found, want, strict=True):
        assert np.array_equal(np.delete(have, state, 0), np.delete(exact, state, 0)), f"state {state} spoils others"


def carried(
    robot: Robot, integrator: str, before: tuple[Array, Array], a: Array, after: tuple[Array, Array], h: Array
) -> None:
    """R' v' is R (v + h (a + w x v)), and the base goes by h times that, or by h R v."""
    for joint in robot.joints:
        if not joint.kind.turning_entries:
            continue
        (old, R), (new, R_after) = (pose(joint.type, q[:, joint.q_index :]) for q in (before[0], after[0]))
        rates = slice(joint.v_index, joint.v_index + joint.nv)
        (line, turn), (rate, _), (end, _) = (twist(x[:, rates]) for x in (before[1], a, after[1]))
        fixed = turned(R, line + h[:, None] * (rate + np.cross(turn, line)))
        moving = turned(R, line) if integrator == "euler" else fixed
        size = 1.0 + np.abs(fixed).max() + np.abs(old).max()
        for what, have, want in (
            ("velocity", turned(R_after, end), fixed),
            ("position", new, old + h[:, None] * moving),
        ):
            worst = float(np.max(np.abs(have - want)))
            assert worst < ROUNDING * size, f"{joint.type} by {integrator}: {what} is off by {worst:.1e} of {size:.1e}"


def alone(rng: np.random.Generator) -> None:
    """A free or planar body without forces, its frame at its centre of mass: momentum and path stay."""
    kind, integrator = str(rng.choice(["free", "planar"])), str(rng.choice(FIRST_ORDER))
    robot = body(kind, int(rng.integers(10)))
    steps, h = int(rng.integers(1, 200)), float(10.0 ** rng.uniform(-4.0, -1.0))
    q, v = robot.random_state(STATES, rng)
    v[:, robot.joints[0].nv // 2 :] *= 10.0 ** rng.uniform(-1.0, 1.0)  # h w: up to half a turn, and more
    path = compiled(robot, "cpu", integrator, "float64").rollout(q, v, np.zeros((steps, robot.nv)), h, last=True)
    stays = np.abs(path.v).max(axis=1) < FASTEST
    (old, R), (new, R_after) = (pose(kind, x[stays]) for x in (q, path.q))
    begin, end = turned(R, twist(v[stays])[0]), turned(R_after, twist(path.v[stays])[0])
    if not stays.any():
        return
    size = 1.0 + np.abs(begin).max() * (1.0 + steps * h) + np.abs(old).max() + np.abs(path.q[stays]).max()
    assert np.abs(end - begin).max() < ROUNDING * size, f"{kind} by {integrator}: the velocity drifts"
    assert np.abs(new - old - steps * h * begin).max() < ROUNDING * size, f"{kind} by {integrator}: the path bends"


@lru_cache(maxsize=ROBOTS)
def drawn(seed: int) -> Robot:
    """A tree of one to four joints, with a free base or with planar and free joints somewhere."""
    rng = np.random.default_rng(seed)
    types = [name for name in JOINT_TYPES if name != "free"]
    chosen = tuple(str(x) for x in rng.choice(types, 3)) + (("planar",) if seed % 2 else ())
    return condyle.random_tree(int(rng.integers(1, 4)), seed, types=chosen, floating_base=seed % 2 == 0)


@lru_cache(maxsize=20)
def body(kind: str, seed: int) -> Robot:
    rng = np.random.default_rng(seed)
    builder = condyle.Builder(gravity=(0.0, 0.0, 0.0)).body(
        "b", mass=10.0 ** rng.uniform(-2, 2), inertia=np.diag(rng.uniform(0.8, 1.2, 3)) * 10.0 ** rng.uniform(-3, 1)
    )
    axis = (0, 0, 1) if kind == "planar" else None
    return builder.joint("j", parent="world", child="b", type=kind, axis=axis).build()


@lru_cache(maxsize=4 * ROBOTS)
def compiled(robot: Robot, target: str, integrator: str, dtype: str) -> Dynamics:
    return robot.compile(target=target, integrator=integrator, dtype=dtype, threads=1)


def pose(kind: str, q: Array) -> tuple[Array, Array]:
    """Origin (n, 3) and rotation (n, 3, 3) of a joint whose q begins here."""
    if kind == "planar":
        c, s, o = np.cos(q[:, 2]), np.sin(q[:, 2]), 0.0 * q[:, 2]
        rows = [[c, -s, o], [s, c, o], [o, o, o + 1.0]]
        return np.stack([q[:, 0], q[:, 1], o], -1), np.moveaxis(np.array(rows), -1, 0)
    x, y, z, w = q[:, 3:7].T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return q[:, :3], np.moveaxis(np.array(rows), -1, 0)


def twist(v: Array) -> tuple[Array, Array]:
    """Linear and angular, (n, 3) each."""
    if v.shape[1] == 6:
        return v[:, :3], v[:, 3:]
    none = np.zeros((len(v), 1))
    return np.concatenate([v[:, :2], none], 1), np.concatenate([none, none, v[:, 2:]], 1)


def turned(R: Array, x: Array) -> Array:
    return np.einsum("nij,nj->ni", R, x)


def close(what: str, found: list[Array], want: list[Array], limit: float) -> None:
    for k, (have, exact) in enumerate(zip(found, want, strict=True)):
        axes = tuple(range(1, exact.ndim))
        scale = np.maximum(np.abs(exact).max(axis=axes), 1.0)
        worst = float(np.max(np.abs(have - exact).max(axis=axes) / scale))
        assert worst < limit, f"{what}: answer {k} is off by {worst:.1e}, at most {limit:.0e}"
