"""Text of a model on a line of ours: nothing of it starts a line, turns it around or hides."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from condyle.text import printable, printable_lines, quoted
from condyle.text.pages import facts, table, whole

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
