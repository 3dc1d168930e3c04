"""What export refuses before it generates anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import condyle
from condyle import fpga
from condyle.derivatives import vjp
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.open_rollouts import OpenRollout, open_rollout
from condyle.specification import Function
from condyle.specification.ports import F_EXT

ARM, FD = condyle.chain(2, 0), FUNCTIONS["fd"]


@pytest.mark.parametrize("out", ["", "  ", None, 3, b"x", "a\0b", ["x"]])
def test_what_names_no_folder(out: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsupportedError, match=r"out=.*name a folder, such as 'arm-c'; '.' is the one you are in"):
        condyle.export(ARM, "c", out, ("id",))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    condyle.export(ARM, "c", ".", ("m",))
    assert (tmp_path / "robot_m.c").is_file()


@pytest.mark.parametrize("functions", [None, "id", (), [], 3, ("id", 3), (["id"],), ("idd",)])
def test_what_names_no_functions(functions: object, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"functions.*id.*fd"):
        condyle.export(ARM, "c", tmp_path, functions)  # type: ignore[arg-type]


def test_methods_in_place_of_short_names_are_the_same_export(tmp_path: Path) -> None:
    for folder, names in (("short", ("fd", "vjp_fd")), ("long", ("forward_dynamics", "vjp_forward_dynamics"))):
        condyle.export(ARM, "c", tmp_path / folder, names)
    assert texts(tmp_path / "short") == texts(tmp_path / "long")


@pytest.mark.parametrize(
    ("target", "names", "functions"),
    [
        (
            "c",
            ("fd", "vjp_fd", "fd_f_ext", "rollout"),
            (FD, vjp(FD), FD.taking(F_EXT), open_rollout(FUNCTIONS["step"], ("tau",))),
        ),
        ("casadi", ("fd",), (FD,)),
        ("verilog", ("fd", "euler"), (FD, fpga.functions()["euler"].function)),
    ],
)
def test_functions_in_place_of_names_are_the_same_export(
    target: str, names: Sequence[str], functions: Sequence[Function | OpenRollout], tmp_path: Path
) -> None:
    condyle.export(ARM, target, tmp_path / "names", names)
    condyle.export(ARM, target, tmp_path / "functions", functions)
    assert texts(tmp_path / "names") == texts(tmp_path / "functions")


def test_casadi_has_several_functions_of_a_floating_base(tmp_path: Path) -> None:
    """Each is recorded with quaternions of length one, apart from the others."""
    robot = condyle.random_tree(1, 1, types=("revolute",), floating_base=True)
    condyle.export(robot, "casadi", tmp_path, ("m", "ke"))
    text = (tmp_path / "robot.c").read_text()
    assert "/* robot_m(q) -> (M) */" in text and "/* robot_ke(q, v) -> (kinetic_energy) */" in text


def test_casadi_has_a_function_of_the_users(tmp_path: Path) -> None:
    """Of an arm, whose q is a vector; of a floating base only one that does not ask for q."""
    ARM.function(lambda at, u: at.inverse_dynamics(u), {"q": "nq", "v": "nv", "u": "nv"}).export(
        "casadi", tmp_path, name="arm"
    )
    assert "/* arm_function(q, v, u) -> " in (tmp_path / "arm.c").read_text()
    floating = condyle.random_tree(1, 1, types=("revolute",), floating_base=True)
    floating.function(lambda at, u: 2.0 * u, {"u": 3}).export("casadi", tmp_path / "base", name="base")
    assert "/* base_function(u) -> " in (tmp_path / "base" / "base.c").read_text()


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_function_named_twice_is_written_once(tmp_path: Path) -> None:
    files = condyle.export(ARM, "c", tmp_path, iter(["m", "m"]))  # type: ignore[arg-type]
    assert [path.name for path in files].count("robot_m.c") == 1


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_an_export_of_an_older_version_says_what_to_do(target: str, tmp_path: Path) -> None:
    for name in ("README.md", "robot.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(UnsupportedError, match=r"'README.md' is not ours, 'robot.json' is not ours.*can be deleted"):
        condyle.export(ARM, target, tmp_path, ("id",))


def test_a_test_of_the_users_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "test.c").write_text("mine")
    with pytest.raises(UnsupportedError, match=r"'test.c' is not ours"):
        condyle.export(ARM, "c", tmp_path, ("id",))
    assert [path.name for path in tmp_path.iterdir()] == ["test.c"]


def test_more_functions_are_added_to_a_folder(tmp_path: Path) -> None:
    condyle.export(ARM, "c", tmp_path, ("id",))
    condyle.export(ARM, "c", tmp_path, ("id", "m"))
    assert "robot_m.c" in (tmp_path / "CMakeLists.txt").read_text()


def test_counts_in_a_report_do_not_block_the_next_export(tmp_path: Path) -> None:
    condyle.export(ARM, "verilog", tmp_path, ("m",))
    (tmp_path / "report.json").write_text("{}")
    (tmp_path / "count").mkdir()
    condyle.export(ARM, "verilog", tmp_path, ("m",))
    assert (tmp_path / "report.json").read_text() != "{}"
