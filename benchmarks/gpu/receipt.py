"""The receipt of a run on a GPU: which kernels gave right answers there, and what the page for users says of it.

Every row names what was computed, and has hashes (sha256) of its inputs, its answers and of the texts of its kernels.
A kernel of this tree whose text no row has, has not run on a GPU as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.gpu.context import Row, read

RECEIPT, TIMES = results.FOLDER / "gpu_receipt.json", results.FOLDER / "gpu_times.json"
PAGE = results.ROOT / "docs" / "how-to" / "gpu.md"
BEGIN, END = "<!-- run on a GPU: begin -->\n", "<!-- run on a GPU: end -->\n"
KEY = ("what", "robot", "dtype", "function", "form")
KEPT = ("sizes", "error", "allowed", "inputs", "answers", "kernels", "left_out", "bad", "card", "driver", "commit")
NEVER = "never"
SHOWN = 12
"""Characters of a commit, or of the hash of the code."""


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(word, "")) for word in KEY)


def keep(folder: Path, receipt: Path = RECEIPT, times: Path = TIMES) -> int:
    """Makes both files from the rows of both runs; rows of earlier runs stay until the same is run again."""
    written = [row for path in sorted(folder.glob("run*.jsonl")) for row in read(path)]
    if not written:
        raise SystemExit(f"{folder} has no run1.jsonl or run2.jsonl")
    for row in written:
        row["commit"] = short(row["commit"]) if "commit" in row else ""
    checked = [row for row in written if isinstance(row.get("kernels"), list) and "us" not in row]
    rows = {key_of(row): row for row in load(receipt)} | {
        key_of(row): {word: row[word] for word in (*KEY, *KEPT) if word in row} for row in checked
    }
    write(receipt, list(rows.values()))
    write(times, [row for row in written if row not in checked])
    wrong = sum("bad" in row for row in rows.values())
    print(f"{receipt.name}: {len(rows)} rows, {wrong} wrong; {times.name}: {len(written) - len(checked)} rows")
    return int(wrong > 0)


def short(commit: str) -> str:
    """A commit's first digits; that of this checkout where the hash of the code is the same."""
    if commit == f"src:{results.code_hash()}":
        commit = results.commit()
    kind, _, number = commit.rpartition(":")
    return f"{kind}{':' if kind else ''}{number[:SHOWN]}"


def write(path: Path, rows: Sequence[Row]) -> None:
    results.write(path, {"rows": list(rows)})


def load(path: Path = RECEIPT) -> list[Row]:
    return json.loads(path.read_text())["rows"] if path.exists() else []


def check(texts: Callable[[], list[Row]], should_write: bool, receipt: Path = RECEIPT, page: Path = PAGE) -> int:
    """Holds the page to the receipt and the tree; exit status 1 if it says otherwise. texts: the tree's kernels."""
    rows, before = load(receipt), page.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    now = f"{head}{BEGIN}{said(rows, texts() if rows else [])}{END}{rest.partition(END)[2]}"
    if should_write:
        page.write_text(now, encoding="utf-8")
    elif now != before:
        print(f"{page.name} says otherwise than {receipt.name} and this tree: python -m benchmarks.gpu check --write")
        return 1
    return 0


def said(rows: Sequence[Row], tree: Sequence[Row]) -> str:
    """What users are told. rows: of the receipt. tree: keys and kernels of this tree."""
    if not rows:
        return "**Nothing of this target has run on a GPU yet**: there is no receipt of a run.\n"
    right = [row for row in rows if not {"bad", "left_out"} & set(row)]
    kernels = {text for row in right for text in row["kernels"]}
    runs = sorted({f"{row['card']}, driver {row['driver']}, commit {row['commit']}" for row in right})
    lines = [f"{len(right)} checks of {len(kernels)} kernels gave right answers on a GPU: {'; '.join(runs)}."]
    before = {key_of(row): row["commit"] for row in right}
    stale = [row for row in tree if not set(row["kernels"]) <= kernels]
    for since, those in grouped(stale, lambda row: before.get(key_of(row), NEVER)).items():
        words = "Never run on a GPU" if since == NEVER else f"Not run on a GPU since {since}"
        lines += [f"* {words}: {line}" for line in listed(those, tree)]
    lines += [f"* **Wrong on a GPU**: {line}" for line in listed([row for row in rows if "bad" in row], tree)]
    return "\n".join(lines) + "\n"


def listed(rows: Iterable[Row], tree: Sequence[Row]) -> list[str]:
    """A line for each robot; a robot of which all is listed has no functions named."""
    every = grouped(tree, name_of)
    lines: list[str] = []
    for name, those in grouped(rows, name_of).items():
        if len(those) == len(every.get(name, ())):
            lines.append(f"{name}: all")
            continue
        forms = grouped(those, lambda row: row["function"])
        functions = (f"{name} ({', '.join(row['form'] for row in some)})" for name, some in forms.items())
        lines.append(f"{name}: {', '.join(functions)}")
    return lines


def name_of(row: Row) -> str:
    return " ".join(str(row[word]) for word in ("what", "robot", "dtype") if row.get(word) and row[word] != "function")


def grouped(rows: Iterable[Row], by: Callable[[Row], Any]) -> Mapping[Any, list[Row]]:
    """In the order in which they come."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return groups
