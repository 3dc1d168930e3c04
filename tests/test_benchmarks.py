"""The table of the README is made from a results file, number by number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import results, tables


def spread(median: float) -> dict[str, float]:
    return {"median": median, "minimum": median, "low": median, "high": median}


def found() -> dict[str, Any]:
    rows = [
        {"function": name, "batch": 256, "engine": engine, "ns": spread(median)}
        for name, ours, theirs in (("id", 50.0, 600.0), ("dfd", 200.4, 2404.8))
        for engine, median in (("condyle", ours), ("pinocchio", theirs))
    ]
    return {
        "date": "2026-01-02 03:04 UTC",
        "commit": "0123456789abcdef",
        "batch": 256,
        "machine": {"cpu": "some cpu", "cores": 2, "compiler": "cc 1"},
        "pinocchio": {"version": "4", "compiler": "clang", "flags": "-O3"},
        "robots": {"arm": {"nv": 7, "rows": rows}},
    }


def test_table_quotes_the_file(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    path = results.write(found())
    assert path.name == "2026-01-02-some-cpu-2c.json"
    assert results.newest() == path
    text = tables.table(path)
    assert "| target `c` | nv | id | dfd |" in text
    assert "| arm | 7 | 50.0 (12.0) | 200 (12.0) |" in text
    assert "some cpu" in text
    assert "0123456789" in text


def test_only_what_stands_between_the_markers_changes() -> None:
    text = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
    fresh = tables.updated(text, None)
    assert fresh == f"before\n{tables.BEGIN}\n{tables.table(None)}{tables.END}\nafter\n"
    assert tables.updated(fresh, None) == fresh


def test_every_results_file_has_a_certificate() -> None:
    for path in results.FOLDER.glob("*.json"):
        about = json.loads(path.read_text())
        assert about["date"]
        assert about["commit"]
