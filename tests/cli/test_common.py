from __future__ import annotations

import argparse

import pytest

from condyle.cli.common import integers, printable, table


def test_integers() -> None:
    assert integers("16,64") == (16, 64)
    for text in ("", "0", "-1", "1,,2", "1.5"):
        with pytest.raises(argparse.ArgumentTypeError):
            integers(text)


def test_printable_shows_what_would_be_sent() -> None:
    assert printable("plain é\n") == "plain é\n"
    assert printable("a\x1b[31mb\u202e") == "a\\x1b[31mb\\u202e"


def test_table_flushes_numbers_right() -> None:
    assert table(("name", "n"), [("a", "1"), ("bcd", "100")]) == "name    n\n----  ---\na       1\nbcd   100"


def test_an_empty_table_has_its_heads() -> None:
    assert table(("a", "b"), []).splitlines()[0] == "a  b"
