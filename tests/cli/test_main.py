"""Exit statuses, and `python -m condyle`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import condyle
from condyle.cli import joined, main
from condyle.errors import BuildError, ModelError, SingularError, UnsupportedError


def test_no_command_is_bad_use(run) -> None:
    ran = run()
    assert ran.status == 2
    assert "COMMAND" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("info", "iiwa14", "--lock", "novalue"),
        ("bench", "iiwa14", "--batch", "0"),
        ("bench", "iiwa14", "--batch", "4,many"),
        ("bench", "iiwa14", "--functions", "id,nonsense"),
        ("export", "iiwa14", "--target", "fortran", "--out", "x"),
        ("cache", "burn"),
        ("info", "iiwa14", "--batch", "0"),
        ("fpga", "simulate", "iiwa14", "--states", "0"),
        ("fpga", "simulate", "iiwa14", "--functions", "m", "--stall", "100"),
        ("fpga", "report", "iiwa14", "--html", "no/such/folder/page.html"),
        ("fpga", "report", "iiwa14", "--stall", "0"),
        ("fpga", "report", "iiwa14", "--tool", "iverilog"),
        ("fpga", "simulate", "iiwa14", "--html", "page.html"),
        ("info", "iiwa14", "--gravity", "0,0"),
        ("info", "iiwa14", "--gravity", "0,0,nan"),
        ("info", "iiwa14", "--gravity", "0,0,down"),
        ("info", "iiwa14", "--snap", "1"),
        ("info", "iiwa14", "--snap", "nan"),
        ("info", "iiwa14", "--mimic", "never"),
        ("info", "iiwa14", "--unmodelled", "drop"),
        ("export", "iiwa14", "--target", "c", "--out", "x", "--word", "27x18"),
        ("export", "iiwa14", "--target", "c", "--out", __file__),
    ],
)
def test_bad_words_are_bad_use(run, words) -> None:
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""


@pytest.mark.smoke
def test_the_version_is_said(run) -> None:
    assert run("--version").out == f"condyle {condyle.__version__}\n"


@pytest.mark.smoke
def test_a_missing_file_is_named(run) -> None:
    ran = run("info", "no-such-robot.urdf")
    assert ran.status in (1, 2)
    assert "no-such-robot.urdf" in ran.err
    assert "Traceback" not in ran.err


def test_a_broken_model_is_found_wanting(run, pendulum) -> None:
    ran = run("info", pendulum(text='<robot name="x"><link name="a"/><link name="a"/></robot>'))
    assert ran.status == 1
    assert ran.err.startswith("condyle: ")


def test_python_m_condyle_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "condyle", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: condyle")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ("  check    compare every function", "  cache    list, clear or locate", "condyle --help says more")),
        (("checks",), ("invalid choice: 'checks'", "  check    compare every function")),
        (("cache",), ("action: ls: list them; clear: delete them all; path: print the folder",)),
        (("cache", "empty"), ("invalid choice: 'empty'", "action: ls: list them; clear")),
        (("fpga",), ("what: simulate: its Verilog; report: cycles", "ROBOT: a URDF or MJCF file")),
        (("explain", "iiwa14"), ("FUNCTION: a short name or a method", "condyle explain --help says more")),
        (("bench", "iiwa14", "--dtype", "float16"), ("argument --dtype: invalid choice", "condyle bench --help says")),
    ],
)
def test_what_is_missing_or_wrong_is_explained(run, words: tuple[str, ...], told: tuple[str, ...]) -> None:
    ran = run(*words)
    assert ran.status == 2
    assert all(text in ran.err for text in told), ran.err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ModelError("odd"), 1, "condyle: odd\n"),
        (BuildError("odd"), 1, "condyle: odd\n"),
        (SingularError("odd"), 1, "condyle: odd\n"),
        (UnsupportedError("odd"), 2, "condyle: odd\n"),
        (FileNotFoundError(2, "No such file", "x.npy"), 2, "condyle: x.npy: No such file\n"),
        (OSError("odd"), 2, "condyle: odd\n"),
        (BrokenPipeError(), 0, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_each_error_has_its_status(run, monkeypatch, error: BaseException, status: int, said: str) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("condyle.runtime.cache.path", fail)
    ran = run("cache", "path")
    assert (ran.status, ran.out, ran.err) == (status, "", said)


def test_without_words_those_of_the_process_are_read(monkeypatch, capsys, cache_dir) -> None:
    monkeypatch.setattr("sys.argv", ["condyle", "cache", "path"])
    assert main() == 0
    assert capsys.readouterr().out == f"{cache_dir}\n"


@pytest.mark.parametrize(
    ("words", "read"),
    [
        (["--q", "-1,0", "x"], ["--q=-1,0", "x"]),
        (["--q", "-.5"], ["--q=-.5"]),
        (["-1"], ["-1"]),
        (["--q", "1", "-2"], ["--q", "1", "-2"]),
        (["--q", "-1", "-2"], ["--q=-1", "-2"]),
        (["--q", "--json"], ["--q", "--json"]),
    ],
)
def test_a_number_with_a_minus_sign_belongs_to_the_option_before_it(words: list[str], read: list[str]) -> None:
    assert joined(words) == read
