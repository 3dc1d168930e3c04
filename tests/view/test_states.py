"""States from arrays and files: what is no state is an error with words."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError, DTypeError, ShapeError, StateError, UnsupportedError
from condyle.view import states
from condyle.view.states import (
    by_state,
    checked_contact_forces,
    checked_dt,
    checked_forces,
    checked_points,
    checked_states,
    read_trajectory,
)
from tests.view.archives import bad_archives

ARM = condyle.load("iiwa14")


@pytest.mark.parametrize(("q", "shape"), [(None, (1, 1, 7)), (np.ones(7), (1, 1, 7)), (np.ones((4, 7)), (1, 4, 7))])
def test_robots_that_stand_still(q, shape) -> None:
    assert checked_states(ARM, q, None).shape == shape


@pytest.mark.parametrize(("shape", "found"), [((5, 7), (5, 1, 7)), ((2, 5, 7), (5, 2, 7))])
def test_trajectories(shape, found) -> None:
    q = np.random.default_rng(0).uniform(size=shape)
    made = checked_states(ARM, None, q)
    assert made.shape == found
    np.testing.assert_array_equal(made[3, -1], q[3] if q.ndim == 2 else q[-1, 3])


@pytest.mark.parametrize(
    ("q", "trajectory", "error", "words"),
    [
        (np.ones(6), None, ShapeError, r"q has shape \(6,\), expected \(7,\) or \(N, 7\)"),
        (None, np.ones(7), ShapeError, r"trajectory has shape \(7,\), expected \(T, 7\) or \(N, T, 7\)"),
        (None, np.ones((7, 5)), ShapeError, "give the transpose"),
        (None, np.ones((0, 7)), ShapeError, "no state to draw"),
        (np.ones(7), np.ones((2, 7)), UnsupportedError, "give one of them"),
        (np.full(7, np.nan), None, StateError, "q: not finite in row 0"),
        (None, np.full((2, 7), np.nan), StateError, "^trajectory: not finite in rows? 0"),
        ("abc", None, DTypeError, "expected real numbers"),
        (np.ones((101, 7)), None, ShapeError, r"101 robots, at most 100 are drawn: give some, such as q\[:16\]"),
    ],
)
def test_what_is_no_state(q, trajectory, error, words) -> None:
    with pytest.raises(error, match=words):
        checked_states(ARM, q, trajectory)


def test_too_many_times(monkeypatch) -> None:
    monkeypatch.setattr(states, "MOST_POSES", 70)
    assert checked_states(ARM, None, np.zeros((10, 7))).shape == (10, 1, 7)
    with pytest.raises(ShapeError, match="25 times of 1 robots, at most 10 are kept: give fewer, such as every 3th"):
        checked_states(ARM, None, np.zeros((25, 7)))


def test_quaternions_are_unit() -> None:
    robot = condyle.load("hyq", floating_base=True)
    with pytest.raises(StateError, match="quaternion is not unit"):
        checked_states(robot, np.zeros(19), None)


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_forces_of_trajectories(shape) -> None:
    robots = shape[0] if len(shape) == 3 else 1
    found = checked_forces(ARM, {"iiwa_link_7": np.ones(shape)}, 4, robots)["iiwa_link_7"]
    assert found.shape == (4, robots, 3)


@pytest.mark.parametrize(
    ("forces", "error", "words"),
    [
        ({"hand": (0, 0, 1)}, UnsupportedError, "no frame 'hand'; frames are base, iiwa_link_1"),
        ({"base": (0, 1)}, ShapeError, r"forces\['base'\] has shape \(2,\), expected one of \(3,\)"),
        ({"base": (0, np.inf, 1)}, StateError, "not finite, or beyond 1e.30, in rows 0"),
    ],
)
def test_what_is_no_force(forces, error, words) -> None:
    with pytest.raises(error, match=words):
        checked_forces(ARM, forces, 4, 2)


def test_forces_and_points_go_by_frames() -> None:
    for odd in (np.zeros(3), np.zeros((4, 3)), [0.0, 0.0, 1.0]):
        with pytest.raises(
            UnsupportedError, match=r"expected a dict of frames and forces, such as \{'foot': \(0, 0, 10\)\}"
        ):
            ARM.show(file="never.svg", forces=odd)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedError, match="expected a dict of frames and points"):
            ARM.show(file="never.svg", points=odd)  # type: ignore[arg-type]


def test_files(tmp_path) -> None:
    q = np.arange(14.0).reshape(2, 7)
    np.save(tmp_path / "q.npy", q)
    np.savez(tmp_path / "q.npz", q=q, dt=0.25)
    for name, dt in (("q.npy", None), ("q.npz", 0.25)):
        found = read_trajectory(tmp_path / name)
        np.testing.assert_array_equal(found.q, q)
        assert found.dt == dt


def drawn_from(path) -> None:
    found = read_trajectory(path)
    checked_states(ARM, None, found.q)
    checked_contact_forces(found.contact_forces, 1, 2, 1)


def test_files_that_are_none(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        read_trajectory(tmp_path / "none.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "other.npz", v=np.zeros(3))
    np.savez(tmp_path / "dt.npz", q=np.zeros((2, 7)), dt=[1.0, 2.0])
    np.savez(tmp_path / "negative.npz", q=np.zeros((2, 7)), dt=-1.0)
    np.savez(tmp_path / "pushed.npz", q=np.zeros((2, 7)), contact_forces=["a"])
    (tmp_path / "text.csv").write_text("0,1,2")
    (tmp_path / "text.npy").write_text("0 1 2")
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 and no more")
    with zipfile.ZipFile(tmp_path / "no_array.npz", "w") as archive:
        archive.writestr("q", "words")
    whole = (tmp_path / "dt.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    said = {
        "objects.npy": "Python objects are not read",
        "other.npz": "holds v, expected an array 'q'",
        "dt.npz": r"dt has shape \(2,\)",
        "negative.npz": "dt is -1.0, expected the seconds between two states, more than 0",
        "text.csv": r"convert it by numpy.save\('text.npy', numpy.loadtxt\('text.csv', delimiter=','\)\)",
        "pushed.npz": "contact_forces is",
        "text.npy": "is no .npy or .npz file",
        "empty.npy": "is no .npy or .npz file",
        "broken.npz": "is no .npy or .npz file",
        "no_array.npz": "is no .npy or .npz file",
        "cut.npz": "is no .npy or .npz file",
    }
    for name, words in said.items():
        with pytest.raises(CondyleError, match=words) as caught:
            drawn_from(tmp_path / name)
        assert "pickle" not in str(caught.value)


def test_archives_that_are_damaged_or_lie_are_refused(tmp_path) -> None:
    path = tmp_path / "x.npz"
    for content in bad_archives(path):
        path.write_bytes(content)
        with pytest.raises(UnsupportedError, match=r"x\.npz is no \.npy or \.npz file of numbers"):
            read_trajectory(path)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch) -> None:
    np.savez_compressed(tmp_path / "large.npz", q=np.zeros((1000, 7)))
    monkeypatch.setattr(states, "MOST_BYTES", 1000)
    with pytest.raises(UnsupportedError, match=r"'q.npy' is larger than 1000 bytes"):
        read_trajectory(tmp_path / "large.npz")


def test_bounds_of_what_is_drawn(monkeypatch) -> None:
    assert checked_states(ARM, np.zeros((100, 7)), None).shape == (1, 100, 7)
    assert states.MOST_POSES // (100 * 7) == 2857
    with pytest.raises(ShapeError, match=r"2858 times of 100 robots, at most 2857 are kept.* every 2th"):
        checked_states(ARM, None, np.zeros((100, 2858, 7)))


@pytest.mark.parametrize(
    ("shape", "times", "robots", "entry"),
    [
        ((3,), 4, 2, lambda x, t, n: x),
        ((2, 4, 3), 4, 2, lambda x, t, n: x[n, t]),
        ((2, 3), 1, 2, lambda x, t, n: x[n]),
        ((2, 1, 3), 1, 2, lambda x, t, n: x[n, t]),
        ((4, 3), 4, 1, lambda x, t, n: x[t]),
        ((1, 4, 3), 4, 1, lambda x, t, n: x[n, t]),
        ((1, 3), 1, 1, lambda x, t, n: x[0]),
    ],
)
def test_an_array_is_of_all_states_or_of_each(shape, times, robots, entry) -> None:
    given = np.arange(float(np.prod(shape))).reshape(shape)
    found = by_state("x", given, ((3,),), times, robots)
    assert found.shape == (times, robots, 3)
    for t in range(times):
        for n in range(robots):
            np.testing.assert_array_equal(found[t, n], entry(given, t, n))


@pytest.mark.parametrize(
    ("shape", "times", "robots", "allowed"),
    [
        ((4, 3), 4, 2, "(3,), (2, 4, 3): there are 4 times, 2 robots"),
        ((2, 3), 4, 2, "(3,), (2, 4, 3): there are 4 times, 2 robots"),
        ((3, 3), 1, 2, "(3,), (2, 1, 3), (2, 3): there are 1 times, 2 robots"),
        ((5, 3), 4, 1, "(3,), (1, 4, 3), (4, 3): there are 4 times, 1 robots"),
    ],
)
def test_shapes_that_are_expected_are_listed(shape, times, robots, allowed) -> None:
    with pytest.raises(ShapeError) as caught:
        by_state("x", np.zeros(shape), ((3,),), times, robots)
    assert str(caught.value) == f"x has shape {shape}, expected one of {allowed}"


def test_rows_that_are_no_numbers_are_named() -> None:
    given = np.zeros((2, 4, 3))
    given[1, 2, 0], given[0, 3, 2] = np.nan, 1.1e30
    with pytest.raises(StateError, match=r"x: not finite, or beyond 1e.30, in rows 3, 6$") as caught:
        by_state("x", given, ((3,),), 4, 2)
    assert caught.value.rows == (3, 6)
    with pytest.raises(ShapeError, match="there are 1 times, 1 robots, 2 contacts"):
        by_state("x", np.zeros(5), ((2, 6),), 1, 1)


def test_contact_forces_have_six_numbers_or_three() -> None:
    assert checked_contact_forces(None, 0, 1, 1) is None
    for width in (3, 6):
        found = checked_contact_forces(np.ones((2, width)), 2, 4, 1)
        assert found is not None and found.shape == (4, 1, 2, width)
    with pytest.raises(UnsupportedError, match="there are no contacts"):
        checked_contact_forces(np.ones((1, 6)), 0, 1, 1)


@pytest.mark.parametrize("point", [(0.0, 1.0), (0.0, 1.0, np.nan), ((0.0, 1.0, 2.0),)])
def test_a_point_has_three_finite_numbers(point) -> None:
    with pytest.raises(ShapeError, match="expected three finite numbers, metres in the frame"):
        checked_points(["a"], {"a": point})
    found = checked_points(["a", "b"], {"b": (1, 2, 3)})
    assert [found[name].tolist() for name in "ab"] == [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]


@pytest.mark.parametrize("dt", [0.0, -1.0, np.inf, np.nan, "1", None])
def test_what_is_no_time_between_states(dt) -> None:
    with pytest.raises(UnsupportedError, match=r"dt is .*, expected the seconds between two states, more than 0"):
        checked_dt(dt)
    assert checked_dt(1e-9) == 1e-9


@pytest.mark.parametrize("dt", [[0.5], "half", 1j])
def test_a_time_in_a_file_is_one_number(tmp_path, dt) -> None:
    np.savez(tmp_path / "a.npz", q=np.zeros((2, 7)), dt=dt)
    with pytest.raises(UnsupportedError, match=r"dt has shape .* and type .*, expected one number"):
        read_trajectory(tmp_path / "a.npz")
    for good in (np.float32(0.5), 2, np.uint8(3)):
        np.savez(tmp_path / "a.npz", q=np.zeros((2, 7)), dt=good)
        assert read_trajectory(tmp_path / "a.npz").dt == float(good)


def test_a_member_that_is_no_array_is_refused(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", q=np.zeros((2, 7)))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("contact_forces", "words")
    with pytest.raises(UnsupportedError, match=r"is no .npy or .npz file of numbers"):
        read_trajectory(tmp_path / "a.npz")


def test_a_file_may_be_as_large_as_is_allowed(tmp_path, monkeypatch) -> None:
    np.savez(tmp_path / "a.npz", q=np.zeros((2, 7)))
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        (entry,) = archive.infolist()
    monkeypatch.setattr(states, "MOST_BYTES", entry.file_size)
    assert read_trajectory(tmp_path / "a.npz").q.shape == (2, 7)
    monkeypatch.setattr(states, "MOST_BYTES", entry.file_size - 1)
    with pytest.raises(UnsupportedError, match="is larger than"):
        read_trajectory(tmp_path / "a.npz")
