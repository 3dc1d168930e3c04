"""How native entries want to be called: how many states a thread takes, which arrays calls take, what is checked."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from condyle.runtime import native
from condyle.runtime.arrays import ArraySpec
from condyle.runtime.native import Shape, fast_path, quaternion_places


def test_the_time_of_a_state_is_a_guess_by_operations_and_entries() -> None:
    """0.3 ns for each operation of a tile, 0.1 ns for each entry."""
    shape = Shape.estimated((3, 4), (5,), 8, 100, 1000, 2)
    assert shape == Shape((3, 4), (5,), 8, 100, pytest.approx(37.5 + 1.2), 2, 0)
    assert Shape.estimated((3,), (), 8, 100, 0).side == 1


@pytest.mark.parametrize(
    ("state_ns", "side", "least", "states"),
    [
        (50_000.0, 1, 0, 4),
        (50_001.0, 1, 0, 1),
        (50_001.0, 1, 64, 64),
        (1000.0, 1, 0, 52),
        (1000.0, 2, 0, 56),
        (1000.0, 1, 64, 64),
        (1000.0, 1, 8, 52),
        (0.0, 1, 0, 500_000),
        (0.05, 1, 0, 500_000),
    ],
)
def test_a_thread_takes_whole_tiles_of_50_microseconds(state_ns: float, side: int, least: int, states: int) -> None:
    """One state alone where it takes longer; states of no time are of a tenth of a nanosecond."""
    assert native._grain(Shape((7,), (7,), 4, 0, state_ns, side, least)) == states


def specs(*dims: tuple[int, ...], **more: object) -> list[ArraySpec]:
    return [ArraySpec(f"x{k}", shape, int(np.prod(shape)), **more) for k, shape in enumerate(dims)]  # type: ignore


@pytest.mark.parametrize(
    ("dims", "has"),
    [
        ((), True),
        ((1 << 20,), True),
        (((1 << 20) + 1,), False),
        ((1, 1, 1, 1), True),
        ((1, 1, 1, 1, 1), False),
        ((3, 0), False),
        ((1,), True),
    ],
)
def test_arrays_that_native_calls_take(dims: tuple[int, ...], has: bool) -> None:
    """Of four dimensions at the most, each of 1 to 2^20 entries; inputs and outputs."""
    for ports in ((specs(dims), specs((1,))), (specs((1,)), specs(dims))):
        fast = fast_path(lambda *_: "slow", False, *ports, np.dtype("f8"), None, 1)
        assert (fast is not None) is has
        assert fast is None or fast(np.zeros(ports[0][0].dims)) == "slow"


def test_places_of_quaternions_are_counted_in_every_configuration_of_an_input() -> None:
    quaternions = ((3, "root"), (8, "ball"))
    inputs = [
        ArraySpec("v", (11,), 11),
        ArraySpec("q", (12,), 12, quaternions=quaternions),
        ArraySpec("goals", (2, 12), 24, quaternions=quaternions),
    ]
    assert list(quaternion_places(inputs)) == [(1, 3), (1, 8), (2, 3), (2, 8), (2, 15), (2, 20)]


def test_the_identity_is_the_hash_of_names_and_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the names, in all folders, of Python sources alone; none where one cannot be read."""
    (tmp_path / "b").mkdir()
    for name, text in (("b/c.py", "C"), ("a.py", "A"), ("b/data.txt", "D")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(native, "PACKAGE", tmp_path)
    assert native.identity.__wrapped__() == hashlib.sha256(b"a.py\nAb/c.py\nC").hexdigest()
    (tmp_path / "folder.py").mkdir()
    assert native.identity.__wrapped__() == ""
