from __future__ import annotations

import argparse
import inspect
import io
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

import condyle
from condyle.cli import common, parser
from condyle.cli.bound import contacts_of
from condyle.cli.common import progress, show_snapped, table, titled
from condyle.cli.export import amount, functions, named_functions, sizes
from condyle.functions import DEFAULT, FUNCTIONS

READ = [
    (common.gravity, "0,-1.5,2", (0.0, -1.5, 2.0)),
    (common.snap, "0", 0.0),
    (common.snap, "0.0999", 0.0999),
    (common.seconds, "0.25", 0.25),
    (common.size, "7", 7),
    (common.size, "3k", 3072),
    (common.size, "512M", 512 * 1024**2),
    (common.size, "4G", 4 * 1024**3),
    (common.size, str(2**50 - 1), 2**50 - 1),
    (common.lock, "a=b=-0.5", ("a=b", -0.5)),
    (common.integers, "1,16", (1, 16)),
    (common.positive, "1", 1),
    (amount, "1", 1),
    (amount, "8k", 8192),
    (amount, "1M", 1024**2),
    (sizes, "v=10,v.joint_3=2", {"v": 10.0, "v.joint_3": 2.0}),
    (functions, "all", tuple(FUNCTIONS.values())),
    (functions, "id,m", (FUNCTIONS["id"], FUNCTIONS["m"])),
    (named_functions, "all", tuple(FUNCTIONS)),
    (named_functions, "inverse_dynamics,euler", ("id", "euler")),
]
REFUSED = [
    (common.gravity, ("0,0", "0,0,0,1", "0,0,inf", "a,0,0"), "is not X,Y,Z"),
    (common.snap, ("-1e-9", "0.1", "nan", ""), "is not an angle of 0 to 0.1 rad"),
    (common.seconds, ("0", "-1", "inf", "nan", "x"), "is not a number of seconds"),
    (common.size, ("", "K", "0", "0G", "1.5M", "8T", str(2**50), "1048576G"), "is not a number of bytes"),
    (common.lock, ("a", "=1", "a=", "a=x"), "is not JOINT=VALUE"),
    (common.integers, ("", "0", "4,-1", "1,,2", "1.5"), "is not a list of positive numbers"),
    (common.positive, ("", "0", "-1", "1.5"), "is not a whole number, 1 or more"),
    (amount, ("", "M", "0", "0K", "1.5K", "8G"), "give a number of bytes"),
    (sizes, ("v", "v=", "=1", "v=x"), "give numbers such as q=6.3"),
    (sizes, ("v=1,v=2",), "'v=2', said twice: give numbers"),
    (functions, ("id,euler", "nonsense"), "is not one of"),
    (named_functions, ("id,nonsense",), "'nonsense' is not one of"),
]


