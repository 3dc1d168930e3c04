"""Kernels kept between runs: the same answers without tracing, and nothing that is not exactly what was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.cpu import build as module
from condyle.backends.cpu.build import assembled, load, supported
from condyle.backends.cpu.encode import from_bytes, to_bytes
from condyle.compile.compiler import Compiler
from condyle.errors import BuildError
from condyle.functions import FUNCTIONS
from condyle.runtime import cache, native
from tests.backends.c.small import empty, states, tangle

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CONDYLE_NO_CACHE", raising=False)
    return tmp_path / "cache"


def answer(robot: condyle.Robot, dtype: str = "float64", **routes: str) -> list[np.ndarray]:
    """Derivatives of a fresh Dynamics, as by another process: one state and a batch."""
    dyn = robot.compile(dtype=dtype, routes=routes or None)  # type: ignore[arg-type]
    q = np.linspace(-1.0, 1.0, 9 * robot.nv).reshape(9, -1).astype(dtype)
    return [*dyn.forward_dynamics_derivatives(q, q, q), *dyn.forward_dynamics_derivatives(q[0], q[0], q[0])]


def forbid_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    def traced(*_: object) -> None:
        raise AssertionError("it was traced")

    monkeypatch.setattr(Compiler, "_traced", traced)


def test_the_second_time_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = condyle.chain(3)
    first = answer(robot)
    assert len(cache.entries()) == 1
    forbid_tracing(monkeypatch)
    assert all(np.array_equal(a, b) for a, b in zip(first, answer(robot), strict=True))


@pytest.mark.parametrize("change", ["robot", "gravity", "dtype", "route", "condyle", "numpy", "instruction set"])
def test_anything_else_is_another_kernel(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = condyle.chain(3)
    answer(robot)
    dtype, routes = "float64", {}
    if change == "robot":
        robot = condyle.chain(4)
    elif change == "gravity":
        robot = condyle.load("iiwa14", gravity=(0.0, 0.0, -1.0))
    elif change == "dtype":
        dtype = "float32"
    elif change == "route":
        routes = {"dfd": "minv+adjoint"}
    elif change == "condyle":
        monkeypatch.setattr(module, "identity", lambda: "another")
    elif change == "numpy":
        monkeypatch.setattr(np, "__version__", "another")
    else:
        if len(supported()) < 2:
            pytest.skip("this processor has one instruction set only")
        monkeypatch.setattr(module, "supported", lambda: supported()[1:])
    forbid_tracing(monkeypatch)
    with pytest.raises(AssertionError, match="traced"):
        answer(robot, dtype, **routes)


@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "writable by others", "another's text"])
def test_a_damaged_entry_is_made_again(damage: str, empty_cache: Path) -> None:
    robot = condyle.chain(2)
    first = answer(robot)
    (place,) = (path for path in empty_cache.iterdir() if len(path.name) == 64)
    kept = place / cache.OBJECT
    data = kept.read_bytes()
    if damage == "bit":
        kept.write_bytes(data[:-1] + bytes((data[-1] ^ 1,)))
    elif damage == "cut":
        kept.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        kept.write_bytes(b"")
    elif damage == "another's text":
        kept.write_text("not object code")
    else:
        kept.chmod(0o666)
    assert all(np.array_equal(a, b) for a, b in zip(first, answer(robot), strict=True))
    assert kept.read_bytes() == data and kept.stat().st_mode & 0o022 == 0


def refuse(way: str, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    if way == "a file in its place":
        folder.write_text("")
    else:
        folder.mkdir()
        folder.chmod(0o777)


@pytest.mark.parametrize("way", ["open to others", "a file in its place"])
def test_a_default_cache_that_is_refused_is_no_obstacle(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONDYLE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    refuse(way, tmp_path / "xdg" / "condyle")
    with pytest.warns(RuntimeWarning, match="built objects are not kept"):
        assert all(np.isfinite(x).all() for x in answer(condyle.chain(2)))


@pytest.mark.parametrize("target", ["cpu", "c"])
@pytest.mark.parametrize("way", ["open to others", "a file in its place"])
def test_a_chosen_cache_that_is_refused_is_an_error(way: str, target: str, empty_cache: Path) -> None:
    """For every target, and before anything is made without it."""
    refuse(way, empty_cache)
    dyn = condyle.chain(2).compile(target=target)  # type: ignore[arg-type]
    with pytest.raises(BuildError, match=r"CONDYLE_CACHE_DIR=.*Choose a directory that only you can write"):
        dyn.mass_matrix(np.zeros(2))


def test_switched_off_nothing_is_kept(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDYLE_NO_CACHE", "1")
    assert all(np.isfinite(x).all() for x in answer(condyle.chain(2)))
    assert not empty_cache.exists()


def test_a_robot_without_a_fingerprint_is_not_kept() -> None:
    made = assembled(tangle(1), "float64")
    key = module.Key("", FUNCTIONS["id"].key, "[]", "float64", "id")
    module.keep(key, made)
    assert module.find(key, None) is None and not cache.entries()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bytes_and_back(dtype: str) -> None:
    program = tangle(2)
    made = assembled(program, dtype)
    assert from_bytes(to_bytes(made)) == made
    inputs = states(program, 9, dtype)
    ours, theirs = empty(program, 9, dtype), empty(program, 9, dtype)
    load(made)(9, inputs, ours, 1)
    load(from_bytes(to_bytes(made)))(9, inputs, theirs, 1)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, theirs, strict=True))


def test_the_identity_is_that_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = native.identity()
    assert len(known) == 64
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(native, "PACKAGE", tmp_path)
    seen = []
    for text in ("x = 1\n", "x = 2\n"):
        (tmp_path / "a.py").write_text(text)
        native.identity.cache_clear()
        seen.append(native.identity())
    native.identity.cache_clear()
    assert len({known, *seen}) == 3


@pytest.mark.parametrize("error", [BuildError, ValueError])
def test_an_entry_that_cannot_be_loaded_is_made_again(
    error: type[Exception], empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, first = condyle.chain(2), answer(condyle.chain(2))
    tries, load = list[object](), module.load

    def refused_once(*given: object) -> object:
        tries.append(given)
        if len(tries) == 1:
            raise error("no such memory")
        return load(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "load", refused_once)
    assert all(np.array_equal(a, b) for a, b in zip(first, answer(robot), strict=True))
    assert len(tries) == 2
