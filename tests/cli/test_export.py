from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from condyle.cli import parser
from condyle.cli.export import hardware_options
from condyle.errors import AccuracyWarning
from condyle.functions import DEFAULT, FUNCTIONS, function_of
from condyle.specification.ports import ACTIVE
from tests.backends.c.bare import needs_parts

pytestmark = pytest.mark.smoke


def test_files_are_written_and_listed(run, pendulum, tmp_path) -> None:
    out = tmp_path / "generated"
    ran = run(
        "export", pendulum(), "--target", "c", "--out", str(out), "--functions", "id,m", "--name", "rod", "--json"
    )
    assert ran.status == 0, ran.err
    files = [Path(name) for name in ran.json["files"]]
    assert files
    assert all(path.is_file() and path.is_relative_to(out) for path in files)
    assert {".c", ".h", ".json"} <= {path.suffix for path in files}


def test_a_name_that_is_no_symbol_is_refused(run, pendulum, tmp_path) -> None:
    ran = run("export", pendulum(), "--target", "c", "--out", str(tmp_path / "x"), "--name", "Not a symbol")
    assert ran.status in (1, 2)
    assert "Not a symbol" in ran.err


def test_a_folder_with_a_project_of_its_own_is_left_alone(run, pendulum, tmp_path) -> None:
    (tmp_path / "README.md").write_text("mine")
    refused = run("export", pendulum(), "--target", "c", "--out", str(tmp_path), "--functions", "id")
    assert refused.status == 2
    assert "'README.md' is not ours" in refused.err and "name another folder" in refused.err
    assert (tmp_path / "README.md").read_text() == "mine"
    out = tmp_path / "rod"
    for _ in range(2):  # an earlier export may be written over
        assert run("export", pendulum(), "--target", "c", "--out", str(out), "--functions", "id").status == 0


