"""Rewrites README's benchmark table from the newest results file; a README quotes only files.

python -m benchmarks.tables            rewrite
python -m benchmarks.tables --check    exit status 1 if README is out of date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.results import newest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def table(path: Path | None) -> str:
    """The text between the markers."""
    if path is None:
        return "No measurement has been recorded yet.\n"
    found: dict[str, Any] = json.loads(path.read_text())
    machine, rival = found["machine"], found["pinocchio"]
    names = [row["function"] for row in next(iter(found["robots"].values()))["rows"][::2]]
    lines: list[str] = []
    for target, key in (("cpu", "cpu_rows"), ("c", "rows")):
        robots = {name: about[key] for name, about in found["robots"].items() if key in about}
        if robots:
            lines += [
                f"| target `{target}` | nv | " + " | ".join(names) + " |",
                "|---|---:|" + "---:|" * len(names),
                *(_line(name, found["robots"][name]["nv"], rows) for name, rows in robots.items()),
                "",
            ]
    where = path.relative_to(ROOT).as_posix()
    about = (
        f"Nanoseconds per state of Condyle, and in brackets how many times longer Pinocchio "
        f"{rival['version']} takes: float64, one thread, batches of {found['batch']}, medians of CPU time, interleaved "
        f"in one process. {machine['cpu']}, {machine['compiler']}; Pinocchio built by {rival['compiler']} with "
        f"`{rival['flags']}`. {found['date'][:10]}, commit {found['commit'][:10]}: [{where}]({where})."
    )
    return "\n".join([*lines, about]) + "\n"


def updated(text: str, path: Path | None) -> str:
    """README with a fresh table."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table(path)}{END}{tail}"


def _line(name: str, nv: int, rows: list[dict[str, Any]]) -> str:
    cells = [
        _cell(ours["ns"]["median"], theirs["ns"]["median"]) for ours, theirs in zip(rows[::2], rows[1::2], strict=True)
    ]
    return f"| {name} | {nv} | " + " | ".join(cells) + " |"


def _cell(ours: float, theirs: float) -> str:
    return f"{ours:.0f} ({theirs / ours:.1f})" if ours >= 100 else f"{ours:.1f} ({theirs / ours:.1f})"


def main() -> int:
    text = README.read_text()
    fresh = updated(text, newest())
    if "--check" in sys.argv[1:]:
        return int(fresh != text)
    README.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
