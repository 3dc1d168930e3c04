"""Keeps files short: a file is one idea, of 500 lines at most; more only with a reason in size_reasons.txt.

python tools/size.py            lists what is too long; exit status 1 if anything is
python tools/size.py --long     also lists every file over 300 lines
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "tools" / "size_reasons.txt"
LONG, LIMIT = 300, 500
SUFFIXES = {".c", ".cpp", ".h", ".py"}


def sources() -> list[Path]:
    """Every source file that git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*")]
    return sorted({ROOT / name for name in names if Path(name).suffix in SUFFIXES and (ROOT / name).is_file()})


def reasons() -> dict[str, str]:
    """The written reasons: one `path: reason` a line."""
    lines = REASONS.read_text().splitlines() if REASONS.exists() else []
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and pair[1].strip()}


def lengths() -> dict[str, int]:
    return {str(path.relative_to(ROOT)): len(path.read_text(errors="replace").splitlines()) for path in sources()}


def complaints() -> list[str]:
    """What is too long without a reason, and what has a reason but needs none."""
    found, excused = lengths(), reasons()
    wrong = [
        f"{name}: {lines} lines, at most {LIMIT} (split it, or write the reason in tools/size_reasons.txt)"
        for name, lines in found.items()
        if lines > LIMIT and name not in excused
    ]
    return wrong + [
        f"tools/size_reasons.txt: {name} needs no reason any more" for name in excused if found.get(name, 0) <= LIMIT
    ]


def main() -> int:
    if "--long" in sys.argv[1:]:
        for name, lines in sorted(lengths().items(), key=lambda item: -item[1]):
            if lines > LONG:
                print(f"{lines:5d}  {name}")
    wrong = complaints()
    print("\n".join(wrong) if wrong else "sizes: fine", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