def test_an_empty_folder_name_is_refused(run, pendulum, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused = run("export", pendulum(), "--target", "c", "--out", "")
    assert refused.status == 2
    assert "name a folder" in refused.err
    assert [path for path in sorted(tmp_path.iterdir()) if path not in before and path.suffix != ".urdf"] == []


def test_symbols_that_are_called_robot_are_said(run, pendulum, tmp_path) -> None:
    common = ("export", pendulum(), "--target", "c", "--functions", "id")
    unnamed = run(*common, "--out", str(tmp_path / "a"))
    assert "every exported name begins with 'robot'; --name" in unnamed.err
    assert "begins with" not in run(*common, "--out", str(tmp_path / "b"), "--name", "rod").err
    assert "begins with" not in run("export", "iiwa14", *common[2:], "--out", str(tmp_path / "c")).err
    assert {path.name for path in (tmp_path / "c").glob("iiwa14_id*.c")} == {"iiwa14_id.c", "iiwa14_id_f_ext.c"}


def test_the_seven_are_what_an_export_has_and_all_are_all(run, pendulum, tmp_path) -> None:
    common = ("export", pendulum(), "--target", "c", "--name", "rod")
    assert run(*common, "--out", str(tmp_path / "a")).status == 0
    assert written(tmp_path / "a", "rod") == {*DEFAULT}
    refused = run(*common, "--out", str(tmp_path / "b"), "--functions", "all")
    assert refused.status == 2 and "no frames were named" in refused.err
    assert not (tmp_path / "b").exists()
    every = ("--functions", "all", "--frames", "rod", "--contacts", "rod")
    assert run(*common, "--out", str(tmp_path / "b"), *every).status == 0
    assert written(tmp_path / "b", "rod") == {
        function.taking(ACTIVE).name for function in FUNCTIONS.values() if not function.needs.drives
    }
    assert json.loads((tmp_path / "b" / "robot.json").read_text())["frames"] == ["rod"]
    verilog = run(*common[:3], "verilog", "--out", str(tmp_path / "v"), "--functions", "all")
    assert verilog.status == 0, verilog.err
    assert [*json.loads((tmp_path / "v" / "report.json").read_text())["functions"]] == [*DEFAULT, "rk4", "euler"]


def written(folder: Path, name: str) -> set[str]:
    """The functions in a folder, those with external forces beside the others."""
    found = {path.stem[len(name) + 1 :] for path in folder.glob(f"{name}_*.c")} - {"facts"}
    forced = {function for function in found if function.endswith("_f_ext")}
    plain = found - forced
    assert forced == {f"{function}_f_ext" for function in plain if function_of(function).takes_f_ext}
    return {name for name in plain if "_f_ext_" not in name}


def test_a_frame_that_is_not_there_is_named_before_anything_is_written(run, pendulum, tmp_path) -> None:
    asked = ("export", pendulum(), "--out", str(tmp_path / "x"), "--functions", "fk", "--frames", "rodd")
    for target in ("c", "cuda"):
        refused = run(*asked, "--target", target)
        assert refused.status == 2
        assert "'rodd'; did you mean 'rod'?" in refused.err
        assert not (tmp_path / "x").exists()


def test_embedded(run, pendulum, tmp_path) -> None:
    common = ("export", pendulum(), "--target", "c", "--functions", "id,fd_f_ext", "--dtype", "float32")
    assert run(*common, "--embedded", "--out", str(tmp_path / "a")).status == 0
    assert {path.name for path in (tmp_path / "a").glob("*.c")} == {"robot_id.c", "robot_fd_f_ext.c", "test.c"}
    assert "sinf" not in (tmp_path / "a" / "robot_id.c").read_text().split("CD_STATIC void cd_sincos")[1]
    assert run(*common, "--embedded", "--libm", "--out", str(tmp_path / "b")).status == 0
    refused = run(*common, "--libm", "--out", str(tmp_path / "c"))
    assert refused.status == 2 and "with embedded=True only" in refused.err


@needs_parts
def test_a_processor(run, pendulum, tmp_path) -> None:
    common = ("export", pendulum(), "--target", "c", "--embedded", "--functions", "id", "--dtype", "float32")
    ran = run(*common, "--part", "cortex-m7", "--flash", "64K", "--stack", "4096", "--out", str(tmp_path / "a"))
    assert ran.status == 0, ran.err
    *_, titles, row, total = ran.out.splitlines()
    assert titles.split() == ["function", "flash", "stack", "work", "instructions"]
    assert row.split()[0] == "id" and int(row.split()[-1]) > 10 and total.startswith("in all")
    refused = run(*common, "--part", "cortex-m7", "--flash", "100", "--out", str(tmp_path / "b"))
    assert refused.status == 2 and "flash=100: on cortex-m7 the code and tables are " in refused.err


def test_a_processor_that_is_none(run, pendulum, tmp_path) -> None:
    common = ("export", pendulum(), "--target", "c", "--embedded", "--out", str(tmp_path / "a"))
    refused = run(*common, "--part", "xcvu9p")
    assert refused.status == 2 and "part='xcvu9p' is not one of the processors 'cortex-m4f'" in refused.err
    refused = run(*common, "--flash", "lots")
    assert refused.status == 2 and "'lots': give a number of bytes such as 8192, 8K or 1M" in refused.err
    refused = run(*common, "--flash", "8K")
    assert refused.status == 2 and "name it, such as part='cortex-m7'" in refused.err


def test_options_of_hardware_are_those_that_were_typed() -> None:
    def options(*words: str) -> dict[str, object]:
        typed = ("export", "x", "--target", "verilog", "--out", "y", *words)
        return hardware_options(parser("export").parse_args(typed), None)  # type: ignore[arg-type]

    assert options() == {}
    assert options("--part", "xc7z020", "--dsp", "3", "--clock", "50", "--folding", "2", "--pipeline", "0") == {
        "part": "xc7z020",
        "dsp": 3,
        "clock": 50.0,
        "folding": 2,
        "pipeline": 0,
    }
    assert options("--float32", "--async-clock", "--echo", "--axi", "64", "--bus-clock", "100", "--link", "8") == {
        "float32": True,
        "async_clock": True,
        "echo": True,
        "axi": 64,
        "bus_clock": 100.0,
        "link": 8.0,
    }
    assert options(
        "--box", "v=10", "--f-ext", "5", "--step", "0.01", "--overflow", "silent", "--constants", "auto"
    ) == {
        "box": {"v": 10.0},
        "f_ext": 5.0,
        "step": 0.01,
        "overflow": "silent",
        "constants": "auto",
    }


def test_every_warning_about_accuracy_is_said(run, pendulum, monkeypatch, tmp_path) -> None:
    def export(*_, **__):
        for _ in range(2):
            warnings.warn("m errs much", AccuracyWarning, stacklevel=1)
        return [tmp_path / "a.c", tmp_path / "b.c"]

    monkeypatch.setattr("condyle.export", export)
    ran = run("export", pendulum(), "--target", "c", "--out", str(tmp_path), "--name", "rod")
    assert (ran.status, ran.err) == (0, "warning: m errs much\n" * 2)
    assert ran.out == f"{tmp_path / 'a.c'}\n{tmp_path / 'b.c'}\n"
