"""The boundary: packets over AXI, bit by bit against the integer model; the host's packers; links; refusals."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.backends.common import exported_files
from condyle.errors import UnsupportedError
from condyle.fpga import Accelerator, Options
from condyle.fpga.rtl.boundary import Boundary, least_interval, rate
from condyle.fpga.rtl.export import Facts, Sheet, write
from condyle.fpga.simulation import simulate
from tests.processor import slow
from tests.programs import needs

from .conftest import accelerator
from .test_rtl import STYLE

ARM = condyle.chain(2, 0)
needs_iverilog = needs("iverilog", "make")


def written(folder: Path, robot: condyle.Robot, acc: Accelerator, boundary: Boundary, each: int) -> Path:
    """The project of an accelerator, packets among its files."""
    sheet = Sheet({function: {} for function in acc.plan.functions}, 0, acc.plan.box)
    tasks = fpga.tasks(robot, acc, each, boundary=boundary)
    write(folder, acc, Facts("rig", robot.fingerprint, "", 125.0, "27x18", boundary), sheet, tasks, {})
    return folder


def ran(folder: Path, *plusargs: str) -> str:
    """What the bench of the boundary says."""
    return simulate(folder, "rig_axi", plusargs)


STALLS = ("+stall_in=40", "+stall_out=40", "+seed=3")


@needs_iverilog
@pytest.mark.parametrize(
    "boundary",
    [
        slow(Boundary(512)),
        Boundary(512, echo=True),
        slow(Boundary(32, async_clock=True)),
        slow(Boundary(32)),
        slow(Boundary(1024)),
        slow(Boundary(64, float32=True)),
        Boundary(128, float32=True, async_clock=True),
    ],
    ids=str,
)
def test_packets_are_answered_bit_by_bit(tmp_path, boundary: Boundary) -> None:
    """All functions mixed, with packets too short and of no function between them, in transfers of any length."""
    folder = written(tmp_path / "rig", ARM, accelerator(ARM, ii=2), boundary, 6)
    for plusargs in (
        ("+bus=7", "+core=2", "+joined=50", "+share=4", "+timeout=0"),
        (*STALLS, "+restart=1", "+joined=80", "+share=3"),
        ("+stall_out=70", "+bus=3", "+core=7", "+joined=100", "+share=1000", "+timeout=100"),
        ("+share=0",),
    ):
        assert re.match(r"right: [56]\d packets", ran(folder, *plusargs)), plusargs


@needs_iverilog
@pytest.mark.parametrize("functions", [("did",), ("did", "id", "m")])
def test_answers_without_words(tmp_path, functions: tuple[str, ...]) -> None:
    """Of one joint that slides no torque changes with q or v: of did there is a header alone."""
    inertia = 0.1 * np.eye(3)
    builder = condyle.Builder("slide").body("base", mass=1.0, inertia=inertia).body("one", mass=1.0, inertia=inertia)
    builder.joint("slider", parent="base", child="one", type="prismatic", axis=(0.0, 0.0, 1.0))
    robot = builder.build()
    folder = written(tmp_path / "rig", robot, accelerator(robot, *functions), Boundary(32), 6)
    assert simulate(folder, "rig", STALLS).startswith(f"right: {6 * len(functions)} tasks")
    assert ran(folder, *STALLS).startswith("right: ")


@pytest.mark.slow
@needs("verilator")
@pytest.mark.parametrize("boundary", [slow(Boundary(32)), Boundary(64, float32=True, async_clock=True)], ids=str)
def test_verilator_has_nothing_to_say(tmp_path, boundary: Boundary) -> None:
    folder = written(tmp_path, ARM, accelerator(ARM, ii=2), boundary, 1)
    sources = sorted(path.name for path in folder.glob("*.v") if "bench" not in path.name)
    command = ["verilator", "--lint-only", "-Wall", *(f"-Wno-{one}" for one in STYLE), "--top-module", "rig_axi"]
    command += ["--default-language", "1364-2005", *sources]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


@needs_iverilog
def test_the_bench_sees_a_wrong_bit(tmp_path) -> None:
    folder = written(tmp_path / "rig", ARM, accelerator(ARM, "id", ii=2), Boundary(64), 4)
    text = (folder / "fx_axi.v").read_text()
    (folder / "fx_axi.v").write_text(
        text.replace("in_data[k*B+n*LANE +: LANE] & {LANE{mine[k]}}", "in_data[k*B-k +: LANE] & {LANE{mine[k]}}")
    )
    assert "WRONG beat 1" in ran(folder)


@needs_iverilog
def test_the_bench_sees_a_beat_that_a_soft_reset_withdraws(tmp_path) -> None:
    folder = written(tmp_path / "rig", ARM, accelerator(ARM, "id", ii=2), Boundary(64), 2)
    text = (folder / "fx_axi.v").read_text()
    waits = "(closed | (beat ? last : ~there & ~partway))"
    assert waits in text
    assert ran(folder, "+restart=1").startswith("right")
    (folder / "fx_axi.v").write_text(text.replace(waits, "1'b1"))
    assert "changed before the beat was taken" in ran(folder, "+restart=1")


@needs_iverilog
@pytest.mark.parametrize(
    ("planted", "plusargs"),
    [
        (("beat & ends ? after >= most", "beat & ends ? after > most"), ("+share=3", "+stall_out=70")),
        (("waits & waited >= timeout", "1'b0"), ("+share=5",)),
        (("~full & ~more;", "~full & ~more & 1'b0;"), ("+share=1000", "+stall_in=90")),
        (("ends = last | now <= 1", "ends = last"), ("+joined=50",)),
        (("malformed = last & now > 1", "malformed = 1'b0"), ()),
        (("drops | unknown) : drops", "drops) : drops"), ()),
    ],
)
def test_the_bench_sees_a_bug_planted_in_the_cutting_of_streams(tmp_path, planted, plusargs) -> None:
    folder = written(tmp_path / "rig", ARM, accelerator(ARM, "id", ii=2), Boundary(64), 6)
    text = (folder / "fx_axi.v").read_text()
    assert ran(folder, *plusargs).startswith("right") and planted[0] in text
    (folder / "fx_axi.v").write_text(text.replace(*planted))
    assert "WRONG" in ran(folder, *plusargs)


@pytest.mark.slow
@needs_iverilog
@pytest.mark.parametrize(
    ("robot", "options", "float32"),
    [
        (ARM, Options(("fd", "rk4", "euler"), word="32", f_ext=20.0), False),
        slow(condyle.random_tree(3, 1, floating_base=True), Options(("fd", "fd_given"), dsp=2000), True),
        slow("iiwa14", Options(dsp=600), False),
    ],
    ids=("forces and steps", "a given base", "iiwa14"),
)
def test_other_tasks(tmp_path, robot, options: Options, float32: bool) -> None:
    if isinstance(robot, str):
        robot = condyle.load(robot)
    folder = written(tmp_path, robot, fpga.accelerator(robot, options), Boundary(256, float32), 4)
    assert ran(folder, *STALLS).startswith("right: ")


def test_the_link_chooses_the_interval(tmp_path) -> None:
    """The longest one at which no function is slower than the bus and the link can feed it."""
    condyle.export(ARM, "verilog", tmp_path, ("id", "did", "dfd"), name="arm", axi=64, link=0.5)
    report = json.loads((tmp_path / "report.json").read_text())
    rows = {name: row["boundary"] for name, row in report["functions"].items()}
    limits = {name: 500.0 / max(row["task_bytes"], row["result_bytes"]) for name, row in rows.items()}
    for name, row in rows.items():
        assert row["link_million_per_s"] == pytest.approx(limits[name], abs=1e-3)
        assert row["board_million_per_s"] == pytest.approx(min(limits[name], 125e6), abs=1e-3)
        assert row["chip_million_per_s"] >= row["board_million_per_s"]
    found = {name: row["ii"] for name, row in report["functions"].items()}
    longer = {name: 125.0 / (ii / found["id"] * (found["id"] + 1)) for name, ii in found.items()}
    assert found["id"] > 1 and any(longer[name] < limits[name] for name in found)


def test_difd_sends_the_inverse_back_only_where_that_is_asked_for(tmp_path) -> None:
    """What it says in the JSON and what the accelerator gives; dfd has it as an output."""
    for echo in (False, True):
        condyle.export(ARM, "verilog", tmp_path / str(echo), ("difd", "dfd"), name="arm", echo=echo)
        found = json.loads((tmp_path / str(echo) / "arm_stream.json").read_text())["functions"]
        assert ("Minv" in found["difd"]["outputs"]) == echo and "da_dtau" in found["dfd"]["outputs"]
        text = (tmp_path / str(echo) / "README.md").read_text()
        assert "Behind the words of difd comes the M⁻¹ of its task." in text
    alone = fpga.planned(ARM, Options(("difd",)))
    assert {word.name for word, _ in alone.results["difd"]} == {"da_dq", "da_dv"}


def test_rates_of_iiwa14_over_pcie() -> None:
    """Those of the review: over 12 GB/s did 37.5, difd 26.8 million a second; the bus is slower."""
    for function, beats, echo in (("did", 5, False), ("difd", 7, True), ("difd", 5, False)):
        plan = fpga.planned(condyle.load("iiwa14"), Options(("did", "difd"), echo=echo))
        found = rate(plan, Boundary(512, link=12.0, echo=echo), function, 1, 125.0)
        assert found.result == beats and found.board == found.bus == 125e6 / beats < (found.link or 0.0)
    assert least_interval(plan, Boundary(512, link=12.0), 125.0) == 5
    assert least_interval(plan, Boundary(512), 125.0) == 1


def test_a_boundary_that_nobody_asks_for_is_the_usual_one() -> None:
    assert Options().boundary == Boundary()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"axi": 500}, r"axi=500: allowed is 32, 64, 128, 256, 512, 1024 bits"),
        ({"axi": 16}, "axi=16"),
        ({"axi": 2048}, "axi=2048"),
        ({"axi": 512.0}, "axi=512.0"),
        ({"link": 0.0}, r"link=0\.0: give the speed of the link"),
        ({"link": -12.0}, "link=-12"),
        ({"link": float("nan")}, "link=nan"),
        ({"link": float("inf")}, "link=inf"),
        ({"link": "12"}, "link='12'"),
    ],
)
def test_what_no_bus_or_link_is_is_refused(tmp_path, wrong, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        condyle.export(ARM, "verilog", tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_packets_hold_what_a_function_takes_and_no_more(tmp_path) -> None:
    folder = written(tmp_path, ARM, accelerator(ARM, ii=2), Boundary(32), 1)
    rows = json.loads((folder / "rig_stream.json").read_text())["functions"]
    assert list(rows["m"]["inputs"]) == ["q"] and list(rows["difd"]["inputs"]) == ["q", "v", "a", "Minv"]
    for row in rows.values():
        for what in ("task", "result"):
            bits = 32 + sum(word["width"] for word in row[what]["words"])
            assert row[what]["beats"] == -(-bits // 32) and row[what]["bytes"] == 4 * row[what]["beats"]


def cut_off(monkeypatch: pytest.MonkeyPatch, folder: Path, functions: tuple[str, ...], stop: int) -> None:
    """An export that ends before it writes file number `stop`."""
    left, write_whole = [stop], exported_files.write_whole

    def cut(path: Path, text: str) -> Path:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write_whole(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(exported_files, "write_whole", cut)
        with pytest.raises(KeyboardInterrupt):
            condyle.export(ARM, "verilog", folder, functions, name="arm")


def test_an_export_that_is_cut_off_never_looks_whole(tmp_path, monkeypatch) -> None:
    """report.json comes last: a folder that has it has all; the next export goes on."""
    whole = condyle.export(ARM, "verilog", tmp_path / "whole", ("id",), name="arm")
    for stop in range(0, len(whole), 5):
        folder = tmp_path / str(stop)
        cut_off(monkeypatch, folder, ("id",), stop)
        assert not (folder / "report.json").exists()
        condyle.export(ARM, "verilog", folder, ("id",), name="arm")
        assert (folder / "report.json").is_file()


@pytest.mark.parametrize("stop", [0, 3])
def test_an_export_over_a_whole_one_that_is_cut_off_does_not_look_whole(tmp_path, monkeypatch, stop: int) -> None:
    """The report of the earlier export goes first: it would vouch for files of two exports."""
    condyle.export(ARM, "verilog", tmp_path, ("id",), name="arm")
    assert (tmp_path / "report.json").is_file()
    cut_off(monkeypatch, tmp_path, ("minv",), stop)
    assert not (tmp_path / "report.json").exists()
    condyle.export(ARM, "verilog", tmp_path, ("minv",), name="arm")
    assert json.loads((tmp_path / "report.json").read_text())["functions"].keys() == {"minv"}
