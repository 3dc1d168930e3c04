from __future__ import annotations

import argparse

import pytest

from condyle.cli.common import integers, table


def test_integers() -> None:
    assert integers("16,64") == (16, 64)
    for text in ("", "0", "-1", "1,,2", "1.5"):
        with pytest.raises(argparse.ArgumentTypeError):
            integers(text)


def test_table_flushes_numbers_right() -> None:
    assert table(("name", "n"), [("a", "1"), ("bcd", "100")]) == "name    n\n----  ---\na       1\nbcd   100"


def test_a_cell_of_a_table_stays_on_its_line() -> None:
    assert table(("name", "n"), [("a\nb", "1")]).splitlines()[2] == "a\\nb  1"


def test_an_empty_table_has_its_heads() -> None:
    assert table(("a", "b"), []).splitlines()[0] == "a  b"
