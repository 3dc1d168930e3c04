"""An earlier commit, installed in a folder of its own beside the packages of this environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
COMMIT = "commit.txt"


class Before(NamedTuple):
    """The folder that holds an earlier `condyle`, for PYTHONPATH, and its commit."""

    site: Path
    commit: str


@contextmanager
def installed(name: str, folder: Path | None) -> Iterator[Before]:
    """The commit of this name, installed in a folder: in the named one it stays, and is used again."""
    commit = _run("git", "rev-parse", "--verify", name + "^{commit}").strip()
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as made:
        site = Path(made) / "site" if folder is None else folder.resolve()
        mark = site / COMMIT
        if not mark.exists():
            _install(commit, site)
            mark.write_text(commit)
        if mark.read_text() != commit:
            raise SystemExit(f"--before {site} holds {mark.read_text()[:9]}, not {commit[:9]}: name another folder")
        yield Before(site, commit)


def _install(commit: str, site: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="condyle-guard-") as folder:
        packed = Path(folder) / "tree.tar"
        _run("git", "archive", "--output", str(packed), commit)
        with tarfile.open(packed) as archive:
            archive.extractall(Path(folder) / "tree", filter="data")
        tree = str(Path(folder) / "tree")
        _run(sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", str(site), tree)


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"status {done.returncode} from {' '.join(command)}\n{done.stderr}")
    return done.stdout
