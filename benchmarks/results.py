"""Results files: written with a birth certificate, found by date."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / "results"


def certificate() -> dict[str, Any]:
    """Where and when and from what: machine, versions, commit, date."""
    from condyle.cli import machine  # here, so that tables are made without the package

    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%d %H:%M UTC"), "commit": commit(), "machine": machine.describe()}


def commit() -> str:
    """The commit that was measured, marked where the tree differed from it."""
    head = _git("rev-parse", "HEAD") or "unknown"
    return head + ("+changes" if _git("status", "--porcelain", "--untracked-files=no", "--", "src") else "")


def write(found: dict[str, Any], name: str | None = None) -> Path:
    """Write a results file, named by date and machine unless told otherwise."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / (name or f"{found['date'][:10]}-{_slug(found['machine'])}.json")
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path


def newest() -> Path | None:
    """The newest dated comparison."""
    dated = sorted(path for path in FOLDER.glob("*.json") if re.match(r"\d{4}-\d{2}-\d{2}-", path.name))
    return dated[-1] if dated else None


def _slug(about: dict[str, Any]) -> str:
    words = re.findall(r"[a-z0-9]+", str(about["cpu"]).lower())
    return "-".join([*words, f"{about['cores']}c"])


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
