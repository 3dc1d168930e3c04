"""Text of a model on a line of ours: nothing of it starts a line, turns it around or hides."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from condyle.text import Emitter, few, printable, printable_lines, quoted, short_path, wrapped, write_whole
from condyle.text.pages import facts, scrolled, table, whole

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("arm_1 é ß 腕", "arm_1 é ß 腕"),
        ("a\nb", "a\\nb"),
        ("a\r\x1b[31mb\x00\x7f\x85", "a\\r\\x1b[31mb\\x00\\x7f\\x85"),
        ("a\u202eb\u2066c\u200bd\u2028e\ufeff", "a\\u202eb\\u2066c\\u200bd\\u2028e\\ufeff"),
        ("\u3164\u2800\u115f\ufe0f\U000e0100", "\\u3164\\u2800\\u115f\\ufe0f\\U000e0100"),
        ("\xa0\u3000\xad", "\\xa0\\u3000\\xad"),
        ("\ud800\U000f0000", "\\ud800\\U000f0000"),
    ],
)
def test_what_is_not_seen_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


def test_own_lines_stay() -> None:
    assert printable_lines("a\nb\x1b\n") == "a\nb\\x1b\n"
    assert quoted("a\nb\u3164") == "'a\\nb\\u3164'"


def test_parts_of_pages_are_whole_elements() -> None:
    parsed = ElementTree.fromstring(table(["a<", "b"], [[1, "&"], [2, "<b>"], [3, 4]]))
    assert [[cell.text for cell in row] for row in parsed.iter("tr")] == [
        ["a<", "b"],
        ["1", "&"],
        ["2", "<b>"],
        ["3", "4"],
    ]
    assert [row.tag for row in ElementTree.fromstring(table([], [[1]])).iter("tr")] == ["tr"]
    parsed = ElementTree.fromstring(facts([("mass", "1 kg"), ("nq", 7)]))
    assert [[cell.text for cell in row] for row in parsed] == [["mass", "1 kg"], ["nq", "7"]]
    assert whole("a<b", ["<p>1</p>", "<p>2</p>"]).endswith("<h1>a&lt;b</h1>\n<p>1</p>\n<p>2</p>\n</body></html>\n")
    assert scrolled("<p/>") == '<div class="wide"><p/></div>'


def by_number(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@pytest.mark.parametrize(
    ("first", "last"),
    [
        *((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164)),
        *((0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
    ],
)
def test_blanks_are_written_by_their_numbers(first: int, last: int) -> None:
    """From the first to the last one; their neighbours stay, but those of the last range are no characters."""
    for code in (first, last):
        assert printable(chr(code)) == by_number(code)
    for code in (first - 1, last + 1):
        assert printable(chr(code)) == (by_number(code) if first == 0xE0100 else chr(code))


def test_a_path_is_written_from_here_or_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "home" / "here"
    here.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    for path, short in (
        (str(here / "a" / "b.urdf"), "a/b.urdf"),
        (str(home / "c.urdf"), "~/c.urdf"),
        (str(home / "hereabouts"), "~/hereabouts"),
        (str(tmp_path / "d"), str(tmp_path / "d")),
        (str(home), str(home)),
        ("a/../b", "a/../b"),
    ):
        assert short_path(path) == short
    monkeypatch.chdir("/")
    assert (short_path("/etc/x"), short_path(str(here))) == ("/etc/x", "~/here")

    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    assert short_path(str(here)) == str(here)


def test_lines_are_indented_by_their_blocks() -> None:
    e = Emitter()
    e("a;", "", "b;")
    with e.block("if (x) {"):
        e("c;", "")
        with e.block("do {", "} while (y);"):
            e("d;")
    e.table("static const int k", ["1", "2", "3"], 2)
    assert e.text() == (
        "a;\n\nb;\nif (x) {\n    c;\n\n    do {\n        d;\n    } while (y);\n}\n"
        "static const int k[3] = {\n    1, 2,\n    3,\n};\n"
    )
    wide = Emitter("\t")
    with wide.block("("):
        wide("x")
    assert wide.text() == "(\n\tx\n}\n"


def test_of_many_words_the_first_are_said() -> None:
    assert [few("abcd", n) for n in (3, 4, 5)] == ["a, b, c and 1 more", "a, b, c, d", "a, b, c, d"]
    assert few([], 3) == ""


def test_long_lists_are_on_several_lines() -> None:
    parts = [str(k) for k in range(10)]
    assert wrapped(" + ", parts) == "0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 +\n    8 + 9"
    assert wrapped(", ", parts[:3], 2) == "0, 1,\n    2"
    assert wrapped(", ", parts[:8]) == "0, 1, 2, 3, 4, 5, 6, 7"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    assert write_whole(path, "one é") == path
    assert path.read_text(encoding="utf-8") == "one é" and path.stat().st_mode & 0o777 == 0o644
    with monkeypatch.context() as patch:

        def full(self: Path, target: Path) -> None:
            raise OSError(28, "No space left")

        patch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, "two")
    assert path.read_text(encoding="utf-8") == "one é" and [*tmp_path.iterdir()] == [path]
