"""Rows measured one after the other, each in a process of its own and kept at once, so that a run can be broken off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import results
from experiments.papers import part, rows

FOLDER = results.ROOT / "experiments" / "results"
QUICK = results.ROOT / "build" / "experiments"
"""Of --quick, whose numbers say nothing of speed."""
OURS = ("condyle", "experiments", "benchmarks")


def path(paper: str, quick: bool) -> Path:
    return (QUICK if quick else FOLDER) / f"{paper}.json"


def kept(file: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Part to row to what was measured."""
    return results.read(file) if file.exists() else {}


def run(paper: str, *, quick: bool, only: str = "", again: bool = False) -> tuple[int, list[str]]:
    """How many rows failed, and what is to be said of those that are missing. Only a quick run measures rows anew."""
    from tqdm import tqdm  # drawn on a terminal only

    failed, said, file = 0, list[str](), path(paper, quick)
    wanted, there = list(rows(paper, quick, only)), {} if quick else kept(file)
    if not wanted:
        return 0, [f"{paper}: no row begins with {only!r}; there are {', '.join(row for _, row in rows(paper, quick))}"]
    if quick:
        file.unlink(missing_ok=True)  # of other code, perhaps
    for name, row in tqdm(wanted, desc=paper, disable=None, unit="row"):
        if not again and row in there.get(name, {}):
            continue
        about = results.certificate()
        found = apart(paper, name, row, quick)
        if found is None:
            failed += 1
            said.append(f"{paper}, {row}: failed, see above")
        elif "left_out" in found:
            said.append(f"{paper}, {row}: left out, {found['left_out']}")
            leave_out(file, name, row, found["left_out"])
        else:
            results.merge(name, row, {**about, **found}, file)
            leave_out(file, name, row, None)
    return failed, said


def leave_out(file: Path, name: str, row: str, why: str | None) -> None:
    """Keeps why a row is missing, for the page; None: it is there."""
    whole: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"machine": results.machine()}
    rows: dict[str, str] = whole.setdefault("left_out", {}).setdefault(name, {})
    rows.pop(row, None)
    if why and row not in whole.get("measurements", {}).get(name, {}):
        rows[row] = why
    results.write(file, whole)


def apart(paper: str, name: str, row: str, quick: bool) -> dict[str, Any] | None:
    """What a fresh process measured; None where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [sys.executable, "-m", "experiments", paper, "--row", f"{name}/{row}", "--answer", str(answer)]
        # NumPy's matrix products on one core: a row has the threads that it asks for
        alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run([*command, *["--quick"] * quick], cwd=results.ROOT, check=False, env=alone)
        return json.loads(answer.read_text()) if done.returncode == 0 else None


def here(paper: str, name_and_row: str, quick: bool, answer: Path) -> None:
    """The row measured by this process, written to a file."""
    name, _, row = name_and_row.partition("/")
    try:
        found: dict[str, Any] = part(paper, name).measure(row, quick)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in OURS:
            raise
        found = {"left_out": f"{missing.name} is not installed: pip install 'condyle[experiments]'"}
    answer.write_text(json.dumps(found))
