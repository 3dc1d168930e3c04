"""`condyle check ROBOT --target cuda`."""

from __future__ import annotations

import json

import pytest

from condyle.cli import main
from condyle.functions import FUNCTIONS
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.processor import slow

EVERY = tuple(name for name, function in FUNCTIONS.items() if not function.needs.drives)


@pytest.mark.parametrize("functions", [("id", "minv", "fd", "step", "fk"), slow(EVERY)], ids=("some", "all"))
def test_check(fake: FakeDriver, capfd: pytest.CaptureFixture[str], functions: tuple[str, ...]) -> None:
    some = ["--functions", ",".join(functions)] if functions is not EVERY else []
    assert main(["check", "iiwa14", "--target", "cuda", "--dtype", "float32", "--json", *some]) == 0
    checks = json.loads(capfd.readouterr().out)["checks"]
    assert all(row["fine"] for row in checks)
    assert 0 < checks[0]["error"] < 2e-5  # it was float32, and not the reference itself
    around_loops = 2 * functions.count("cfric")  # what is before its loop, and what is behind it
    assert fake.calls.count("cuModuleLoadData") == len(functions) + around_loops


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Said in one sentence; bad use, for nothing was found out about the robot."""

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(drivers, "import_module", missing)
    drivers.driver.cache_clear()
    drivers.gpu.cache_clear()
    assert main(["check", "iiwa14", "--target", "cuda"]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert "condyle: target 'cuda' needs the package cuda-bindings: pip install" in said.err
    assert "Traceback" not in said.err
    drivers.driver.cache_clear()
