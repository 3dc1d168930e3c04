"""`pytest -m gpu` on a machine with no GPU, no optional package and no plugin of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.devices import asks_for_gpu

ROOT = Path(__file__).resolve().parents[1]
BARE = """
import sys
from importlib.metadata import packages_distributions

THERE = {"numpy", "pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "cuda", "condyle", "tests"}
OPTIONAL = {name.partition(".")[0] for name in packages_distributions()} - THERE


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
"""


def pytest_says(tmp_path: Path, *options: str) -> tuple[int, str]:
    """Exit status and output of a run without GPU, optional packages and plugins."""
    (tmp_path / "bare.py").write_text(BARE)
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    changes = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "bare", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, **changes}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_every_test_of_a_gpu_is_collected(tmp_path: Path) -> None:
    status, said = pytest_says(tmp_path, "-m", "gpu", "--collect-only")
    assert status == 0, said[-3000:]
    assert "error" not in said
    names = [line for line in said.splitlines() if "::" in line]
    files = {f"tests/gpu/test_{name}.py" for name in ("real", "real_forms", "optimal_control", "scheduled")}
    assert {name.partition("::")[0] for name in names} == files
    assert all("[real" in name or "sanitizer" in name for name in names)


@pytest.mark.slow
def test_without_a_gpu_they_fail_only_where_one_is_asked_for(tmp_path: Path) -> None:
    which = ("tests/gpu/test_real.py", "-k", "streams and real")
    status, said = pytest_says(tmp_path, "-m", "gpu", *which)
    assert status == 1, said[-3000:]
    assert "pytest -m gpu asks for a GPU: " in said
    status, said = pytest_says(tmp_path, *which)
    assert status == 0, said[-3000:]
    assert "1 skipped" in said


@pytest.mark.parametrize(
    ("expression", "asks"),
    [("gpu", True), ("gpu and not slow", True), ("not gpu", False), ("slow", False), ("slow or gpu", False)],
)
def test_what_asks_for_a_gpu(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, expression: str, asks: bool
) -> None:
    monkeypatch.setattr(pytestconfig.option, "markexpr", expression)
    assert asks_for_gpu(pytestconfig) == asks
