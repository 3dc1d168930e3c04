"""The small XML reader and its numbers: bounds from both sides, and what it says of what it refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import ModelError
from condyle.readers import xml
from condyle.readers.folders import Folders, named_folders
from condyle.readers.xml import Element, Report, parse, read_bytes, same, shown


@pytest.mark.parametrize("off", [0, 1])
def test_a_file_has_at_most_so_many_bytes_elements_and_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    def told(call: Callable[[], object], said: str) -> None:
        """As many as allowed are, one more is not."""
        if off:
            with pytest.raises(ModelError, match=said):
                call()
        else:
            call()

    path = tmp_path / "a.xml"
    path.write_bytes(bytes(2 * 2**20))
    monkeypatch.setattr(xml, "MAX_BYTES", 2 * 2**20 - off)
    told(lambda: read_bytes(path), r"a\.xml: larger than 1 MiB")
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 3 - off)
    told(lambda: parse(b"<a>\n<b/>\n<c/></a>", "f"), "f:3: more than 2 elements")
    told(lambda: parse(b"<a>\n<b/></a>", "f", depth=2 - off), "f:2: elements nested deeper than 1")


def test_files_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"none: does not exist"):
        read_bytes(tmp_path / "none")
    with pytest.raises(ModelError, match="is not a regular file"):
        read_bytes(tmp_path)
    (tmp_path / "a").write_bytes(b"")

    def broken(*_: object) -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(ModelError, match="a: cannot be read: the disk is gone"):
        read_bytes(tmp_path / "a")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\n\n<a><b></a>", "f:3: not XML: mismatched tag, column 9"),
        (b"", "f:1: not XML: the text ends before the root element does, column 1"),
        (
            b"<!-- x --><?xml version='1.0'?><a/>",
            r"f:1: not XML: .*, column \d+ \(delete what stands before '<\?xml'\)",
        ),
        (b"<a>&x;</a>", r"f:1: not XML: undefined entity, column 4$"),
        (b"<?xml version='1.0' encoding='utf-7'?><a/>", r"f:1: encoding 'utf-7', expected one of utf-8, us-ascii"),
        (b"\n<!DOCTYPE a><a/>", r"f:2: DOCTYPE declarations are refused \(a robot needs none: delete it\)"),
    ],
)
def test_what_is_no_xml(data: bytes, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        parse(data, "f")


def test_an_encoding_that_nobody_knows() -> None:
    with pytest.raises(ModelError, match="f: not XML: unknown encoding"):
        parse(b"<?xml version='1.0' encoding='no-such'?><a/>", "f", encodings=("no-such",))


@pytest.mark.parametrize(
    ("encoding", "letter"),
    [
        *(("utf-8", b"\xc3\xa9"), ("UTF_8", b"\xc3\xa9"), ("iso-8859-1", b"\xe9"), ("latin-1", b"\xe9")),
        *(("us-ascii", b"&#233;"), ("ascii", b"&#233;")),
    ],
)
def test_encodings_that_are_taken(encoding: str, letter: bytes) -> None:
    data = f"<?xml version='1.0' encoding='{encoding}'?>".encode() + b"<a x='" + letter + b"'/>"
    assert parse(data, "f").get("x") == "é"


def test_the_beginning_of_a_text_is_kept() -> None:
    """200 letters, without what is only space."""
    root = parse(f"<a> \n <b>{'x' * 150}<c/> \n {'y' * 49}z{'w' * 9}</b></a>".encode(), "f")
    (inner,) = root.all("b")
    assert root.text == "" and inner.text == ("x" * 150 + " \n " + "y" * 49 + "z" * 9)[:200]


def test_elements_are_walked_in_the_order_of_the_text_and_compared_whole() -> None:
    root = parse(b"<a><b x='1' y='2'><c/></b><b y='2' x='1'><c/></b><d/></a>", "f")
    assert [node.tag for node in root.walk()] == ["a", "b", "c", "b", "c", "d"]
    first, second, third = root.children
    assert same(first, second) and not same(first, third)
    for other in (
        b"<b x='1' y='3'><c/></b>",
        b"<b x='1' y='2'><d/></b>",
        b"<b x='1' y='2'/>",
        b"<e x='1' y='2'><c/></e>",
    ):
        assert not same(first, parse(other, "f"))


@pytest.mark.parametrize(
    ("text", "said"), [("x" * 60, repr("x" * 60)), ("x" * 61, repr("x" * 60 + "...")), ("a\nb", r"'a\nb'")]
)
def test_a_long_text_is_cut_short(text: str, said: str) -> None:
    assert shown(text) == said


NUMBERS = [
    ("1.5", 1.5, ""),
    (" -1e30 ", -1e30, ""),
    ("1.1e30", 0.25, "<n> x='1.1e30' is beyond the largest number, 1e+30"),
    ("1 2", 0.25, "<n> x='1 2', expected a decimal number"),
    (
        "1,5",
        0.25,
        "<n> x='1,5', expected a decimal number (write the decimal point as a point, and separate numbers by",
    ),
    ("${m}", 0.25, "<n> x='${m}', expected a decimal number (expand it with xacro first)"),
    (None, 0.25, ""),
]


@pytest.mark.parametrize(("text", "value", "said"), NUMBERS)
def test_a_number_or_what_stands_for_it(text: str | None, value: float, said: str) -> None:
    report, node = Report("f"), Element("n", {} if text is None else {"x": text}, 7)
    assert report.number(node, "link 'a'", "x", 0.25) == value
    assert len(report.findings) == bool(said)
    assert all(str(finding).startswith(f"f:7: link 'a': {said}") for finding in report.findings)
    bare = Report("f")
    found = bare.number(node, "link 'a'", "x", None)
    assert found == (0.0 if said or text is None else value)
    assert len(bare.findings) == bool(said or text is None)
    if text is None:
        assert str(bare.findings[0]) == "f:7: link 'a': <n> has no 'x' (a number is needed)"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e30", 1e30),
        ("-1.1e30", -np.inf),
        ("1.7e308", np.inf),
        ("-Infinity", -np.inf),
        (" inf", np.inf),
        (None, 0.5),
        ("nan", 0.5),
        ("1e400", 0.5),
    ],
)
def test_a_limit_may_be_infinite(text: str | None, value: float) -> None:
    report = Report("f")
    assert report.limit(Element("n", {} if text is None else {"x": text}, 7), "joint 'j'", "x", 0.5) == value
    assert len(report.findings) == (text in ("nan", "1e400"))


def test_three_numbers_with_spaces_between() -> None:
    report = Report("f")
    assert report.vector(Element("n", {"x": "1 2\n3"}, 7), "a", "x", (0, 0, 0)).tolist() == [1.0, 2.0, 3.0]
    assert report.vector(Element("n", {}, 7), "a", "x", (4, 5, 6)).tolist() == [4.0, 5.0, 6.0]
    for text in ("1 2", "1 2 3 4", "1 2 x"):
        assert report.vector(Element("n", {"x": text}, 7), "a", "x", (4, 5, 6)).tolist() == [0.0, 0.0, 0.0]
        assert "expected 3 decimal numbers with spaces between" in str(report.findings[-1])
    report.note(Element("n", {}, 8), None, "odd", "mend it")
    assert (report.findings[-1].severity, str(report.findings[-1])) == ("note", "f:8: odd (mend it)")


# Which files may be read.


@pytest.mark.parametrize(
    ("assets", "said"),
    [
        ("folder", r"assets='folder', expected several folders, such as assets=\('folder',\)"),
        (Path("folder"), "assets=.*folder.*, expected several folders"),
        (3, "assets=3, expected several folders"),
        ((3,), "assets: 3 is no path of a folder"),
        (("/no/such",), "assets: '/no/such' is not a folder"),
    ],
)
def test_folders_of_assets_are_checked(assets: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        named_folders(assets)


def test_a_file_may_have_as_many_bytes_as_are_allowed(tmp_path: Path) -> None:
    """The first of several that is there."""
    (tmp_path / "b").write_bytes(b"12345")
    folders = Folders(tmp_path)
    paths = [tmp_path / "a", tmp_path / "b" / "c", tmp_path / "b"]
    assert folders.read(paths, 5, "x", ("f", 3)) == (tmp_path / "b", b"12345")
    with pytest.raises(ModelError, match="f:3: x is larger than 4 bytes"):
        folders.read(paths, 4, "x", ("f", 3))
    with pytest.raises(ModelError, match="f:3: x, which does not exist"):
        folders.read(paths[:2], 5, "x", ("f", 3))
    with pytest.raises(ModelError, match="f:3: x is not a regular file"):
        folders.read([tmp_path], 5, "x", ("f", 3))


def test_other_systems_read_no_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    monkeypatch.delattr(os, "O_PATH")
    with pytest.raises(ModelError, match="f:3: x, and other files than the model itself are read on Linux only"):
        Folders(tmp_path).read([tmp_path / "b"], 5, "x", ("f", 3))


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    """A name with a zero byte, and a link to itself."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("a\0b", "loop"):
        with pytest.raises(ModelError, match="f:3: x cannot be read: "):
            Folders(tmp_path).read([tmp_path / name], 5, "x", ("f", 3))


def test_entities_and_document_types_are_refused() -> None:
    reader = xml._Reader("f.xml", 3, xml.ENCODINGS, 2)
    with pytest.raises(ModelError, match="ENTITY declarations are refused"):
        reader.entity("x", 0, "value", None, None, None, None)
    with pytest.raises(ModelError, match="DOCTYPE declarations are refused"):
        reader.doctype("x", None, None, 0)
    assert reader.line == 0
