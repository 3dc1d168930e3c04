"""What all tests share: a cache of their own, and robots compiled once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from condyle import Dynamics, Robot


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Built objects of this test run stand in a directory of its own, shared by its workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "condyle-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONDYLE_CACHE_DIR", str(folder))
        yield


@pytest.fixture(scope="session")
def compiled(cache_of_this_run: None) -> Callable[..., Dynamics]:
    """compiled(robot, dtype="float64", **options): the robot's functions in C, each built once a run."""
    known: dict[tuple[object, ...], Dynamics] = {}

    def one(robot: Robot, dtype: str = "float64", **options: object) -> Dynamics:
        key = (robot.fingerprint, dtype, *sorted(options.items()))
        if key not in known:
            known[key] = robot.compile(target="c", dtype=dtype, **options)  # type: ignore[arg-type]
        return known[key]

    return one
