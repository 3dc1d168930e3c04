"""Every figure of README and docs is in docs/claims.toml, with its results file, or with the reason why it has none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

tomllib = pytest.importorskip("tomllib", reason="Python 3.11")

ROOT = Path(__file__).resolve().parents[2]
LIST = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
NUMBER = r"(?<![\w.\-])\d+(?: \d{3})*(?:\.\d+)?"
UNIT = r"(?:%|(?:times|µs|us|ns|ms|s|seconds?|minutes?|GB/s|MHz|[mb]illion)\b)"
FIGURE = re.compile(rf"(?:{NUMBER},? (?:to |and |or )?)*{NUMBER} {UNIT}")
UNREAD = re.compile(r"```.*?^```|`[^`\n]*`|<!-- ([\w ]+): begin -->.*?<!-- \1: end -->", re.DOTALL | re.MULTILINE)
"""Code, and parts that a program writes and a test compares."""


class Data(dict[str, Any]):
    """d.key is d["key"]."""

    __getattr__ = dict.__getitem__


def ends(numbers: Iterable[float]) -> tuple[float, float]:
    """The least and the largest."""
    numbers = list(numbers)
    return min(numbers), max(numbers)


def text_of(page: str) -> str:
    """The words of a page, each space one space."""
    text = UNREAD.sub("`", (ROOT / page).read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", text)


def data(path: str) -> Data:
    return json.loads((ROOT / path).read_text(encoding="utf-8"), object_hook=Data)


def differences(claim: dict[str, Any]) -> Iterator[str]:
    """Numbers of the text that are not those of the file, rounded to the digits that are printed, or to `unit`."""
    scope = {"d": data(claim["file"]), "ends": ends}
    value = eval(claim["value"], scope)
    values = list(value) if isinstance(value, Iterable) else [value]
    numbers = re.findall(NUMBER, claim["text"])
    if len(numbers) != len(values):
        yield f"{len(numbers)} numbers, {len(values)} values"
        return
    for number, x in zip(numbers, values, strict=True):
        unit = claim.get("unit", 10.0 ** -len(number.partition(".")[2]))
        if abs(float(number.replace(" ", "")) - x) > 0.501 * unit:
            yield f"says {number}, the file {x:.4g}"


@pytest.mark.parametrize("page", [page for page in PAGES if page in {claim["page"] for claim in LIST["claim"]}])
def test_figures_are_those_of_the_results(page: str) -> None:
    claims = [claim for claim in LIST["claim"] if claim["page"] == page]
    assert [f"{claim['text']}: {said}" for claim in claims for said in differences(claim)] == []


def test_what_is_listed_is_there() -> None:
    texts = {page: text_of(page) for page in PAGES}
    listed = [(row["page"], text) for row in (*LIST["claim"], *LIST["other"]) for text in listed_texts(row)]
    assert [(page, text) for page, text in listed if text not in texts[page]] == []
    assert set(LIST["elsewhere"]) <= set(PAGES)


def listed_texts(row: dict[str, Any]) -> list[str]:
    return row.get("texts") or [row["text"]]


def unlisted(page: str) -> list[str]:
    """Figures of a page that no listed text contains."""
    text = text_of(page)
    for row in (*LIST["claim"], *LIST["other"]):
        if row["page"] == page:
            for part in listed_texts(row):
                text = text.replace(part, "`")
    return [text[max(match.start() - 40, 0) : match.end() + 20] for match in FIGURE.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LIST["elsewhere"]])
def test_every_figure_is_listed(page: str) -> None:
    assert unlisted(page) == []


def test_figures_are_seen() -> None:
    text = "1 to 2 times, 0.5, 1 and 3 µs, 12 000 ns, 5 %, x2 s, 3 states"
    assert [match[0] for match in FIGURE.finditer(text)] == ["1 to 2 times", "0.5, 1 and 3 µs", "12 000 ns", "5 %"]
    claim = {"file": "benchmarks/results/riccati.json", "text": "2 to 9 times", "value": "(2.4, 9.6)"}
    assert list(differences(claim)) == ["says 9, the file 9.6"]
