"""The measuring program runs from end to end before it meets a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gpu as benchmark
from benchmarks import gpu_beside, gpu_time, results
from condyle.errors import BuildError
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.simulate import made, robot
from tests.gpu.conftest import fake

__all__ = ["fake"]


@pytest.mark.slow  # every row is made
def test_every_row_and_goal(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(benchmark, "CASES", {"iiwa14": ("id", "minv")})
    monkeypatch.setattr(gpu_beside.shutil, "which", lambda name: None)
    said: list[str] = []
    found = benchmark.run(benchmark.Plan(("iiwa14",), (3, 40), launches=2, repeats=1, copied=1024), said.append)
    assert [(row["dtype"], row["function"], row["n"]) for row in found["rows"]] == [
        (dtype, function, n) for dtype in ("float32", "float64") for function in ("id", "minv") for n in (3, 40)
    ]
    row = found["rows"][0]
    assert row["kernel_us"] == 500 / 2  # half a millisecond a graph, says the driver that computes
    assert all(one[f"{what}_us"] > 0 for one in found["rows"] for what in ("floor", "copies", "pinned", "staged"))
    assert "nvcc" in found["grid"]["unmeasured"]
    assert "compute-sanitizer" in found["racecheck"]["unmeasured"]
    assert (found["gpu"]["name"], found["gpu"]["arch"]) == ("Fake GPU", "sm_90")
    results.write(tmp_path / "gpu.json", found)
    assert json.loads((tmp_path / "gpu.json").read_text())["versions"]["numpy"]
    assert len(said) == len(found["rows"]) + len(found["goals"])


def test_goals_are_marked() -> None:
    row = {"robot": "iiwa14", "function": "id", "dtype": "float32", "copies_us": 10.0, "kernel_us": 4.0}
    rows = [{**row, "n": 256, "pinned_us": 19.5}, {**row, "n": 65_536, "pinned_us": 12.9, "copies_us": 10.0}]
    rows.append({**row, "n": 1 << 20})  # too large for pinned memory
    assert [(goal["met"], goal["what"]) for goal in benchmark.goals(rows)] == [
        (False, "iiwa14 id float32 N=256, pinned: copies + kernel + 5 us"),
        (True, "iiwa14 id float32 N=256, kernel, on an H200"),
        (True, "iiwa14 id float32 N=65536, pinned: 1.3 times the copies"),
        (True, "iiwa14 id float32 N=1048576, kernel, on an H200"),
    ]
    wanted = [benchmark.wanted_us("atlas", "dfd", n) for n in (16, 1024, 65_536, 1 << 20)]
    assert wanted == [40.0, 50.0, None, pytest.approx(17_476.3, rel=1e-4)]
    assert benchmark.wanted_us("atlas", "m", 16) is None


def test_floors() -> None:
    machine = gpu_time.Machine(1e12, {"float32": 1e13, "float64": 5e12}, 1e9)
    assert machine.floor_us(1e7, 10**7, 64_000, "float32") == pytest.approx({"operations": 1, "bytes": 10, "code": 1})
    assert machine.floor_us(1e7, 0, 0, "float64")["operations"] == pytest.approx(2)


def test_code_is_counted() -> None:
    """Bytes of code of a kernel: whole instructions, at least one for each that the Program has."""
    from condyle.backends.cuda.kernel import assemble

    (part,) = made(robot("iiwa14"), "id", 32).launches
    try:
        size = gpu_time.text_bytes(assemble(part, "sm_90").cubin)
    except BuildError as error:
        pytest.skip(str(error))
    assert size % 16 == 0
    assert 304 * 16 < size < 304 * 16 * 6


@pytest.mark.slow  # test_call runs the same kernels
def test_the_tools_work_load_runs(fake: FakeDriver) -> None:
    """What compute-sanitizer looks at."""
    gpu_beside.work()


def test_a_tool_that_hangs_or_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(gpu_beside, "SECONDS", 0.2)
    assert "took more than" in gpu_beside._ran([sys.executable, "-c", "import time; time.sleep(9)"], {})["unmeasured"]
    monkeypatch.setattr(gpu_beside, "SECONDS", 60)
    assert gpu_beside._ran([sys.executable, "-c", "print(7)"], {0: "clean"}) == {"verdict": "clean", "log": "7\n"}
    assert gpu_beside._ran([sys.executable, "-c", "exit(9)"], {0: "clean"})["verdict"] == "exit status 9"
    assert "no-such-tool" in gpu_beside._ran(["no-such-tool"], {})["unmeasured"]
