"""Text of a model on a line of ours: nothing of it starts a line, turns it around or hides."""

from __future__ import annotations

import pytest

from condyle.text import printable, printable_lines, quoted

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