@pytest.mark.parametrize(("read", "text", "value"), READ)
def test_a_value_is_read(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "said"), [(read, text, said) for read, texts, said in REFUSED for text in texts]
)
def test_what_is_no_value_is_refused(read: Callable[[str], object], text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        read(text)


@pytest.mark.parametrize("command", ["info", "check", "view"])
def test_options_of_loading_that_are_not_typed_are_those_of_load(command: str) -> None:
    typed = vars(parser(command).parse_args([command, "x.urdf"]))
    own = inspect.signature(condyle.load).parameters
    names = ("floating_base", "gravity", "strict", "snap", "mimic", "unmodelled", "timeout", "memory")
    assert {name: typed[name] for name in names} == {name: own[name].default for name in names}
    assert (typed["lock"], typed["assets"], typed["json"]) == ([], [], False)


@pytest.mark.parametrize(
    ("words", "defaults"),
    [
        (
            ("bench", "x"),
            {"batch": (16, 64, 256), "threads": None, "against": (), "html": None, "dtype": "float64", "target": "cpu"},
        ),
        (("bench", "x"), {"frames": (), "contacts": (), "joint_forces": (), "actuators": False}),
        (("bench", "x"), {"functions": tuple(FUNCTIONS[name] for name in DEFAULT)}),
        (("check", "x"), {"functions": (), "dtype": "float64", "target": "cpu"}),
        (("explain", "x", "id"), {"batch": 256, "route": None, "html": None}),
        (("export", "x", "--target", "c", "--out", "y"), {"inputs": (), "embedded": False, "libm": False}),
        (("export", "x", "--target", "c", "--out", "y"), {"functions": DEFAULT, "float32": None, "async_clock": None}),
        (("export", "x", "--target", "verilog", "--out", "y", "--float32", "--async-clock"), {"float32": True}),
        (
            ("export", "x", "--target", "verilog", "--out", "y", "--pipeline", "3", "--echo"),
            {"pipeline": 3, "echo": True},
        ),
        (("export", "x", "--target", "verilog", "--out", "y", "--async-clock"), {"async_clock": True}),
        (("info",), {"robot": None, "functions": False, "graph": None, "counts": False, "also": (), "batch": None}),
        (("view", "x"), {"port": 8080, "q": None, "meshes": False, "no_browser": False, "spacing": None}),
        (
            ("fpga", "report", "x", "--words"),
            {"words": "32,27,27x18,25x18,20x18,18,16,12", "states": None, "stall": None},
        ),
    ],
)
def test_what_is_not_typed_has_these_values(words: tuple[str, ...], defaults: dict[str, object]) -> None:
    typed = vars(parser(words[0]).parse_args(words))
    assert {name: typed[name] for name in defaults} == defaults


def test_a_pipeline_has_at_most_three_more_registers(run) -> None:
    refused = run("export", "x", "--target", "verilog", "--out", "y", "--pipeline", "4")
    assert refused.status == 2 and "invalid choice: 4" in refused.err


def test_a_point_of_contact_is_at_the_last_frame_where_it_moves(pendulum) -> None:
    typed = argparse.Namespace(contacts=())
    (contact,) = contacts_of(condyle.load(pendulum()), typed)
    assert (contact.frame, contact.kind) == ("rod", "point")
    named = contacts_of(condyle.load(pendulum()), argparse.Namespace(contacts=("base", "rod")))
    assert [one.frame for one in named] == ["base", "rod"]
    held = replace(condyle.load(pendulum()), contacts=(condyle.Contact("rod", "plane"),))
    assert contacts_of(held, typed) == held.contacts
    (first,) = contacts_of(held, argparse.Namespace(contacts=("base",)))
    assert (first.frame, first.kind) == ("base", "point")
    post = condyle.load(pendulum(text='<robot name="post"><link name="base"/></robot>'))
    assert contacts_of(post, typed) == ()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (("id", 1, 4), "[#####...............] 1/4 id"),
        (("a\nb", 3, 3), f"[{'#' * 20}] 3/3 a\\nb"),
        (("id", 0, 1), f"[{'.' * 20}] 0/1 id"),
        (("id",), "id"),
        (("",), ""),
    ],
)
def test_a_terminal_is_told_how_far_it_is(monkeypatch, told: tuple[str, ...], shown: str) -> None:
    heard = Terminal()
    monkeypatch.setattr("sys.stderr", heard)
    progress(*told)
    assert heard.getvalue() == f"\r\x1b[2K{shown}"


def test_a_file_is_told_nothing(monkeypatch) -> None:
    heard = io.StringIO()
    monkeypatch.setattr("sys.stderr", heard)
    progress("id", 1, 4)
    assert heard.getvalue() == ""


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "note: 1 angle of the file was within 1e-09 rad"),
        (2, "note: 2 angles of the file were within 1e-09 rad"),
    ],
)
def test_angles_that_were_snapped_are_counted(capsys, count: int, said: str) -> None:
    show_snapped(SimpleNamespace(snapped=SimpleNamespace(count=count, largest=2.5e-10), snap=1e-9))  # type: ignore[arg-type]
    told = capsys.readouterr().out
    assert told.startswith(said) and bool(told) == bool(count)
    assert not count or "the largest change is 2.5e-10 rad." in told


def test_a_note_says_itself_what_it_is() -> None:
    assert [titled("note: a"), titled("physics: a")] == ["note: a", "warning: physics: a"]


def test_table_flushes_numbers_right() -> None:
    assert table(("name", "n"), [("a", "1"), ("bcd", "100")]) == "name    n\n----  ---\na       1\nbcd   100"


@pytest.mark.parametrize(("cells", "flush"), [("-+.1", True), ("1x23", False)])
def test_a_column_is_flush_right_where_all_its_cells_begin_as_numbers(cells: str, flush: bool) -> None:
    lines = table(("10", "wide"), [("1", cell) for cell in cells]).splitlines()
    assert lines[2:] == [f"1      {cell}" if flush else f"1   {cell}" for cell in cells]


def test_an_empty_cell_is_no_number() -> None:
    assert table(("a", "wide"), [("1", ""), ("1", "2")]).splitlines()[2:] == ["1", "1  2"]


def test_a_cell_of_a_table_stays_on_its_line() -> None:
    assert table(("name", "n"), [("a\nb", "1")]).splitlines()[2] == "a\\nb  1"


def test_an_empty_table_has_its_heads() -> None:
    assert table(("a", "b"), []).splitlines()[0] == "a  b"
