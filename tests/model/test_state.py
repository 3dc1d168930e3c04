"""States of a robot: how far from unit a quaternion may be, ranges, batches, and orders of other programs' models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from condyle.errors import DTypeError, ModelError, OutOfMemoryError, ShapeError, StateError
from condyle.model.builder import Builder, chain, random_tree
from condyle.model.robot import Robot
from condyle.model.state import fresh, names_of, quaternions_of, usual_ranges
from tests.zoo import every_joint

BALL = random_tree(2, 0, types=("spherical",), floating_base=True)


def off_unit(by: float, dtype: str = "float64") -> np.ndarray:
    """Three states, the quaternion of the base longer than unit in the second."""
    q = np.tile(BALL.neutral(), (3, 1))
    q[1, 6] += by
    return q.astype(dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-5)])
def test_a_state_is_unit_to_its_own_digits(dtype: str, tolerance: float) -> None:
    BALL.check_state(off_unit(0.9 * tolerance, dtype))
    with pytest.raises(
        StateError, match="joint 'root_joint': the quaternion is not unit in row 1; normalize"
    ) as caught:
        BALL.check_state(off_unit(1.5 * tolerance, dtype))
    assert caught.value.rows == (1,)


def test_calls_take_what_is_unit_to_a_thousandth() -> None:
    dv = np.zeros((3, BALL.nv))
    q = off_unit(0.9e-3)
    assert BALL.integrate(q, dv).shape == q.shape and not BALL.difference(q, q).any()
    spoilt = off_unit(0.0)
    spoilt[1, 6] = np.inf
    with np.errstate(invalid="ignore"):  # what is not finite spoils its own row alone
        assert np.isfinite(BALL.integrate(spoilt, dv)[[0, 2]]).all()
    far, unit = off_unit(1.5e-3), off_unit(0.0)
    for call in (
        lambda: BALL.integrate(far, dv),
        lambda: BALL.difference(far, unit),
        lambda: BALL.difference(unit, far),
    ):
        with pytest.raises(StateError, match="not unit in row 1;"):
            call()


def test_rows_are_counted() -> None:
    """One row, some rows, and the first eight of many."""
    q = np.zeros((9, 3))
    q[:, 0] = np.nan
    with pytest.raises(StateError, match=r"^q: not finite in rows 0, 1, 2, 3, 4, 5, 6, 7 and 1 more$"):
        chain(3).check_state(q)
    with pytest.raises(StateError, match=r"^v: not finite in row 0$"):
        chain(3).check_state(np.zeros(3), np.full(3, np.inf))


def test_states_keep_their_number_type_and_lead_to_unit_ones() -> None:
    q = 3.0 * BALL.random_state(2, 0, "float32").q
    assert BALL.normalize(q).dtype == np.float32 and BALL.normalize(q.astype(np.float64)).dtype == np.float64
    assert BALL.integrate(BALL.neutral().astype(np.float32), np.zeros(BALL.nv)).dtype == np.float64
    assert quaternions_of(BALL) == ((3, "root_joint"), (7, "joint0"), (11, "joint1"))


@pytest.mark.parametrize(
    ("lower", "upper", "low", "high"),
    [
        (0.5, 0.5, 0.5, 0.5),
        (np.pi, 5.0, np.pi, np.pi),
        (5.0, 6.0, 5.0, 6.0),
        (-6.0, -5.0, -6.0, -5.0),
        (-9.0, -np.pi, -np.pi, -np.pi),
        (np.inf, np.inf, -np.pi, np.pi),
        (-np.inf, -np.inf, -np.pi, np.pi),
        (1.0, -1.0, -np.pi, np.pi),
    ],
)
def test_the_range_of_an_angle(lower: float, upper: float, low: float, high: float) -> None:
    robot = chain(1)
    joint = replace(robot.joints[0], lower=[lower], upper=[upper])  # type: ignore[arg-type]
    limited = replace(robot, joints=(joint,))
    assert [x.tolist() for x in usual_ranges(limited)] == [[low], [high]]
    q = limited.random_state(50, 0).q
    assert low <= q.min() <= q.max() <= high


def test_random_states_fill_their_ranges() -> None:
    """Angles to pi, lengths and velocities to 1; quaternions are unit, in every direction."""
    robot = every_joint(floating_base=True)
    q, v = robot.random_state(2000, 0)
    low, high = usual_ranges(robot)
    assert set(high.tolist()) == {1.0, np.pi} and np.array_equal(low, -high)
    flat = [joint.q_slice for joint in robot.joints if not joint.kind.has_quaternion]
    for x, ends in [(v, np.ones(robot.nv)), *((q[:, at], high[at]) for at in flat)]:
        assert (np.abs(x) <= ends).all()
        assert (x.min(axis=0) < -0.99 * ends).all() and (x.max(axis=0) > 0.99 * ends).all()
    assert robot.random_state(0, 0).q.shape == (0, robot.nq)


@pytest.mark.parametrize("n", [-1, 2.5, "3", None, True])
def test_a_number_of_states_is_whole(n: Any) -> None:
    with pytest.raises(ShapeError, match=r"^n=.* random states: give a whole number, 0 or more$"):
        chain(1).random_state(n, 0)


def test_more_states_than_memory_holds_are_refused() -> None:
    with pytest.raises(OutOfMemoryError, match="n=1152921504606846976 random states do not fit into memory"):
        chain(3).random_state(1 << 60, 0)


def test_random_states_take_a_seed_or_a_generator() -> None:
    with pytest.raises(DTypeError, match=r"^random_state: rng='a': give a seed"):
        chain(3).random_state(1, "a")  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(2,), (5, 4), (2, 3, 5), (3, 2, 2)])
def test_only_a_matrix_that_lies_on_its_side_is_said_to_be_one(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as caught:
        chain(3).integrate(np.zeros(shape), np.zeros(3))
    assert str(caught.value).endswith(f"q has shape {shape}, expected (..., 3)")


def test_names_for_what_has_none() -> None:
    assert names_of(["a", "", "body1", ""], "body") == ["a", "body1_", "body1", "body3"]
    taken = {"a", "a_"}
    assert (fresh("a", taken), fresh("b", taken), taken) == ("a__", "b", {"a", "a_", "a__", "b"})


def tree() -> Robot:
    """A free, a spherical, a prismatic and a revolute joint in a row."""
    builder, parent = Builder(), "world"
    for kind in ("free", "spherical", "prismatic", "revolute"):
        builder.body(kind, mass=1.0, inertia=0.1 * np.eye(3))
        builder.joint(kind, parent=parent, child=kind, type=kind)
        parent = kind
    return builder.build()


def test_the_order_of_a_model_of_mujoco() -> None:
    """Types are free, ball, slide, hinge; a joint without a name has that of its number."""
    names = ["revolute", "prismatic", "spherical", "free"]
    model = SimpleNamespace(
        njnt=4,
        jnt_type=[3, 2, 1, 0],
        jnt_qposadr=[0, 1, 2, 6],
        jnt_dofadr=[0, 1, 2, 5],
        joint=lambda k: SimpleNamespace(name=names[k]),
    )
    p = tree().permutation(model)
    assert p.q.tolist() == [6, 7, 8, 10, 11, 12, 9, 3, 4, 5, 2, 1, 0]
    assert p.v.tolist() == [5, 6, 7, 8, 9, 10, 2, 3, 4, 1, 0]


def pinocchio(nqs: list[int], nvs: list[int], names: list[str]) -> SimpleNamespace:
    """What is read of a model, the universe first."""
    starts = ([sum(sizes[:k]) for k in range(len(sizes))] for sizes in (nqs, nvs))
    idx_qs, idx_vs = starts
    return SimpleNamespace(
        names=["universe", *names], idx_qs=[0, *idx_qs], nqs=[0, *nqs], idx_vs=[0, *idx_vs], nvs=[0, *nvs]
    )


NAMES = ["revolute", "free", "spherical", "prismatic"]


def test_the_order_of_a_model_of_pinocchio() -> None:
    p = tree().permutation(pinocchio([1, 7, 4, 1], [1, 6, 3, 1], NAMES))
    assert p.q.tolist() == [*range(1, 13), 0] and p.v.tolist() == [*range(1, 11), 0]


@pytest.mark.parametrize(
    ("nqs", "nvs", "said"),
    [
        ([2, 7, 4, 1], [1, 6, 3, 1], "'revolute': has cos and sin of its angle in q there: no permutation makes it"),
        ([1, 7, 4, 2], [1, 6, 3, 1], "'prismatic': nq 2 and nv 1 there, 1 and 1 here: load both from one file"),
        ([1, 7, 3, 1], [1, 6, 3, 1], "'spherical': nq 3 and nv 3 there, 4 and 3 here: load both from one file"),
        ([0, 7, 4, 1], [0, 6, 3, 1], r"'revolute': has entries here and mimics .* load\(\.\.\., mimic='exact'\)"),
    ],
)
def test_joints_with_other_entries_are_named(nqs: list[int], nvs: list[int], said: str) -> None:
    with pytest.raises(ModelError, match=f"not an order of this robot's q and v: {said}"):
        tree().permutation(pinocchio(nqs, nvs, NAMES))


def misnamed() -> Iterator[tuple[list[str], str]]:
    own = ["free", "spherical", "prismatic", "revolute"]
    yield [*own, *"abcdef"], "unknown ['a', 'b', 'c', 'd', 'e' and 1 more]; load both from one file, with the same base"
    yield own[1:], "missing ['free']; load both"
    yield [*own, "free", "revolute"], "given twice ['free', 'revolute']; load both"
    yield ["universe", *own], "unknown ['universe']; 'universe' is no joint: give the model itself, or model.names[1:]"


@pytest.mark.parametrize(("names", "said"), list(misnamed()))
def test_names_that_are_no_order(names: list[str], said: str) -> None:
    with pytest.raises(ModelError) as caught:
        tree().permutation(names)
    assert str(caught.value).startswith(f"not an order of this robot's joints: {said}")
