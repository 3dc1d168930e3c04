"""An earlier commit, installed in a folder of its own beside the packages of this environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def installed(commit: str) -> Iterator[Path]:
    """The folder that holds `condyle` as it was at `commit`; for PYTHONPATH."""
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder:
        tree, site = Path(folder) / "tree", Path(folder) / "site"
        _run("git", "worktree", "add", "--detach", "--force", str(tree), commit)
        try:
            _run(sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", str(site), str(tree))
            yield site
        finally:
            _run("git", "worktree", "remove", "--force", str(tree))


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"status {done.returncode} from {' '.join(command)}\n{done.stderr}")
