"""Every joint type: its motion, its subspace and its configuration space agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import UnsupportedError
from condyle.model.joints import JOINT_TYPES
from condyle.model.joints.lie import components, stacked
from condyle.scalar import number
from condyle.spatial.rotation import Identity
from tests.model.joints.arrays import difference, integrate

pytestmark = pytest.mark.smoke

NAMES = list(JOINT_TYPES)
SIZES = dict.fromkeys(("revolute", "continuous", "prismatic", "helical"), (1, 1, 1))
SIZES |= {"cylindrical": (2, 2, 1), "planar": (3, 3, 1), "spherical": (4, 3, 0)}
SIZES |= {"universal": (2, 2, 2), "translation": (3, 3, 0), "free": (7, 6, 0)}
"""Of the types that robots drawn by a seed have always had, in their order."""
PITCH = 0.3


def placed(name: str, q: np.ndarray) -> np.ndarray:
    """The child in the joint frame, as a 4 x 4 matrix."""
    rotation, origin = JOINT_TYPES[name].transform([number(x) for x in q.tolist()], PITCH)
    out = np.eye(4)
    out[:3, :3] = np.array([[float(x) for x in rotation.into(tuple(axis))] for axis in np.eye(3)])
    out[:3, 3] = [float(x) for x in origin]
    return out


def test_the_table_has_every_type_under_its_name() -> None:
    assert NAMES[: len(SIZES)] == list(SIZES)
    for name, kind in JOINT_TYPES.items():
        assert kind.name == name
        assert (kind.nq, kind.nv, kind.axes) == SIZES.get(name, (kind.nq, kind.nv, kind.axes))


@pytest.mark.parametrize("name", NAMES)
def test_difference_inverts_integrate(name: str) -> None:
    kind = JOINT_TYPES[name]
    rng = np.random.default_rng(0)
    q0, q1 = kind.random(rng, 200), kind.random(rng, 200)
    dv = rng.uniform(-1.7, 1.7, (200, kind.nv))
    assert difference(kind, q0, integrate(kind, q0, dv)) == pytest.approx(dv, abs=1e-12)
    moved = integrate(kind, q0, difference(kind, q0, q1))
    if kind.nq != kind.nv:  # q and -q are one orientation
        moved[..., -4:] *= np.sign(np.sum(moved[..., -4:] * q1[..., -4:], axis=-1, keepdims=True))
    assert moved == pytest.approx(q1, abs=1e-9)
    assert difference(kind, q0, q0) == pytest.approx(np.zeros((200, kind.nv)), abs=1e-15)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "universal"])
def test_the_subspace_is_the_derivative_of_the_transform(name: str) -> None:
    kind = JOINT_TYPES[name]
    q = kind.random(np.random.default_rng(1), 1)[0]
    h = 1e-6
    for k, (linear, angular) in enumerate(kind.subspace(PITCH)):
        dv = h * np.eye(kind.nv)[k]
        ahead, behind = placed(name, integrate(kind, q, dv)), placed(name, integrate(kind, q, -dv))
        twist = np.linalg.inv(placed(name, q)) @ (ahead - behind) / (2 * h)
        assert twist[:3, 3] == pytest.approx(np.array(linear, dtype=float), abs=1e-8)
        assert [twist[2, 1], twist[0, 2], twist[1, 0]] == pytest.approx(np.array(angular, dtype=float), abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_neutral_is_valid_and_places_the_child_on_the_joint_frame(name: str) -> None:
    kind = JOINT_TYPES[name]
    neutral = kind.neutral()
    assert neutral.shape == (kind.nq,)
    assert kind.defect(neutral) == 0.0
    if name != "universal":
        assert np.array_equal(placed(name, neutral), np.eye(4))


@pytest.mark.parametrize("name", NAMES)
def test_normalize_mends_what_defect_finds(name: str) -> None:
    kind = JOINT_TYPES[name]
    q = kind.random(np.random.default_rng(2), 50)
    assert kind.defect(q) == pytest.approx(np.zeros(50), abs=1e-15)
    q[..., -1] += 0.5
    if kind.nq == kind.nv:
        assert np.array_equal(kind.normalize(q), q)
    else:
        assert kind.defect(q).max() > 0.1
    assert kind.defect(kind.normalize(q)) == pytest.approx(np.zeros(50), abs=1e-15)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "universal"])
def test_transforms_take_batches(name: str) -> None:
    kind = JOINT_TYPES[name]
    q = kind.random(np.random.default_rng(3), 5)
    rotation, origin = kind.transform([number(column) for column in q.T], PITCH)
    turned = rotation.into((number(1.0), number(2.0), number(3.0)))
    for i in range(5):
        one = placed(name, q[i])
        assert [np.broadcast_to(x, 5)[i] for x in origin] == pytest.approx(one[:3, 3])
        expected = one[:3, :3].T @ np.array([1.0, 2.0, 3.0])
        assert [np.broadcast_to(x, 5)[i] for x in turned] == pytest.approx(expected)


def test_a_universal_joint_says_to_split_it() -> None:
    with pytest.raises(UnsupportedError, match="two revolute"):
        JOINT_TYPES["universal"].subspace(0.0)
    with pytest.raises(UnsupportedError, match="two revolute"):
        JOINT_TYPES["universal"].transform([number(0.0), number(0.0)], 0.0)


def test_translations_never_turn() -> None:
    for name in ("prismatic", "translation"):
        assert isinstance(JOINT_TYPES[name].transform([number(1.0)] * 3, 0.0)[0], Identity)


@pytest.mark.parametrize("name", ["spherical", "free"])
@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-5, 0.3, 1.0, np.pi - 1e-9, np.pi])
def test_logarithms_are_accurate_at_every_angle(name: str, angle: float) -> None:
    kind = JOINT_TYPES[name]
    rng = np.random.default_rng(4)
    axis = rng.standard_normal(3)
    dv = np.concatenate((rng.standard_normal(kind.nv - 3), angle * axis / np.linalg.norm(axis)))
    q0 = kind.random(rng, 1)[0]
    back = difference(kind, q0, integrate(kind, q0, dv))
    if angle == np.pi:  # both signs are half a turn
        back, dv = np.abs(back[-3:]), np.abs(dv[-3:])
    assert back == pytest.approx(dv, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.999, 1.001, 3.0])
def test_planar_motion_is_an_arc(angle: float) -> None:
    kind = JOINT_TYPES["planar"]
    q, arc = np.array([0.2, -0.1, 0.7]), np.array([0.8, 0.0, angle])
    radius = 0.8 / angle if angle else np.inf
    x, y = (0.8, 0.0) if not angle else (radius * np.sin(angle), radius * 2.0 * np.sin(angle / 2.0) ** 2)
    c, s = np.cos(0.7), np.sin(0.7)
    expected = [0.2 + c * x - s * y, -0.1 + s * x + c * y, 0.7 + angle]
    assert integrate(kind, q, arc) == pytest.approx(expected, rel=1e-14)


def test_many_small_steps_are_one_large_one() -> None:
    for name in ("planar", "spherical", "free"):
        kind = JOINT_TYPES[name]
        rng = np.random.default_rng(5)
        q, dv = kind.random(rng, 1)[0], rng.standard_normal(kind.nv)
        stepped = q
        for _ in range(1000):
            stepped = integrate(kind, stepped, dv / 1000.0)
        assert stepped == pytest.approx(integrate(kind, q, dv), abs=1e-12)
        assert kind.defect(stepped) < 1e-15


@pytest.mark.parametrize("name", NAMES)
def test_what_derivatives_are_taken_of_is_exact_to_second_order(name: str) -> None:
    """The error of q ⊕ u and of q1 ⊖ q0 falls with the third power of their distance; second-order terms are 1e-6."""
    kind, rng, h = JOINT_TYPES[name], np.random.default_rng(5), 1e-3
    q, u = kind.random(rng, 50), h * rng.uniform(-1.0, 1.0, (50, kind.nv))
    moved = integrate(kind, q, u)
    assert np.abs(stacked(kind.difference_near(components(q), components(moved))) - u).max() < 5.0 * h**3
    assert np.abs(stacked(kind.integrate_near(components(q), components(u))) - moved).max() < 5.0 * h**3


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("helical", "universal")])
def test_angles_are_what_a_whole_turn_brings_back(name: str) -> None:
    kind = JOINT_TYPES[name]
    q = kind.random(np.random.default_rng(5), 1)[0]
    turns = [placed(name, q + 2.0 * np.pi * unit) for unit in np.eye(kind.nq)]
    back = [k for k, turned in enumerate(turns) if np.allclose(turned, placed(name, q), rtol=0.0, atol=1e-12)]
    assert list(kind.angles) == back
    assert kind.spread.tolist() == [np.pi if k in back else 1.0 for k in range(kind.nq)]
