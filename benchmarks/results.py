"""Results files: written with a birth certificate, merged from several runs, found by date.

A file has `machine`, and `measurements`: name -> robot -> {date, commit, load, ...}. Every entry says when and from
which commit it was measured, so that runs may be short.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results"
CODE = ("src", "benchmarks/*.py", "experiments/*.py")
BUILT = r"__pycache__/|\.so$|\.egg-info/"


def certificate() -> dict[str, Any]:
    """When, from what, and how busy the machine was."""
    from condyle.cli import machine  # here, so that tables are made without the package

    return {**machine.moment(), "commit": commit()}


def machine() -> dict[str, Any]:
    """The machine and the versions on it."""
    from condyle.cli import machine

    return {**machine.describe(), "cores": os.cpu_count()}


def commit() -> str:
    """The commit that was measured, marked where its code differed from it; results and docs may.

    Outside a checkout "src:" and the hash of the code: `python -m benchmarks.results` prints it for a checkout.
    """
    top = _git("rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != ROOT:
        return f"src:{code_hash()}"
    head = _git("rev-parse", "HEAD")
    return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no", "--", *CODE) else "")


def code_hash() -> str:
    """sha256 (hex) of the code, without what is built: of names and contents of all its files."""
    files = [*(ROOT / "src").rglob("*"), *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")]
    whole = hashlib.sha256()
    for name, path in sorted((path.relative_to(ROOT).as_posix(), path) for path in files if path.is_file()):
        if not re.search(BUILT, name):
            whole.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def merge(measurement: str, robot: str, found: dict[str, Any], path: Path | None = None) -> Path:
    """Put one robot's numbers into a results file, by default that of today and this machine.

    A row of another processor than the file's names its own ("cpu"), until all rows are of that one.
    """
    from benchmarks.robots import CASES

    about = machine()
    entry = {**certificate(), **found}
    path = path or FOLDER / f"{entry['date'][:10]}-{_slug(about)}.json"
    whole: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    robots = whole.setdefault("measurements", {}).setdefault(measurement, {})
    robots[robot] = entry
    _of_machine(whole, entry, about)
    order = [case.name for case in CASES]
    whole["measurements"][measurement] = dict(sorted(robots.items(), key=lambda item: _place(item[0], order)))
    write(path, whole)
    return path


def _of_machine(whole: dict[str, Any], entry: dict[str, Any], about: dict[str, Any]) -> None:
    if whole.get("machine", about)["cpu"] != about["cpu"]:
        entry["cpu"] = about["cpu"]
    entries = [entry for of in whole["measurements"].values() for entry in of.values()]
    if all(entry.get("cpu") == about["cpu"] for entry in entries):
        for one in entries:
            del one["cpu"]
    elif "cpu" in entry:
        return
    whole["machine"] = about


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def write(path: Path, whole: dict[str, Any]) -> None:
    """Numbers have five digits, more would only be noise; what has no parts of its own stands on one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_short(whole), indent=1)
    text = re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda part: re.sub(r"\s*\n\s*", " ", part[0]), text)
    path.write_text(text + "\n")


def newest() -> list[Path]:
    """The newest dated file of each machine, by the machines' names."""
    of: dict[str, Path] = {}
    for path in sorted(FOLDER.glob("*.json")):
        if dated := re.match(r"\d{4}-\d{2}-\d{2}-(.*)", path.name):
            of[dated[1]] = path
    return [of[machine] for machine in sorted(of)]


def read(path: Path) -> dict[str, Any]:
    """All measurements of a file: name -> robot -> entry."""
    return json.loads(path.read_text()).get("measurements", {})


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _slug(about: dict[str, Any]) -> str:
    words = re.findall(r"[a-z0-9]+", str(about["cpu"]).lower())
    return "-".join([*words, f"{about['cores']}c"])


def _git(*words: str) -> str:
    """What git says; nothing where it is not installed, or refuses."""
    if shutil.which("git") is None:
        return ""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    print(f"src:{code_hash()}")
