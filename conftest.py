"""What all tests share: a cache of their own, and robots compiled once."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from condyle import Dynamics, Robot
from tests.devices import asks_for_gpu, has_gpu_tests, may_have
from tests.processor import Processor, repeats
from tests.programs import HERE, skip_without


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Built objects of this test run stand in a directory of its own, shared by its workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "condyle-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONDYLE_CACHE_DIR", str(folder))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # else every process would compile the package again
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


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(50_000)  # Programs are many objects that stay: a sixth of the time goes into looking at them
    os.environ["PATH"] = os.pathsep.join([os.environ["PATH"], HERE])
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # JAX compiles around our calls, each once
    config.pluginmanager.register(Processor(config.option.renew_repeats))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m gpu` and `pytest -m smoke` read the files that have such tests, and no others."""
    if collection_path.suffix == ".py" and (
        (asks_for_gpu(config) and not has_gpu_tests(collection_path))
        or (config.option.markexpr == "smoke" and not may_have("smoke", collection_path))
    ):
        return True
    return None  # pytest decides


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: eight at most, since one takes up to 2 GB. Without pytest-xdist nobody asks."""
    return min(8, len(os.sched_getaffinity(0)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The programs that a test is marked with are asked first."""
    for mark in item.iter_markers("needs"):
        skip_without(*mark.args)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before tests are selected by their marks."""
    for item in items:
        if item.nodeid in repeats() and not config.option.renew_repeats:
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: garbage is looked for once at the end, and never in these objects again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module")
def small_heap() -> None:
    """For tests that collect garbage often: from here on a collection looks at new objects only, not at the millions
    that other tests keep."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the texts in tests/golden")
    parser.addoption(
        "--renew-repeats", action="store_true", help="run every quick case, and write tests/repeats.txt anew"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(file, text): the text is what people reviewed in tests/golden."""

    def check(file: str, text: str) -> None:
        path = Path(__file__).parent / "tests" / "golden" / file
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="ascii")
        assert path.read_text(encoding="ascii") == text, f"{file} changed: review it, then run with --update-golden"

    return check
