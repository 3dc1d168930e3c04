"""Systems that Condyle does not serve, or not whole: each stops with a sentence that says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import condyle
from condyle.readers import mjcf_compiler as mjcf_compiler
from condyle.readers.folders import Folders
from condyle.runtime import machine, native, toolchain, trusted_folders

ROOT = Path(__file__).resolve().parents[1]


def on(platform: str, code: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys, numpy; sys.platform = {platform!r}\n{code}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)


def test_setup_stops_on_windows() -> None:
    done = on("win32", "import runpy; runpy.run_path('setup.py')")
    assert done.returncode == 1
    assert done.stderr.strip().startswith("condyle is not built for Windows: install it in WSL 2")


def test_the_first_use_on_windows_says_what_to_do() -> None:
    done = on("win32", "import condyle; condyle.load('iiwa14')")
    assert done.returncode == 1
    assert "ImportError: condyle does not run on Windows: install it in WSL 2" in done.stderr


def test_cores_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert native.cores() == os.cpu_count()


def test_a_library_is_loaded_without_files_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(trusted_folders.fcntl, "F_ADD_SEALS", None)
    robot = condyle.load("iiwa14")
    q, v = robot.random_state(5, 0)
    found = robot.compile(target="c").inverse_dynamics(q, v, v)
    assert abs(found - robot.compile(target="numpy").inverse_dynamics(q, v, v)).max() < 1e-9


def test_mjcf_without_files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(condyle.UnsupportedError, match="on Linux only: read a URDF file"):
        mjcf_compiler.library()


def test_without_avx2_and_a_compiler_numpy_answers_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.backends.cpu.build.supported", tuple)
    monkeypatch.setattr(toolchain, "CANDIDATES", ("no-compiler-here",))
    monkeypatch.delenv(toolchain.VARIABLE, raising=False)
    robot = condyle.load("iiwa14")
    with pytest.warns(RuntimeWarning, match="AVX2 and FMA, and no C compiler found"):
        dyn = robot.compile(target="cpu")
    assert "target numpy" in repr(dyn)
    q, v = robot.random_state(3, 0)
    with pytest.raises(condyle.BuildError, match='or use target="numpy"'):
        robot.compile(target="c").inverse_dynamics(q, v, v)


def test_machine_code_is_refused_with_the_target_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from condyle.backends.cpu import build

    monkeypatch.setattr(build, "supported", lambda: ())
    with pytest.raises(condyle.UnsupportedError, match="target 'c' runs everywhere"):
        build.assembled(None, "float64")  # type: ignore[arg-type]
    assert isinstance(machine.instruction_sets(), tuple)


def test_other_files_of_a_model_where_a_name_cannot_be_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "O_PATH")
    with pytest.raises(
        condyle.ModelError, match="a mesh, and other files than the model itself are read on Linux only"
    ):
        Folders(tmp_path).read([tmp_path / "mesh.stl"], 10, "a mesh", ("model.urdf", 3))
