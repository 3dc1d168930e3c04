"""The table of docs/reference/threat-model.md: every promise has a test, and SECURITY.md cites every row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fuzz import runner

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "reference" / "threat-model.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def rows() -> dict[str, str]:
    """The last cell of each row of both tables, by the first."""
    lines = [line.strip("| \n").split(" | ") for line in PAGE.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert len({cells[0] for cells in lines}) == len(lines), "a row twice"
    return {cells[0]: cells[-1] for cells in lines}


def promises() -> set[str]:
    return {row for row in rows() if row in PAGE.split("## Findings")[0]}


@pytest.mark.parametrize("row", rows())
def test_the_tests_of_a_row_exist(row: str) -> None:
    named = re.findall(r"`([^`]+)`", rows()[row])
    assert named
    for name in named:
        if name.startswith("fuzz "):
            assert name.removeprefix("fuzz ") in runner.known()
            continue
        file, _, function = name.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), name


def test_every_fuzzer_holds_a_promise() -> None:
    assert set(runner.known()) == {name for cell in rows().values() for name in re.findall(r"`fuzz (\w+)`", cell)}


def test_security_cites_every_promise_and_no_other() -> None:
    table = PAGE.split("## Findings")[0]
    assert set(re.findall(r"\b([A-Z]\d+)\b", SECURITY)) == {row for row in rows() if f"| {row} |" in table}


def test_every_sentence_about_a_promise_cites_a_row() -> None:
    """Each paragraph of the section that promises ends its sentences with the rows that hold them."""
    section = SECURITY.split("## What is promised", 1)[1].split("\n## ", 1)[0]
    for paragraph in filter(None, (part.strip() for part in section.split("\n\n"))):
        assert re.search(r"\(([A-Z]\d+(, )?)+\)\.?$", paragraph), paragraph
